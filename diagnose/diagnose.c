/*
 * `rdma-client diagnose`: runs the checks of the table in order and prints the results. diagnose()
 * owns the diagnosis and everything that the checks create in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-document.h"
#include "cli/startup.h"
#include "diagnose/checks.h"
#include "diagnose/diagnose.h"
#include "diagnose/diagnosis.h"
#include "diagnose/inventory-report.h"
#include "diagnose/report.h"

/*
 * Time limit of all checks in milliseconds. Checks that start late still get a minimum time; the
 * total stays below 15 s.
 */
#define CHECKS_MS 9000

/* Prints a check's lines one by one. */
static void print_check(const struct diagnosis *diagnosis, enum check check)
{
	char text[4096], *rest = text, *line;

	check_list_lines(&diagnosis->list, check, text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		output_line(&diagnosis->output, "%s", line);
}

static void print_detail(const char *line, void *context)
{
	const struct diagnosis *diagnosis = context;

	output_line(&diagnosis->output, "            %s", line);
}

/* Prints the facts of both ends side by side. */
static void print_ends(const struct diagnosis *diagnosis)
{
	const char *name, *ours, *theirs;
	unsigned int index = 0;
	char line[320];
	bool differ;

	snprintf(line, sizeof(line), "%-16s %-28s %s", "", "local", "remote");
	print_detail(line, (void *)diagnosis);
	while ((name = facts_compare(
			&diagnosis->ours, &diagnosis->theirs, index++, &ours, &theirs, &differ))) {
		snprintf(line, sizeof(line), "%-16s %-28s %*s%s", name, ours ? ours : "-",
			differ ? -29 : 0, theirs ? theirs : "-", differ ? "differs" : "");
		print_detail(line, (void *)diagnosis);
	}
}

/* Returns the reason for skipping a check. */
static const char *why_skipped(const struct diagnosis *diagnosis)
{
	if (!diagnosis->options->host)
		return "no HOST given";
	return diagnosis->no_server ? "no rdma-server found" : "not reached";
}

/*
 * Runs the checks and prints their results. After a failure that affects later checks, skips the
 * rest.
 */
static void run_checks(struct diagnosis *diagnosis)
{
	deadline_t start;
	bool continues = true;

	for (enum check check = CHECK_HOST; check < CHECKS; check++) {
		if (!diagnosis->options->host && check > CHECK_MANAGER)
			continues = false;
		if (!continues)
			check_list_skip(&diagnosis->list, check, "%s", why_skipped(diagnosis));
		start = deadline_now();
		continues = continues && diagnose_checks[check].run(diagnosis) == 0;
		diagnosis->list.checks[check].milliseconds = (int)(deadline_now() - start);
		print_check(diagnosis, check);
		if (check == CHECK_HOST)
			inventory_lines(&diagnosis->inventory, print_detail, diagnosis);
		if (check == CHECK_ENDS && diagnosis->theirs.count > 0)
			print_ends(diagnosis);
	}
}

/* Prints the verdict: with --quiet only one that fails, as an error. */
static void print_verdict(const struct diagnosis *diagnosis)
{
	const char *host = diagnosis->options->host;
	const struct output *output = &diagnosis->output;
	char verdict[512];

	check_list_verdict(&diagnosis->list, verdict, sizeof(verdict));
	output_line(output, "verdict: %s", verdict);
	if (output->quiet && check_list_status(&diagnosis->list) != STATUS_OK)
		output_error(output, "%s%s%s", host ? host : "", host ? ": " : "", verdict);
}

enum exit_status diagnose(const struct options *options, const char *program)
{
	struct diagnosis *diagnosis = calloc(1, sizeof(*diagnosis));
	enum exit_status status;
	struct output output = startup_output(program, options);

	if (!diagnosis) {
		output_error(&output, "out of memory");
		return output_finish(&output, STATUS_FAILED);
	}
	diagnosis->options = options;
	diagnosis->output = output;
	diagnosis->server.source = options->source;
	diagnosis->server.device = options->device;
	diagnosis->end = deadline_in(CHECKS_MS);
	check_list_init(&diagnosis->list, diagnose_checks, options->host ? options->host : "");
	run_checks(diagnosis);
	if (options->json)
		document_print(diagnosis_report_json(diagnosis));
	print_verdict(diagnosis);
	status = output_finish(&diagnosis->output, check_list_status(&diagnosis->list));
	control_close(&diagnosis->control);
	server_addresses_free(&diagnosis->server);
	inventory_free(&diagnosis->inventory);
	secret_free(diagnosis->secret);
	free(diagnosis);
	return status;
}

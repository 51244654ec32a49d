/*
 * `rdma-client diagnose`: runs the checks of the table in order, once or repeatedly.
 * diagnose_once() owns the diagnosis and everything that the checks create in it.
 */
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "base/json-document.h"
#include "cli/startup.h"
#include "diagnose/checks.h"
#include "diagnose/diagnose.h"
#include "diagnose/diagnosis.h"
#include "diagnose/report.h"
#include "diagnose/screen.h"

/*
 * Time limit of all checks in milliseconds. Checks that start late still get a minimum time; the
 * total stays below 15 s.
 */
#define CHECKS_MS 9000

/* Returns the reason for skipping a check. */
static const char *why_skipped(const struct diagnosis *diagnosis)
{
	if (!diagnosis->options->host)
		return "no HOST given";
	return diagnosis->no_server ? "no rdma-server found" : "not reached";
}

/* Runs the checks. After a failure that affects later checks, skips the rest. */
static void run_checks(struct diagnosis *diagnosis)
{
	deadline_t start;
	bool continues = true;

	for (enum check check = CHECK_HOST; check < CHECKS; check++) {
		if (!diagnosis->options->host && check > CHECK_MANAGER)
			continues = false;
		if (!continues) {
			check_list_skip(&diagnosis->list, check, "%s", why_skipped(diagnosis));
			continue;
		}
		screen_show_progress(diagnosis, check);
		start = deadline_now();
		continues = diagnose_checks[check].run(diagnosis) == 0;
		diagnosis->list.checks[check].milliseconds = (int)(deadline_now() - start);
	}
	output_progress(&diagnosis->output, NULL);
}

/* Runs one diagnosis and prints it. `round` is the previous one of several, or NULL. */
static enum exit_status diagnose_once(
	const struct options *options, const struct output *output, struct screen_round *round)
{
	struct diagnosis *diagnosis = calloc(1, sizeof(*diagnosis));
	enum exit_status status;
	time_t now = time(NULL);
	struct tm clock;

	if (!diagnosis) {
		output_error(output, "out of memory");
		return STATUS_FAILED;
	}
	diagnosis->options = options;
	diagnosis->output = *output;
	diagnosis->server.source = options->source;
	diagnosis->server.device = options->device;
	diagnosis->end = deadline_in(CHECKS_MS);
	check_list_init(&diagnosis->list, diagnose_checks, options->host ? options->host : "");
	run_checks(diagnosis);
	if (options->json)
		document_print(diagnosis_report_json(diagnosis));
	if (round)
		screen_print_round(diagnosis, round, localtime_r(&now, &clock));
	else
		screen_print(diagnosis);
	status = check_list_status(&diagnosis->list);
	control_close(&diagnosis->control);
	server_addresses_free(&diagnosis->server);
	inventory_free(&diagnosis->inventory);
	secret_free(diagnosis->secret);
	free(diagnosis);
	return status;
}

/* Repeats the diagnosis until a signal ends the process or its output is closed. */
static enum exit_status diagnose_repeatedly(
	const struct options *options, const struct output *output)
{
	struct screen_round round = {0};
	enum exit_status status;
	deadline_t next;
	int left;

	do {
		next = deadline_in(options->interval);
		status = diagnose_once(options, output, &round);
		while ((left = deadline_left(next)) > 0)
			poll(NULL, 0, left);
	} while (!output_is_lost());
	return status;
}

enum exit_status diagnose(const struct options *options, const char *program)
{
	struct output output = startup_output(program, options);

	return output_finish(&output, options->interval ? diagnose_repeatedly(options, &output)
							: diagnose_once(options, &output, NULL));
}

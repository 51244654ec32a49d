/*
 * `rdma-client diagnose`: runs the checks of the table in order, once or repeatedly.
 * diagnose_once() owns the diagnosis and everything that the checks create in it. While it repeats,
 * a thread waits for the signal that ends it.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/json-document.h"
#include "base/signals.h"
#include "cli/startup.h"
#include "diagnose/checks.h"
#include "diagnose/diagnose.h"
#include "diagnose/diagnosis.h"
#include "diagnose/metrics.h"
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
		/* Whatever fails in one way may work in the other. */
		if (diagnosis->options->host && check == CHECK_OTHER_WAY)
			continues = true;
		if (diagnose_checks[check].of_rdmacm &&
			diagnosis->options->bootstrap == BOOTSTRAP_TCP) {
			check_list_skip(&diagnosis->list, check, "not needed by TCP");
			continue;
		}
		if (!continues) {
			check_list_skip(&diagnosis->list, check, "%s", why_skipped(diagnosis));
			continue;
		}
		diagnosis->list.checks[check].reached = true;
		screen_show_progress(diagnosis, check);
		start = deadline_now();
		continues = diagnose_checks[check].run(diagnosis) == 0;
		diagnosis->list.checks[check].milliseconds = (int)(deadline_now() - start);
	}
	output_progress(&diagnosis->output, NULL);
}

/* A repeated diagnosis. The thread that waits for a signal shares it with the main thread. */
struct repetition {
	const struct options *options;
	const struct output *output;
	deadline_t start;
	int signals;          /* a descriptor: base/signals.h */
	pthread_mutex_t lock; /* guards `rounds`, and their lines on the screen */
	struct rounds rounds;
};

static void print_round(struct repetition *repetition, const struct diagnosis *diagnosis)
{
	time_t now = time(NULL);
	struct tm clock;

	pthread_mutex_lock(&repetition->lock);
	screen_print_round(diagnosis, &repetition->rounds, localtime_r(&now, &clock));
	pthread_mutex_unlock(&repetition->lock);
}

/* Runs one diagnosis and prints it: as a round, or as a whole if `repetition` is NULL. */
static enum exit_status diagnose_once(
	const struct options *options, const struct output *output, struct repetition *repetition)
{
	const bool by_tcp = options->bootstrap == BOOTSTRAP_TCP;
	struct diagnosis *diagnosis = calloc(1, sizeof(*diagnosis));
	enum exit_status status;

	if (!diagnosis) {
		output_error(output, "out of memory");
		return STATUS_FAILED;
	}
	diagnosis->options = options;
	diagnosis->output = *output;
	diagnosis->server.source = options->source;
	diagnosis->server.device = by_tcp ? NULL : options->device;
	diagnosis->end = deadline_in(CHECKS_MS);
	check_list_init(&diagnosis->list, diagnose_checks, options->host ? options->host : "");
	diagnosis->list.way = by_tcp ? "TCP" : "rdmacm";
	diagnosis->list.other_way = by_tcp ? "rdmacm" : "TCP";
	run_checks(diagnosis);
	if (options->json)
		document_print(diagnosis_report_json(diagnosis));
	if (repetition)
		print_round(repetition, diagnosis);
	else
		screen_print(diagnosis);
	status = check_list_status(&diagnosis->list);
	if (options->metrics)
		status = diagnosis_metrics_write(diagnosis, status);
	control_close(&diagnosis->control);
	server_addresses_free(&diagnosis->server);
	inventory_free(&diagnosis->inventory);
	secret_free(diagnosis->secret);
	free(diagnosis);
	return status;
}

/*
 * Waits for SIGINT or SIGTERM, prints the summary and ends the process by that signal, also in the
 * middle of a round: a check may block for seconds, for example while it looks up a name. Never
 * returns.
 */
static void *end_by_signal(void *argument)
{
	struct repetition *repetition = argument;
	struct pollfd waiting = {.fd = repetition->signals, .events = POLLIN};
	int signal;

	do
		poll(&waiting, 1, -1);
	while ((signal = signals_read(repetition->signals)) == 0);
	/* It stays locked, so that no round is printed below the summary. */
	pthread_mutex_lock(&repetition->lock);
	output_erase_line();
	screen_print_summary(repetition->output, &repetition->rounds, repetition->options->host,
		deadline_now() - repetition->start);
	exit(signals_end(signal, (int)output_finish(repetition->output, STATUS_OK)));
}

/* Starts that thread. If this fails, signals end the process at once, without a summary. */
static void await_signal(struct repetition *repetition)
{
	sigset_t before;
	pthread_t thread;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	repetition->signals = signals_open();
	if (repetition->signals >= 0 &&
		pthread_create(&thread, NULL, end_by_signal, repetition) == 0)
		pthread_detach(thread);
	else
		pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Repeats the diagnosis until a signal ends the process or its output is closed. */
static enum exit_status diagnose_repeatedly(
	const struct options *options, const struct output *output)
{
	/* The thread uses it until the process ends. */
	static struct repetition repetition = {.lock = PTHREAD_MUTEX_INITIALIZER};
	enum exit_status status;
	deadline_t next;
	int left;

	repetition.options = options;
	repetition.output = output;
	repetition.start = deadline_now();
	await_signal(&repetition);
	do {
		next = deadline_in(options->interval);
		status = diagnose_once(options, output, &repetition);
		while ((left = deadline_left(next)) > 0)
			poll(NULL, 0, left);
	} while (!output_is_lost());
	/* It stays locked: from now on, a signal prints nothing. */
	pthread_mutex_lock(&repetition.lock);
	return status;
}

enum exit_status diagnose(const struct options *options, const char *program)
{
	struct output output = startup_output(program, options);

	return output_finish(&output, options->interval ? diagnose_repeatedly(options, &output)
							: diagnose_once(options, &output, NULL));
}

/*
 * See mesh/mesh.h. The stages: start the agents; latency of all pairs; bandwidth of all pairs, in
 * rounds; repeated tests of what looks bad. Then the verdict.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/explain.h"
#include "base/json-document.h"
#include "base/text.h"
#include "cli/startup.h"
#include "mesh/differences.h"
#include "mesh/matrix.h"
#include "mesh/mesh-lines.h"
#include "mesh/mesh.h"
#include "mesh/metrics.h"
#include "mesh/page.h"

/* Passes of repeated tests, and tests of each, in addition to some for each host. */
#define RETEST_PASSES 3
#define RETESTS_MIN   32
#define RETESTS_HOST  4

/* A host whose first latency tests all fail is left out of the rest. */
#define FAILURES_MAX 4

/* Of lines that continue one. */
#define INDENT 2

/* Of tables that do not go to a terminal. */
#define COLUMNS 80

/* Findings that are printed; --json and --html have all. */
#define FINDINGS_SHOWN 20

/* Progress is shown once per second on a terminal, and every ten seconds elsewhere. */
#define PROGRESS_MS      1000
#define PROGRESS_FILE_MS 10000

struct mesh {
	const struct options *options;
	struct output output;
	struct host_list list;
	struct topology topology;
	struct coordinator coordinator;
	struct mesh_results results;
	unsigned int *ready; /* the hosts of the schedule */
	unsigned int ready_count;
	unsigned int *failures; /* of each host: latency tests that failed, until one succeeds */
	const char *stage;
	bool repeats; /* this stage repeats tests */
	unsigned int rounds;
	/* progress */
	unsigned int done, total;            /* tests of this stage */
	int64_t stage_start_ms, estimate_ms; /* expected duration of the stages after this one */
	deadline_t next_progress;
};

static bool is_interrupted(const struct mesh *mesh)
{
	return mesh->coordinator.signal != 0;
}

/* What is printed during the tests. */

static void print_line(void *context, const char *line)
{
	struct mesh *mesh = context;

	output_line(&mesh->output, "%s", line);
}

/* Adds one direction to the line of a pair: "h1 -> h2 28.8 MB/s". */
static void add_direction(
	char *line, size_t size, const struct mesh *mesh, unsigned int from, unsigned int to)
{
	const struct mesh_result *result = results_bandwidth(&mesh->results, from, to);
	char rate[MESH_RATE_SIZE];

	if (result->state == MESH_GOOD)
		results_rate_text(rate, (double)result->bytes_per_second);
	else
		snprintf(rate, sizeof(rate), "%s",
			result->state == MESH_BROKEN ? "failed" : "not measured");
	text_append(
		line, size, "%s -> %s %s, ", mesh->list.names[from], mesh->list.names[to], rate);
}

/* Prints the line of a pair, once both directions are over. */
static void print_pair(struct mesh *mesh, unsigned int one, unsigned int other)
{
	const struct mesh_result *latency = results_latency(&mesh->results, one, other);
	const struct mesh_result *there = results_bandwidth(&mesh->results, one, other);
	const struct mesh_result *back = results_bandwidth(&mesh->results, other, one);
	const char *message = there->message ? there->message : back->message;
	char line[1024] = "", text[MESH_RATE_SIZE];

	if (there->state == MESH_UNTRIED || back->state == MESH_UNTRIED)
		return;
	add_direction(line, sizeof(line), mesh, one, other);
	add_direction(line, sizeof(line), mesh, other, one);
	results_latency_text(text, latency->median_ns);
	text_append(
		line, sizeof(line), "latency %s", latency->state == MESH_GOOD ? text : "unknown");
	if (message)
		text_append(line, sizeof(line), ": %s", message);
	output_line(&mesh->output, "%s", line);
}

/* Prints the result of a repeated test. */
static void print_again(
	struct mesh *mesh, const struct mesh_test *test, const struct mesh_outcome *outcome)
{
	char text[MESH_RATE_SIZE] = "failed";

	if (outcome->good && test->latency)
		results_latency_text(text, outcome->median_ns);
	else if (outcome->good)
		results_rate_text(text, (double)outcome->bytes_per_second);
	output_line(&mesh->output, "again: %s -> %s %s%s%s", mesh->list.names[test->from],
		mesh->list.names[test->to], text, *outcome->message ? ": " : "", outcome->message);
}

static void take_outcome(
	void *user, const struct mesh_test *test, const struct mesh_outcome *outcome)
{
	struct mesh *mesh = user;
	struct json_object *line;

	results_add(&mesh->results, test, outcome);
	mesh->done++;
	if (mesh->options->json) {
		line = mesh_line_test(&mesh->list, test, outcome, mesh->stage);
		document_print(line);
	}
	if (mesh->repeats)
		print_again(mesh, test, outcome);
	else if (!test->latency)
		print_pair(mesh, test->from, test->to);
	if (!test->latency || !outcome->measured)
		return;
	for (int i = 0; i < 2; i++) {
		unsigned int host = i ? test->to : test->from;

		if (outcome->good)
			mesh->failures[host] = FAILURES_MAX + 1;
		else if (mesh->failures[host] < FAILURES_MAX)
			mesh->failures[host]++;
	}
}

/* Shows how far the stage is, and how long the rest may take. */
static void show_progress(void *user)
{
	struct mesh *mesh = user;
	bool terminal = output_progress_columns() > 0;
	int64_t passed, left;
	char line[160];

	if (mesh->options->progress == PROGRESS_NEVER || mesh->options->quiet ||
		(mesh->options->progress == PROGRESS_AUTO && !terminal) ||
		deadline_left(mesh->next_progress) > 0)
		return;
	mesh->next_progress = deadline_in(terminal ? PROGRESS_MS : PROGRESS_FILE_MS);
	passed = coordinator_now(&mesh->coordinator) - mesh->stage_start_ms;
	snprintf(line, sizeof(line), "%s", mesh->stage);
	if (mesh->total > 0)
		text_append(line, sizeof(line), ": %u of %u tests", mesh->done, mesh->total);
	if (mesh->done > 0 && mesh->total > 0) {
		left = passed * (int64_t)(mesh->total - mesh->done) / mesh->done +
		       mesh->estimate_ms;
		text_append(line, sizeof(line), ", %" PRId64 ":%02" PRId64 " left", left / 60000,
			left / 1000 % 60);
	}
	output_progress(&mesh->output, line);
}

static void begin_stage(struct mesh *mesh, const char *stage, unsigned int total)
{
	mesh->stage = stage;
	mesh->done = 0;
	mesh->total = total;
	mesh->stage_start_ms = coordinator_now(&mesh->coordinator);
	mesh->estimate_ms = 0;
}

/* The stages. */

/* Collects the hosts that are ready. */
static void find_ready(struct mesh *mesh)
{
	mesh->ready_count = 0;
	for (unsigned int i = 0; i < mesh->list.count; i++)
		if (mesh->coordinator.hosts[i].state == MESH_HOST_READY &&
			mesh->failures[i] != FAILURES_MAX)
			mesh->ready[mesh->ready_count++] = i;
}

static void print_hosts(struct mesh *mesh)
{
	char text[64];
	unsigned int pairs =
		mesh->ready_count ? mesh->ready_count * (mesh->ready_count - 1) / 2 : 0;

	for (unsigned int i = 0; i < mesh->list.count; i++) {
		const struct mesh_host *host = &mesh->coordinator.hosts[i];

		if (mesh->options->json)
			document_print(mesh_line_host(&mesh->coordinator, i));
		if (host->state != MESH_HOST_READY)
			output_line_warning(&mesh->output, "%s cannot be tested: %s",
				mesh->list.names[i],
				*host->reason ? host->reason : "no agent has connected");
	}
	differences_print(&mesh->coordinator, print_line, mesh);
	snprintf(text, sizeof(text), "%u%s", pairs,
		mesh->options->mesh.quick ? ", of which --quick tests some" : "");
	output_line(&mesh->output, "%u of %u hosts are ready, started by %s; pairs: %s",
		mesh->ready_count, mesh->list.count, launcher_name(&mesh->coordinator.launcher),
		text);
}

/* The tests of one round: a latency for each pair, or both directions. Returns their number. */
static unsigned int make_round(
	const struct mesh *mesh, unsigned int round, bool latency, struct mesh_test *tests)
{
	struct mesh_pair pairs[MESH_HOSTS_MAX / 2];
	unsigned int pair_count =
		schedule_round(mesh->ready_count, mesh->options->mesh.quick, round, pairs);
	unsigned int count = 0;

	for (int back = 0; back < (latency ? 1 : 2); back++)
		for (unsigned int i = 0; i < pair_count; i++) {
			unsigned int one = mesh->ready[pairs[i].first];
			unsigned int other = mesh->ready[pairs[i].second];

			tests[count++] = back ? (struct mesh_test){other, one, latency}
					      : (struct mesh_test){one, other, latency};
		}
	return count;
}

/* Removes tests with hosts that have never succeeded. Returns how many are left. */
static unsigned int skip_hopeless(
	const struct mesh *mesh, struct mesh_test *tests, unsigned int count)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < count; i++)
		if (mesh->failures[tests[i].from] != FAILURES_MAX &&
			mesh->failures[tests[i].to] != FAILURES_MAX)
			tests[kept++] = tests[i];
	return kept;
}

static void run_rounds(struct mesh *mesh, const char *stage, bool latency)
{
	struct mesh_test tests[MESH_HOSTS_MAX];
	unsigned int rounds, each = mesh->ready_count / 2 * (latency ? 1 : 2);

	if (mesh->ready_count < 2)
		return;
	rounds = schedule_rounds(mesh->ready_count, mesh->options->mesh.quick);
	begin_stage(mesh, stage, rounds * each);
	if (latency)
		mesh->estimate_ms = (int64_t)rounds * 2 * (mesh->options->measure.duration + 1000);
	mesh->rounds = rounds;
	for (unsigned int round = 0; round < rounds && !is_interrupted(mesh); round++) {
		unsigned int count = make_round(mesh, round, latency, tests);

		count = skip_hopeless(mesh, tests, count);
		coordinator_run(&mesh->coordinator, tests, count, mesh->options->mesh.concurrency);
		mesh->done = (round + 1) * each;
	}
}

/* What could not connect in the latency stage, and was left out of the next one, has failed. */
static void adopt_failures(struct mesh *mesh)
{
	for (unsigned int from = 0; from < mesh->list.count; from++)
		for (unsigned int to = 0; to < mesh->list.count; to++) {
			const struct mesh_result *latency =
				results_latency(&mesh->results, from, to);
			struct mesh_result *result = results_bandwidth(&mesh->results, from, to);

			if (from == to || latency->state != MESH_BROKEN ||
				result->state != MESH_UNTRIED)
				continue;
			result->state = MESH_BROKEN;
			result->message = latency->message ? strdup(latency->message) : NULL;
		}
}

/* Repeats what looks bad, so that nothing is accused that was slow only once. */
static void retest(struct mesh *mesh)
{
	unsigned int size = RETESTS_MIN + RETESTS_HOST * mesh->list.count;
	struct mesh_test *tests = calloc(size, sizeof(*tests));
	unsigned int count = 1;

	for (int pass = 0; tests && pass < RETEST_PASSES && count > 0 && !is_interrupted(mesh);
		pass++) {
		struct verdict verdict;

		count = verdict_make(&verdict, &mesh->results, &mesh->coordinator)
				? 0
				: verdict_retests(&verdict, &mesh->results, tests, size);
		verdict_free(&verdict);
		begin_stage(mesh, "retest", count);
		mesh->repeats = true;
		coordinator_run(&mesh->coordinator, tests, count, mesh->options->mesh.concurrency);
	}
	free(tests);
}

static void measure(struct mesh *mesh)
{
	begin_stage(mesh, "starting agents", 0);
	coordinator_gather(&mesh->coordinator);
	find_ready(mesh);
	if (is_interrupted(mesh))
		return;
	print_hosts(mesh);
	run_rounds(mesh, "latency", true);
	find_ready(mesh);
	if (!is_interrupted(mesh))
		run_rounds(mesh, "bandwidth", false);
	adopt_failures(mesh);
	if (!is_interrupted(mesh))
		retest(mesh);
	output_progress(&mesh->output, NULL);
}

/* The result. */

/* Prints a line that begins with this colored word, broken between words on a terminal. */
static void print_colored(const struct mesh *mesh, const char *line, size_t word, bool good)
{
	unsigned int columns = output_columns(&mesh->output);
	size_t room = columns > 2 * INDENT ? columns : strlen(line);
	char part[VERDICT_TEXT_SIZE + 160];
	size_t fits = text_fit(line, room);

	snprintf(part, sizeof(part), "%.*s", (int)fits, line);
	output_colored_line(&mesh->output, part, 0, word, good ? OUTPUT_GREEN : OUTPUT_RED);
	while (*(line += fits) && *(line += strspn(line, " "))) {
		fits = text_fit(line, room - INDENT);
		output_line(&mesh->output, "%*s%.*s", INDENT, "", (int)fits, line);
	}
}

static void print_findings(struct mesh *mesh, const struct verdict *verdict)
{
	for (unsigned int i = 0; i < verdict->count; i++) {
		char line[VERDICT_TEXT_SIZE + 16];

		if (mesh->options->json)
			document_print(mesh_line_finding(&mesh->results, &verdict->findings[i]));
		if (i == FINDINGS_SHOWN)
			output_line(&mesh->output, "and %u more: see --json or --html",
				verdict->count - i);
		if (i >= FINDINGS_SHOWN)
			continue;
		snprintf(line, sizeof(line), "bad: %s", verdict->findings[i].text);
		print_colored(mesh, line, strlen("bad"), false);
	}
}

/* Prints commands that take the bad hosts out of service. */
static void print_drain(struct mesh *mesh, const struct verdict *verdict)
{
	for (unsigned int i = 0; mesh->options->mesh.suggest_drain && i < verdict->count; i++) {
		const struct finding *finding = &verdict->findings[i];
		unsigned int host = finding->accusation.one;
		char reason[128];

		if (finding->accusation.kind < ACCUSED_HOST ||
			finding->accusation.kind > ACCUSED_INGRESS ||
			finding->kind == VERDICT_LINK || verdict->drained[host] != 1)
			continue;
		verdict->drained[host] = 2; /* once */
		snprintf(reason, sizeof(reason), "%.120s", finding->text);
		for (char *at = reason; *at; at++)
			if (strchr("\"'\\$`", *at))
				*at = ' ';
		output_line(&mesh->output, "scontrol update nodename=%s state=drain reason=\"%s\"",
			mesh->list.names[host], reason);
	}
}

/* The verdict in a sentence and a word; the exit status. */
static enum exit_status conclude(const struct mesh *mesh, const struct verdict *verdict,
	char message[VERDICT_TEXT_SIZE], const char **word)
{
	bool bad = verdict->count > 0 || verdict->unmeasured > 0;

	*message = '\0';
	text_append(message, VERDICT_TEXT_SIZE, "%u of %u directions are healthy", verdict->good,
		verdict->directions);
	if (verdict->slow > 0)
		text_append(message, VERDICT_TEXT_SIZE, ", %u slow", verdict->slow);
	if (verdict->broken > 0)
		text_append(message, VERDICT_TEXT_SIZE, ", %u failed", verdict->broken);
	if (verdict->unmeasured > 0)
		text_append(message, VERDICT_TEXT_SIZE, ", %u not measured", verdict->unmeasured);
	if (verdict->untried > 0)
		text_append(
			message, VERDICT_TEXT_SIZE, ", %u left out by --quick", verdict->untried);
	*word = is_interrupted(mesh)  ? "incomplete"
		: verdict->good == 0  ? "broken"
		: !bad                ? "healthy"
		: verdict->count == 0 ? "incomplete"
		: verdict->decided    ? "bad"
				      : "undecided";
	if (mesh->ready_count < 2 && verdict->good + verdict->slow + verdict->broken == 0)
		return is_interrupted(mesh) ? STATUS_FAILED : STATUS_CONNECT;
	return bad || is_interrupted(mesh) ? STATUS_FAILED : STATUS_OK;
}

static void print_summary(
	struct mesh *mesh, const struct verdict *verdict, const char *word, const char *message)
{
	char line[VERDICT_TEXT_SIZE + 160], rate[MESH_RATE_SIZE], latency[MESH_RATE_SIZE];

	snprintf(line, sizeof(line), "%s: %s", word, message);
	if (verdict->good > 0 && verdict->latency.measured > 0 && !verdict->of_link) {
		results_rate_text(rate, exp(verdict->bandwidth.typical));
		results_latency_text(latency, (uint64_t)exp(-verdict->latency.typical));
		text_append(line, sizeof(line), "; typical: %s, %s", rate, latency);
	}
	print_colored(mesh, line, strlen(word), strcmp(word, "healthy") == 0);
}

/* No pair is dropped silently: except with --quick, one that was not tried was not measured. */
static void mark_missing(struct mesh *mesh)
{
	for (unsigned int from = 0; from < mesh->list.count; from++)
		for (unsigned int to = 0; to < mesh->list.count; to++) {
			struct mesh_result *result = results_bandwidth(&mesh->results, from, to);
			bool ready = mesh->coordinator.hosts[from].state == MESH_HOST_READY &&
				     mesh->coordinator.hosts[to].state == MESH_HOST_READY;

			if (result->state == MESH_UNTRIED &&
				(!ready || !mesh->options->mesh.quick || is_interrupted(mesh)))
				result->state = MESH_NOT_MEASURED;
		}
}

/* Prints the error of a file, if it is one. Returns it. */
static int check_file(const struct mesh *mesh, const char *path, int error)
{
	if (error)
		output_error(&mesh->output, "cannot write %s: %s", path, strerror(-error));
	return error;
}

/* Writes the files of --html and --metrics. Returns 0, or -errno after an error was printed. */
static int write_files(const struct mesh *mesh, const struct verdict *verdict, const char *word,
	const char *message)
{
	const struct options_mesh *options = &mesh->options->mesh;
	const struct page page = {&mesh->coordinator, &mesh->results, verdict, word, message};
	const char *metrics = mesh->options->metrics;
	int error = 0;

	if (options->html)
		error = check_file(mesh, options->html, page_write(&page, options->html));
	if (metrics && !error)
		error = check_file(mesh, metrics,
			metrics_write(&mesh->results, verdict, &mesh->coordinator, metrics));
	return error;
}

static enum exit_status report(struct mesh *mesh)
{
	unsigned int columns = output_columns(&mesh->output);
	char message[VERDICT_TEXT_SIZE];
	enum exit_status status;
	struct verdict verdict;
	const char *word;

	mark_missing(mesh);
	if (verdict_make(&verdict, &mesh->results, &mesh->coordinator)) {
		output_error(&mesh->output, "out of memory");
		verdict_free(&verdict);
		return STATUS_FAILED;
	}
	matrix_print(&mesh->results, &verdict, columns ? columns : COLUMNS, print_line, mesh);
	print_findings(mesh, &verdict);
	status = conclude(mesh, &verdict, message, &word);
	print_summary(mesh, &verdict, word, message);
	print_drain(mesh, &verdict);
	if (mesh->options->json)
		document_print(mesh_line_summary(
			&mesh->coordinator, &verdict, status, word, message, mesh->rounds));
	if (write_files(mesh, &verdict, word, message))
		status = STATUS_FAILED;
	verdict_free(&verdict);
	return status;
}

/* Starting. */

/* Makes the token, or loads that of --secret-file, which the agents have. */
static int take_token(struct mesh *mesh, char token[SECRET_TEXT_SIZE])
{
	struct failure failure = {0};
	char path[SECRET_PATH_SIZE];
	int file = -1;

	*token = '\0';
	if (mesh->options->mesh.via != VIA_NONE) {
		secret_make(token);
		file = secret_keep(token, path);
		if (file < 0) {
			output_error(&mesh->output, "cannot keep the token in memory: %s",
				strerror(-file));
			return -1;
		}
	}
	startup_secret(
		&mesh->coordinator.token, file >= 0 ? path : mesh->options->secret_file, &failure);
	if (file >= 0)
		close(file);
	if (failure_is_set(&failure))
		output_failure(&mesh->output, &failure, NULL);
	return failure_is_set(&failure) ? -1 : 0;
}

/* Tells who starts the agents what to start. */
static void print_agent_command(struct mesh *mesh)
{
	char addresses[1024] = "";

	for (unsigned int i = 0; i < mesh->coordinator.address_count; i++)
		text_append(addresses, sizeof(addresses), " %s", mesh->coordinator.addresses[i]);
	if (mesh->options->mesh.via == VIA_NONE)
		output_line(&mesh->output,
			"at each host: rdma-client mesh-agent %u%s "
			"--secret-file FILE",
			mesh->coordinator.port, addresses);
}

static enum exit_status run(struct mesh *mesh)
{
	char why[MESH_REASON_SIZE], token[SECRET_TEXT_SIZE];
	enum exit_status status = STATUS_CONNECT;

	if (take_token(mesh, token))
		return STATUS_FAILED;
	mesh->coordinator.options = mesh->options;
	mesh->coordinator.output = &mesh->output;
	mesh->coordinator.list = &mesh->list;
	mesh->coordinator.listener = (struct mesh_listener){take_outcome, show_progress, mesh};
	if (coordinator_open(&mesh->coordinator, why) ||
		coordinator_launch(&mesh->coordinator, token, why)) {
		output_error(&mesh->output, "%s", why);
	} else {
		print_agent_command(mesh);
		measure(mesh);
		status = report(mesh);
	}
	secret_forget(token, sizeof(token));
	coordinator_close(&mesh->coordinator);
	return status;
}

enum exit_status mesh_run(const struct options *options, const char *program, int *signal)
{
	struct mesh *mesh = calloc(1, sizeof(*mesh));
	struct output output = startup_output(program, options);
	char why[MESH_REASON_SIZE];
	enum exit_status status = STATUS_USAGE;

	if (!mesh) {
		output_error(&output, "out of memory");
		return output_finish(&output, STATUS_FAILED);
	}
	mesh->options = options;
	mesh->output = output;
	if (host_list_read(options, &mesh->list, why) ||
		(options->mesh.topology &&
			topology_read(&mesh->topology, options->mesh.topology, &mesh->list, why))) {
		output_error(&output, "%s", why);
	} else {
		mesh->ready = calloc(mesh->list.count, sizeof(mesh->ready[0]));
		mesh->failures = calloc(mesh->list.count, sizeof(mesh->failures[0]));
		if (results_make(&mesh->results, &mesh->list, &mesh->topology) || !mesh->ready ||
			!mesh->failures) {
			output_error(&output, "out of memory");
			status = STATUS_FAILED;
		} else {
			status = run(mesh);
		}
	}
	*signal = mesh->coordinator.signal;
	results_free(&mesh->results);
	topology_free(&mesh->topology);
	host_list_free(&mesh->list);
	free(mesh->ready);
	free(mesh->failures);
	free(mesh);
	return output_finish(&output, status);
}

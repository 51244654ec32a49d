/*
 * See mesh/mesh.h. The stages: start the agents; for each rail, latency of all pairs and bandwidth
 * of all pairs, in rounds; repeated tests of what looks bad. Then the verdict.
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
#include "mesh/rails.h"

/* Passes of repeated tests, and tests of each, in addition to some for each host. */
#define RETEST_PASSES 3
#define RETESTS_MIN   32
#define RETESTS_HOST  4

/* A host whose first latency tests all fail is left out of the rest. */
#define FAILURES_MAX 4

/* What a latency test takes, about. */
#define LATENCY_STAGE_MS 1500

/* Of lines that continue one. */
#define INDENT 2

/* Of tables that do not go to a terminal. */
#define COLUMNS 80

/* Below this part of the typical rate, it is told from where on a direction counts as slow. */
#define LIMIT_TOLD 0.5

/* Below this one, none does. */
#define LIMIT_NONE 0.01

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
	struct rails rails;
	struct mesh_results *results; /* of each rail */
	unsigned int first, last;     /* the rails that are measured: from first, before last */
	unsigned int *ready;          /* the hosts of the schedule */
	unsigned int ready_count;
	/* Of each rail and host: latency tests that failed, until one succeeds. */
	unsigned int *failures;
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
static void add_direction(char *line, size_t size, const struct mesh_results *results,
	unsigned int from, unsigned int to)
{
	const struct mesh_result *result = results_bandwidth(results, from, to);
	char rate[MESH_RATE_SIZE];

	if (result->state == MESH_GOOD)
		results_rate_text(rate, (double)result->bytes_per_second);
	else
		snprintf(rate, sizeof(rate), "%s",
			result->state == MESH_BROKEN ? "failed" : "not measured");
	text_append(line, size, "%s -> %s %s, ", results->list->names[from],
		results->list->names[to], rate);
}

/* Prints the line of a pair, once both directions are over. */
static void print_pair(struct mesh *mesh, const struct mesh_test *test)
{
	const struct mesh_results *results = &mesh->results[test->rail];
	unsigned int one = test->from, other = test->to;
	const struct mesh_result *latency = results_latency(results, one, other);
	const struct mesh_result *there = results_bandwidth(results, one, other);
	const struct mesh_result *back = results_bandwidth(results, other, one);
	const char *message = there->message ? there->message : back->message;
	char line[1024] = "", text[MESH_RATE_SIZE];

	if (there->state == MESH_UNTRIED || back->state == MESH_UNTRIED)
		return;
	if (results->named)
		text_append(line, sizeof(line), "%s: ", results->rail->name);
	add_direction(line, sizeof(line), results, one, other);
	add_direction(line, sizeof(line), results, other, one);
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
	const struct mesh_results *results = &mesh->results[test->rail];
	char text[MESH_RATE_SIZE] = "failed";

	if (outcome->good && test->latency)
		results_latency_text(text, outcome->median_ns);
	else if (outcome->good)
		results_rate_text(text, (double)outcome->bytes_per_second);
	output_line(&mesh->output, "again: %s%s%s -> %s %s%s%s",
		results->named ? results->rail->name : "", results->named ? ": " : "",
		mesh->list.names[test->from], mesh->list.names[test->to], text,
		*outcome->message ? ": " : "", outcome->message);
}

static unsigned int *failures_of(const struct mesh *mesh, unsigned int rail, unsigned int host)
{
	return &mesh->failures[(size_t)rail * mesh->list.count + host];
}

static void take_outcome(
	void *user, const struct mesh_test *test, const struct mesh_outcome *outcome)
{
	struct mesh *mesh = user;
	struct json_object *line;

	results_add(&mesh->results[test->rail], test, outcome);
	mesh->done++;
	if (mesh->options->json) {
		line = mesh_line_test(&mesh->coordinator, test, outcome, mesh->stage);
		document_print(line);
	}
	if (mesh->repeats)
		print_again(mesh, test, outcome);
	else if (!test->latency)
		print_pair(mesh, test);
	if (!test->latency || !outcome->measured)
		return;
	for (int i = 0; i < 2; i++) {
		unsigned int *failures = failures_of(mesh, test->rail, i ? test->to : test->from);

		if (outcome->good)
			*failures = FAILURES_MAX + 1;
		else if (*failures < FAILURES_MAX)
			++*failures;
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
	if (mesh->last - mesh->first == 1 && mesh->coordinator.rail_count > 1)
		text_append(
			line, sizeof(line), " of %.64s", mesh->coordinator.rails[mesh->first].name);
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

/* True if a test of a rail may succeed: with hosts that are ready, and have not always failed. */
static bool is_hopeful(const struct mesh *mesh, const struct mesh_test *test)
{
	const struct mesh_rail *rail = &mesh->coordinator.rails[test->rail];

	return coordinator_is_ready(&mesh->coordinator, test->from, rail, MESH_FROM) &&
	       coordinator_is_ready(&mesh->coordinator, test->to, rail, MESH_TO) &&
	       *failures_of(mesh, test->rail, test->from) != FAILURES_MAX &&
	       *failures_of(mesh, test->rail, test->to) != FAILURES_MAX;
}

/* Collects the hosts that take part in the rails which are measured. */
static void find_ready(struct mesh *mesh)
{
	mesh->ready_count = 0;
	for (unsigned int i = 0; i < mesh->list.count; i++) {
		bool ready = false;

		for (unsigned int rail = mesh->first; rail < mesh->last; rail++)
			ready |= is_hopeful(mesh, &(struct mesh_test){i, i, false, rail});
		if (ready)
			mesh->ready[mesh->ready_count++] = i;
	}
}

/* Prints the hosts that cannot be tested, and warnings about the addresses of others. */
static void print_host(struct mesh *mesh, unsigned int number)
{
	const struct mesh_host *host = &mesh->coordinator.hosts[number];
	const struct mesh_rail *rails = mesh->coordinator.rails;

	for (unsigned int rail = 0; rail < mesh->coordinator.rail_count; rail++) {
		const char *reason =
			coordinator_reason(&mesh->coordinator, number, &rails[rail], MESH_FROM);
		char label[MESH_LABEL_SIZE];

		if (!mesh_rail_is_plain(&rails[rail]))
			continue;
		if (mesh->options->json)
			document_print(mesh_line_host(&mesh->coordinator, number, &rails[rail]));
		if (!reason || (host->state != MESH_HOST_READY && rail > 0))
			continue;
		output_line_warning(&mesh->output, "%s cannot be tested: %s",
			host->state != MESH_HOST_READY ? mesh->list.names[number]
						       : results_rail_label(&mesh->results[rail],
								 mesh->list.names[number], label),
			reason);
	}
}

/* Prints which hosts have interfaces that answer ARP for each other, and the cure. */
static void print_flux(struct mesh *mesh)
{
	const struct mesh_host *hosts = mesh->coordinator.hosts;
	unsigned int first = 0, count = 0;

	for (unsigned int i = mesh->list.count; i-- > 0;)
		if (*hosts[i].warning) {
			first = i;
			count++;
		}
	if (count == 0)
		return;
	output_line_warning(&mesh->output,
		"%u of %u hosts have ARP flux, so peers may reach the wrong interface: at %s, %s; "
		"there: sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 "
		"net.ipv4.conf.all.rp_filter=2",
		count, mesh->list.count, mesh->list.names[first], hosts[first].warning);
}

static void print_hosts(struct mesh *mesh)
{
	const struct coordinator *coordinator = &mesh->coordinator;
	unsigned int pairs =
		mesh->ready_count ? mesh->ready_count * (mesh->ready_count - 1) / 2 : 0;
	char rails[MESH_REASON_SIZE] = "", text[64];

	for (unsigned int i = 0; i < mesh->list.count; i++)
		print_host(mesh, i);
	differences_print(coordinator, print_line, mesh);
	rails_print_left_out(&mesh->rails, coordinator, print_line, mesh);
	print_flux(mesh);
	for (unsigned int i = 0; coordinator->rail_count > 1 && i < coordinator->rail_count; i++)
		text_append(rails, sizeof(rails), "%s %s",
			i ? "," : "; rails:", coordinator->rails[i].name);
	snprintf(text, sizeof(text), "%u%s%s", pairs, *rails ? " of each" : "",
		mesh->options->mesh.quick ? ", of which --quick tests some" : "");
	output_line(&mesh->output, "%u of %u hosts are ready, started by %s%s; pairs: %s",
		mesh->ready_count, mesh->list.count, launcher_name(&coordinator->launcher), rails,
		text);
}

/*
 * The tests of one round, which has these pairs, of each rail that is measured: a latency for each
 * pair, or both directions. Hosts that have never succeeded are left out. Returns their number.
 */
static unsigned int make_round(
	const struct mesh *mesh, unsigned int round, bool latency, struct mesh_test *tests)
{
	struct mesh_pair pairs[MESH_HOSTS_MAX / 2];
	unsigned int pair_count =
		schedule_round(mesh->ready_count, mesh->options->mesh.quick, round, pairs);
	unsigned int count = 0;

	for (int back = 0; back < (latency ? 1 : 2); back++)
		for (unsigned int rail = mesh->first; rail < mesh->last; rail++)
			for (unsigned int i = 0; i < pair_count; i++) {
				unsigned int one = mesh->ready[pairs[i].first];
				unsigned int other = mesh->ready[pairs[i].second];

				tests[count] = back ? (struct mesh_test){other, one, latency, rail}
						    : (struct mesh_test){one, other, latency, rail};
				count += is_hopeful(mesh, &tests[count]);
			}
	return count;
}

/* What is expected of the stages after this one, of the same rails and of those after them. */
static int64_t estimate(const struct mesh *mesh, unsigned int rounds, bool latency)
{
	int64_t bandwidth = (int64_t)rounds * 2 * (mesh->options->measure.duration + 1000);
	int64_t both = bandwidth + (int64_t)rounds * LATENCY_STAGE_MS;
	unsigned int step = mesh->last - mesh->first;
	unsigned int left = (mesh->coordinator.rail_count - mesh->last) / step;

	return (latency ? bandwidth : 0) + left * both;
}

static void run_rounds(struct mesh *mesh, const char *stage, bool latency)
{
	unsigned int rounds, each;
	struct mesh_test *tests;

	find_ready(mesh);
	each = mesh->ready_count / 2 * (latency ? 1 : 2) * (mesh->last - mesh->first);
	tests = each ? calloc(each + 1, sizeof(*tests)) : NULL;
	if (!tests)
		return;
	rounds = schedule_rounds(mesh->ready_count, mesh->options->mesh.quick);
	begin_stage(mesh, stage, rounds * each);
	mesh->estimate_ms = estimate(mesh, rounds, latency);
	mesh->rounds = rounds;
	for (unsigned int round = 0; round < rounds && !is_interrupted(mesh); round++) {
		unsigned int count = make_round(mesh, round, latency, tests);

		coordinator_run(&mesh->coordinator, tests, count, mesh->options->mesh.concurrency);
		mesh->done = (round + 1) * each;
	}
	free(tests);
}

/* What could not connect in the latency stage, and was left out of the next one, has failed. */
static void adopt_failures(struct mesh_results *results)
{
	for (unsigned int from = 0; from < results->list->count; from++)
		for (unsigned int to = 0; to < results->list->count; to++) {
			const struct mesh_result *latency = results_latency(results, from, to);
			struct mesh_result *result = results_bandwidth(results, from, to);

			if (from == to || latency->state != MESH_BROKEN ||
				result->state != MESH_UNTRIED)
				continue;
			result->state = MESH_BROKEN;
			result->message = latency->message ? strdup(latency->message) : NULL;
		}
}

/* Stores what should be tested again on all rails. Returns the number of tests. */
static unsigned int find_retests(
	const struct mesh *mesh, struct mesh_test *tests, unsigned int size)
{
	unsigned int count = 0;

	for (unsigned int rail = 0; rail < mesh->coordinator.rail_count; rail++) {
		const struct mesh_results *results = &mesh->results[rail];
		struct verdict verdict;

		if (verdict_make(&verdict, results, &mesh->coordinator) == 0)
			count += verdict_retests(&verdict, results, tests + count, size);
		verdict_free(&verdict);
	}
	return count;
}

/* Repeats what looks bad, so that nothing is accused that was slow only once. */
static void retest(struct mesh *mesh)
{
	unsigned int size = RETESTS_MIN + RETESTS_HOST * mesh->list.count;
	struct mesh_test *tests =
		calloc((size_t)size * mesh->coordinator.rail_count, sizeof(*tests));
	unsigned int count = 1;

	mesh->first = 0;
	mesh->last = mesh->coordinator.rail_count;
	for (int pass = 0; tests && pass < RETEST_PASSES && count > 0 && !is_interrupted(mesh);
		pass++) {
		count = find_retests(mesh, tests, size);
		begin_stage(mesh, "retest", count);
		mesh->repeats = true;
		coordinator_run(&mesh->coordinator, tests, count, mesh->options->mesh.concurrency);
	}
	free(tests);
}

/* Chooses the rails, and makes room for their results. Returns 0 or -ENOMEM. */
static int make_rails(struct mesh *mesh)
{
	struct coordinator *coordinator = &mesh->coordinator;

	if (rails_choose(&mesh->rails, coordinator) ||
		coordinator_set_rails(coordinator, mesh->rails.list, mesh->rails.count))
		return -ENOMEM;
	mesh->results = calloc(mesh->rails.count, sizeof(mesh->results[0]));
	mesh->failures =
		calloc((size_t)mesh->rails.count * mesh->list.count, sizeof(mesh->failures[0]));
	if (!mesh->results || !mesh->failures)
		return -ENOMEM;
	for (unsigned int rail = 0; rail < mesh->rails.count; rail++) {
		if (results_make(&mesh->results[rail], &mesh->list, &mesh->topology))
			return -ENOMEM;
		mesh->results[rail].rail = &mesh->rails.list[rail];
		mesh->results[rail].number = rail;
		mesh->results[rail].named = mesh->rails.count > 1;
	}
	mesh->last = mesh->rails.count;
	return 0;
}

/* Returns 0, or -ENOMEM: nothing was measured. */
static int measure(struct mesh *mesh)
{
	unsigned int step;

	begin_stage(mesh, "starting agents", 0);
	coordinator_gather(&mesh->coordinator);
	if (make_rails(mesh))
		return -ENOMEM;
	find_ready(mesh);
	if (is_interrupted(mesh))
		return 0;
	print_hosts(mesh);
	step = mesh->options->mesh.together ? mesh->rails.count : 1;
	for (mesh->first = 0; mesh->first < mesh->rails.count; mesh->first += step) {
		mesh->last = mesh->first + step;
		if (!is_interrupted(mesh))
			run_rounds(mesh, "latency", true);
		if (!is_interrupted(mesh))
			run_rounds(mesh, "bandwidth", false);
	}
	for (unsigned int rail = 0; rail < mesh->rails.count; rail++)
		adopt_failures(&mesh->results[rail]);
	if (!is_interrupted(mesh))
		retest(mesh);
	output_progress(&mesh->output, NULL);
	return 0;
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

/* Prints the matrix of each rail. */
static void print_matrices(struct mesh *mesh, const struct judgement *judgement)
{
	unsigned int columns = output_columns(&mesh->output);

	for (unsigned int rail = 0; rail < judgement->rail_count; rail++) {
		if (judgement->rail_count > 1)
			output_line(&mesh->output, "rail %s:", mesh->rails.list[rail].name);
		matrix_print(&mesh->results[rail], &judgement->verdicts[rail],
			columns ? columns : COLUMNS, print_line, mesh);
	}
}

static void print_findings(struct mesh *mesh, const struct judgement *judgement)
{
	for (unsigned int i = 0; i < judgement->count; i++) {
		char line[VERDICT_TEXT_SIZE + 16];

		if (mesh->options->json)
			document_print(mesh_line_finding(judgement, &judgement->findings[i]));
		if (i == FINDINGS_SHOWN)
			output_line(&mesh->output, "and %u more: see --json or --html",
				judgement->count - i);
		if (i >= FINDINGS_SHOWN)
			continue;
		snprintf(line, sizeof(line), "bad: %s", judgement->findings[i].text);
		print_colored(mesh, line, strlen("bad"), false);
	}
}

/* Prints commands that take the bad hosts out of service. */
static void print_drain(struct mesh *mesh, const struct judgement *judgement)
{
	for (unsigned int i = 0; mesh->options->mesh.suggest_drain && i < judgement->count; i++) {
		const struct finding *finding = &judgement->findings[i];
		unsigned int host = finding->accusation.one;
		char reason[128];

		if (!verdict_is_of_host(&finding->accusation) || finding->kind == VERDICT_LINK ||
			judgement->drained[host] != 1)
			continue;
		judgement->drained[host] = 2; /* once */
		snprintf(reason, sizeof(reason), "%.120s", finding->text);
		for (char *at = reason; *at; at++)
			if (strchr("\"'\\$`", *at))
				*at = ' ';
		output_line(&mesh->output, "scontrol update nodename=%s state=drain reason=\"%s\"",
			mesh->list.names[host], reason);
	}
}

/* Tells that the noise hides what is slow. */
static void add_noise(const struct judgement *judgement, char message[VERDICT_TEXT_SIZE])
{
	const char *rail;
	double limit = judgement_limit(judgement, &rail);

	if (limit >= LIMIT_TOLD)
		return;
	text_append(message, VERDICT_TEXT_SIZE, "; the rates%s%s vary so much that ",
		*rail ? " of " : "", rail);
	if (limit < LIMIT_NONE)
		text_append(message, VERDICT_TEXT_SIZE, "no direction counts as slow by itself");
	else
		text_append(message, VERDICT_TEXT_SIZE,
			"a direction counts as slow only below %.0f %% of the typical one",
			100 * limit);
}

/* The verdict in a sentence and a word; the exit status. */
static enum exit_status conclude(const struct mesh *mesh, const struct judgement *judgement,
	char message[VERDICT_TEXT_SIZE], const char **word)
{
	bool bad = judgement->count > 0 || judgement->unmeasured > 0;

	*message = '\0';
	text_append(message, VERDICT_TEXT_SIZE, "%u of %u directions are healthy", judgement->good,
		judgement->directions);
	if (judgement->slow > 0)
		text_append(message, VERDICT_TEXT_SIZE, ", %u slow", judgement->slow);
	if (judgement->broken > 0)
		text_append(message, VERDICT_TEXT_SIZE, ", %u failed", judgement->broken);
	if (judgement->unmeasured > 0)
		text_append(message, VERDICT_TEXT_SIZE, ", %u not measured", judgement->unmeasured);
	if (judgement->untried > 0)
		text_append(
			message, VERDICT_TEXT_SIZE, ", %u left out by --quick", judgement->untried);
	if (!is_interrupted(mesh))
		add_noise(judgement, message);
	*word = is_interrupted(mesh)                     ? "incomplete"
		: judgement->good + judgement->slow == 0 ? "broken"
		: !bad                                   ? "healthy"
		: judgement->count == 0                  ? "incomplete"
		: judgement->decided                     ? "bad"
							 : "undecided";
	if (mesh->ready_count < 2 && judgement->good + judgement->slow + judgement->broken == 0)
		return is_interrupted(mesh) ? STATUS_FAILED : STATUS_CONNECT;
	return bad || is_interrupted(mesh) ? STATUS_FAILED : STATUS_OK;
}

static void print_summary(
	struct mesh *mesh, const struct judgement *judgement, const char *word, const char *message)
{
	char line[2 * VERDICT_TEXT_SIZE], typical[VERDICT_TEXT_SIZE];

	snprintf(line, sizeof(line), "%s: %s", word, message);
	judgement_typical(judgement, typical, sizeof(typical));
	if (*typical)
		text_append(line, sizeof(line), "; typical: %s", typical);
	print_colored(mesh, line, strlen(word), strcmp(word, "healthy") == 0);
}

/* No pair is dropped silently: except with --quick, one that was not tried was not measured. */
static void mark_missing(struct mesh *mesh, unsigned int rail)
{
	const struct mesh_results *results = &mesh->results[rail];

	for (unsigned int from = 0; from < mesh->list.count; from++)
		for (unsigned int to = 0; to < mesh->list.count; to++) {
			struct mesh_result *result = results_bandwidth(results, from, to);
			bool ready = coordinator_is_ready(
					     &mesh->coordinator, from, results->rail, MESH_FROM) &&
				     coordinator_is_ready(
					     &mesh->coordinator, to, results->rail, MESH_TO);

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
static int write_files(const struct mesh *mesh, const struct judgement *judgement, const char *word,
	const char *message)
{
	const struct options_mesh *options = &mesh->options->mesh;
	const struct page page = {judgement, word, message};
	const char *metrics = mesh->options->metrics;
	int error = 0;

	if (options->html)
		error = check_file(mesh, options->html, page_write(&page, options->html));
	if (metrics && !error)
		error = check_file(mesh, metrics, metrics_write(judgement, metrics));
	return error;
}

static enum exit_status report(struct mesh *mesh)
{
	char message[VERDICT_TEXT_SIZE];
	struct judgement judgement;
	enum exit_status status;
	const char *word;

	for (unsigned int rail = 0; rail < mesh->rails.count; rail++)
		mark_missing(mesh, rail);
	if (judgement_make(&judgement, mesh->results, &mesh->coordinator)) {
		output_error(&mesh->output, "out of memory");
		judgement_free(&judgement);
		return STATUS_FAILED;
	}
	print_matrices(mesh, &judgement);
	print_findings(mesh, &judgement);
	status = conclude(mesh, &judgement, message, &word);
	print_summary(mesh, &judgement, word, message);
	print_drain(mesh, &judgement);
	for (unsigned int rail = 0;
		mesh->options->json && mesh->rails.count > 1 && rail < mesh->rails.count; rail++)
		document_print(mesh_line_rail(&judgement, rail));
	if (mesh->options->json)
		document_print(mesh_line_summary(&judgement, status, word, message, mesh->rounds));
	if (write_files(mesh, &judgement, word, message))
		status = STATUS_FAILED;
	judgement_free(&judgement);
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
		if (measure(mesh) == 0) {
			status = report(mesh);
		} else {
			output_error(&mesh->output, "out of memory");
			status = STATUS_FAILED;
		}
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
		if (!mesh->ready)
			output_error(&output, "out of memory");
		status = mesh->ready ? run(mesh) : STATUS_FAILED;
	}
	*signal = mesh->coordinator.signal;
	for (unsigned int rail = 0; mesh->results && rail < mesh->rails.count; rail++)
		results_free(&mesh->results[rail]);
	free(mesh->results);
	rails_free(&mesh->rails);
	topology_free(&mesh->topology);
	host_list_free(&mesh->list);
	free(mesh->ready);
	free(mesh->failures);
	free(mesh);
	return output_finish(&output, status);
}

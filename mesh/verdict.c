/* See mesh/verdict.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "mesh/verdict.h"

/* A rate below this part of the typical one is low, and a latency above this multiple. */
#define RATE_MIN    0.8
#define LATENCY_MAX 2.1

/* Directions that are tested again of what an accused host or group sends, or receives. */
#define RETESTS_OF_LINE 3

/*
 * How often a direction is repeated that no host or group explains: it has no other evidence
 * than its own tests, each of which a busy processor may have disturbed.
 */
#define RETESTS_OF_DIRECTION 3

const char *verdict_kind_name(enum accused kind)
{
	static const char *const names[] = {
		[ACCUSED_GROUP] = "group",
		[ACCUSED_GROUP_EGRESS] = "group-egress",
		[ACCUSED_GROUP_INGRESS] = "group-ingress",
		[ACCUSED_GROUPS] = "groups",
		[ACCUSED_HOST] = "host",
		[ACCUSED_EGRESS] = "egress",
		[ACCUSED_INGRESS] = "ingress",
		[ACCUSED_PAIR] = "pair",
		[ACCUSED_DIRECTION] = "direction",
	};

	return names[kind];
}

bool verdict_is_of_host(const struct accusation *accusation)
{
	return accusation->kind >= ACCUSED_HOST && accusation->kind <= ACCUSED_INGRESS;
}

const char *verdict_culprit(const struct mesh_results *results, const struct accusation *accusation,
	unsigned int number)
{
	return accusation->kind <= ACCUSED_GROUPS ? results->topology->names[number]
						  : results->list->names[number];
}

/* Appends a finding, whose text is empty. Returns NULL without memory. */
static struct finding *add(struct verdict *verdict, enum verdict_kind kind)
{
	if (verdict->count == verdict->capacity) {
		unsigned int capacity = verdict->capacity ? 2 * verdict->capacity : 16;
		void *grown = realloc(verdict->findings, capacity * sizeof(verdict->findings[0]));

		if (!grown)
			return NULL;
		verdict->findings = grown;
		verdict->capacity = capacity;
	}
	verdict->findings[verdict->count] = (struct finding){.kind = kind};
	return &verdict->findings[verdict->count++];
}

/* Sentences. */

void verdict_accuse(char text[VERDICT_TEXT_SIZE], enum accused kind, const char *one,
	const char *other, const char *of)
{
	switch (kind) {
	case ACCUSED_HOST:
		text_append(text, VERDICT_TEXT_SIZE, "%s is %s in both directions", one, of);
		break;
	case ACCUSED_EGRESS:
		text_append(text, VERDICT_TEXT_SIZE, "%s is %s when it sends", one, of);
		break;
	case ACCUSED_INGRESS:
		text_append(text, VERDICT_TEXT_SIZE, "%s is %s when it receives", one, of);
		break;
	case ACCUSED_PAIR:
		text_append(text, VERDICT_TEXT_SIZE, "the pair %s and %s is %s", one, other, of);
		break;
	case ACCUSED_DIRECTION:
		text_append(
			text, VERDICT_TEXT_SIZE, "the direction %s -> %s is %s", one, other, of);
		break;
	case ACCUSED_GROUP:
		text_append(text, VERDICT_TEXT_SIZE, "the group %s is %s from and to other groups",
			one, of);
		break;
	case ACCUSED_GROUP_EGRESS:
		text_append(text, VERDICT_TEXT_SIZE,
			"the group %s is %s when it sends to other groups", one, of);
		break;
	case ACCUSED_GROUP_INGRESS:
		text_append(text, VERDICT_TEXT_SIZE,
			"the group %s is %s when it receives from other groups", one, of);
		break;
	case ACCUSED_GROUPS:
		text_append(
			text, VERDICT_TEXT_SIZE, "from group %s to group %s is %s", one, other, of);
		break;
	}
}

/* Appends what an accusation accuses of this, with its rail if there are several. */
static void name_culprit(char *text, const struct mesh_results *results,
	const struct accusation *accusation, const char *of)
{
	const char *one = verdict_culprit(results, accusation, accusation->one);
	const char *other = verdict_culprit(results, accusation, accusation->other);
	char first[MESH_LABEL_SIZE], second[MESH_LABEL_SIZE];

	switch (accusation->kind) {
	case ACCUSED_EGRESS:
	case ACCUSED_GROUP_EGRESS:
	case ACCUSED_DIRECTION:
	case ACCUSED_GROUPS:
		results_label(results, one, MESH_FROM, first);
		results_label(results, other, MESH_TO, second);
		break;
	case ACCUSED_INGRESS:
	case ACCUSED_GROUP_INGRESS:
		results_label(results, one, MESH_TO, first);
		*second = '\0';
		break;
	case ACCUSED_HOST:
	case ACCUSED_GROUP:
	case ACCUSED_PAIR:
		results_rail_label(results, one, first);
		results_rail_label(results, other, second);
		break;
	}
	verdict_accuse(text, accusation->kind, first, second, of);
	text_append(text, VERDICT_TEXT_SIZE, ": ");
}

/* Why an accusation of a pair decides nothing. */
static void add_doubt(
	char *text, const struct mesh_results *results, const struct accusation *accusation)
{
	char label[MESH_LABEL_SIZE];

	if (!accusation->undecided)
		return;
	if (accusation->suspect < results->list->count)
		text_append(text, VERDICT_TEXT_SIZE,
			"; cannot tell whether it is %s, which has too few healthy partners",
			results_rail_label(
				results, results->list->names[accusation->suspect], label));
	else
		text_append(text, VERDICT_TEXT_SIZE,
			"; cannot tell which end or what between them: test with more hosts");
}

/* The message of the first of the directions that failed. */
static const char *failure_of(
	const struct mesh_results *results, const struct accusation *accusation)
{
	for (unsigned int i = 0; accusation->kind > ACCUSED_GROUPS && i < results->list->count; i++)
		for (int back = 0; back < 2; back++) {
			unsigned int partner =
				accusation->kind >= ACCUSED_PAIR ? accusation->other : i;
			const struct mesh_result *result =
				back ? results_bandwidth(results, partner, accusation->one)
				     : results_bandwidth(results, accusation->one, partner);

			if (result->state == MESH_BROKEN && result->message)
				return result->message;
		}
	return NULL;
}

/* The typical value: a rate, or a part of the link's. */
static void name_typical(const struct verdict *verdict, char text[MESH_RATE_SIZE])
{
	double typical = exp(verdict->bandwidth.typical);

	if (verdict->of_link)
		snprintf(text, MESH_RATE_SIZE, "%.0f %% of the link rate", 100 * typical);
	else
		results_rate_text(text, typical);
}

/* The length of the cause in a failure's sentence, without evidence and remedy. */
static size_t cause_length(const char *message)
{
	size_t length = strcspn(message, "(;");

	return length > 0 && message[length] == '(' ? length - 1 : length;
}

static void describe_bandwidth(
	struct finding *finding, const struct mesh_results *results, const struct verdict *verdict)
{
	const struct accusation *accusation = &finding->accusation;
	bool all = accusation->failed == accusation->low;
	char typical[MESH_RATE_SIZE];
	const char *message = accusation->failed ? failure_of(results, accusation) : NULL;

	name_culprit(finding->text, results, accusation, all ? "broken" : "slow");
	finding->evidence = strlen(finding->text);
	if (accusation->kind < ACCUSED_PAIR)
		text_append(finding->text, VERDICT_TEXT_SIZE, "%u of %u directions ",
			accusation->low, accusation->of);
	if (!all) {
		name_typical(verdict, typical);
		text_append(finding->text, VERDICT_TEXT_SIZE, "at %.0f %% of the typical %s",
			100 * accusation->level, typical);
	}
	if (accusation->failed)
		text_append(finding->text, VERDICT_TEXT_SIZE, "%sfailed%s%.*s",
			all ? "" : ", some ", message ? ": " : "",
			message ? (int)cause_length(message) : 0, message ? message : "");
	add_doubt(finding->text, results, accusation);
}

static void describe_latency(
	struct finding *finding, const struct mesh_results *results, const struct localisation *by)
{
	const struct accusation *accusation = &finding->accusation;
	char typical[MESH_RATE_SIZE];

	results_latency_text(typical, (uint64_t)exp(-by->typical));
	name_culprit(finding->text, results, accusation, "late");
	finding->evidence = strlen(finding->text);
	text_append(finding->text, VERDICT_TEXT_SIZE,
		"latency of %u of %u pairs %.1f times the "
		"typical %s",
		(accusation->low + 1) / 2, (accusation->of + 1) / 2, 1 / accusation->level,
		typical);
	add_doubt(finding->text, results, accusation);
}

/* Localisation. */

static int localise(struct localisation *localisation, const struct mesh_results *results,
	const double *values, double tolerance, double floor)
{
	localisation->hosts = results->list->count;
	localisation->values = values;
	localisation->groups = results->topology->groups;
	localisation->group_count = results->topology->count;
	localisation->tolerance = tolerance;
	localisation->floor = floor;
	return localisation_run(localisation);
}

static int add_accusations(
	struct verdict *verdict, const struct mesh_results *results, enum verdict_kind kind)
{
	const struct localisation *by =
		kind == VERDICT_LATENCY ? &verdict->latency : &verdict->bandwidth;

	for (size_t i = 0; i < by->accusation_count; i++) {
		const struct accusation *accusation = &by->accusations[i];
		struct finding *finding;

		finding = add(verdict, kind);
		if (!finding)
			return -ENOMEM;
		finding->accusation = *accusation;
		if (kind == VERDICT_LATENCY)
			describe_latency(finding, results, by);
		else
			describe_bandwidth(finding, results, verdict);
		verdict->decided &= !accusation->undecided;
		if (verdict_is_of_host(accusation))
			verdict->drained[accusation->one] = 1;
	}
	return 0;
}

static int add_hosts(struct verdict *verdict, const struct mesh_results *results,
	const struct coordinator *coordinator)
{
	for (unsigned int i = 0; i < coordinator->list->count; i++) {
		const struct mesh_host *host = &coordinator->hosts[i];
		const char *reason = coordinator_reason(coordinator, i, results->rail, MESH_FROM);
		const char *name = coordinator->list->names[i];
		char label[MESH_LABEL_SIZE];
		struct finding *finding;

		if (!reason)
			reason = coordinator_reason(coordinator, i, results->rail, MESH_TO);
		if (!reason)
			continue;
		finding = add(verdict, VERDICT_HOST);
		if (!finding)
			return -ENOMEM;
		finding->accusation = (struct accusation){.kind = ACCUSED_HOST, .one = i};
		if (host->state == MESH_HOST_READY)
			name = results_rail_label(results, name, label);
		snprintf(finding->text, VERDICT_TEXT_SIZE, "%s was not tested%s: %.500s", name,
			host->state == MESH_HOST_LOST ? " completely" : "", reason);
		verdict->drained[i] |= host->state == MESH_HOST_UNUSABLE;
	}
	return 0;
}

/* --expect as the lowest value: a rate, or a part of the link's. */
static double expectation(const struct options *options)
{
	return options->measure.expect > 0 ? log(options->measure.expect) : -INFINITY;
}

/* Reports directions that --expect 90% cannot judge. */
static int check_links(
	struct verdict *verdict, const struct mesh_results *results, const struct options *options)
{
	struct finding *finding;
	unsigned int unknown = 0;

	if (!options->measure.expect_percent)
		return 0;
	for (unsigned int from = 0; from < results->list->count; from++)
		for (unsigned int to = 0; to < results->list->count; to++) {
			const struct mesh_result *result = results_bandwidth(results, from, to);

			unknown += result->state == MESH_GOOD && !result->link_bytes_per_second;
		}
	if (unknown == 0)
		return 0;
	finding = add(verdict, VERDICT_LINK);
	if (!finding)
		return -ENOMEM;
	snprintf(finding->text, VERDICT_TEXT_SIZE,
		"the link rate of %u directions is unknown; give --expect an absolute rate",
		unknown);
	return 0;
}

static void count_directions(struct verdict *verdict, const struct mesh_results *results)
{
	verdict->directions = results->list->count * (results->list->count - 1);
	verdict->broken = results_count(results, MESH_BROKEN);
	verdict->slow = verdict->bandwidth.low_count - verdict->bandwidth.failed;
	verdict->good = results_count(results, MESH_GOOD) - verdict->slow;
	verdict->untried = results_count(results, MESH_UNTRIED);
	verdict->unmeasured = results_count(results, MESH_NOT_MEASURED);
}

int verdict_make(struct verdict *verdict, const struct mesh_results *results,
	const struct coordinator *coordinator)
{
	const struct options *options = coordinator->options;
	const size_t hosts = results->list->count;
	bool interrupted = coordinator->signal != 0;

	*verdict = (struct verdict){
		.bandwidth_values = calloc(hosts * hosts, sizeof(double)),
		.latency_values = calloc(hosts * hosts, sizeof(double)),
		.drained = calloc(hosts, 1),
		.decided = true,
		.of_link = options->measure.expect_percent,
	};
	if (!verdict->bandwidth_values || !verdict->latency_values || !verdict->drained)
		return -ENOMEM;
	for (unsigned int from = 0; from < hosts; from++)
		for (unsigned int to = 0; to < hosts; to++) {
			verdict->bandwidth_values[from * hosts + to] =
				results_bandwidth_value(results, from, to, verdict->of_link);
			verdict->latency_values[from * hosts + to] =
				results_latency_value(results, from, to);
		}
	verdict->bandwidth.least_noise = results_repeatability(results);
	if (localise(&verdict->bandwidth, results, verdict->bandwidth_values,
		    interrupted ? INFINITY : log(1 / RATE_MIN),
		    interrupted ? -INFINITY : expectation(options)) ||
		localise(&verdict->latency, results, verdict->latency_values,
			interrupted ? INFINITY : log(LATENCY_MAX), -INFINITY) ||
		add_hosts(verdict, results, coordinator) ||
		add_accusations(verdict, results, VERDICT_BANDWIDTH) ||
		add_accusations(verdict, results, VERDICT_LATENCY) ||
		check_links(verdict, results, options))
		return -ENOMEM;
	count_directions(verdict, results);
	return 0;
}

void verdict_free(struct verdict *verdict)
{
	localisation_free(&verdict->bandwidth);
	localisation_free(&verdict->latency);
	free(verdict->bandwidth_values);
	free(verdict->latency_values);
	free(verdict->findings);
	free(verdict->drained);
	*verdict = (struct verdict){0};
}

/* Tests to repeat. */

/* Tests that are chosen because of what looks low. */
struct retests {
	const struct mesh_results *results;
	const struct localisation *by; /* of bandwidth, or latency */
	bool latency;
	unsigned int *chosen; /* of each accusation: directions that are sent, and received */
	struct mesh_test *tests;
	unsigned int count, size;
};

/* True if the accusation explains the direction: its host or group sends it, or receives it. */
static bool explains(const struct retests *retests, const struct accusation *accusation,
	unsigned int from, unsigned int to, bool *sends)
{
	const enum accused kind = accusation->kind;

	if (kind <= ACCUSED_GROUPS) {
		from = retests->by->groups[from];
		to = retests->by->groups[to];
	}
	*sends = from == accusation->one && kind != ACCUSED_GROUP_INGRESS &&
		 kind != ACCUSED_INGRESS && (kind != ACCUSED_GROUPS || to == accusation->other);
	return kind < ACCUSED_PAIR && from != to &&
	       (*sends || (to == accusation->one && kind != ACCUSED_GROUP_EGRESS &&
				  kind != ACCUSED_EGRESS && kind != ACCUSED_GROUPS));
}

/*
 * How many tests a low direction may have: if an accusation of a host or group explains it, two, or
 * one if enough others were chosen for that, among which those count that were repeated before.
 */
static unsigned int most_tests(const struct retests *retests, unsigned int from, unsigned int to)
{
	unsigned int most = 1 + RETESTS_OF_DIRECTION;

	for (size_t i = 0; i < retests->by->accusation_count; i++) {
		bool sends;

		if (!explains(retests, &retests->by->accusations[i], from, to, &sends))
			continue;
		if (retests->chosen[2 * i + (sends ? 0 : 1)]++ >= RETESTS_OF_LINE)
			return 1;
		most = 2;
	}
	return most;
}

static unsigned int tests_of(const struct retests *retests, unsigned int from, unsigned int to)
{
	return (retests->latency ? results_latency(retests->results, from, to)
				 : results_bandwidth(retests->results, from, to))
		->tests;
}

/* Chooses low directions, or late pairs, that were tested this many times. */
static void choose_retests(struct retests *retests, unsigned int tested)
{
	const unsigned int hosts = retests->by->hosts;

	memset(retests->chosen, 0, 2 * retests->by->accusation_count * sizeof(unsigned int));
	for (unsigned int from = 0; from < hosts; from++)
		for (unsigned int to = retests->latency ? from + 1 : 0; to < hosts; to++)
			if (retests->by->low[(size_t)from * hosts + to] &&
				most_tests(retests, from, to) > tested &&
				tests_of(retests, from, to) == tested &&
				retests->count < retests->size)
				retests->tests[retests->count++] = (struct mesh_test){
					from, to, retests->latency, retests->results->number};
}

unsigned int verdict_retests(const struct verdict *verdict, const struct mesh_results *results,
	struct mesh_test *tests, unsigned int size)
{
	size_t most = verdict->bandwidth.accusation_count + verdict->latency.accusation_count;
	struct retests retests = {.results = results,
		.chosen = calloc(2 * most + 1, sizeof(unsigned int)),
		.tests = tests,
		.size = size};

	for (unsigned int tested = 1; retests.chosen && tested <= RETESTS_OF_DIRECTION; tested++)
		for (int latency = 0; latency < 2; latency++) {
			retests.latency = latency;
			retests.by = latency ? &verdict->latency : &verdict->bandwidth;
			choose_retests(&retests, tested);
		}
	free(retests.chosen);
	return retests.count;
}

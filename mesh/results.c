/* See mesh/results.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/polish.h"
#include "mesh/results.h"

/* So few repeated tests say nothing about their noise. */
#define REPETITIONS_MIN 3

/* Of a normal distribution: its standard deviation, in medians of the absolute deviation. */
#define DEVIATION 1.4826

int results_make(
	struct mesh_results *results, const struct host_list *list, const struct topology *topology)
{
	static const struct mesh_rail any_device;
	size_t cells = (size_t)list->count * list->count;

	*results = (struct mesh_results){
		.list = list,
		.topology = topology,
		.rail = &any_device,
		.bandwidth = calloc(cells, sizeof(struct mesh_result)),
		.latency = calloc(cells, sizeof(struct mesh_result)),
	};
	if (results->bandwidth && results->latency)
		return 0;
	results_free(results);
	return -ENOMEM;
}

void results_free(struct mesh_results *results)
{
	size_t cells = results->list ? (size_t)results->list->count * results->list->count : 0;

	for (size_t i = 0; results->bandwidth && results->latency && i < cells; i++) {
		free(results->bandwidth[i].message);
		free(results->latency[i].message);
	}
	free(results->bandwidth);
	free(results->latency);
	*results = (struct mesh_results){0};
}

struct mesh_result *results_bandwidth(
	const struct mesh_results *results, unsigned int from, unsigned int to)
{
	return &results->bandwidth[(size_t)from * results->list->count + to];
}

struct mesh_result *results_latency(
	const struct mesh_results *results, unsigned int one, unsigned int other)
{
	unsigned int low = one < other ? one : other, high = one < other ? other : one;

	return &results->latency[(size_t)low * results->list->count + high];
}

static const char *label(const struct mesh_results *results, const char *name, const char *rail,
	char text[MESH_LABEL_SIZE])
{
	snprintf(text, MESH_LABEL_SIZE, "%s%s%s", name, results->named ? "/" : "",
		results->named ? rail : "");
	return text;
}

const char *results_label(const struct mesh_results *results, const char *name, enum mesh_end end,
	char text[MESH_LABEL_SIZE])
{
	return label(results, name, results->rail->device[end], text);
}

const char *results_rail_label(
	const struct mesh_results *results, const char *name, char text[MESH_LABEL_SIZE])
{
	return label(results, name, results->rail->name, text);
}

/* True if the outcome is better than the result so far. */
static bool is_better(const struct mesh_result *result, const struct mesh_test *test,
	const struct mesh_outcome *outcome, enum mesh_state state)
{
	if (state != result->state)
		return state > result->state;
	return test->latency ? outcome->median_ns < result->median_ns
			     : outcome->bytes_per_second > result->bytes_per_second;
}

static void note_repetition(struct mesh_result *result, uint64_t bytes_per_second)
{
	if (result->first_bytes_per_second == 0) {
		result->first_bytes_per_second = bytes_per_second;
		result->repeated = NAN;
	} else if (isnan(result->repeated)) {
		result->repeated =
			log((double)bytes_per_second / (double)result->first_bytes_per_second);
	}
}

void results_add(struct mesh_results *results, const struct mesh_test *test,
	const struct mesh_outcome *outcome)
{
	struct mesh_result *result = test->latency
					     ? results_latency(results, test->from, test->to)
					     : results_bandwidth(results, test->from, test->to);
	enum mesh_state state = outcome->good       ? MESH_GOOD
				: outcome->measured ? MESH_BROKEN
						    : MESH_NOT_MEASURED;

	result->tests += outcome->measured;
	if (outcome->good && !test->latency)
		note_repetition(result, outcome->bytes_per_second);
	if (!is_better(result, test, outcome, state))
		return;
	result->state = state;
	result->bytes_per_second = outcome->bytes_per_second;
	result->link_bytes_per_second = outcome->link_bytes_per_second;
	result->median_ns = outcome->median_ns;
	result->p99_ns = outcome->p99_ns;
	free(result->message);
	result->message = *outcome->message ? strdup(outcome->message) : NULL;
}

double results_bandwidth_value(
	const struct mesh_results *results, unsigned int from, unsigned int to, bool of_link)
{
	const struct mesh_result *result = results_bandwidth(results, from, to);

	if (from == to || result->state < MESH_BROKEN)
		return MESH_UNMEASURED;
	if (result->state == MESH_BROKEN)
		return MESH_FAILED;
	if (of_link && result->link_bytes_per_second == 0)
		return MESH_UNMEASURED;
	return log((double)result->bytes_per_second) -
	       (of_link ? log((double)result->link_bytes_per_second) : 0);
}

/* Whether a pair is connected at all, the bandwidth says: failures count once. */
double results_latency_value(const struct mesh_results *results, unsigned int from, unsigned int to)
{
	const struct mesh_result *result = results_latency(results, from, to);

	if (from == to || result->state != MESH_GOOD)
		return MESH_UNMEASURED;
	return -log((double)result->median_ns);
}

double results_repeatability(const struct mesh_results *results)
{
	const size_t cells = (size_t)results->list->count * results->list->count;
	double *differences = calloc(cells, sizeof(*differences));
	double result = 0;
	size_t count = 0;

	for (size_t i = 0; differences && i < cells; i++)
		if (results->bandwidth[i].first_bytes_per_second > 0 &&
			!isnan(results->bandwidth[i].repeated))
			differences[count++] = fabs(results->bandwidth[i].repeated);
	/* Each is the difference of two tests. */
	if (count >= REPETITIONS_MIN)
		result = DEVIATION * polish_quantile(differences, count, 0.5) / M_SQRT2;
	free(differences);
	return result;
}

unsigned int results_count(const struct mesh_results *results, enum mesh_state state)
{
	unsigned int count = 0;

	for (unsigned int from = 0; from < results->list->count; from++)
		for (unsigned int to = 0; to < results->list->count; to++)
			count += from != to && results_bandwidth(results, from, to)->state == state;
	return count;
}

void results_rate_text(char text[MESH_RATE_SIZE], double bytes_per_second)
{
	if (bytes_per_second >= 1e9)
		snprintf(text, MESH_RATE_SIZE, "%.2f GB/s", bytes_per_second / 1e9);
	else
		snprintf(text, MESH_RATE_SIZE, "%.*f MB/s", bytes_per_second < 1e6 ? 3 : 1,
			bytes_per_second / 1e6);
}

void results_latency_text(char text[MESH_RATE_SIZE], uint64_t nanoseconds)
{
	if (nanoseconds >= 10000000)
		snprintf(text, MESH_RATE_SIZE, "%.1f ms", (double)nanoseconds / 1e6);
	else
		snprintf(text, MESH_RATE_SIZE, "%.*f us", nanoseconds < 100000 ? 2 : 1,
			(double)nanoseconds / 1e3);
}

/*
 * The JSON report of a measurement matches docs/measurement.schema.json; corrupted reports do not.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/report.h"
#include "tests/unit/common/schema-fixture.h"
#include "tests/unit/unit.h"

/* Too large for the stack. */
static struct histogram latency;
static struct counters counters = {
	.count = 2, .list = {{"duplicate_request", 3}, {"sent_pkts", UINT64_MAX}}};

static struct options options_of(bool of_latency)
{
	return (struct options){
		.operation = &test_operations[TEST_WRITE],
		.host = "host\x01",
		.port = 7471,
		.timeout = 10000,
		.measure = {.bandwidth = !of_latency,
			.latency = of_latency,
			.smallest = 8,
			.largest = 16,
			.threads = 4,
			.queue_pairs = 1,
			.duration = 2000,
			.warm_up = 200,
			.expect = 0.9,
			.expect_percent = !of_latency},
	};
}

/*
 * Returns the report as text, which the caller frees. theirs may contain values that no honest peer
 * sends; a non-NULL error reports a failed test.
 */
static char *document(bool of_latency, const struct test_result *theirs, const char *error)
{
	const struct measured measured = {
		.parameters = {.size = 8,
			.queue_pairs = 1,
			.depth = 16,
			.direction = of_latency ? TEST_CLIENT : TEST_BOTH},
		.ours = {.operations = 4, .bytes = 32, .nanoseconds = 3000, .best = 5, .worst = 4},
		.theirs = *theirs,
		.latency = of_latency ? &latency : NULL,
		.threads = 4,
	};
	static struct measurement measurement;
	struct options options = options_of(of_latency);
	struct facts facts = {0};
	struct json_object *object;
	char *text;

	facts_add(&facts, "device", "rxe0");
	facts_add(&facts, "test limits", "inline 256");
	facts_add(&facts, "rate", "100 Gb/sec (4X EDR)");
	facts_add(&facts, "rdma mtu", "4096");
	facts_add(&facts, "link layer", "Ethernet");
	facts_add(&facts, "driver", "mlx5_core");
	facts_add(&facts, "numa node", "1");
	facts_add(&facts, "dscp", "26");
	facts_add(&facts, "relaxed ordering", "on");
	facts_add(&facts, "huge pages", "off");
	facts_add(&facts, "processors", "0-7,16-23");
	facts_add(&facts, "completion vector", "3");
	measurement = (struct measurement){
		.options = &options,
		.output.program = "rdma-client",
		.ours = facts,
		.theirs = facts,
		.counted = !error,
		.our_counters = counters,
		.their_counters = counters,
		.results = json_object_new_array(),
	};
	assert_non_null(measurement.results);
	if (error)
		failure_set(&measurement.threads.failure, FAILURE_ERRNO, PHASE_ADDRESS, ETIMEDOUT,
			"connect", "%s", error);
	else
		json_object_array_add(measurement.results, measurement_json(&measured, true));
	object = measurement_document(&measurement, error);
	assert_non_null(object);
	text = strdup(json_object_to_json_string_ext(
		object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	assert_non_null(text);
	json_object_put(object);
	json_object_put(measurement.results);
	return text;
}

static void check_documents(bool of_latency)
{
	static const struct test_result measured[] = {
		{0},
		{.operations = 1, .bytes = 8, .nanoseconds = 1000},
		{UINT64_MAX, UINT64_MAX, 1, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
			UINT64_MAX, UINT64_MAX},
		{.nanoseconds = UINT64_MAX},
		{.operations = 1, .bytes = 1, .nanoseconds = UINT64_MAX, .best = 1},
	};
	char *texts;
	size_t size;
	FILE *all = open_memstream(&texts, &size);

	assert_non_null(all);
	for (size_t i = 0; i < COUNT(measured); i++) {
		char *text = document(of_latency, &measured[i], NULL);

		fprintf(all, "%s\n", text);
		free(text);
	}
	fclose(all);
	schema_check(texts);
	free(texts);
}

static void bandwidth_matches_the_schema(void **state)
{
	(void)state;
	check_documents(false);
}

static void latency_matches_the_schema(void **state)
{
	(void)state;
	histogram_init(&latency);
	check_documents(true);
	histogram_add(&latency, 700);
	histogram_add(&latency, UINT64_MAX);
	check_documents(true);
}

static void a_failed_test_matches_the_schema(void **state)
{
	char *text = document(false, &(struct test_result){0}, "it failed");

	(void)state;
	schema_check(text);
	assert_non_null(
		strstr(text, "\"status\":3,\"verdict\":\"failed\",\"message\":\"it failed\","
			     "\"error\":{\"cause\":\"the host does not reply to ARP"));
	assert_non_null(strstr(text, "\"counters\":{\"here\":null,\"there\":null}"));
	free(text);
}

static void the_schema_rejects_corrupted_reports(void **state)
{
	static const struct schema_case cases[] = {
		{"\"schema\":5", "\"schema\":4"},
		{"\"command\":\"bandwidth\"", "\"command\":\"speed\""},
		{"\"status\":0", "\"status\":2"},
		{"\"error\":null", "\"error\":\"\""},
		{"\"error\":null", "\"error\":{}"},
		{"\"time\":\"2", "\"time\":\"at 2"},
		{"\"verdict\":\"measured\"", "\"verdict\":\"healthy\""},
		{"\"verdict\":\"measured\"", "\"verdict\":\"slow\""},
		{"\"mode\":", "\"modes\":"},
		{"\"iterations\":null", "\"iterations\":0"},
		{"\"expect_percent\":90", "\"expect_percent\":190"},
		{"\"poll\":\"auto\"", "\"poll\":\"never\""},
		{"\"size_bytes\":8", "\"size_bytes\":0"},
		{"\"poll\":\"event\"", "\"poll\":\"auto\""},
		{"\"latency_ns\":null", "\"latency_ns\":{}"},
		{"\"seconds\":0.0", "\"seconds\":-0.0001"},
		{"\"dscp\":26", "\"dscp\":64"},
		{"\"relaxed_ordering\":\"on\"", "\"relaxed_ordering\":\"maybe\""},
		{"\"numa_node\":1", "\"numa_node\":\"1\""},
		{"\"wrong_operations\":0", "\"wrong_operations\":null"},
		{"\"retransmissions\":", "\"retransmission\":"},
	};
	char *text = document(false, &(struct test_result){0}, NULL);

	(void)state;
	schema_check_refuses(text, cases, COUNT(cases));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bandwidth_matches_the_schema),
		cmocka_unit_test(latency_matches_the_schema),
		cmocka_unit_test(a_failed_test_matches_the_schema),
		cmocka_unit_test(the_schema_rejects_corrupted_reports),
	};

	return cmocka_run_group_tests_name("report-schema", tests, NULL, NULL);
}

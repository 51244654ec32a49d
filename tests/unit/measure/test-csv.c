/* Results as comma-separated values. */
#include <json-c/json.h>
#include <string.h>

#include "measure/csv.h"
#include "measure/report.h"
#include "tests/unit/measure/measured-fixture.h"
#include "tests/unit/unit.h"

/* Too large for the stack. */
static struct histogram latency;

static void assert_row(const struct measured *measured, const char *wanted)
{
	struct json_object *result = measurement_json(measured, false);
	char line[CSV_LINE];

	assert_non_null(result);
	csv_row(line, measured->latency, result);
	assert_string_equal(line, wanted);
	json_object_put(result);
}

static void a_bandwidth_test_has_the_values_of_both_ends(void **state)
{
	struct measured measured = bandwidth;
	char line[CSV_LINE];

	(void)state;
	measured.theirs = (struct test_result){.cpu_nanoseconds = 65536000};
	csv_head(line, false);
	assert_string_equal(line,
		"size_bytes,bytes_per_second,threads,queue_pairs,depth,poll,"
		"here_operations,here_seconds,here_bytes_per_second,"
		"here_worst_interval_bytes_per_second,here_best_interval_bytes_per_second,"
		"here_operations_per_second,here_cpu_seconds_per_gb,"
		"there_operations,there_seconds,there_bytes_per_second,"
		"there_worst_interval_bytes_per_second,there_best_interval_bytes_per_second,"
		"there_operations_per_second,there_cpu_seconds_per_gb,"
		"here_lost_operations,there_lost_operations");
	assert_row(&measured,
		"65536,32768000,3,2,16,spin,"
		"1000,2.000000000,32768000,30000000,40000000,500.000000000,10.000000000,"
		"0,0.000000000,,,,,1.000000000,,");
	measured.parameters.direction = TEST_BOTH;
	measured.theirs = measured.ours;
	assert_row(&measured,
		"65536,65536000,3,2,16,spin,"
		"1000,2.000000000,32768000,30000000,40000000,500.000000000,5.000000000,"
		"1000,2.000000000,32768000,30000000,40000000,500.000000000,5.000000000,,");
	measured.parameters.transport = TEST_UD;
	measured.ours.lost = 7;
	assert_row(&measured,
		"65536,65536000,3,2,16,spin,"
		"1000,2.000000000,32768000,30000000,40000000,500.000000000,5.000000000,"
		"1000,2.000000000,32768000,30000000,40000000,500.000000000,5.000000000,7,0");
}

static void a_latency_test_has_percentiles(void **state)
{
	struct measured measured = {
		.threads = 1,
		.parameters = {.kind = TEST_LATENCY, .size = 8, .queue_pairs = 1, .depth = 1},
		.ours = {.operations = 10, .nanoseconds = 5, .cpu_nanoseconds = 1500000000},
		.latency = &latency,
	};
	char line[CSV_LINE];

	(void)state;
	histogram_init(&latency);
	for (unsigned int i = 0; i < 9; i++)
		histogram_add(&latency, 100);
	histogram_add(&latency, 300);
	csv_head(line, true);
	assert_string_equal(line,
		"size_bytes,poll,here_operations,latency_ns_minimum,latency_ns_median,"
		"latency_ns_p90,latency_ns_p99,latency_ns_p99_9,latency_ns_p99_99,"
		"latency_ns_maximum,here_cpu_seconds,there_cpu_seconds,here_lost_operations");
	assert_row(&measured, "8,event,10,100,100,100,300,300,300,300,1.500000000,0.000000000,");
}

/* Each line has as many commas as the heading, and the longest numbers fit. */
static void lines_have_all_columns(void **state)
{
	const struct test_result most = {UINT64_MAX, UINT64_MAX, 1, UINT64_MAX, UINT64_MAX,
		UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
	struct measured measured = {.threads = UINT32_MAX,
		.parameters = {.size = UINT32_MAX,
			.queue_pairs = UINT32_MAX,
			.depth = UINT32_MAX,
			.direction = TEST_BOTH},
		.ours = most,
		.theirs = most};
	struct json_object *result = measurement_json(&measured, false);
	char head[CSV_LINE], line[CSV_LINE];

	(void)state;
	for (unsigned int kind = 0; kind < 2; kind++) {
		size_t commas = 0, wanted = 0;

		csv_head(head, kind);
		csv_row(line, kind, kind ? NULL : result);
		for (size_t i = 0; head[i]; i++)
			wanted += head[i] == ',';
		for (size_t i = 0; line[i]; i++)
			commas += line[i] == ',';
		assert_int_equal(commas, wanted);
		assert_true(strlen(line) < CSV_LINE - 1);
	}
	json_object_put(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bandwidth_test_has_the_values_of_both_ends),
		cmocka_unit_test(a_latency_test_has_percentiles),
		cmocka_unit_test(lines_have_all_columns),
	};

	return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}

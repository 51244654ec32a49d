/* The result of a measurement: its rates and its JSON. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "measure/report.h"
#include "tests/unit/measure/measured-fixture.h"
#include "tests/unit/unit.h"

/* Too large for the stack. */
static struct histogram latency;

static struct options options_of(enum rate_unit unit, bool of_latency)
{
	return (struct options){.operation = &test_operations[TEST_WRITE],
		.measure = {.bandwidth = !of_latency, .latency = of_latency, .unit = unit}};
}

static void rates_are_sums_of_both_directions(void **state)
{
	struct measured measured = bandwidth;

	(void)state;
	assert_true(measurement_rate(&measured) == 32768000);
	measured.parameters.direction = TEST_BOTH;
	assert_true(measurement_rate(&measured) == 32768000 + 16384000);
	/* Nothing was measured. */
	measured = (struct measured){.parameters.direction = TEST_BOTH};
	assert_true(measurement_rate(&measured) == 0);
}

static void rates_have_their_unit(void **state)
{
	static const struct {
		enum rate_unit unit;
		const char *text;
	} cases[] = {{UNIT_MB, "12500.0 MB/s"}, {UNIT_MIB, "11920.9 MiB/s"},
		{UNIT_GBIT, "100.000 Gb/s"}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct options options = options_of(cases[i].unit, false);
		char text[40];

		measurement_rate_text(text, sizeof(text), &options, 12.5e9);
		assert_string_equal(text, cases[i].text);
	}
}

/*
 * A percentage refers to the link's payload rate per direction: here 12500 MB/s less the headers.
 */
static void an_expectation_is_a_rate_or_a_percentage_of_the_link(void **state)
{
	static const struct {
		struct options_measure measure;
		const char *driver;
		uint64_t bytes;
	} cases[] = {
		{{.expect = 0}, "mlx5_core", 0},
		{{.expect = 5e9}, "mlx5_core", 5000000000},
		{{.expect = 5e9, .bidirectional = true}, "rdma_rxe", 5000000000},
		{{.expect = 1, .expect_percent = true}, "mlx5_core", 12254667305},
		{{.expect = 0.9, .expect_percent = true}, "mlx5_core", 11029200574},
		{{.expect = 0.9, .expect_percent = true, .bidirectional = true}, "mlx5_core",
			22058401149},
		{{.expect = 0.9, .expect_percent = true}, "rdma_rxe", 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct options options = {.measure = cases[i].measure};
		struct facts facts = {0};

		facts_add(&facts, "driver", "%s", cases[i].driver);
		facts_add(&facts, "rate", "100 Gb/sec (4X EDR)");
		facts_add(&facts, "rdma mtu", "4096");
		facts_add(&facts, "link layer", "Ethernet");
		assert_int_equal((uint64_t)(measurement_wanted(&options, &facts, &facts) + 0.5),
			cases[i].bytes);
	}
}

/* Impossible values from a peer: nothing is divided by zero. */
static void documents_fit_any_numbers(void **state)
{
	static const uint64_t numbers[] = {0, 1, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < COUNT(numbers); i++)
		for (size_t j = 0; j < COUNT(numbers); j++) {
			uint64_t a = numbers[i], b = numbers[j];
			struct measured measured = {
				.parameters = {.size = UINT32_MAX, .direction = TEST_BOTH},
				.ours = {a, b, b, a, b, a, b, 0, a},
				.theirs = {a, a, b, b, a, b, a, 0, b},
			};
			struct json_object *object = measurement_json(&measured, true);
			struct json_object *there, *rate;
			assert_non_null(object);
			assert_true(json_object_object_get_ex(object, "there", &there));
			assert_true(json_object_object_get_ex(there, "bytes_per_second", &rate));
			assert_true(json_object_get_int64(rate) >= 0);
			json_object_put(object);
		}
}

static void assert_json(const struct measured *measured, bool histogram, const char *wanted)
{
	struct json_object *object = measurement_json(measured, histogram);

	assert_non_null(object);
	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), wanted);
	json_object_put(object);
}

static void a_bandwidth_test_becomes_json(void **state)
{
	struct measured measured = bandwidth;

	(void)state;
	measured.parameters.direction = TEST_BOTH;
	measured.parameters.verify = true;
	measured.ours.cpu_nanoseconds = 983040000;
	measured.theirs.cpu_nanoseconds = 98304000;
	assert_json(&measured, false,
		"{\"size_bytes\":65536,\"threads\":3,\"queue_pairs\":2,\"depth\":16,\"bidirectional\":true,"
		"\"verified\":true,\"poll\":\"spin\",\"bytes_per_second\":49152000,"
		"\"here\":{\"operations\":1000,\"bytes\":65536000,\"seconds\":2.000000000,"
		"\"bytes_per_second\":32768000,\"worst_interval_bytes_per_second\":30000000,"
		"\"best_interval_bytes_per_second\":40000000,"
		"\"operations_per_second\":500.000000000,\"cpu_seconds\":0.983040000,"
		"\"cpu_seconds_per_gb\":10.000000000,\"wrong_operations\":0,\"lost_operations\":null},"
		"\"there\":{\"operations\":500,\"bytes\":32768000,\"seconds\":2.000000000,"
		"\"bytes_per_second\":16384000,\"worst_interval_bytes_per_second\":0,"
		"\"best_interval_bytes_per_second\":20000000,"
		"\"operations_per_second\":250.000000000,\"cpu_seconds\":0.098304000,"
		"\"cpu_seconds_per_gb\":1.000000000,\"wrong_operations\":3,\"lost_operations\":null},"
		"\"latency_ns\":null}");
}

#define NOTHING \
	"{\"operations\":0,\"bytes\":0,\"seconds\":0.000000000,\"bytes_per_second\":null," \
	"\"worst_interval_bytes_per_second\":null,\"best_interval_bytes_per_second\":null," \
	"\"operations_per_second\":null,\"cpu_seconds\":0.000000000," \
	"\"cpu_seconds_per_gb\":0.000000000,\"wrong_operations\":0,\"lost_operations\":null}"

#define BEFORE_HISTOGRAM \
	"{\"size_bytes\":8,\"threads\":1,\"queue_pairs\":1,\"depth\":1,\"bidirectional\":false," \
	"\"verified\":false,\"poll\":\"event\",\"bytes_per_second\":null," \
	"\"here\":" NOTHING ",\"there\":" NOTHING "," \
	"\"latency_ns\":{\"minimum\":100,\"maximum\":300,\"median\":100,\"p90\":100," \
	"\"p99\":300,\"p99_9\":300,\"p99_99\":300,\"histogram\":"

static void a_latency_test_becomes_json(void **state)
{
	struct measured measured = {
		.threads = 1,
		.parameters = {.kind = TEST_LATENCY, .size = 8, .queue_pairs = 1, .depth = 1},
		.latency = &latency,
	};

	(void)state;
	histogram_init(&latency);
	for (unsigned int i = 0; i < 9; i++)
		histogram_add(&latency, 100);
	histogram_add(&latency, 300);
	assert_json(&measured, false, BEFORE_HISTOGRAM "null}}");
	assert_json(&measured, true,
		BEFORE_HISTOGRAM "[{\"from_ns\":96,\"to_ns\":128,\"operations\":9},"
				 "{\"from_ns\":288,\"to_ns\":320,\"operations\":1}]}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_sums_of_both_directions),
		cmocka_unit_test(rates_have_their_unit),
		cmocka_unit_test(an_expectation_is_a_rate_or_a_percentage_of_the_link),
		cmocka_unit_test(documents_fit_any_numbers),
		cmocka_unit_test(a_bandwidth_test_becomes_json),
		cmocka_unit_test(a_latency_test_becomes_json),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}

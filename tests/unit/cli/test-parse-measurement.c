/* The options of a measurement: the value that each sets, and the error for each wrong one. */
#include <stdio.h>
#include <string.h>

#include "cli/parse.h"
#include "tests/unit/unit.h"

#define WORDS_MAX 12

/* Parses the words, which end with NULL, and what every measurement needs behind them. */
static enum options_result parse(
	struct options *options, enum program program, const char *const words[])
{
	char *argv[WORDS_MAX + 5] = {(char *)"program"};
	int argc = 1;

	memset(options, 0xa5, sizeof(*options));
	for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
		argv[argc++] = (char *)words[i];
	argv[argc++] = (char *)"write";
	if (program == PROGRAM_CLIENT) {
		argv[argc++] = (char *)"h";
		argv[argc++] = (char *)"7";
	}
	return parse_command_line(options, program, argc, argv);
}

static void assert_rate(double got, double wanted)
{
	double difference = got < wanted ? wanted - got : got - wanted;

	assert_true(difference <= wanted * 1e-9);
}

#define BW .bandwidth = true
#define LT .latency = true

/* What is not given has its default. */
static const struct right {
	const char *words[WORDS_MAX];
	struct options_measure measure;
	uint32_t depth;
} right[] = {
	{{"--bandwidth"}, {BW}, 0},
	{{"--band"}, {BW}, 0},
	{{"--latency"}, {LT}, 0},
	{{"--bandwidth", "--bidirectional"}, {BW, .bidirectional = true}, 0},
	{{"--bandwidth", "--verify"}, {BW, .verify = true}, 0},
	{{"--latency", "--verify"}, {LT, .verify = true}, 0},
	{{"--latency", "--histogram"}, {LT, .histogram = true}, 0},
	{{"--bandwidth", "--size", "1"}, {BW, .smallest = 1, .largest = 1}, 0},
	{{"--bandwidth", "--size", "16M"}, {BW, .smallest = 16777216, .largest = 16777216}, 0},
	{{"--latency", "--size=4K"}, {LT, .smallest = 4096, .largest = 4096}, 0},
	{{"--bandwidth", "--sizes", "2..8M"}, {BW, .smallest = 2, .largest = 8388608}, 0},
	{{"--bandwidth", "--sizes", "1..16777216"}, {BW, .smallest = 1, .largest = 16777216}, 0},
	{{"--latency", "--sizes", "64..64"}, {LT, .smallest = 64, .largest = 64}, 0},
	{{"--bandwidth", "--sizes", "2..8", "--size", "7"}, {BW, .smallest = 7, .largest = 7}, 0},
	{{"--bandwidth", "--size", "7", "--sizes", "2..8"}, {BW, .smallest = 2, .largest = 8}, 0},
	{{"--bandwidth", "--iterations", "1"}, {BW, .iterations = 1}, 0},
	{{"--latency", "--iterations", "4294967295"}, {LT, .iterations = UINT32_MAX}, 0},
	{{"--bandwidth", "--duration", "0.001"}, {BW, .duration = 1}, 0},
	{{"--bandwidth", "--duration", "86400"}, {BW, .duration = 86400000}, 0},
	{{"--bandwidth", "--warm-up", "1.5"}, {BW, .warm_up = 1500}, 0},
	{{"--bandwidth", "--warm-up", "0"}, {BW, .warm_up = -1}, 0}, /* 0, see below */
	{{"--bandwidth", "--qps", "1"}, {BW, .queue_pairs = 1}, 0},
	{{"--bandwidth", "--qps", "64"}, {BW, .queue_pairs = 64}, 0},
	{{"--bandwidth", "--threads", "1", "--iterations", "2"}, {BW, .iterations = 2}, 0},
	{{"--bandwidth", "--threads", "4"}, {BW, .threads = 4}, 0},
	{{"--latency", "--threads", "1"}, {LT}, 0},
	{{"--bandwidth", "--depth", "1024"}, {BW}, 1024},
	{{"--bandwidth", "--depth", "128", "--qps", "64"}, {BW, .queue_pairs = 64}, 128},
	{{"--bandwidth", "--depth", "1024", "--qps", "8"}, {BW, .queue_pairs = 8}, 1024},
	{{"--bandwidth", "--poll", "auto"}, {BW, .poll = POLL_AUTO}, 0},
	{{"--bandwidth", "--poll", "spin"}, {BW, .poll = POLL_SPIN}, 0},
	{{"--latency", "--poll", "event"}, {LT, .poll = POLL_EVENT}, 0},
	{{"--bandwidth", "--unit", "MB/s"}, {BW, .unit = UNIT_MB}, 0},
	{{"--bandwidth", "--unit", "MiB/s"}, {BW, .unit = UNIT_MIB}, 0},
	{{"--bandwidth", "--unit", "Gb/s"}, {BW, .unit = UNIT_GBIT}, 0},
	{{"--bandwidth", "--expect", "11GB/s"}, {BW, .expect = 11e9}, 0},
	{{"--bandwidth", "--expect", "1.5kB/s"}, {BW, .expect = 1500}, 0},
	{{"--bandwidth", "--expect", "90Gb/s"}, {BW, .expect = 11.25e9}, 0},
	{{"--bandwidth", "--expect", "8Mb/s"}, {BW, .expect = 1e6}, 0},
	{{"--bandwidth", "--expect", "2MB/s"}, {BW, .expect = 2e6}, 0},
	{{"--bandwidth", "--expect", "1MiB/s"}, {BW, .expect = 1048576}, 0},
	{{"--bandwidth", "--expect", ".5GiB/s"}, {BW, .expect = 536870912}, 0},
	{{"--bandwidth", "--expect", "90%"}, {BW, .expect = 0.9, .expect_percent = true}, 0},
	{{"--bandwidth", "--expect", "100%"}, {BW, .expect = 1, .expect_percent = true}, 0},
	{{"--bandwidth", "--expect", "0.1%"}, {BW, .expect = 0.001, .expect_percent = true}, 0},
	{{"--bandwidth", "--json", "--quiet", "--verbose", "--timeout", "2", "--source", "a",
		 "--device", "d"},
		{BW}, 0},
};

static void assert_same(const struct options_measure *got, const struct options_measure *wanted)
{
	uint64_t usual = wanted->latency ? 8 : 65536;
	int64_t warm_up = wanted->warm_up ? wanted->warm_up : 200;

	assert_int_equal(got->bandwidth, wanted->bandwidth);
	assert_int_equal(got->latency, wanted->latency);
	assert_int_equal(got->smallest, wanted->smallest ? wanted->smallest : usual);
	assert_int_equal(got->largest, wanted->largest ? wanted->largest : usual);
	assert_int_equal(got->iterations, wanted->iterations);
	if (wanted->iterations == 0)
		assert_int_equal(got->duration, wanted->duration ? wanted->duration : 2000);
	assert_int_equal(got->warm_up, warm_up < 0 ? 0 : warm_up);
	assert_int_equal(got->threads, wanted->threads ? wanted->threads : 1);
	assert_int_equal(got->queue_pairs, wanted->queue_pairs ? wanted->queue_pairs : 1);
	assert_int_equal(got->bidirectional, wanted->bidirectional);
	assert_int_equal(got->verify, wanted->verify);
	assert_int_equal(got->histogram, wanted->histogram);
	assert_int_equal(got->poll, wanted->poll);
	assert_int_equal(got->unit, wanted->unit);
	assert_int_equal(got->expect_percent, wanted->expect_percent);
	assert_rate(got->expect, wanted->expect);
}

static void are_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(right); i++) {
		const struct right *wanted = &right[i];
		struct options options;

		if (parse(&options, PROGRAM_CLIENT, wanted->words) != OPTIONS_RUN)
			fail_msg("%s %s: %s", wanted->words[0],
				wanted->words[1] ? wanted->words[1] : "", options.error);
		assert_same(&options.measure, &wanted->measure);
		assert_int_equal(
			options.command, wanted->measure.latency ? CLI_LATENCY : CLI_BANDWIDTH);
		assert_int_equal(options.depth, wanted->depth);
		assert_string_equal(options.host, "h");
	}
}

static void start_no_test_without_its_option(void **state)
{
	static const char *const none[] = {NULL};
	struct options options;

	(void)state;
	assert_int_equal(parse(&options, PROGRAM_CLIENT, none), OPTIONS_RUN);
	assert_false(options.measure.bandwidth || options.measure.latency);
	assert_int_equal(options.command, CLI_EXCHANGE);
}

#define WORD_SIZES  "--sizes must be two sizes from 1 to 16M, as in 2..8M, not '%s'"
#define WORD_EXPECT "--expect must be a rate or a percentage, as 11GB/s, 90Gb/s or 90%%, not '%s'"

/* Values that one option does not take; %s is the value. */
static const struct {
	const char *option, *value, *error;
} wrong_values[] = {
	{"--duration", "0", "--duration must be 0.001 to 86400 seconds, not '%s'"},
	{"--duration", "86401", "--duration must be 0.001 to 86400 seconds, not '%s'"},
	{"--duration", "1s", "--duration must be 0.001 to 86400 seconds, not '%s'"},
	{"--warm-up", "-1", "--warm-up must be 0 to 86400 seconds, not '%s'"},
	{"--warm-up", "x", "--warm-up must be 0 to 86400 seconds, not '%s'"},
	{"--iterations", "0", "--iterations must be a number from 1 to 4294967295, not '%s'"},
	{"--iterations", "4294967296",
		"--iterations must be a number from 1 to 4294967295, not '%s'"},
	{"--iterations", "1k", "--iterations must be a number from 1 to 4294967295, not '%s'"},
	{"--qps", "0", "--qps must be a number from 1 to 64, not '%s'"},
	{"--qps", "65", "--qps must be a number from 1 to 64, not '%s'"},
	{"--threads", "0", "--threads must be a number from 1 to 4, not '%s'"},
	{"--threads", "5", "--threads must be a number from 1 to 4, not '%s'"},
	{"--size", "0", "--size must be 1 to 16M, not '%s'"},
	{"--size", "16777217", "--size must be 1 to 16M, not '%s'"},
	{"--size", "2..8", "--size must be 1 to 16M, not '%s'"},
	{"--sizes", "8", WORD_SIZES},
	{"--sizes", "0..8", WORD_SIZES},
	{"--sizes", "8..2", WORD_SIZES},
	{"--sizes", "2..", WORD_SIZES},
	{"--sizes", "..2", WORD_SIZES},
	{"--sizes", "2...8", WORD_SIZES},
	{"--sizes", "2..32M", WORD_SIZES},
	{"--sizes", "2-8", WORD_SIZES},
	{"--sizes", "0000000000000000000000000000000000000000002..8", WORD_SIZES},
	{"--poll", "busy", "--poll must be auto, spin or event, not '%s'"},
	{"--poll", "Spin", "--poll must be auto, spin or event, not '%s'"},
	{"--unit", "mb/s", "--unit must be MB/s, MiB/s or Gb/s, not '%s'"},
	{"--unit", "GB/s", "--unit must be MB/s, MiB/s or Gb/s, not '%s'"},
	{"--expect", "0%", WORD_EXPECT},
	{"--expect", "101%", WORD_EXPECT},
	{"--expect", "90", WORD_EXPECT},
	{"--expect", "GB/s", WORD_EXPECT},
	{"--expect", "0GB/s", WORD_EXPECT},
	{"--expect", "1.2.3GB/s", WORD_EXPECT},
	{"--expect", "-1GB/s", WORD_EXPECT},
	{"--expect", "1 GB/s", WORD_EXPECT},
	{"--expect", "1e9MB/s", WORD_EXPECT},
	{"--expect", "11GB", WORD_EXPECT},
	{"--expect", ".%", WORD_EXPECT},
};

static void wrong_values_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(wrong_values); i++) {
		const char *words[] = {
			"--bandwidth", wrong_values[i].option, wrong_values[i].value, NULL};
		struct options options;
		char error[200];

/* The formats are those of the table above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(error, sizeof(error), wrong_values[i].error, wrong_values[i].value);
#pragma GCC diagnostic pop
		if (parse(&options, PROGRAM_CLIENT, words) != OPTIONS_WRONG)
			fail_msg("%s %s was taken", words[1], words[2]);
		assert_string_equal(options.error, error);
	}
}

#define NOT_EXCHANGE " does not go with an exchange: --bandwidth or --latency is missing"
#define NOT_MEASURE  " does not go with a measurement, which moves data of its own"

static const struct {
	const char *words[WORDS_MAX];
	const char *error;
} wrong_together[] = {
	{{"--bandwidth", "--latency"},
		"--bandwidth and --latency are both given; one can be measured"},
	{{"--bandwidth", "--histogram"}, "--histogram does not go with --bandwidth"},
	{{"--latency", "--bidirectional"}, "--bidirectional does not go with --latency"},
	{{"--latency", "--expect", "1GB/s"}, "--expect does not go with --latency"},
	{{"--latency", "--qps", "2"}, "--qps does not go with --latency"},
	{{"--latency", "--unit", "Gb/s"}, "--unit does not go with --latency"},
	{{"--latency", "--threads", "2"}, "--threads does not go with --latency"},
	{{"--bandwidth", "--threads", "2", "--iterations", "5"},
		"--threads does not go with --iterations, as all threads end together"},
	{{"--latency", "--depth", "2"}, "--depth does not go with --latency"},
	{{"--bandwidth", "--iterations", "5", "--duration", "1"},
		"--iterations and --duration are both given; one can end it"},
	{{"--bandwidth", "--qps", "64", "--depth", "129"},
		"--qps times --depth must not be more than 8192"},
	{{"--bandwidth", "--qps", "9", "--depth", "1024"},
		"--qps times --depth must not be more than 8192"},
	{{"--bidirectional"}, "--bidirectional" NOT_EXCHANGE},
	{{"--duration", "1"}, "--duration" NOT_EXCHANGE},
	{{"--expect", "1GB/s"}, "--expect" NOT_EXCHANGE},
	{{"--histogram"}, "--histogram" NOT_EXCHANGE},
	{{"--iterations", "1"}, "--iterations" NOT_EXCHANGE},
	{{"--poll", "spin"}, "--poll" NOT_EXCHANGE},
	{{"--qps", "1"}, "--qps" NOT_EXCHANGE},
	{{"--threads", "1"}, "--threads" NOT_EXCHANGE},
	{{"--size", "1"}, "--size" NOT_EXCHANGE},
	{{"--sizes", "1..2"}, "--sizes" NOT_EXCHANGE},
	{{"--unit", "MB/s"}, "--unit" NOT_EXCHANGE},
	{{"--verify"}, "--verify" NOT_EXCHANGE},
	{{"--warm-up", "0"}, "--warm-up" NOT_EXCHANGE},
	{{"--bandwidth", "--buffer", "1M"}, "--buffer" NOT_MEASURE},
	{{"--bandwidth", "--chunk", "1M"}, "--chunk" NOT_MEASURE},
	{{"--latency", "--force"}, "--force" NOT_MEASURE},
	{{"--latency", "--input", "f"}, "--input" NOT_MEASURE},
	{{"--bandwidth", "--message", "m"}, "--message" NOT_MEASURE},
	{{"--bandwidth", "--output", "o"}, "--output" NOT_MEASURE},
	{{"--bandwidth", "--progress"}, "--progress" NOT_MEASURE},
	{{"--bandwidth", "--no-progress"}, "--no-progress" NOT_MEASURE},
	{{"--bandwidth="}, "--bandwidth= takes no value"},
	{{"--verify=1", "--bandwidth"}, "--verify=1 takes no value"},
	{{"--bandwidth", "--size", ""}, "--size must not be ''"},
	{{"--bandwidth", "--poll", ""}, "--poll must not be ''"},
};

static void conflicting_options_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(wrong_together); i++) {
		struct options options;

		if (parse(&options, PROGRAM_CLIENT, wrong_together[i].words) != OPTIONS_WRONG)
			fail_msg("taken, instead of: %s", wrong_together[i].error);
		assert_string_equal(options.error, wrong_together[i].error);
	}
}

/* One server serves any measurement. */
static void are_refused_by_the_server(void **state)
{
	static const char *const names[] = {"--bandwidth", "--bidirectional", "--duration",
		"--expect", "--histogram", "--iterations", "--latency", "--poll", "--qps", "--size",
		"--sizes", "--unit", "--verify", "--warm-up"};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		const char *words[] = {names[i], "1", NULL};
		struct options options;
		char error[80];

		snprintf(error, sizeof(error), "there is no option %s, or it is ambiguous",
			names[i]);
		assert_int_equal(parse(&options, PROGRAM_SERVER, words), OPTIONS_WRONG);
		assert_string_equal(options.error, error);
	}
}

static void are_refused_by_a_diagnosis(void **state)
{
	char *argv[] = {(char *)"rdma-client", (char *)"--bandwidth", (char *)"diagnose", NULL};
	struct options options;

	(void)state;
	assert_int_equal(parse_command_line(&options, PROGRAM_CLIENT, 3, argv), OPTIONS_WRONG);
	assert_string_equal(options.error, "--bandwidth does not go with diagnose, which moves "
					   "data of its own in its own time");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(are_taken),
		cmocka_unit_test(start_no_test_without_its_option),
		cmocka_unit_test(wrong_values_are_named),
		cmocka_unit_test(conflicting_options_are_named),
		cmocka_unit_test(are_refused_by_the_server),
		cmocka_unit_test(are_refused_by_a_diagnosis),
	};

	return cmocka_run_group_tests_name("parse-measurement", tests, NULL, NULL);
}

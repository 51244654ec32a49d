/* Measurement options: the value that each option sets, and the error for each invalid value. */
#include <stdio.h>
#include <string.h>

#include "cli/parse.h"
#include "tests/unit/unit.h"

#define WORDS_MAX 12

/*
 * Parses a command line: the command, the mode, a server's host and port, then the words up to
 * NULL. A measurement without an operation is one of WRITEs.
 */
static enum options_result parse(struct options *options, const char *const words[])
{
	char *argv[WORDS_MAX + 5] = {(char *)"rdma-client"};
	enum options_result result;
	int argc = 1;

	memset(options, 0xa5, sizeof(*options));
	argv[argc++] = (char *)words[0];
	if (strcmp(words[0], "write") != 0 && !(words[1] && test_operation_by_name(words[1])))
		argv[argc++] = (char *)"write";
	for (size_t i = 1; i < WORDS_MAX && words[i]; i++)
		argv[argc++] = (char *)words[i];
	argv[argc++] = (char *)"h";
	argv[argc++] = (char *)"7";
	result = parse_command_line(options, PROGRAM_CLIENT, argc, argv);
	options_free(options); /* a measurement sends no files */
	return result;
}

static void assert_rate(double got, double wanted)
{
	double difference = got < wanted ? wanted - got : got - wanted;

	assert_true(difference <= wanted * 1e-9);
}

#define BW .bandwidth = true
#define LT .latency = true

/* Options that are not given keep their defaults. */
static const struct right {
	const char *words[WORDS_MAX];
	struct options_measure measure;
	uint32_t depth;
} right[] = {
	{{"bandwidth"}, {BW}, 0},
	{{"latency"}, {LT}, 0},
	{{"bandwidth", "--bidirectional"}, {BW, .bidirectional = true}, 0},
	{{"bandwidth", "--verify"}, {BW, .verify = true}, 0},
	{{"latency", "--verify"}, {LT, .verify = true}, 0},
	{{"bandwidth", "send", "--transport", "ud"},
		{BW, .smallest = 1024, .largest = 1024, .transport = TEST_UD}, 0},
	{{"latency", "send", "--transport", "ud"}, {LT, .transport = TEST_UD}, 0},
	{{"latency", "--histogram"}, {LT, .histogram = true}, 0},
	{{"bandwidth", "--csv"}, {BW, .csv = true}, 0},
	{{"latency", "--plot", "a.svg"}, {LT, .plot = "a.svg"}, 0},
	{{"bandwidth", "--plot", "/b/.c.png"}, {BW, .plot = "/b/.c.png"}, 0},
	{{"latency", "--csv", "--verify"}, {LT, .csv = true, .verify = true}, 0},
	{{"bandwidth", "--size", "1"}, {BW, .smallest = 1, .largest = 1}, 0},
	{{"bandwidth", "--size", "16M"}, {BW, .smallest = 16777216, .largest = 16777216}, 0},
	{{"latency", "--size=4K"}, {LT, .smallest = 4096, .largest = 4096}, 0},
	{{"bandwidth", "--size", "2..8M"}, {BW, .smallest = 2, .largest = 8388608}, 0},
	{{"bandwidth", "--size", "1..16777216"}, {BW, .smallest = 1, .largest = 16777216}, 0},
	{{"latency", "--size", "64..64"}, {LT, .smallest = 64, .largest = 64}, 0},
	{{"bandwidth", "--iterations", "1"}, {BW, .iterations = 1}, 0},
	{{"latency", "--iterations", "4294967295"}, {LT, .iterations = UINT32_MAX}, 0},
	{{"bandwidth", "--duration", "0.001"}, {BW, .duration = 1}, 0},
	{{"bandwidth", "--duration", "86400"}, {BW, .duration = 86400000}, 0},
	{{"bandwidth", "--warm-up", "1.5"}, {BW, .warm_up = 1500}, 0},
	{{"bandwidth", "--warm-up", "0"}, {BW, .warm_up = -1}, 0}, /* -1: zero */
	{{"bandwidth", "--qps", "1"}, {BW, .queue_pairs = 1}, 0},
	{{"bandwidth", "--qps", "64"}, {BW, .queue_pairs = 64}, 0},
	{{"bandwidth", "--threads", "1", "--iterations", "2"}, {BW, .iterations = 2}, 0},
	{{"bandwidth", "--threads", "4"}, {BW, .threads = 4}, 0},
	{{"bandwidth", "--depth", "1024"}, {BW}, 1024},
	{{"bandwidth", "--depth", "128", "--qps", "64"}, {BW, .queue_pairs = 64}, 128},
	{{"bandwidth", "--depth", "1024", "--qps", "8"}, {BW, .queue_pairs = 8}, 1024},
	{{"bandwidth", "--inline", "0"}, {BW, .inline_below = 1}, 0},
	{{"latency", "--inline", "1024"}, {LT, .inline_below = 1025}, 0},
	{{"bandwidth", "--sge", "32"}, {BW, .gathers = 32}, 0},
	{{"latency", "--sge", "8"}, {LT, .gathers = 8}, 0},
	{{"bandwidth", "--signal-every", "1024"}, {BW, .signal_every = 1024}, 0},
	{{"bandwidth", "--signal-every", "9", "--depth", "9"}, {BW, .signal_every = 9}, 9},
	{{"bandwidth", "--poll", "auto"}, {BW, .poll = POLL_AUTO}, 0},
	{{"bandwidth", "--poll", "spin"}, {BW, .poll = POLL_SPIN}, 0},
	{{"latency", "--poll", "event"}, {LT, .poll = POLL_EVENT}, 0},
	{{"bandwidth", "--unit", "MB/s"}, {BW, .unit = UNIT_MB}, 0},
	{{"bandwidth", "--unit", "MiB/s"}, {BW, .unit = UNIT_MIB}, 0},
	{{"bandwidth", "--unit", "Gb/s"}, {BW, .unit = UNIT_GBIT}, 0},
	{{"bandwidth", "--expect", "11GB/s"}, {BW, .expect = 11e9}, 0},
	{{"bandwidth", "--expect", "1.5kB/s"}, {BW, .expect = 1500}, 0},
	{{"bandwidth", "--expect", "90Gb/s"}, {BW, .expect = 11.25e9}, 0},
	{{"bandwidth", "--expect", "8Mb/s"}, {BW, .expect = 1e6}, 0},
	{{"bandwidth", "--expect", "2MB/s"}, {BW, .expect = 2e6}, 0},
	{{"bandwidth", "--expect", "1MiB/s"}, {BW, .expect = 1048576}, 0},
	{{"bandwidth", "--expect", ".5GiB/s"}, {BW, .expect = 536870912}, 0},
	{{"bandwidth", "--expect", "90%"}, {BW, .expect = 0.9, .expect_percent = true}, 0},
	{{"bandwidth", "--expect", "100%"}, {BW, .expect = 1, .expect_percent = true}, 0},
	{{"bandwidth", "--expect", "0.1%"}, {BW, .expect = 0.001, .expect_percent = true}, 0},
	{{"bandwidth", "--json", "--quiet", "--verbose", "--timeout", "2", "--source", "a",
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
	assert_int_equal(got->inline_below, wanted->inline_below);
	assert_int_equal(got->gathers, wanted->gathers);
	assert_int_equal(got->signal_every, wanted->signal_every);
	assert_int_equal(got->iterations, wanted->iterations);
	if (wanted->iterations == 0)
		assert_int_equal(got->duration, wanted->duration ? wanted->duration : 2000);
	assert_int_equal(got->warm_up, warm_up < 0 ? 0 : warm_up);
	assert_int_equal(got->threads, wanted->threads ? wanted->threads : 1);
	assert_int_equal(got->queue_pairs, wanted->queue_pairs ? wanted->queue_pairs : 1);
	assert_int_equal(got->bidirectional, wanted->bidirectional);
	assert_int_equal(got->verify, wanted->verify);
	assert_int_equal(got->histogram, wanted->histogram);
	assert_int_equal(got->csv, wanted->csv);
	if (wanted->plot)
		assert_string_equal(got->plot, wanted->plot);
	else
		assert_null(got->plot);
	assert_int_equal(got->poll, wanted->poll);
	assert_int_equal(got->transport, wanted->transport);
	assert_int_equal(got->unit, wanted->unit);
	assert_int_equal(got->expect_percent, wanted->expect_percent);
	assert_rate(got->expect, wanted->expect);
}

static void values_are_stored(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(right); i++) {
		const struct right *wanted = &right[i];
		struct options options;

		if (parse(&options, wanted->words) != OPTIONS_RUN)
			fail_msg("%s %s: %s", wanted->words[0],
				wanted->words[1] ? wanted->words[1] : "", options.error);
		assert_same(&options.measure, &wanted->measure);
		assert_int_equal(
			options.command, wanted->measure.latency ? CLI_LATENCY : CLI_BANDWIDTH);
		assert_int_equal(options.depth, wanted->depth);
		assert_string_equal(options.host, "h");
	}
}

static void an_exchange_has_no_measurement(void **state)
{
	static const char *const words[] = {"write", NULL};
	struct options options;

	(void)state;
	assert_int_equal(parse(&options, words), OPTIONS_RUN);
	assert_false(options.measure.bandwidth || options.measure.latency);
	assert_int_equal(options.command, CLI_EXCHANGE);
}

#define WORD_SIZES \
	"--size must be a size from 1 to 16M, or an ascending range, such as 2..8M, not '%s'"
#define WORD_EXPECT \
	"--expect must be a rate or at most 100%%, such as 11GB/s, 90Gb/s or 90%%, not '%s'"

/* Invalid values of one option; %s is the value. */
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
	{"--size", "0", WORD_SIZES},
	{"--size", "16777217", WORD_SIZES},
	{"--size", "0..8", WORD_SIZES},
	{"--size", "8..2", WORD_SIZES},
	{"--size", "2..", WORD_SIZES},
	{"--size", "..2", WORD_SIZES},
	{"--size", "2...8", WORD_SIZES},
	{"--size", "2..32M", WORD_SIZES},
	{"--size", "2-8", WORD_SIZES},
	{"--size", "0000000000000000000000000000000000000000002..8", WORD_SIZES},
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

static void errors_name_invalid_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(wrong_values); i++) {
		const char *words[] = {
			"bandwidth", wrong_values[i].option, wrong_values[i].value, NULL};
		struct options options;
		char error[200];

/* The format strings come from the table above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(error, sizeof(error), wrong_values[i].error, wrong_values[i].value);
#pragma GCC diagnostic pop
		if (parse(&options, words) != OPTIONS_WRONG)
			fail_msg("%s %s was accepted", words[1], words[2]);
		assert_string_equal(options.error, error);
	}
}

#define BOTH      "; bandwidth and latency do"
#define BANDWIDTH "; bandwidth does"
#define EXCHANGES "; write, read and send do"
#define FILES     "; write, read, send and copy do"

static const struct {
	const char *words[WORDS_MAX];
	const char *error;
} refused[] = {
	{{"bandwidth", "--histogram"}, "bandwidth does not accept --histogram; latency does"},
	{{"latency", "--bidirectional"}, "latency does not accept --bidirectional" BANDWIDTH},
	{{"latency", "--expect", "1GB/s"},
		"latency does not accept --expect; bandwidth and mesh do"},
	{{"latency", "--qps", "1"}, "latency does not accept --qps" BANDWIDTH},
	{{"latency", "--unit", "MB/s"}, "latency does not accept --unit; bandwidth and compare do"},
	{{"latency", "--threads", "1"}, "latency does not accept --threads" BANDWIDTH},
	{{"latency", "--depth", "2"},
		"latency does not accept --depth; write, read, send and bandwidth do"},
	{{"bandwidth", "--threads", "2", "--iterations", "5"},
		"--iterations and --threads are mutually exclusive: all threads stop together"},
	{{"bandwidth", "--iterations", "5", "--duration", "1"},
		"--iterations and --duration are mutually exclusive"},
	{{"bandwidth", "--csv", "--json"}, "--csv and --json are mutually exclusive"},
	{{"latency", "--csv", "--histogram"}, "--csv and --histogram are mutually exclusive"},
	{{"write", "--plot", "a.svg"}, "write does not accept --plot" BOTH},
	{{"write", "--metrics", "a"},
		"write does not accept --metrics; bandwidth, latency, diagnose and mesh do"},
	{{"latency", "--plot", "a.pdf"},
		"--plot must be a file name that ends in .svg or .png, not 'a.pdf'"},
	{{"latency", "--plot", ".svg"},
		"--plot must be a file name that ends in .svg or .png, not '.svg'"},
	{{"write", "--csv"}, "write does not accept --csv" BOTH},
	{{"bandwidth", "--qps", "64", "--depth", "129"},
		"--qps times --depth must be at most 8192"},
	{{"bandwidth", "--qps", "9", "--depth", "1024"},
		"--qps times --depth must be at most 8192"},
	{{"bandwidth", "--inline", "1025"}, "--inline must be a number from 0 to 1024, not '1025'"},
	{{"latency", "--sge", "9"}, "--sge must be at most --size, 8, not '9'"},
	{{"bandwidth", "--size", "4..8K", "--sge", "5"},
		"--sge must be at most --size, 4, not '5'"},
	{{"bandwidth", "--sge", "33"}, "--sge must be a number from 1 to 32, not '33'"},
	{{"bandwidth", "--sge", "0"}, "--sge must be a number from 1 to 32, not '0'"},
	{{"bandwidth", "--signal-every", "9", "--depth", "8"},
		"--signal-every must be at most --depth, 8, not '9'"},
	{{"latency", "--signal-every", "2"}, "latency does not accept --signal-every" BANDWIDTH},
	{{"latency", "--srq"}, "latency does not accept --srq" BANDWIDTH},
	{{"bandwidth", "compare-swap", "--verify", "--depth", "2"},
		"--depth must be 1 with compare-swap and --verify, not '2': each try needs the "
		"answer to the one before"},
	{{"bandwidth", "compare-swap", "--verify", "--signal-every", "2"},
		"--signal-every must be at most --depth, 1, not '2'"},
	{{"bandwidth", "--srq"}, "--srq cannot be combined with write: it uses up no receives"},
	{{"bandwidth", "send", "--srq", "--verify", "--size", "250407"},
		"--size must be at most 250406 with --srq, --verify and --qps 1, not '250407'"},
	{{"latency", "--transport", "ud"},
		"--transport ud cannot be combined with write: nothing would tell what has arrived"},
	{{"latency", "send", "--transport", "uc", "--verify", "--size", "1M"},
		"--size must be at most 986855 with --transport uc and --verify, not '1048576'"},
	{{"bandwidth", "send", "--transport", "xrc"},
		"--transport must be rc, uc or ud, not 'xrc'"},
	{{"bandwidth", "--transport", "ud"},
		"--transport ud cannot be combined with write: nothing would tell what has arrived"},
	{{"bandwidth", "--transport", "uc"},
		"--transport uc cannot be combined with write: nothing would tell what has arrived"},
	{{"bandwidth", "read", "--transport", "uc"},
		"--transport uc cannot be combined with read: only rc has it"},
	{{"bandwidth", "fetch-add", "--transport", "ud"},
		"--transport ud cannot be combined with fetch-add: only rc has it"},
	{{"bandwidth", "write-imm", "--transport", "ud"},
		"--transport ud cannot be combined with write-imm: datagrams are SENDs"},
	{{"bandwidth", "write-imm", "--transport", "uc", "--verify"},
		"--verify cannot be combined with --transport uc and write-imm: the next WRITE may "
		"be faster"},
	{{"bandwidth", "send", "--transport", "uc", "--srq"},
		"--srq cannot be combined with --transport uc"},
	{{"bandwidth", "send", "--transport", "uc", "--verify", "--size", "1M"},
		"--size must be at most 986855 with --transport uc, --verify and --qps 1, not "
		"'1048576'"},
	{{"bandwidth", "send", "--transport", "ud", "--qps", "64"},
		"--qps must be at most 63 with --transport ud, not '64'"},
	{{"write", "--transport", "uc"}, "write does not accept --transport" BOTH},
	{{"write", "--inline", "8"}, "write does not accept --inline" BOTH},
	{{"bandwidth", "--size", "2..8", "--size", "7"}, "--size is given twice"},
	{{"bandwidth", "--qps", "2", "--size", "16M"}, "--size times --qps must be at most 16M"},
	{{"bandwidth", "--verify", "--size", "9M"},
		"--size times --qps, doubled by --verify, must be at most 16M"},
	{{"write", "--bidirectional"}, "write does not accept --bidirectional" BANDWIDTH},
	{{"write", "--duration", "1"},
		"write does not accept --duration; bandwidth, latency and mesh do"},
	{{"write", "--expect", "1GB/s"}, "write does not accept --expect; bandwidth and mesh do"},
	{{"write", "--histogram"}, "write does not accept --histogram; latency does"},
	{{"write", "--iterations", "1"}, "write does not accept --iterations" BOTH},
	{{"latency", "--relaxed-ordering", "on"},
		"latency does not accept --relaxed-ordering; write, read, send and bandwidth do"},
	{{"write", "--poll", "spin"}, "write does not accept --poll" BOTH},
	{{"write", "--qps", "1"}, "write does not accept --qps" BANDWIDTH},
	{{"write", "--threads", "1"}, "write does not accept --threads" BANDWIDTH},
	{{"write", "--size", "1"},
		"write does not accept --size; bandwidth, latency, multicast and mesh do"},
	{{"write", "--unit", "MB/s"}, "write does not accept --unit; bandwidth and compare do"},
	{{"write", "--verify"}, "write does not accept --verify" BOTH},
	{{"write", "--warm-up", "0"}, "write does not accept --warm-up" BOTH},
	{{"bandwidth", "--buffer", "1M"}, "bandwidth does not accept --buffer" EXCHANGES},
	{{"bandwidth", "--chunk", "1M"}, "bandwidth does not accept --chunk" EXCHANGES},
	{{"latency", "--force"}, "latency does not accept --force" EXCHANGES},
	{{"latency", "-f"}, "latency does not accept --force" EXCHANGES},
	{{"latency", "--input", "f"}, "latency does not accept --input" EXCHANGES},
	{{"bandwidth", "--message", "m"},
		"bandwidth does not accept --message; write, read, send and multicast do"},
	{{"bandwidth", "--output", "o"}, "bandwidth does not accept --output" EXCHANGES},
	{{"bandwidth", "--progress"},
		"bandwidth does not accept --progress; write, read, send, copy and mesh do"},
	{{"bandwidth", "--no-progress"},
		"bandwidth does not accept --no-progress; write, read, send, copy and mesh do"},
	{{"bandwidth", "--verify=1"}, "--verify does not take a value"},
	{{"bandwidth", "--size", ""}, "--size must not be empty"},
	{{"bandwidth", "--poll", ""}, "--poll must not be empty"},
};

static void errors_name_foreign_and_conflicting_options(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct options options;

		if (parse(&options, refused[i].words) != OPTIONS_WRONG)
			fail_msg("accepted; expected the error: %s", refused[i].error);
		assert_string_equal(options.error, refused[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_stored),
		cmocka_unit_test(an_exchange_has_no_measurement),
		cmocka_unit_test(errors_name_invalid_values),
		cmocka_unit_test(errors_name_foreign_and_conflicting_options),
	};

	return cmocka_run_group_tests_name("parse-measurement", tests, NULL, NULL);
}

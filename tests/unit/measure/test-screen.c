/* Whole screens of measurements, in files and on terminals of several widths. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/screen.h"
#include "tests/unit/base/output-fixture.h"
#include "tests/unit/unit.h"

static struct measurement measurement;
static struct options options;

/* Two hosts with the same kind of adapter. 2026-11-26 20:01:07 UTC. */
static void make(bool of_latency, const char *operation)
{
	setenv("TZ", "UTC", 1);
	memset(&measurement, 0, sizeof(measurement));
	options = (struct options){
		.operation = test_operation_by_name(operation),
		.host = "10.77.0.1",
		.measure = {.bandwidth = !of_latency, .latency = of_latency, .unit = UNIT_MB},
	};
	measurement.options = &options;
	measurement.output = plain;
	measurement.wait = TEST_SPIN;
	measurement.start = 1795723267;
	snprintf(measurement.host_name, sizeof(measurement.host_name), "host2");
	for (unsigned int i = 0; i < 2; i++) {
		struct facts *facts = i == 0 ? &measurement.ours : &measurement.theirs;

		facts_add(facts, "device", "rxe%u", i);
		facts_add(facts, "port", "1");
		facts_add(facts, "driver", "rdma_rxe");
		facts_add(facts, "rate", "2.5 Gb/sec (1X SDR)");
		facts_add(facts, "rdma mtu", "4096");
		facts_add(facts, "gid type", "RoCE v2");
		facts_add(facts, "thread numa node", "%u", i);
		facts_add(facts, "dscp", "0");
		facts_add(facts, "relaxed ordering", "off");
		facts_add(facts, "huge pages", "on");
		facts_add(facts, "completion vector", "%u", i);
	}
	measurement.our_counters = measurement.their_counters =
		(struct counters){.count = 1, .list = {{"duplicate_request", 0}}};
	measurement.best = 220.4e6;
	measurement.best_size = 65536;
	measurement.lowest = 7300;
	measurement.lowest_size = 8;
}

/* Two sizes: 175.1 and 220.4 MB/s. */
static void print_rates(void)
{
	struct measured measured = {
		.parameters = {.size = 4096, .depth = 128},
		.ours = {.operations = 42742,
			.bytes = 175100000,
			.nanoseconds = 1000000000,
			.cpu_nanoseconds = 998070000,
			.worst = 172700000,
			.best = 177200000},
	};

	screen_print_result(&measurement, &measured);
	measured.parameters = (struct test_parameters){.size = 65536, .depth = 64};
	measured.ours = (struct test_result){.operations = 3363,
		.bytes = 220400000,
		.nanoseconds = 1000000000,
		.cpu_nanoseconds = 1000616000,
		.worst = 218300000,
		.best = 221900000};
	screen_print_result(&measurement, &measured);
}

static void print_latencies(void)
{
	struct measured measured = {
		.parameters = {.kind = TEST_LATENCY, .size = 8, .depth = 1},
		.latency = &measurement.latency,
	};

	histogram_init(&measurement.latency);
	for (unsigned int i = 0; i < 98; i++)
		histogram_add(&measurement.latency, 400);
	histogram_add(&measurement.latency, 100);
	histogram_add(&measurement.latency, 500);
	measured.ours.operations = measurement.latency.count;
	screen_print_result(&measurement, &measured);
}

static int print(void)
{
	screen_print_head(&measurement);
	if (options.measure.latency)
		print_latencies();
	else
		print_rates();
	screen_print_counters(&measurement);
	screen_print_best(&measurement);
	return (int)output_finish(&measurement.output, STATUS_OK);
}

static void a_bandwidth_test_in_a_file(void **state)
{
	(void)state;
	make(false, "write");
	run(print, NULL);
	assert_string_equal(printed.out,
		"WRITE bandwidth from host2 (rxe0/1) to 10.77.0.1 (rxe1/1), 2026-11-26 20:01:07\n"
		"both ends:  rdma_rxe, 2.5 Gb/sec (1X SDR), RDMA MTU 4096, RoCE v2, poll spin\n"
		"size  average    worst     best messages this host    other\n"
		"   B     MB/s     MB/s     MB/s      1/s  CPU s/GB CPU s/GB\n"
		"  4K  175.1    172.7    177.2      42742      5.70     0.00\n"
		" 64K  220.4    218.3    221.9       3363      4.54     0.00\n"
		"counters of this host: no errors; of the other host: no errors\n"
		"best rate: 220.4 MB/s at size 64K\n");
	assert_string_equal(printed.error, "");
}

static void a_latency_test_in_a_file(void **state)
{
	(void)state;
	make(true, "read");
	measurement.wait = TEST_EVENT;
	run(print, NULL);
	assert_string_equal(printed.out,
		"READ latency from 10.77.0.1 (rxe1/1) to host2 (rxe0/1), 2026-11-26 20:01:07\n"
		"both ends:  rdma_rxe, 2.5 Gb/sec (1X SDR), RDMA MTU 4096, RoCE v2, poll event\n"
		"size   minimum   median     90 %     99 %   99.9 %  99.99 %   maximum\n"
		"   B        us       us       us       us       us       us        us\n"
		"   8      0.10     0.40     0.40     0.40        -        -      0.50\n"
		"counters of this host: no errors; of the other host: no errors\n"
		"best median: 7.30 us at size 8\n");
}

static void several_threads_and_queue_pairs_are_named(void **state)
{
	static const char *const lines[] = {
		"test:       2 threads, 4 queue pairs each\n",
		"test:       1 thread, 4 queue pairs\n",
		"test:       2 threads, 1 queue pair each\n",
	};
	static const uint32_t numbers[][2] = {{2, 4}, {1, 4}, {2, 1}};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		make(false, "write");
		options.measure.threads = numbers[i][0];
		options.measure.queue_pairs = numbers[i][1];
		run(print, NULL);
		assert_non_null(strstr(printed.out, lines[i]));
	}
}

static void quiet_prints_nothing(void **state)
{
	(void)state;
	make(false, "write");
	measurement.output = quiet;
	run(print, NULL);
	assert_string_equal(printed.out, "");
	assert_string_equal(printed.error, "");
}

/* Facts that differ are shown for each end; --verbose adds those of the memory, and columns. */
static void different_ends_are_told_apart(void **state)
{
	(void)state;
	make(false, "write");
	options.measure.bidirectional = options.verbose = true;
	measurement.output = verbose;
	memset(&measurement.theirs, 0, sizeof(measurement.theirs));
	facts_add(&measurement.ours, "numa node", "0");
	facts_add(&measurement.theirs, "device", "mlx5_0");
	facts_add(&measurement.theirs, "port", "2");
	facts_add(&measurement.theirs, "driver", "mlx5_core");
	facts_add(&measurement.theirs, "rate", "100 Gb/sec (4X EDR)");
	facts_add(&measurement.theirs, "rdma mtu", "4096");
	facts_add(&measurement.theirs, "gid type", "RoCE v2");
	run(print, NULL);
	assert_string_equal(printed.out,
		"WRITE bandwidth between host2 (rxe0/1) and 10.77.0.1 (mlx5_0/2), 2026-11-26\n"
		"  20:01:07\n"
		"this host:  rdma_rxe, 2.5 Gb/sec (1X SDR), NUMA node 0, thread on node 0\n"
		"other host: mlx5_core, 100 Gb/sec (4X EDR)\n"
		"both ends:  RDMA MTU 4096, RoCE v2, poll spin\n"
		"this host:  DSCP 0, relaxed ordering off, huge pages on, completion vector 0\n"
		"other host: DSCP unknown, relaxed ordering unknown, huge pages unknown,\n"
		"            completion vector unknown\n"
		"size     by  average    worst     best messages this host    other   total depth\n"
		"   B            MB/s     MB/s     MB/s      1/s  CPU s/GB CPU s/GB     ops   ops\n"
		"  4K client  175.1    172.7    177.2      42742      5.70     0.00   42742   128\n"
		" 64K client  220.4    218.3    221.9       3363      4.54     0.00    3363    64\n"
		"counters of this host: no errors; of the other host: no errors\n"
		"best rate: 220.4 MB/s in both directions together at size 64K\n");
}

/* Counters that do not fit one line have a line for each end. */
static void many_counters_are_folded(void **state)
{
	(void)state;
	make(false, "write");
	measurement.our_counters = (struct counters){
		.count = 2, .list = {{"completer_retry_err", 19}, {"duplicate_request", 282}}};
	measurement.their_counters = (struct counters){.count = 4,
		.list = {{"completer_retry_err", 19}, {"duplicate_request", 282},
			{"out_of_sequence", 12}, {"packet_seq_err", 41}}};
	run(print, NULL);
	assert_non_null(strstr(printed.out,
		"\ncounters of this host: completer_retry_err 19, duplicate_request 282\n"
		"counters of the other host: completer_retry_err 19, duplicate_request 282,\n"
		"  out_of_sequence 12, packet_seq_err 41\nbest rate"));
}

/* Packets that soft-RoCE sent twice, although none was lost, are explained. */
static void needless_retransmissions_are_harmless(void **state)
{
	static const char harmless[] =
		"\nno packet is known to be lost: soft-RoCE often retransmits without need\nbest rate";
	const struct counters twice = {
		.count = 2, .list = {{"completer_retry_err", 3}, {"duplicate_request", 14}}};

	(void)state;
	make(false, "write");
	measurement.our_counters = measurement.their_counters = twice;
	run(print, NULL);
	assert_non_null(strstr(printed.out, harmless));
	measurement.our_counters =
		(struct counters){.count = 1, .list = {{"completer_retry_err", 30}}};
	run(print, NULL);
	assert_null(strstr(printed.out, harmless));
	measurement.our_counters = twice;
	for (unsigned int i = 0; i < measurement.theirs.count; i++)
		if (strcmp(measurement.theirs.facts[i].name, "driver") == 0)
			strcpy(measurement.theirs.facts[i].value, "mlx5_core");
	run(print, NULL);
	assert_null(strstr(printed.out, harmless));
}

/* No line is wider than the terminal, or than 80 columns. */
static void lines_fit_all_terminals(void **state)
{
	static const unsigned short widths[] = {40, 60, 80, 120};

	(void)state;
	setenv("NO_COLOR", "1", 1);
	for (size_t i = 0; i < COUNT(widths); i++)
		for (unsigned int kind = 0; kind < 4; kind++) {
			make(kind & 1, kind & 1 ? "read" : "write");
			options.verbose = kind & 2;
			measurement.output = kind & 2 ? verbose : plain;
			run_on_terminal(print, true, widths[i]);
			for (const char *line = printed.error; *line;
				line += strcspn(line, "\n") + 1)
				check_case(line,
					strcspn(line, "\n") <= (widths[i] < 80 ? widths[i] : 80));
			assert_non_null(strstr(printed.error, "\nsize "));
		}
}

/* The longest bar ends where the terminal does. */
static void a_histogram_is_as_wide_as_the_terminal(void **state)
{
	static const unsigned short widths[] = {40, 60, 80, 120};
	const char *bar;

	(void)state;
	for (size_t i = 0; i < COUNT(widths); i++) {
		make(true, "write");
		options.measure.histogram = true;
		run_on_terminal(print, true, widths[i]);
		bar = strstr(printed.error, "      0.42 us        98   98.00 % ###");
		assert_non_null(bar);
		assert_int_equal(strcspn(bar, "\n"), widths[i]);
		assert_non_null(strstr(printed.error, "\nlatency up to       ops     share\n"
						      "      0.13 us         1    1.00 %"));
	}
	run(print, NULL);
	assert_non_null(strstr(printed.out,
		"      0.42 us        98   98.00 % ##############################################\n"));
}

static int print_running(void)
{
	struct test_parameters parameters = {.size = 65536, .queue_pairs = 2, .milliseconds = 2000};
	struct screen_test running = {&measurement, &parameters, "warming up", 0};
	struct test_shared *shared = &measurement.threads.shared;

	test_shared_init(shared, 1000000000);
	screen_show_running(&running, 1000000000);
	output_drain();
	running.phase = NULL;
	test_shared_add(shared, 1200000000, UINT64_C(65536) * 500);
	/* Too early. */
	screen_show_running(&running, 1200000000);
	screen_show_running(&running, 1300000000);
	output_drain();
	parameters.operations = 1000;
	running.next = 0;
	screen_show_running(&running, 1300000000);
	output_drain();
	screen_print_best(&measurement);
	return (int)output_finish(&measurement.output, STATUS_OK);
}

#define ERASE "\r\033[K"

static void a_terminal_shows_the_running_test(void **state)
{
	(void)state;
	make(false, "write");
	run_on_terminal(print_running, true, 80);
	assert_string_equal(printed.error,
		" 64K  warming up" ERASE
		" 64K  109.2    163.8    163.8       1667  0.3 of 2.0 s" ERASE
		" 64K  109.2    163.8    163.8       1667  500 of 2000" ERASE
		"best rate: 220.4 MB/s at size 64K\n");
	/* With --csv, only this. */
	measurement.output = quiet;
	run_on_terminal(print_running, false, 80);
	assert_non_null(strstr(printed.error, "1667  0.3 of 2.0 s"));
	assert_null(strstr(printed.error, "best rate"));
	options.quiet = true;
	run_on_terminal(print_running, true, 80);
	assert_string_equal(printed.error, "");
	options.quiet = false;
	measurement.output = plain;
	run(print_running, NULL);
	assert_string_equal(printed.error, "");
	assert_string_equal(printed.out, "best rate: 220.4 MB/s at size 64K\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bandwidth_test_in_a_file),
		cmocka_unit_test(a_latency_test_in_a_file),
		cmocka_unit_test(several_threads_and_queue_pairs_are_named),
		cmocka_unit_test(quiet_prints_nothing),
		cmocka_unit_test(different_ends_are_told_apart),
		cmocka_unit_test(many_counters_are_folded),
		cmocka_unit_test(needless_retransmissions_are_harmless),
		cmocka_unit_test(lines_fit_all_terminals),
		cmocka_unit_test(a_histogram_is_as_wide_as_the_terminal),
		cmocka_unit_test(a_terminal_shows_the_running_test),
	};

	return cmocka_run_group_tests_name("screen", tests, NULL, NULL);
}

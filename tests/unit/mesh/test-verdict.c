/* What a mesh prints about its results: findings, the tests to repeat, the matrix, differences. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/differences.h"
#include "mesh/matrix.h"
#include "mesh/verdict.h"
#include "tests/unit/unit.h"

static struct host_list list;
static struct mesh_results results;
static struct topology topology;
static struct options options;
static struct coordinator coordinator;
static struct verdict verdict;

/* Of any device; the test of rails names two. */
static struct mesh_rail rails[2];
static char address[] = "192.0.2.1";

/* Makes healthy results of hosts h1 to hN: rates from 99 to 100 MB/s, 2 us. */
static void make(unsigned int hosts)
{
	char text[16], why[MESH_REASON_SIZE];

	snprintf(text, sizeof(text), "h[1-%u]", hosts);
	assert_int_equal(host_list_expand(&list, text, why), 0);
	assert_int_equal(results_make(&results, &list, &topology), 0);
	coordinator = (struct coordinator){
		.options = &options, .list = &list, .rails = rails, .rail_count = 1};
	coordinator.hosts = calloc(hosts, sizeof(coordinator.hosts[0]));
	for (unsigned int from = 0; from < hosts; from++) {
		coordinator.hosts[from].state = MESH_HOST_READY;
		for (unsigned int to = 0; to < hosts; to++) {
			struct mesh_outcome outcome = {.measured = true,
				.good = true,
				.bytes_per_second =
					99000000 + 1000000 * (from * 7 + to * 3) % 1000000,
				.median_ns = 2000};

			if (from != to)
				results_add(&results, &(struct mesh_test){from, to, false, 0},
					&outcome);
			if (from < to)
				results_add(
					&results, &(struct mesh_test){from, to, true, 0}, &outcome);
		}
	}
}

static int clean(void **state)
{
	(void)state;
	verdict_free(&verdict);
	results_free(&results);
	for (unsigned int i = 0; i < list.count; i++)
		free(coordinator.hosts[i].devices);
	host_list_free(&list);
	free(coordinator.hosts);
	memset(rails, 0, sizeof(rails));
	options = (struct options){0};
	return 0;
}

/* Adds a device that can be used. Returns its facts. */
static struct mesh_facts *add_device(unsigned int number, const char *name)
{
	struct mesh_host *host = &coordinator.hosts[number];
	struct mesh_device *device;

	if (!host->devices)
		host->devices = calloc(2, sizeof(host->devices[0]));
	device = &host->devices[host->device_count++];
	strcpy(device->facts.device, name);
	device->addresses = address;
	return &device->facts;
}

/* Makes the coordinator's rails a and b. */
static void name_rails(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		rails[i].number[MESH_FROM] = rails[i].number[MESH_TO] = i;
		rails[i].name[0] = rails[i].device[0][0] = rails[i].device[1][0] = (char)('a' + i);
	}
	coordinator.rail_count = 2;
}

static void slow(unsigned int from, unsigned int to, double factor)
{
	struct mesh_result *result = results_bandwidth(&results, from, to);

	result->bytes_per_second = result->first_bytes_per_second = (uint64_t)(factor * 99000000);
}

static void fail_direction(unsigned int from, unsigned int to, const char *message)
{
	struct mesh_result *result = results_bandwidth(&results, from, to);

	result->state = MESH_BROKEN;
	result->bytes_per_second = 0;
	result->message = strdup(message);
}

static void judge(void)
{
	verdict_free(&verdict);
	assert_int_equal(verdict_make(&verdict, &results, &coordinator), 0);
}

static void test_healthy(void **state)
{
	(void)state;
	make(5);
	judge();
	assert_int_equal(verdict.count, 0);
	assert_int_equal(verdict.directions, 20);
	assert_int_equal(verdict.good, 20);
}

static void test_sentences(void **state)
{
	(void)state;
	make(6);
	for (unsigned int to = 0; to < 6; to++)
		if (to != 2)
			slow(2, to, 0.5);
	fail_direction(0, 5, "cannot connect: no reply (within 4 s; none); check");
	judge();
	assert_int_equal(verdict.count, 2);
	assert_string_equal(verdict.findings[0].text,
		"h3 is slow when it sends: 5 of 5 directions at 50 % of the typical 99.0 MB/s");
	assert_string_equal(verdict.findings[1].text,
		"the direction h1 -> h6 is broken: failed: cannot connect: no reply");
	assert_int_equal(verdict.drained[2], 1);
	assert_int_equal(verdict.drained[0], 0);
	assert_int_equal(verdict.slow, 5);
	assert_int_equal(verdict.broken, 1);
	assert_int_equal(verdict.good, 24);
	assert_true(verdict.decided);
}

static void test_late(void **state)
{
	(void)state;
	make(6);
	results_latency(&results, 3, 1)->median_ns = 9000;
	judge();
	assert_int_equal(verdict.count, 1);
	assert_string_equal(verdict.findings[0].text,
		"the pair h2 and h4 is late: latency of 1 of 1 pairs 4.5 times the typical 2.00 us");
}

static void test_groups(void **state)
{
	static char names[3][MESH_NAME_SIZE] = {"leaf1", "leaf2", "leaf3"};
	static unsigned int groups[] = {0, 0, 1, 1, 2, 2};
	struct mesh_test tests[64];

	(void)state;
	topology = (struct topology){names, 3, groups};
	make(6);
	for (unsigned int to = 0; to < 6; to++)
		if (groups[to] != 1) {
			slow(2, to, 0.3);
			slow(3, to, 0.3);
		}
	judge();
	topology = (struct topology){0};
	assert_int_equal(verdict.count, 1);
	assert_string_equal(verdict.findings[0].text,
		"the group leaf2 is slow when it sends to other groups: 8 of 8 directions at 30 % of "
		"the typical 99.0 MB/s");
	assert_int_equal(verdict_retests(&verdict, &results, tests, 64), 3);
	for (int i = 0; i < 3; i++)
		assert_true(groups[tests[i].from] == 1 && groups[tests[i].to] != 1);
}

static void test_hosts(void **state)
{
	(void)state;
	make(4);
	coordinator.hosts[1].state = MESH_HOST_UNUSABLE;
	snprintf(coordinator.hosts[1].reason, MESH_REASON_SIZE, "no device");
	coordinator.hosts[2].state = MESH_HOST_ABSENT;
	judge();
	assert_int_equal(verdict.count, 2);
	assert_string_equal(verdict.findings[0].text, "h2 was not tested: no device");
	assert_string_equal(verdict.findings[1].text, "h3 was not tested: no agent has connected");
	assert_int_equal(verdict.drained[1], 1);
	assert_int_equal(verdict.drained[2], 0);
}

static void test_expectation(void **state)
{
	(void)state;
	options.measure.expect = 100e6;
	make(4);
	judge();
	assert_int_equal(verdict.slow, 12);
	options.measure.expect = 90e6;
	judge();
	assert_int_equal(verdict.slow, 0);
	options.measure.expect = 0.9;
	options.measure.expect_percent = true;
	judge();
	assert_int_equal(verdict.count, 1);
	assert_string_equal(verdict.findings[0].text,
		"the link rate of 12 directions is unknown; give --expect an absolute rate");
}

/* Repeats these tests, with the same results. */
static void repeat(const struct mesh_test *tests, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct mesh_outcome same = {.measured = true,
			.good = true,
			.bytes_per_second = results_bandwidth(&results, tests[i].from, tests[i].to)
						    ->bytes_per_second,
			.median_ns = 20000};

		results_add(&results, &tests[i], &same);
	}
	judge();
}

/* Of an accused host, a few directions are repeated, once; others, and pairs, three times. */
static void test_retests(void **state)
{
	struct mesh_test tests[64];
	unsigned int count;

	(void)state;
	make(10);
	for (unsigned int to = 0; to < 10; to++)
		if (to != 2)
			slow(2, to, 0.5);
	slow(7, 8, 0.4);
	results_latency(&results, 5, 6)->median_ns = 20000;
	judge();
	count = verdict_retests(&verdict, &results, tests, 64);
	assert_int_equal(count, 5);
	for (unsigned int i = 0; i < 4; i++)
		assert_true(!tests[i].latency && tests[i].from == (i < 3 ? 2 : 7));
	assert_true(tests[4].latency && tests[4].from == 5 && tests[4].to == 6);
	for (int pass = 0; pass < 2; pass++) {
		repeat(tests, count);
		count = verdict_retests(&verdict, &results, tests, 64);
		assert_int_equal(count, 2);
		assert_int_equal(tests[0].from, 7);
		assert_true(tests[1].latency);
	}
	repeat(tests, count);
	assert_int_equal(verdict_retests(&verdict, &results, tests, 64), 0);
	/* What was tested least comes first. */
	slow(3, 4, 0.4);
	results_bandwidth(&results, 7, 8)->tests = 2;
	judge();
	assert_int_equal(verdict_retests(&verdict, &results, tests, 1), 1);
	assert_int_equal(tests[0].from, 3);
}

/* The best of several tests counts, whatever their order. */
static void test_best(void **state)
{
	const struct mesh_test test = {0, 1, false, 0};
	struct mesh_outcome outcome = {.measured = true, .message = "no reply"};

	(void)state;
	make(3);
	results_add(&results, &test, &outcome);
	assert_int_equal(results_bandwidth(&results, 0, 1)->state, MESH_GOOD);
	outcome = (struct mesh_outcome){
		.measured = true, .good = true, .bytes_per_second = 200000000};
	results_add(&results, &test, &outcome);
	outcome.bytes_per_second = 1;
	results_add(&results, &test, &outcome);
	assert_int_equal(results_bandwidth(&results, 0, 1)->bytes_per_second, 200000000);
	assert_int_equal(results_bandwidth(&results, 0, 1)->tests, 4);
}

/* Of an interrupted run, the typical rate is shown, and nothing slow accused. */
static void test_interrupted(void **state)
{
	(void)state;
	make(6);
	coordinator.signal = 2;
	slow(0, 1, 0.1);
	results_bandwidth(&results, 2, 3)->state = MESH_NOT_MEASURED;
	judge();
	assert_int_equal(verdict.count, 0);
	assert_true(fabs(exp(verdict.bandwidth.typical) - 99e6) < 1e6);
}

static char printed[16384];

static void print(void *context, const char *line)
{
	size_t *longest = context;

	if (strlen(line) > *longest)
		*longest = strlen(line);
	strcat(printed, line);
	strcat(printed, "\n");
}

static void test_matrix(void **state)
{
	size_t longest = 0;

	(void)state;
	make(3);
	slow(0, 1, 0.4);
	fail_direction(1, 2, "x");
	results_bandwidth(&results, 2, 0)->state = MESH_NOT_MEASURED;
	judge();
	*printed = '\0';
	matrix_print(&results, &verdict, 80, print, &longest);
	assert_string_equal(printed, "MB/s from the host of the row to that of the column:\n"
				     "to    h1    h2    h3\n"
				     "h1     .  39.6  99.0\n"
				     "h2  99.0     .  fail\n"
				     "h3     ?  99.0     .\n");
}

static void test_large_matrix(void **state)
{
	size_t longest = 0;

	(void)state;
	make(64);
	for (unsigned int to = 0; to < 64; to++)
		if (to != 9)
			slow(9, to, 0.34);
	judge();
	*printed = '\0';
	matrix_print(&results, &verdict, 80, print, &longest);
	assert_true(longest <= 80);
	assert_non_null(strstr(printed, "\nh10 10 333333333\\3333333333333"));
	assert_non_null(strstr(printed, "\nh11 11 ..........\\............."));
	*printed = '\0';
	matrix_print(&results, &verdict, 60, print, &longest);
	assert_string_equal(
		printed, "the matrix of so many hosts does not fit here: use --html or --json\n");
}

static void test_differences(void **state)
{
	size_t longest = 0;

	(void)state;
	make(4);
	for (unsigned int i = 0; i < 4; i++) {
		struct mesh_facts *facts = add_device(i, "mlx5_0");

		facts->interface_mtu = i == 2 ? 1500 : 9000;
		strcpy(facts->driver, "mlx5_core");
		strcpy(facts->firmware, i < 2 ? "20.1" : i == 2 ? "20.2" : "");
		strcpy(coordinator.hosts[i].facts.kernel, i == 3 ? "6.12" : "6.1");
	}
	*printed = '\0';
	differences_print(&coordinator, print, &longest);
	assert_string_equal(printed, "firmware differs: h3 has 20.2; 2 hosts have 20.1\n"
				     "interface MTU differs: h3 has 1500; 3 hosts have 9000\n"
				     "kernel differs: h4 has 6.12; 3 hosts have 6.1\n");
}

/* Two rails, whose facts are compared apart; those of hosts are compared once. */
static void test_differences_of_rails(void **state)
{
	size_t longest = 0;

	(void)state;
	make(3);
	name_rails();
	for (unsigned int i = 0; i < 3; i++) {
		strcpy(add_device(i, "a")->rate, "200");
		strcpy(add_device(i, "b")->rate, i == 1 ? "100" : "200");
		strcpy(coordinator.hosts[i].facts.kernel, i == 2 ? "6.12" : "6.1");
	}
	*printed = '\0';
	differences_print(&coordinator, print, &longest);
	assert_string_equal(printed, "kernel differs: h3 has 6.12; 2 hosts have 6.1\n"
				     "b: rate differs: h2 has 100; 2 hosts have 200\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_healthy, clean),
		cmocka_unit_test_teardown(test_sentences, clean),
		cmocka_unit_test_teardown(test_late, clean),
		cmocka_unit_test_teardown(test_groups, clean),
		cmocka_unit_test_teardown(test_hosts, clean),
		cmocka_unit_test_teardown(test_expectation, clean),
		cmocka_unit_test_teardown(test_retests, clean),
		cmocka_unit_test_teardown(test_best, clean),
		cmocka_unit_test_teardown(test_interrupted, clean),
		cmocka_unit_test_teardown(test_matrix, clean),
		cmocka_unit_test_teardown(test_large_matrix, clean),
		cmocka_unit_test_teardown(test_differences, clean),
		cmocka_unit_test_teardown(test_differences_of_rails, clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

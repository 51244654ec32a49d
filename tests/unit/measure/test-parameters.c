/* The choice of a test's parameters. */
#include <stdlib.h>

#include "measure/parameters.h"
#include "tests/unit/unit.h"

#define MEMORY (1U << 20)

/* The opcodes of operations with each wait and mode. */
static void only_latency_that_waits_or_must_uses_immediate_data(void **state)
{
	static const struct {
		enum test_kind kind;
		enum test_wait wait;
		bool reads;
		enum ibv_wr_opcode opcode;
	} cases[] = {
		{TEST_LATENCY, TEST_SPIN, false, IBV_WR_RDMA_WRITE},
		{TEST_LATENCY, TEST_SPIN_IMMEDIATE, false, IBV_WR_RDMA_WRITE_WITH_IMM},
		{TEST_LATENCY, TEST_EVENT, false, IBV_WR_RDMA_WRITE_WITH_IMM},
		{TEST_LATENCY, TEST_SPIN_IMMEDIATE, true, IBV_WR_RDMA_READ},
		{TEST_BANDWIDTH, TEST_EVENT, false, IBV_WR_RDMA_WRITE},
		{TEST_BANDWIDTH, TEST_SPIN, true, IBV_WR_RDMA_READ},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct ibv_mr mr = {0};
		struct control control = {.private.mr = &mr};
		struct queue_pair pair = {0};
		struct perf_test test = {
			.control = &control,
			.parameters = {.kind = cases[i].kind,
				.wait = cases[i].wait,
				.operation = &test_operations[cases[i].reads],
				.size = 8,
				.slots = 1},
			.queue_pairs = {{.pair = &pair}},
		};
		struct ibv_send_wr request;
		struct ibv_sge pieces[TEST_SGE_MAX];

		perf_test_describe(&test, test.queue_pairs, 0, &request, pieces);
		assert_int_equal(request.opcode, cases[i].opcode);
	}
}

static bool needs_immediate(const char *ours, const char *theirs, bool immediate,
	const struct test_parameters *parameters)
{
	const struct device_traits traits = {.immediate = immediate};
	struct measurement *measurement = calloc(1, sizeof(*measurement));
	bool needed;

	assert_non_null(measurement);
	measurement->threads.members[0].control.device.traits = &traits;
	facts_add(&measurement->ours, "rdma mtu", "%s", ours);
	if (theirs)
		facts_add(&measurement->theirs, "rdma mtu", "%s", theirs);
	needed = parameters_need_immediate(measurement, parameters);
	free(measurement);
	return needed;
}

/* The last byte of a WRITE of several packets may arrive first. The smaller MTU is the path's. */
static void spinning_on_several_packets_needs_immediate_data(void **state)
{
	static const struct {
		const char *ours, *theirs;
		uint32_t size;
		bool immediate, needed;
	} cases[] = {
		{"4096", "4096", 4096, true, false},
		{"4096", "4096", 4097, true, true},
		{"4096", "1024", 1025, true, true},
		{"1024", "4096", 1025, true, true},
		{"1024", "4096", 1024, true, false},
		{"1024", NULL, 256, true, false},
		{"1024", NULL, 257, true, true},
		{"4096", "1024", 8192, false, false},
	};
	static const struct test_parameters others[] = {
		{.size = 8192,
			.kind = TEST_LATENCY,
			.wait = TEST_SPIN,
			.operation = &test_operations[TEST_READ]},
		{.size = 8192,
			.kind = TEST_LATENCY,
			.wait = TEST_EVENT,
			.operation = &test_operations[TEST_WRITE]},
		{.size = 8192,
			.kind = TEST_BANDWIDTH,
			.wait = TEST_SPIN,
			.operation = &test_operations[TEST_WRITE]},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct test_parameters parameters = {
			.operation = &test_operations[TEST_WRITE],
			.size = cases[i].size,
			.kind = TEST_LATENCY,
			.wait = TEST_SPIN};

		assert_int_equal(needs_immediate(cases[i].ours, cases[i].theirs, cases[i].immediate,
					 &parameters),
			cases[i].needed);
	}
	for (size_t i = 0; i < COUNT(others); i++)
		assert_false(needs_immediate("4096", "1024", true, &others[i]));
}

/* The number of READs that both ends allow limits the depth only if the device requires it. */
static void the_depth_is_limited(void **state)
{
	static const struct {
		struct options options;
		bool reads, limits;
		uint8_t granted;
		uint64_t size;
		uint32_t depth;
	} cases[] = {
		{{.depth = 100}, true, true, 16, 64, 16},
		{{.depth = 100}, true, true, 200, 64, 100},
		{{.depth = 100}, true, true, 0, 64, 1},
		{{.depth = 100}, true, false, 16, 64, 100},
		{{.depth = 100}, false, true, 16, 64, 100},
		{{.measure.bidirectional = true}, true, true, 16, 64, 16},
		{{.depth = 0}, false, false, 16, 64, 128},
		{{.depth = 0}, false, false, 16, 1 << 17, 32},
		{{.depth = 0}, false, false, 16, 1 << 24, 16},
		{{.measure.latency = true}, false, false, 16, 64, 64},
		{{.measure.verify = true}, false, false, 16, MEMORY / 4, 4},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct device_traits traits = {.limits_reads = cases[i].limits};
		struct measurement *measurement = calloc(1, sizeof(*measurement));
		struct control *control;
		struct options options = cases[i].options;
		struct test_parameters parameters;

		assert_non_null(measurement);
		options.operation = &test_operations[cases[i].reads];
		options.measure.queue_pairs = 1;
		measurement->options = &options;
		control = &measurement->threads.members[0].control;
		control->device.traits = &traits;
		control->reads = cases[i].granted;
		control->private.size = MEMORY;
		parameters_choose(measurement, cases[i].size, &parameters);
		assert_int_equal(parameters.depth, cases[i].depth);
		free(measurement);
	}
}

/*
 * The memory of verified SENDs: each receive keeps its data, and one of a queue pair's own has room
 * for a command; over unreliable queue pairs, it has room for the header of a datagram instead.
 * Shared receives are those of all queue pairs and twice the reserve. If they are too large, there
 * are fewer.
 */
static void verified_receives_have_memory(void **state)
{
	static const struct {
		enum test_operation_number operation;
		bool shares, verify;
		enum test_transport transport;
		uint32_t queue_pairs, depth;
		uint64_t size;
		uint32_t receives; /* 0: the memory is that of the operations */
		uint32_t depth_max;
	} cases[] = {
		{TEST_SEND, false, true, TEST_RC, 3, 8, 8192, 3 * (8 + 16), 8},
		{TEST_SEND, true, true, TEST_RC, 3, 8, 8192, 3 * (8 + 16) + 2 * (8 + 24), 8},
		{TEST_SEND, true, true, TEST_RC, 1, 8, 1, 8 + 16 + 2 * (8 + 24), 8},
		{TEST_SEND, false, true, TEST_RC, 1, 8, 1, 8 + 16, 8},
		{TEST_SEND, true, false, TEST_RC, 3, 8, 8192, 0, 8},
		{TEST_WRITE_IMM, true, true, TEST_RC, 3, 8, 8192, 0, 8},
		{TEST_SEND, true, true, TEST_RC, 64, 128, 8192, 64 * (8 + 16) + 2 * (8 + 24), 8},
		{TEST_SEND, false, true, TEST_RC, 64, 128, 8192, 0, 128},
		{TEST_SEND, false, true, TEST_UD, 3, 8, 1000, 3 * (8 + 16), 8},
		{TEST_SEND, false, true, TEST_UC, 1, 8, 1, 8 + 16, 8},
		{TEST_SEND, false, true, TEST_UC, 63, 128, 8192, 63 * (16 + 16), 16},
		{TEST_SEND, false, false, TEST_UD, 3, 8, 1000, 3, 8},
		{TEST_SEND, false, false, TEST_UC, 3, 8, 1000, 0, 8},
		{TEST_WRITE_IMM, false, false, TEST_UC, 3, 8, 1000, 0, 8},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		bool lossy = cases[i].transport != TEST_RC;
		uint64_t least = cases[i].shares || lossy ? CONTROL_NOTICE_SIZE : COMMAND_MAX;
		uint64_t slot = (cases[i].size > least ? cases[i].size : least) +
				(lossy ? TEST_GRH_SIZE : 0);
		struct options options = {
			.operation = &test_operations[cases[i].operation],
			.depth = cases[i].depth,
			.measure = {.bandwidth = true,
				.shares = cases[i].shares,
				.transport = cases[i].transport,
				.verify = cases[i].verify,
				.queue_pairs = cases[i].queue_pairs,
				.smallest = cases[i].size,
				.largest = cases[i].size},
		};
		size_t expected = cases[i].receives ? (size_t)(cases[i].receives * slot)
						    : options_measure_memory(&options.measure);

		assert_int_equal(parameters_memory(&options), expected);
		assert_int_equal(parameters_depth_max(&options), cases[i].depth_max);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_latency_that_waits_or_must_uses_immediate_data),
		cmocka_unit_test(spinning_on_several_packets_needs_immediate_data),
		cmocka_unit_test(the_depth_is_limited),
		cmocka_unit_test(verified_receives_have_memory),
	};

	return cmocka_run_group_tests_name("parameters", tests, NULL, NULL);
}

/* The wire format of a test's parameters and result. */
#include <errno.h>
#include <string.h>

#include "protocol/test-parameters.h"
#include "tests/unit/unit.h"

static const struct test_parameters full = {
	.kind = TEST_BANDWIDTH,
	.wait = TEST_SPIN,
	.operation = &test_operations[TEST_READ],
	.direction = TEST_SERVER,
	.verify = true,
	.size = 0x01020304,
	.queue_pairs = 7,
	.depth = 0x0203,
	.slots = 0x0105,
	.operations = 0x1112131415161718,
	.milliseconds = 0x21222324,
	.seed = 0x3132333435363738,
};

static const uint8_t full_bytes[TEST_PARAMETERS_SIZE] =
	"\x00\x00\x01\x00\x01\x02\x01\x00\x04\x03\x02\x01\x07\x00\x00\x00"
	"\x03\x02\x00\x00\x05\x01\x00\x00\x24\x23\x22\x21\x00\x00\x00\x00"
	"\x18\x17\x16\x15\x14\x13\x12\x11\x38\x37\x36\x35\x34\x33\x32\x31";

static void assert_same(const struct test_parameters *got, const struct test_parameters *wanted)
{
	assert_int_equal(got->kind, wanted->kind);
	assert_int_equal(got->wait, wanted->wait);
	assert_ptr_equal(got->operation, wanted->operation);
	assert_int_equal(got->direction, wanted->direction);
	assert_int_equal(got->verify, wanted->verify);
	assert_int_equal(got->size, wanted->size);
	assert_int_equal(got->queue_pairs, wanted->queue_pairs);
	assert_int_equal(got->depth, wanted->depth);
	assert_int_equal(got->slots, wanted->slots);
	assert_int_equal(got->operations, wanted->operations);
	assert_int_equal(got->milliseconds, wanted->milliseconds);
	assert_int_equal(got->seed, wanted->seed);
}

static void matches_the_protocol_layout(void **state)
{
	uint8_t bytes[TEST_PARAMETERS_SIZE];

	(void)state;
	memset(bytes, 0xa5, sizeof(bytes));
	test_parameters_encode(&full, bytes);
	assert_memory_equal(bytes, full_bytes, TEST_PARAMETERS_SIZE);
}

static void survives_encoding(void **state)
{
	struct test_parameters back;

	(void)state;
	memset(&back, 0xa5, sizeof(back));
	assert_int_equal(test_parameters_decode(&back, full_bytes, TEST_PARAMETERS_SIZE), 0);
	assert_same(&back, &full);
}

/* 1 is true, every other value is false. */
static void decodes_the_flag(void **state)
{
	static const uint8_t values[] = {0, 1, 2, 3, 255};

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++) {
		uint8_t bytes[TEST_PARAMETERS_SIZE];
		struct test_parameters parameters;

		memcpy(bytes, full_bytes, TEST_PARAMETERS_SIZE);
		bytes[6] = values[i];
		assert_int_equal(
			test_parameters_decode(&parameters, bytes, TEST_PARAMETERS_SIZE), 0);
		assert_int_equal(parameters.verify, values[i] == 1);
	}
}

/* Unknown operations are refused, and atomic ones that do not have 8 bytes or lack a slot. */
static void decodes_the_operation(void **state)
{
	(void)state;
	for (unsigned int number = 0; number < 256; number++)
		for (unsigned int i = 0; i < 6; i++) {
			const struct test_operation *operation = test_operation_by_number(number);
			unsigned int size = 7 + i / 2;
			bool verify = i & 1, fits = size == 8 && !verify;
			bool valid = operation && (!operation->atomic || fits);
			uint8_t bytes[TEST_PARAMETERS_SIZE];
			struct test_parameters parameters;

			memcpy(bytes, full_bytes, TEST_PARAMETERS_SIZE);
			bytes[4] = (uint8_t)number;
			bytes[6] = verify;
			memset(bytes + 8, 0, 4);
			bytes[8] = (uint8_t)size;
			assert_int_equal(
				test_parameters_decode(&parameters, bytes, TEST_PARAMETERS_SIZE),
				valid ? 0 : -EPROTO);
			if (valid)
				assert_ptr_equal(parameters.operation, operation);
		}
}

static void refuses_wrong_lengths(void **state)
{
	uint8_t bytes[TEST_PARAMETERS_SIZE + 1] = {0};
	struct test_result result;
	struct test_parameters parameters;

	(void)state;
	memcpy(bytes, full_bytes, TEST_PARAMETERS_SIZE);
	assert_int_equal(test_parameters_decode(&parameters, NULL, 0), -EPROTO);
	assert_int_equal(
		test_parameters_decode(&parameters, bytes, TEST_PARAMETERS_SIZE - 1), -EPROTO);
	assert_int_equal(
		test_parameters_decode(&parameters, bytes, TEST_PARAMETERS_SIZE + 1), -EPROTO);
	assert_int_equal(test_result_decode(&result, NULL, 0), -EPROTO);
	assert_int_equal(test_result_decode(&result, bytes, TEST_RESULT_SIZE - 1), -EPROTO);
	assert_int_equal(test_result_decode(&result, bytes, TEST_RESULT_SIZE + 1), -EPROTO);
}

static int decode_with(size_t at, size_t bytes, uint64_t value)
{
	uint8_t text[TEST_PARAMETERS_SIZE];
	struct test_parameters parameters;

	memcpy(text, full_bytes, TEST_PARAMETERS_SIZE);
	for (size_t i = 0; i < bytes; i++)
		text[at + i] = (uint8_t)(value >> 8 * i);
	return test_parameters_decode(&parameters, text, TEST_PARAMETERS_SIZE);
}

static void refuses_impossible_parameters(void **state)
{
	static const struct {
		const char *name;
		size_t at, bytes;
		uint64_t value;
		bool possible;
	} cases[] = {
		{"latency, which only the client initiates", 0, 2, TEST_LATENCY, false},
		{"the client", 5, 1, TEST_CLIENT, true},
		{"both ends", 5, 1, TEST_BOTH, true},
		{"no direction", 5, 1, TEST_DIRECTIONS, false},
		{"the largest direction", 5, 1, 255, false},
		{"an unknown kind", 0, 2, TEST_KINDS, false},
		{"a kind beyond a byte", 0, 2, 0x100, false},
		{"an event", 2, 2, 0, true},
		{"an unknown wait mode", 2, 2, TEST_WAITS, false},
		{"a wait mode beyond a byte", 2, 2, 0x101, false},
		{"no bytes", 8, 4, 0, false},
		{"one byte", 8, 4, 1, true},
		{"4 GiB", 8, 4, UINT32_MAX, true}, /* decodes, although no server has the memory */
		{"no queue pair", 12, 4, 0, false},
		{"one queue pair", 12, 4, 1, true},
		{"too many queue pairs", 12, 4, TEST_QUEUE_PAIRS_MAX + 1, false},
		{"a count whose product wraps", 12, 4, 0x80000000, false},
		{"no depth", 16, 4, 0, false},
		{"less deep than slots", 16, 4, 0x104, false},
		{"as deep as slots", 16, 4, 0x105, true},
		{"deepest", 16, 4, TEST_DEPTH_MAX, true}, /* 7 * 1024 in total */
		{"too deep", 16, 4, TEST_DEPTH_MAX + 1, false},
		{"a depth whose product wraps", 16, 4, 0xffffffff, false},
		{"no slots", 20, 4, 0, false},
		{"one slot", 20, 4, 1, true},
		{"as many slots as depth", 20, 4, 0x0203, true},
		{"more slots than depth", 20, 4, 0x0204, false},
		{"no time, but operations", 24, 4, 0, true},
		{"no operations, but a time", 32, 8, 0, true},
		{"any seed", 40, 8, 0, true},
		{"inline data of READs", 48, 2, 1, false},
		{"a signal for each operation", 50, 2, 1, true},
		{"a signal for as many as the depth", 50, 2, 0x0203, true},
		{"a signal for more than the depth", 50, 2, 0x0204, false},
		{"32 pieces", 52, 2, TEST_SGE_MAX, true},
		{"33 pieces", 52, 2, TEST_SGE_MAX + 1, false},
		{"65535 pieces", 52, 2, UINT16_MAX, false},
		{"ignored bytes", 54, 2, UINT16_MAX, true},
		{"a shared counter of a READ", 56, 8, 1, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		check_case(
			cases[i].name, decode_with(cases[i].at, cases[i].bytes, cases[i].value) ==
					       (cases[i].possible ? 0 : -EPROTO));
}

/* READs and atomic operations have no data that could be inline. */
static void decodes_the_inline_size(void **state)
{
	static const struct {
		enum test_operation_number number;
		uint32_t below;
		bool possible;
	} cases[] = {
		{TEST_WRITE, 1, true},
		{TEST_SEND, TEST_INLINE_MAX + 1, true},
		{TEST_WRITE_IMM, TEST_INLINE_MAX + 2, false},
		{TEST_WRITE, UINT16_MAX, false},
		{TEST_READ, 1, false},
		{TEST_FETCH_ADD, 9, false},
		{TEST_COMPARE_SWAP, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct test_parameters parameters = full, back;
		uint8_t bytes[TEST_PARAMETERS_SIZE];

		parameters.operation = &test_operations[cases[i].number];
		parameters.inline_below = cases[i].below;
		parameters.verify = false;
		parameters.size = TEST_ATOMIC_SIZE;
		test_parameters_encode(&parameters, bytes);
		assert_int_equal(test_parameters_decode(&back, bytes, TEST_PARAMETERS_SIZE),
			cases[i].possible ? 0 : -EPROTO);
		if (cases[i].possible)
			assert_int_equal(back.inline_below, cases[i].below);
	}
}

/* Only operations that use up receives tell what has arrived; datagrams are SENDs. */
static void decodes_the_transport(void **state)
{
	static const struct {
		uint8_t transport;
		enum test_operation_number number;
		enum test_kind kind;
		bool verify, keeps; /* a slot for each operation in flight */
		bool possible;
	} cases[] = {
		{TEST_UC, TEST_SEND, TEST_BANDWIDTH, false, false, true},
		{TEST_UD, TEST_SEND, TEST_BANDWIDTH, false, false, true},
		{TEST_UC, TEST_WRITE_IMM, TEST_BANDWIDTH, false, false, true},
		{TEST_UD, TEST_WRITE_IMM, TEST_BANDWIDTH, false, false, false},
		{TEST_UC, TEST_WRITE, TEST_BANDWIDTH, false, false, false},
		{TEST_UC, TEST_READ, TEST_BANDWIDTH, false, false, false},
		{TEST_UD, TEST_FETCH_ADD, TEST_BANDWIDTH, false, false, false},
		{TEST_UC, TEST_SEND, TEST_LATENCY, false, false, true},
		{TEST_UD, TEST_SEND, TEST_LATENCY, true, false, true},
		{TEST_UC, TEST_WRITE_IMM, TEST_LATENCY, true, false, true},
		{TEST_UC, TEST_WRITE, TEST_LATENCY, false, false, false},
		{TEST_UC, TEST_SEND, TEST_BANDWIDTH, true, true, true},
		{TEST_UC, TEST_SEND, TEST_BANDWIDTH, true, false, false},
		{TEST_UC, TEST_WRITE_IMM, TEST_BANDWIDTH, true, true, false},
		{TEST_TRANSPORTS, TEST_SEND, TEST_BANDWIDTH, false, false, false},
		{UINT8_MAX, TEST_SEND, TEST_BANDWIDTH, false, false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct test_parameters parameters = full, back;
		uint8_t bytes[TEST_PARAMETERS_SIZE];

		parameters.operation = &test_operations[cases[i].number];
		parameters.transport = (enum test_transport)cases[i].transport;
		parameters.kind = cases[i].kind;
		parameters.direction = TEST_CLIENT;
		parameters.verify = cases[i].verify;
		parameters.signal_every = 0;
		parameters.size = TEST_ATOMIC_SIZE;
		parameters.slots = cases[i].keeps ? parameters.depth : 1;
		test_parameters_encode(&parameters, bytes);
		assert_int_equal(bytes[7], cases[i].transport);
		if (test_parameters_decode(&back, bytes, TEST_PARAMETERS_SIZE) !=
			(cases[i].possible ? 0 : -EPROTO))
			fail_msg("case %zu", i);
		if (cases[i].possible)
			assert_int_equal(back.transport, cases[i].transport);
	}
}

/* Each piece has a byte, an atomic operation has one piece, and a latency test its own signals. */
static void decodes_pieces_and_signals(void **state)
{
	static const struct {
		enum test_operation_number number;
		enum test_kind kind;
		uint32_t size, gathers, signal_every;
		bool possible;
	} cases[] = {
		{TEST_WRITE, TEST_BANDWIDTH, 8, 8, 7, true},
		{TEST_WRITE, TEST_BANDWIDTH, 8, 9, 7, false},
		{TEST_READ, TEST_LATENCY, 32, 32, 0, true},
		{TEST_WRITE, TEST_LATENCY, 32, 0, 1, false},
		{TEST_FETCH_ADD, TEST_BANDWIDTH, 8, 1, 4, true},
		{TEST_COMPARE_SWAP, TEST_BANDWIDTH, 8, 2, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct test_parameters parameters = full, back;
		uint8_t bytes[TEST_PARAMETERS_SIZE];

		parameters.operation = &test_operations[cases[i].number];
		parameters.kind = cases[i].kind;
		parameters.direction = TEST_CLIENT;
		parameters.verify = false;
		parameters.size = cases[i].size;
		parameters.gathers = cases[i].gathers;
		parameters.signal_every = cases[i].signal_every;
		test_parameters_encode(&parameters, bytes);
		assert_int_equal(test_parameters_decode(&back, bytes, TEST_PARAMETERS_SIZE),
			cases[i].possible ? 0 : -EPROTO);
		if (!cases[i].possible)
			continue;
		assert_int_equal(back.gathers, cases[i].gathers);
		assert_int_equal(back.signal_every, cases[i].signal_every);
	}
}

/* Only a verified bandwidth test of atomic operations has tickets, and so a shared counter. */
static void tickets_have_a_counter(void **state)
{
	static const struct {
		enum test_operation_number number;
		enum test_kind kind;
		uint32_t depth;
		bool verify, possible;
	} cases[] = {
		{TEST_FETCH_ADD, TEST_BANDWIDTH, 4, true, true},
		{TEST_FETCH_ADD, TEST_BANDWIDTH, 4, false, false},
		{TEST_FETCH_ADD, TEST_LATENCY, 1, true, false},
		{TEST_COMPARE_SWAP, TEST_BANDWIDTH, 1, true, true},
		{TEST_COMPARE_SWAP, TEST_BANDWIDTH, 4, true, false},
		{TEST_READ, TEST_BANDWIDTH, 1, true, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct test_parameters parameters = full, back;
		uint8_t bytes[TEST_PARAMETERS_SIZE];

		parameters.operation = &test_operations[cases[i].number];
		parameters.kind = cases[i].kind;
		parameters.direction = TEST_CLIENT;
		parameters.verify = cases[i].verify;
		parameters.size = TEST_ATOMIC_SIZE;
		parameters.slots = parameters.depth = cases[i].depth;
		for (unsigned int named = 0; named < 2; named++) {
			parameters.counter = named ? UINT64_C(0x8877665544332211) : 0;
			test_parameters_encode(&parameters, bytes);
			assert_int_equal(test_parameters_decode(&back, bytes, TEST_PARAMETERS_SIZE),
				named && !cases[i].possible ? -EPROTO : 0);
			if (named && cases[i].possible)
				assert_true(back.counter == parameters.counter);
		}
	}
}

/* In a latency test the server only answers the client's WRITEs. */
static void a_latency_test_has_one_direction(void **state)
{
	struct test_parameters parameters = full, back;
	uint8_t bytes[TEST_PARAMETERS_SIZE];

	(void)state;
	parameters.kind = TEST_LATENCY;
	for (unsigned int direction = 0; direction < TEST_DIRECTIONS; direction++) {
		parameters.direction = (enum test_direction)direction;
		test_parameters_encode(&parameters, bytes);
		assert_int_equal(test_parameters_decode(&back, bytes, TEST_PARAMETERS_SIZE),
			direction == TEST_CLIENT ? 0 : -EPROTO);
	}
}

static void requires_a_limit(void **state)
{
	uint8_t text[TEST_PARAMETERS_SIZE];
	struct test_parameters parameters;

	(void)state;
	memcpy(text, full_bytes, TEST_PARAMETERS_SIZE);
	memset(text + 24, 0, 4);
	memset(text + 32, 0, 8);
	assert_int_equal(test_parameters_decode(&parameters, text, TEST_PARAMETERS_SIZE), -EPROTO);
}

static void recognizes_possible_shapes(void **state)
{
	static const struct {
		uint32_t queue_pairs, depth;
		bool possible;
	} cases[] = {
		{1, 1, true},
		{0, 1, false},
		{1, 0, false},
		{64, 128, true},
		{64, 129, false},
		{65, 1, false},
		{8, 1024, true},
		{9, 1024, false},
		{1, 1025, false},
		{UINT32_MAX, UINT32_MAX, false},
		{65536, 65536, false}, /* the product wraps to 0 in 32 bits */
		{64, 0x4000001, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(test_shape_is_possible(cases[i].queue_pairs, cases[i].depth),
			cases[i].possible);
}

static void needs_memory_for_all_slots(void **state)
{
	struct test_parameters parameters = {
		.size = 65536, .queue_pairs = 3, .slots = 5, .depth = 9};

	(void)state;
	assert_int_equal(test_parameters_memory(&parameters), 65536 * 15);
	parameters = (struct test_parameters){.size = UINT32_MAX, .queue_pairs = 64, .slots = 128};
	assert_int_equal(test_parameters_memory(&parameters), UINT64_C(4294967295) * 8192);
}

static void results_survive_encoding(void **state)
{
	const struct test_result result = {
		.operations = 0x0102030405060708,
		.bytes = 2,
		.nanoseconds = 3,
		.cpu_nanoseconds = 4,
		.worst = 5,
		.best = 6,
		.wrong = 0x1112131415161718,
		.wrong_offset = 8,
	};
	struct test_result back;
	static const uint8_t expected[TEST_RESULT_SIZE] =
		"\x08\x07\x06\x05\x04\x03\x02\x01\x02\x00\x00\x00\x00\x00\x00\x00"
		"\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00"
		"\x05\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"
		"\x18\x17\x16\x15\x14\x13\x12\x11\x08\x00\x00\x00\x00\x00\x00";
	uint8_t bytes[TEST_RESULT_SIZE];

	(void)state;
	memset(bytes, 0xa5, sizeof(bytes));
	test_result_encode(&result, bytes);
	assert_memory_equal(bytes, expected, TEST_RESULT_SIZE);
	assert_int_equal(test_result_decode(&back, bytes, TEST_RESULT_SIZE), 0);
	assert_memory_equal(&back, &result, sizeof(result));
}

static void results_of_threads_add_up(void **state)
{
	struct test_result sum = {.operations = 1,
		.bytes = 2,
		.nanoseconds = 30,
		.cpu_nanoseconds = 4,
		.worst = 5,
		.best = 6,
		.wrong = 7};
	struct test_result part = {.operations = 10,
		.bytes = 20,
		.nanoseconds = 29,
		.cpu_nanoseconds = 40,
		.worst = 50,
		.best = 60,
		.wrong = 70};

	(void)state;
	test_result_add(&sum, &part);
	assert_int_equal(sum.operations, 11);
	assert_int_equal(sum.bytes, 22);
	assert_int_equal(sum.nanoseconds, 30);
	assert_int_equal(sum.cpu_nanoseconds, 44);
	assert_int_equal(sum.worst, 0);
	assert_int_equal(sum.best, 0);
	assert_int_equal(sum.wrong, 77);
	part.nanoseconds = 31;
	test_result_add(&sum, &part);
	assert_int_equal(sum.nanoseconds, 31);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_the_protocol_layout),
		cmocka_unit_test(survives_encoding),
		cmocka_unit_test(decodes_the_flag),
		cmocka_unit_test(decodes_the_operation),
		cmocka_unit_test(refuses_wrong_lengths),
		cmocka_unit_test(refuses_impossible_parameters),
		cmocka_unit_test(decodes_the_inline_size),
		cmocka_unit_test(decodes_the_transport),
		cmocka_unit_test(decodes_pieces_and_signals),
		cmocka_unit_test(tickets_have_a_counter),
		cmocka_unit_test(a_latency_test_has_one_direction),
		cmocka_unit_test(requires_a_limit),
		cmocka_unit_test(recognizes_possible_shapes),
		cmocka_unit_test(needs_memory_for_all_slots),
		cmocka_unit_test(results_survive_encoding),
		cmocka_unit_test(results_of_threads_add_up),
	};

	return cmocka_run_group_tests_name("test-parameters", tests, NULL, NULL);
}

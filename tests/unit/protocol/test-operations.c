/* The offers and results of the operations that a diagnosis tries, as bytes and in words. */
#include <errno.h>
#include <string.h>

#include "protocol/little-endian.h"
#include "protocol/operations.h"
#include "tests/unit/unit.h"

static struct operations_offer example(void)
{
	struct operations_offer offer = {
		.wanted = OPERATIONS_ALL,
		.address = UINT64_C(0x1122334455667788),
		.length = 4096,
		.rkey = 0x99aabbcc,
		.window = 0xddeeff00,
		.window_type = 2,
		.prepared = {{OPERATION_OK, 0, 0, false},
			{OPERATION_UNSUPPORTED, LACK_ATOMICS, 0, false},
			{OPERATION_FAILED, FAULT_CALL, ENOMEM, false}},
	};

	for (uint32_t i = 0; i < OPERATION_QUEUES; i++) {
		offer.queues[i].number = 0x10000 + i;
		offer.queues[i].sequence = 0xffff00 + i;
	}
	return offer;
}

static void has_the_documented_layout(void **state)
{
	const struct operations_offer offer = example();
	uint8_t bytes[OPERATIONS_OFFER_SIZE];

	(void)state;
	operations_offer_encode(&offer, bytes);
	assert_int_equal(sizeof(bytes), 224);
	assert_int_equal(le_get32(bytes), 0xffff);
	assert_int_equal(le_get32(bytes + 4), 2);
	assert_int_equal(le_get64(bytes + 8), offer.address);
	assert_int_equal(le_get32(bytes + 16), 4096);
	assert_int_equal(le_get32(bytes + 20), offer.rkey);
	assert_int_equal(le_get32(bytes + 24), offer.window);
	assert_int_equal(le_get32(bytes + 72), 0x10005);
	assert_int_equal(le_get32(bytes + 76), 0xffff05);
	assert_int_equal(bytes[96], 1);
	assert_int_equal(bytes[96 + 4], 2);
	assert_int_equal(bytes[96 + 5], 4);
	assert_int_equal(bytes[96 + 8], 3);
	assert_int_equal(bytes[96 + 9], 1);
	assert_int_equal(le_get16(bytes + 96 + 10), ENOMEM);
}

static void decodes_what_it_encodes(void **state)
{
	const struct operations_offer offer = example();
	struct operations_offer decoded;
	uint8_t bytes[OPERATIONS_OFFER_SIZE], again[OPERATIONS_OFFER_SIZE];

	(void)state;
	operations_offer_encode(&offer, bytes);
	assert_int_equal(operations_offer_decode(&decoded, bytes, sizeof(bytes)), 0);
	operations_offer_encode(&decoded, again);
	assert_memory_equal(bytes, again, sizeof(bytes));
	/* What comes from the peer happened there. */
	assert_true(decoded.prepared[1].there);
}

static void refuses_what_is_impossible(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} cases[] = {
		{2, 1},       /* an unknown operation */
		{4, 3},       /* a type of window */
		{32 + 3, 1},  /* a queue pair number of more than 24 bits */
		{32 + 7, 1},  /* a sequence number */
		{96, 4},      /* a state */
		{96 + 1, 1},  /* a code of a success */
		{96 + 5, 13}, /* an unknown lack */
		{96 + 9, 12}, /* an unknown fault */
	};
	const struct operations_offer offer = example();
	struct operations_offer decoded;
	uint8_t bytes[OPERATIONS_OFFER_SIZE + 1];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		operations_offer_encode(&offer, bytes);
		bytes[cases[i].at] = cases[i].byte;
		assert_int_equal(
			operations_offer_decode(&decoded, bytes, OPERATIONS_OFFER_SIZE), -EPROTO);
	}
	operations_offer_encode(&offer, bytes);
	memset(bytes + 8, 0xff, 8);
	assert_int_equal(operations_offer_decode(&decoded, bytes, OPERATIONS_OFFER_SIZE), -EPROTO);
	assert_int_equal(operations_offer_decode(&decoded, bytes, sizeof(bytes)), -EMSGSIZE);
	assert_int_equal(operations_offer_decode(&decoded, bytes, 0), -EMSGSIZE);
}

static void results_have_their_own_size(void **state)
{
	struct operation_result results[OPERATIONS] = {{OPERATION_OK, 0, 0, false}},
				decoded[OPERATIONS];
	uint8_t bytes[OPERATIONS_RESULTS_SIZE];

	(void)state;
	operations_results_encode(results, bytes);
	assert_int_equal(operations_results_decode(decoded, bytes, sizeof(bytes)), 0);
	assert_int_equal(decoded[0].state, OPERATION_OK);
	assert_int_equal(decoded[1].state, OPERATION_SKIPPED);
	assert_int_equal(operations_results_decode(decoded, bytes, sizeof(bytes) - 1), -EMSGSIZE);
}

static void reasons_name_the_side_and_the_cause(void **state)
{
	static const struct {
		struct operation_result result;
		const char *text;
	} cases[] = {
		{{OPERATION_OK, 0, 0, true}, ""},
		{{OPERATION_SKIPPED, 0, 0, false}, ""},
		{{OPERATION_UNSUPPORTED, LACK_ATOMICS, 0, true},
			"other host: atomic_cap is IBV_ATOMIC_NONE"},
		{{OPERATION_UNSUPPORTED, LACK_SHARED, 0, false}, "this host: max_srq is 0"},
		{{OPERATION_FAILED, FAULT_CALL, ENOMEM, false},
			"this host: libibverbs refused it: ENOMEM"},
		{{OPERATION_FAILED, FAULT_COMPLETION, 10, false},
			"this host: completed with IBV_WC_REM_ACCESS_ERR"},
		{{OPERATION_FAILED, FAULT_MISSING, 0, true}, "other host: nothing arrived"},
	};
	char text[OPERATION_REASON];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		operation_reason(&cases[i].result, text);
		assert_string_equal(text, cases[i].text);
	}
}

/* Each has one, and no two have the same. */
static void each_operation_and_reason_has_words(void **state)
{
	struct operation_result result = {.state = OPERATION_UNSUPPORTED};
	char text[OPERATION_REASON];

	(void)state;
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		for (enum operation other = 0; other < operation; other++)
			assert_string_not_equal(operation_name(operation), operation_name(other));
	for (unsigned int code = 1; code < OPERATION_LACKS; code++) {
		result.code = (uint8_t)code;
		operation_reason(&result, text);
		assert_null(strstr(text, "null"));
		assert_null(strstr(text, "unknown"));
	}
	result.state = OPERATION_FAILED;
	for (unsigned int code = 1; code < OPERATION_FAULTS; code++) {
		result.code = (uint8_t)code;
		operation_reason(&result, text);
		assert_null(strstr(text, "null"));
		assert_null(strstr(text, "unknown"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_the_documented_layout),
		cmocka_unit_test(decodes_what_it_encodes),
		cmocka_unit_test(refuses_what_is_impossible),
		cmocka_unit_test(results_have_their_own_size),
		cmocka_unit_test(reasons_name_the_side_and_the_cause),
		cmocka_unit_test(each_operation_and_reason_has_words),
	};

	return cmocka_run_group_tests_name("operations", tests, NULL, NULL);
}

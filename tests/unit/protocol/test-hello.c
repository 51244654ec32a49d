/* The hello: its bytes in the private data, and private data that is not a hello. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "protocol/hello.h"
#include "tests/unit/unit.h"

static const struct hello example = {
	.version = 0x0102,
	.mode = 0x03,
	.kind = 0x04,
	.refusal = 0x05060708,
	.size = 0x1112131415161718,
	.timeout = 0x21222324,
	.secret = true,
	.flags = 0x31,
	.mtu = 0x4142,
};

static const uint8_t example_bytes[HELLO_SIZE] = {
	'r', 'd', 'm', 'a', 'p', 'a', 'i', 'r',         /* magic */
	0x02, 0x01, 0x03, 0x04,                         /* version, mode, kind */
	0x08, 0x07, 0x06, 0x05,                         /* refusal */
	0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, /* size */
	0x24, 0x23, 0x22, 0x21,                         /* timeout */
	0x02, 0x31, 0x42, 0x41,                         /* secret, flags, MTU */
};

static void assert_is_example(const struct hello *hello)
{
	assert_int_equal(hello->version, example.version);
	assert_int_equal(hello->mode, example.mode);
	assert_int_equal(hello->kind, example.kind);
	assert_int_equal(hello->refusal, example.refusal);
	assert_int_equal(hello->size, example.size);
	assert_int_equal(hello->timeout, example.timeout);
	assert_int_equal(hello->secret, example.secret);
	assert_int_equal(hello->flags, example.flags);
	assert_int_equal(hello->mtu, example.mtu);
}

static void encodes_exact_bytes_and_nothing_else(void **state)
{
	uint8_t buffer[HELLO_SIZE];

	(void)state;
	memset(buffer, 0xa5, sizeof(buffer));
	hello_encode(&example, buffer);
	assert_memory_equal(buffer, example_bytes, HELLO_SIZE);
}

/* A secret of release 0.1 is none of this one. */
static void tells_secrets_of_an_earlier_release(void **state)
{
	uint8_t buffer[HELLO_SIZE];
	struct hello hello;

	(void)state;
	memcpy(buffer, example_bytes, sizeof(buffer));
	for (unsigned int byte = 0; byte <= UINT8_MAX; byte++) {
		buffer[28] = (uint8_t)byte;
		assert_int_equal(hello_decode(&hello, buffer, sizeof(buffer)), 0);
		assert_int_equal(hello.secret, byte == 2);
		assert_int_equal(hello.old_secret, byte == 1);
	}
}

/* rdmacm limits the private data of a connect request to 56 bytes, of a reject to 148. */
static void fits_the_private_data(void **state)
{
	(void)state;
	assert_true(HELLO_SIZE <= 56);
	assert_true(HELLO_SIZE <= 148);
}

/* Decodes the example as if the transport had delivered length bytes, filled up with `padding`. */
static int decode(struct hello *hello, size_t length, int padding)
{
	uint8_t *data = malloc(length ? length : 1);
	int result;

	assert_non_null(data);
	memset(data, padding, length);
	memcpy(data, example_bytes, length < HELLO_SIZE ? length : HELLO_SIZE);
	result = hello_decode(hello, data, length);
	free(data);
	return result;
}

static void ignores_the_padding(void **state)
{
	static const size_t lengths[] = {HELLO_SIZE, 33, 56, 148, 196, 255};

	(void)state;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct hello hello;

		assert_int_equal(decode(&hello, lengths[i], 0), 0);
		assert_is_example(&hello);
		assert_int_equal(decode(&hello, lengths[i], 0xa5), 0);
		assert_is_example(&hello);
	}
}

/* 1 announces a secret of version 0.1, whose digests are different. */
static void knows_one_kind_of_secret(void **state)
{
	struct hello hello;

	(void)state;
	for (unsigned int kind = 0; kind <= UINT8_MAX; kind++) {
		uint8_t data[HELLO_SIZE];

		memcpy(data, example_bytes, sizeof(data));
		data[28] = (uint8_t)kind;
		assert_int_equal(hello_decode(&hello, data, sizeof(data)), 0);
		assert_int_equal(hello.secret, kind == 2);
	}
}

/* In an exchange, a bit beside the MTU; in other sessions, all bits are those of a number. */
static void new_entries_are_a_bit_of_an_exchange(void **state)
{
	struct hello hello = {.kind = HELLO_EXCHANGE, .mtu = 4096, .extended = true}, got;
	uint8_t bytes[HELLO_SIZE];

	(void)state;
	hello_encode(&hello, bytes);
	assert_int_equal(bytes[30], 0);
	assert_int_equal(bytes[31], 0x90);
	assert_int_equal(hello_decode(&got, bytes, sizeof(bytes)), 0);
	assert_true(got.extended);
	assert_false(got.keeps);
	assert_int_equal(got.mtu, 4096);
	hello.keeps = true;
	hello_encode(&hello, bytes);
	assert_int_equal(bytes[31], 0xb0);
	assert_int_equal(hello_decode(&got, bytes, sizeof(bytes)), 0);
	assert_true(got.keeps);
	assert_int_equal(got.mtu, 4096);
	hello = (struct hello){.kind = HELLO_MEASUREMENT, .mtu = UINT16_MAX};
	hello_encode(&hello, bytes);
	assert_int_equal(hello_decode(&got, bytes, sizeof(bytes)), 0);
	assert_false(got.extended);
	assert_false(got.keeps);
	assert_int_equal(got.mtu, UINT16_MAX);
}

static void refuses_truncated_hellos(void **state)
{
	struct hello hello;

	(void)state;
	for (size_t length = 0; length < HELLO_SIZE; length++)
		assert_int_equal(decode(&hello, length, 0), length < 8 ? -ENOMSG : -EMSGSIZE);
}

static void treats_any_other_magic_as_a_tutorial_peer(void **state)
{
	struct hello hello;

	(void)state;
	for (unsigned int bit = 0; bit < 64; bit++) {
		uint8_t data[56] = {0};

		memcpy(data, example_bytes, sizeof(example_bytes));
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(hello_decode(&hello, data, sizeof(data)), -ENOMSG);
	}
}

static void treats_missing_private_data_as_a_tutorial_peer(void **state)
{
	struct hello hello;
	uint8_t zeros[196] = {0};

	(void)state;
	assert_int_equal(hello_decode(&hello, NULL, 0), -ENOMSG);
	assert_int_equal(hello.size, 0);
	assert_int_equal(hello.timeout, 0);
	/* Transports pad a request without private data to their fixed size. */
	assert_int_equal(hello_decode(&hello, zeros, sizeof(zeros)), -ENOMSG);
}

/* The numbers on the wire never change; a stream of unknown size keeps its size field. */
static void keeps_its_numbers(void **state)
{
	struct hello unknown = {.version = HELLO_VERSION, .size = UINT64_MAX};
	uint8_t buffer[HELLO_SIZE];
	struct hello hello;

	(void)state;
	hello_encode(&unknown, buffer);
	assert_int_equal(hello_decode(&hello, buffer, sizeof(buffer)), 0);
	assert_int_equal(hello.size, UINT64_MAX);
	assert_int_equal(hello.version, 2);
	assert_int_equal(REFUSAL_MODE, 1);
	assert_int_equal(REFUSAL_VERSION, 2);
	assert_int_equal(REFUSAL_SESSION, 3);
	assert_int_equal(REFUSAL_RESOURCES, 4);
	assert_int_equal(REFUSAL_DEVICE, 6); /* 5 was used by version 1 */
	assert_int_equal(REFUSAL_MALFORMED, 7);
	assert_int_equal(REFUSAL_STOPPING, 8);
	assert_int_equal(REFUSAL_DEPTH, 9);
	assert_int_equal(REFUSAL_BUSY, 10);
	assert_int_equal(REFUSAL_FILES, 11);
	assert_int_equal(REFUSAL_SECRET, 14);
	assert_int_equal(REFUSAL_NO_OUTPUT, 18);
	assert_int_equal(REFUSAL_UNWANTED, 19);
	assert_int_equal(REFUSAL_NO_DATA, 20);
	assert_int_equal(REFUSAL_NO_FOLDER, 21);
	assert_int_equal(REFUSAL_TREE, 22);
	assert_int_equal(REFUSAL_KEPT, 25);
	assert_int_equal(REFUSAL_OLD_SECRET, 26);
	assert_int_equal(HELLO_EXCHANGE, 0);
	assert_int_equal(HELLO_DIAGNOSIS, 1);
	assert_int_equal(HELLO_MEASUREMENT, 2);
}

/* A measurement encodes its queue pairs and depth in the size field. */
static void carries_the_shape_of_a_test(void **state)
{
	static const struct {
		uint64_t size;
		uint32_t queue_pairs, depth;
		int result;
	} cases[] = {
		{0x0000000100000001, 1, 1, 0},
		{0x0000004000000080, 64, 128, 0},
		{0x0000000800000400, 8, 1024, 0},
		{0x0000000000000000, 0, 0, -ERANGE},
		{0x0000000000000001, 0, 1, -ERANGE},
		{0x0000000100000000, 1, 0, -ERANGE},
		{0x0000004100000001, 65, 1, -ERANGE},
		{0x0000000100000401, 1, 1025, -ERANGE},
		{0x0000004000000081, 64, 129, -ERANGE},
		{0x0001000000010000, 65536, 65536, -ERANGE},
		{UINT64_MAX, UINT32_MAX, UINT32_MAX, -ERANGE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint32_t queue_pairs, depth;

		assert_int_equal(hello_shape(cases[i].queue_pairs, cases[i].depth), cases[i].size);
		assert_int_equal(
			hello_shape_decode(cases[i].size, &queue_pairs, &depth), cases[i].result);
		assert_int_equal(queue_pairs, cases[i].queue_pairs);
		assert_int_equal(depth, cases[i].depth);
	}
}

static void encodes_what_requests_need(void **state)
{
	static const struct {
		uint16_t requests;
		uint32_t inline_max, gathers;
		int result;
	} cases[] = {
		{0x0000, 0, 1, 0},
		{0x0400, 1024, 1, 0},
		{0x0401, 1025, 1, -ERANGE},
		{0x07ff, 2047, 1, -ERANGE},
		{0x0800, 0, 2, 0},
		{0xf840, 64, 32, 0},
		{0xffff, 2047, 32, -ERANGE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint32_t inline_max, gathers;

		assert_int_equal(
			hello_requests(cases[i].inline_max, cases[i].gathers), cases[i].requests);
		assert_int_equal(hello_requests_decode(cases[i].requests, &inline_max, &gathers),
			cases[i].result);
		assert_int_equal(inline_max, cases[i].inline_max);
		assert_int_equal(gathers, cases[i].gathers);
	}
}

/* The plans of the option combinations of one side. */
enum {
	GREETS = HELLO_PLANS,
	SAYS = HELLO_PLANS | HELLO_SENDS_DATA,
	SENDS = SAYS | HELLO_SENDS_FILE,
	STORES = HELLO_TAKES_FILE | HELLO_WANTS_DATA,
	DISCARDS = HELLO_TAKES_FILE | HELLO_TAKES_TREE,
	SENDS_TREE = SENDS | HELLO_SENDS_TREE,
	STORES_TREE = STORES | HELLO_TAKES_TREE,
};

static void compares_plans(void **state)
{
	static const struct {
		uint8_t server, client;
		enum refusal refusal;
	} cases[] = {
		{GREETS, GREETS, REFUSAL_NONE},
		{GREETS, SAYS, REFUSAL_NONE},
		{SAYS, GREETS, REFUSAL_NONE},
		{GREETS, SENDS, REFUSAL_NO_OUTPUT},
		{GREETS | DISCARDS, SENDS, REFUSAL_NONE},
		{GREETS | STORES, SENDS, REFUSAL_NONE},
		{SENDS, GREETS, REFUSAL_UNWANTED},
		{SENDS, GREETS | DISCARDS, REFUSAL_NONE},
		{SENDS, GREETS | STORES, REFUSAL_NONE},
		{SENDS, SENDS | STORES, REFUSAL_NO_OUTPUT},
		{SENDS | STORES, SENDS, REFUSAL_UNWANTED},
		{SENDS | STORES, SENDS | STORES, REFUSAL_NONE},
		{GREETS, GREETS | STORES, REFUSAL_NO_DATA},
		{SAYS, GREETS | STORES, REFUSAL_NONE},
		{GREETS | STORES, GREETS, REFUSAL_NONE},
		{GREETS | STORES, SAYS, REFUSAL_NONE},
		/* This client only fetches the server's file. */
		{SENDS | STORES, GREETS | STORES, REFUSAL_NONE},
		{GREETS | STORES_TREE, SENDS_TREE, REFUSAL_NONE},
		{GREETS | STORES, SENDS_TREE, REFUSAL_NO_FOLDER},
		{GREETS | DISCARDS, SENDS_TREE, REFUSAL_NONE},
		{GREETS, SENDS_TREE, REFUSAL_NO_OUTPUT},
		{SENDS_TREE, GREETS | STORES_TREE, REFUSAL_NONE},
		{SENDS_TREE, GREETS | STORES, REFUSAL_TREE},
		{SENDS_TREE, GREETS | DISCARDS, REFUSAL_NONE},
		{SENDS_TREE, GREETS, REFUSAL_UNWANTED},
		/* Version 0.1 announces no plans. */
		{SENDS_TREE, 0, REFUSAL_UNWANTED},
		{GREETS, SENDS & ~HELLO_PLANS, REFUSAL_NONE},
		{SENDS & ~HELLO_PLANS, GREETS, REFUSAL_NONE},
		{0, 0, REFUSAL_NONE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct hello server = {.flags = cases[i].server};
		const struct hello client = {.flags = cases[i].client};

		assert_int_equal(hello_check_plans(&server, &client), cases[i].refusal);
	}
}

static void only_a_single_file_resumes(void **state)
{
	const struct hello file = {.flags = SENDS | HELLO_RESUMES};
	const struct hello tree = {.flags = SENDS_TREE | HELLO_RESUMES};
	const struct hello receiver = {.flags = GREETS | STORES_TREE | HELLO_RESUMES};

	(void)state;
	assert_true(hello_resumes(&file, &receiver));
	assert_false(hello_resumes(&tree, &receiver));
	assert_false(hello_resumes(&file, &(struct hello){.flags = GREETS | STORES_TREE}));
	assert_false(hello_resumes(&file, &(struct hello){.flags = GREETS | HELLO_RESUMES}));
}

static void recognizes_greetings(void **state)
{
	(void)state;
	assert_true(hello_is_greeting(&(struct hello){.flags = GREETS | STORES}));
	assert_false(hello_is_greeting(&(struct hello){.flags = SAYS}));
	assert_false(hello_is_greeting(&(struct hello){.flags = SENDS}));
	assert_false(hello_is_greeting(&(struct hello){.flags = 0}));
}

static void recognizes_control_sessions(void **state)
{
	struct hello hello = {0};

	(void)state;
	for (unsigned int kind = 0; kind < 256; kind++) {
		hello.kind = (uint8_t)kind;
		assert_int_equal(hello_is_control(&hello), kind == 1 || kind == 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_exact_bytes_and_nothing_else),
		cmocka_unit_test(tells_secrets_of_an_earlier_release),
		cmocka_unit_test(fits_the_private_data),
		cmocka_unit_test(ignores_the_padding),
		cmocka_unit_test(knows_one_kind_of_secret),
		cmocka_unit_test(encodes_what_requests_need),
		cmocka_unit_test(new_entries_are_a_bit_of_an_exchange),
		cmocka_unit_test(refuses_truncated_hellos),
		cmocka_unit_test(treats_any_other_magic_as_a_tutorial_peer),
		cmocka_unit_test(keeps_its_numbers),
		cmocka_unit_test(treats_missing_private_data_as_a_tutorial_peer),
		cmocka_unit_test(carries_the_shape_of_a_test),
		cmocka_unit_test(compares_plans),
		cmocka_unit_test(only_a_single_file_resumes),
		cmocka_unit_test(recognizes_greetings),
		cmocka_unit_test(recognizes_control_sessions),
	};

	return cmocka_run_group_tests_name("hello", tests, NULL, NULL);
}

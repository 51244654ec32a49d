/* The wire format of the commands of a diagnosis or a measurement. */
#include <errno.h>
#include <string.h>

#include "protocol/command.h"
#include "tests/unit/unit.h"

static const struct command full = {
	.type = COMMAND_REGION,
	.reply = true,
	.number = 0x01020304,
	.status = COMMAND_REFUSED,
	.address = 0x1112131415161718,
	.length = COMMAND_REGION_MIN,
	.rkey = 0x21222324,
	.text_size = 4,
	.text = "text",
};

static void survives_encoding(void **state)
{
	uint8_t bytes[COMMAND_MAX];
	struct command back;
	size_t size = command_encode(&full, bytes);

	(void)state;
	assert_int_equal(size, COMMAND_SIZE + 4);
	assert_int_equal(command_decode(&back, bytes, size), 0);
	assert_int_equal(back.type, full.type);
	assert_true(back.reply);
	assert_int_equal(back.number, full.number);
	assert_int_equal(back.status, full.status);
	assert_int_equal(back.address, full.address);
	assert_int_equal(back.length, full.length);
	assert_int_equal(back.rkey, full.rkey);
	assert_int_equal(back.text_size, full.text_size);
	assert_memory_equal(back.text, full.text, full.text_size);
}

static void matches_the_protocol_layout(void **state)
{
	uint8_t bytes[COMMAND_MAX];

	(void)state;
	memset(bytes, 0xa5, sizeof(bytes));
	command_encode(&full, bytes);
	assert_memory_equal(bytes,
		"\x00\x00\x01\x00\x04\x03\x02\x01\x03\x00\x00\x00\x00\x00\x00\x00"
		"\x18\x17\x16\x15\x14\x13\x12\x11\x00\x00\x10\x00\x24\x23\x22\x21"
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		"text",
		68);
}

static void refuses_wrong_lengths(void **state)
{
	uint8_t bytes[COMMAND_MAX + 1] = {0};
	struct command message;

	(void)state;
	assert_int_equal(command_decode(&message, bytes, 0), -EMSGSIZE);
	assert_int_equal(command_decode(&message, bytes, COMMAND_SIZE - 1), -EMSGSIZE);
	assert_int_equal(command_decode(&message, bytes, COMMAND_MAX + 1), -EMSGSIZE);
	bytes[0] = COMMAND_FACTS;
	assert_int_equal(command_decode(&message, bytes, COMMAND_MAX), 0);
	assert_int_equal(message.text_size, COMMAND_TEXT_MAX);
}

static void refuses_impossible_contents(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} cases[] = {{0, 3}, {0, 7}, {0, COMMAND_TYPES}, {1, 1}, {2, 2}, {3, 1}, {8, 1},
		{8, COMMAND_REFUSED + 1}, {11, 1}};
	uint8_t bytes[COMMAND_MAX];
	struct command message;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		command_encode(&full, bytes);
		bytes[cases[i].at] = cases[i].value;
		assert_int_equal(command_decode(&message, bytes, COMMAND_SIZE), -EPROTO);
	}
}

static void refuses_impossible_regions(void **state)
{
	struct command message = full, back;
	uint8_t bytes[COMMAND_MAX];
	static const struct {
		uint64_t address;
		uint32_t length;
		int result;
	} cases[] = {
		{4096, 1, 0},
		{4096, 0, -EPROTO},
		{4096, COMMAND_REGION_MAX, 0},
		{4096, COMMAND_REGION_MAX + 1, -EPROTO},
		{UINT64_MAX - 4096, 4096, 0},
		{UINT64_MAX - 4095, 4096, -EPROTO},
	};

	(void)state;
	message.status = COMMAND_DONE;
	for (size_t i = 0; i < COUNT(cases); i++) {
		message.address = cases[i].address;
		message.length = cases[i].length;
		assert_int_equal(command_decode(&back, bytes, command_encode(&message, bytes)),
			cases[i].result);
	}
	/* A command with a refusal's status is still checked. */
	message.reply = false;
	message.status = COMMAND_REFUSED;
	message.address = 4096;
	message.length = COMMAND_REGION_MAX + 1;
	assert_int_equal(command_decode(&back, bytes, command_encode(&message, bytes)), -EPROTO);
	message.reply = true;
	/* A refusal describes no region. */
	message.status = COMMAND_REFUSED;
	message.length = 0;
	assert_int_equal(command_decode(&back, bytes, command_encode(&message, bytes)), 0);
}

/* The numbers on the wire never change. */
static void keeps_its_numbers(void **state)
{
	static const struct {
		enum command_type type;
		unsigned int number;
	} types[] = {
		{COMMAND_REGION, 0},
		{COMMAND_FACTS, 1},
		{COMMAND_COUNTERS, 2},
		{COMMAND_PROOF, 8},
		{COMMAND_QUEUE_PAIRS, 9},
		{COMMAND_BEGIN, 10},
		{COMMAND_END, 11},
		{COMMAND_ABORT, 12},
		{COMMAND_OPERATIONS, 13},
		{COMMAND_OPERATIONS_END, 14},
		{COMMAND_OPERATIONS_LINK, 15},
		{COMMAND_TYPES, 16},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(types); i++)
		assert_int_equal(types[i].type, types[i].number);
	assert_int_equal(COMMAND_DONE, 0);
	assert_int_equal(COMMAND_FAILED, 2);
	assert_int_equal(COMMAND_REFUSED, 3);
}

static void carries_test_parameters_in_its_text(void **state)
{
	char parameters[64];
	struct command begin = {.type = COMMAND_BEGIN,
		.number = 9,
		.text = parameters,
		.text_size = sizeof(parameters)};
	uint8_t bytes[COMMAND_MAX];
	struct command back;

	(void)state;
	memset(parameters, 'p', sizeof(parameters));
	assert_int_equal(command_encode(&begin, bytes), COMMAND_SIZE + 64);
	assert_int_equal(bytes[0], 10);
	assert_memory_equal(bytes + COMMAND_SIZE, parameters, sizeof(parameters));
	assert_int_equal(command_decode(&back, bytes, COMMAND_SIZE + 64), 0);
	assert_int_equal(back.type, COMMAND_BEGIN);
	assert_int_equal(back.text_size, 64);
	assert_memory_equal(back.text, parameters, sizeof(parameters));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(survives_encoding),
		cmocka_unit_test(matches_the_protocol_layout),
		cmocka_unit_test(refuses_wrong_lengths),
		cmocka_unit_test(refuses_impossible_contents),
		cmocka_unit_test(refuses_impossible_regions),
		cmocka_unit_test(keeps_its_numbers),
		cmocka_unit_test(carries_test_parameters_in_its_text),
	};

	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}

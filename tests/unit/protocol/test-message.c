/* The wire format of the messages of an exchange, and the messages that are refused. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "protocol/message.h"
#include "tests/unit/unit.h"

/* The published layout, written independently of the code: offset, size and value of each field. */
struct field {
	size_t at, size;
	uint64_t value;
};

static const struct layout {
	struct message message;
	struct field fields[7];
} layouts[] = {
	{
		{.type = MSG_MR,
			.address = 0x0102030405060708,
			.length = 0x1112131415161718,
			.storage = 0x4142434445464748,
			.rkey = 0x21222324,
			.depth = 0x31323334,
			.kept = 0x51525354},
		{{0, 4, 0}, {4, 4, 0x51525354}, {24, 8, 0x0102030405060708},
			{32, 8, 0x1112131415161718}, {40, 8, 0x4142434445464748},
			{48, 4, 0x21222324}, {52, 4, 0x31323334}},
	},
	{
		{.type = MSG_DONE,
			.length = 1024,
			.digest = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff}}},
		{{0, 4, 1}, {8, 8, 0x0706050403020100}, {16, 8, 0xff0e0d0c0b0a0908}, {32, 8, 1024}},
	},
	{{.type = MSG_DONE}, {{0, 4, 1}}},
	{{.type = MSG_VERDICT, .verdict = VERDICT_VERIFIED}, {{0, 4, 2}, {4, 4, 0}}},
	{{.type = MSG_VERDICT, .verdict = VERDICT_DAMAGED}, {{0, 4, 2}, {4, 4, 1}}},
	{{.type = MSG_VERDICT, .verdict = VERDICT_INCOMPLETE}, {{0, 4, 2}, {4, 4, 2}}},
	{{.type = MSG_VERDICT, .device = "mlx5_0/1"}, {{0, 4, 2}, {24, 8, 0x312f305f35786c6d}}},
	/* The terminating zero is not sent. */
	{{.type = MSG_VERDICT, .device = "0123456789012345678901234567890"},
		{{0, 4, 2}, {24, 8, 0x3736353433323130}, {32, 8, 0x3534333231303938},
			{40, 8, 0x3332313039383736}, {48, 4, 0x37363534}, {52, 4, 0x303938}}},
	{{.type = MSG_DATA, .length = 0x1112131415161718},
		{{0, 4, 3}, {32, 8, 0x1112131415161718}}},
	{{.type = MSG_CREDIT, .length = 0x1112131415161718, .pieces = 0x4142434445464748},
		{{0, 4, 4}, {32, 8, 0x1112131415161718}, {40, 8, 0x4142434445464748}}},
	{{.type = MSG_ABORT}, {{0, 4, 5}}},
	{{.type = MSG_ABORT, .refusal = REFUSAL_SECRET}, {{0, 4, 5}, {4, 4, 14}}},
	{{.type = MSG_VERDICT,
		 .verdict = VERDICT_DAMAGED,
		 .digest = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff}}},
		{{0, 4, 2}, {4, 4, 1}, {8, 8, 0x0706050403020100}, {16, 8, 0xff0e0d0c0b0a0908}}},
	{{.type = MSG_PROOF,
		 .proof = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
			 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 0xff}},
		{{0, 4, 6}, {24, 8, 0x0706050403020100}, {32, 8, 0x0f0e0d0c0b0a0908},
			{40, 8, 0x1716151413121110}, {48, 8, 0xff1e1d1c1b1a1918}}},
	{{.type = MSG_HAVE,
		 .length = 0x1112131415161718,
		 .digest = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff}}},
		{{0, 4, 7}, {8, 8, 0x0706050403020100}, {16, 8, 0xff0e0d0c0b0a0908},
			{32, 8, 0x1112131415161718}}},
	{{.type = MSG_HAVE, .holes = true}, {{0, 4, 7}, {4, 4, 1}}},
	{{.type = MSG_START, .holes = true, .length = 5}, {{0, 4, 8}, {4, 4, 1}, {32, 8, 5}}},
	{{.type = MSG_START, .length = 0x1112131415161718},
		{{0, 4, 8}, {32, 8, 0x1112131415161718}}},
};

static bool may_have_text(unsigned int type)
{
	return type == MSG_MR || type == MSG_ABORT;
}

static void lay_out(const struct layout *layout, uint8_t bytes[MESSAGE_SIZE])
{
	memset(bytes, 0, MESSAGE_SIZE);
	for (size_t i = 0; i < COUNT(layout->fields); i++)
		for (size_t byte = 0; byte < layout->fields[i].size; byte++)
			bytes[layout->fields[i].at + byte] =
				(uint8_t)(layout->fields[i].value >> (8 * byte));
}

static void encodes_exact_bytes_and_nothing_else(void **state)
{
	uint8_t buffer[MESSAGE_MAX], expected[MESSAGE_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(layouts); i++) {
		/* Stale bytes in the buffer must not reach the peer. */
		memset(buffer, 0xa5, sizeof(buffer));
		lay_out(&layouts[i], expected);
		assert_int_equal(message_encode(&layouts[i].message, buffer), MESSAGE_SIZE);
		assert_memory_equal(buffer, expected, MESSAGE_SIZE);
	}
}

/* A text follows the fields, unpadded, in the message types that allow one. */
static void encodes_the_text_behind_the_fields(void **state)
{
	char text[MESSAGE_TEXT_MAX + 1];

	(void)state;
	memset(text, 't', sizeof(text));
	for (size_t i = 0; i < COUNT(layouts); i++)
		for (size_t size = 0; size <= MESSAGE_TEXT_MAX; size++) {
			struct message message = layouts[i].message;
			size_t expected = may_have_text(message.type) ? size : 0;
			uint8_t fields[MESSAGE_SIZE], buffer[MESSAGE_MAX + 1];

			memset(buffer, 0xa5, sizeof(buffer));
			lay_out(&layouts[i], fields);
			message.text_size = (uint8_t)size;
			memcpy(message.text, text, size);
			assert_int_equal(message_encode(&message, buffer), MESSAGE_SIZE + expected);
			assert_memory_equal(buffer, fields, MESSAGE_SIZE);
			assert_memory_equal(buffer + MESSAGE_SIZE, text, expected);
			assert_int_equal(buffer[MESSAGE_SIZE + expected], 0xa5);
		}
}

static void sets_a_text_of_any_length(void **state)
{
	char text[2 * MESSAGE_TEXT_MAX];

	(void)state;
	for (size_t size = 0; size < sizeof(text); size++) {
		struct message message = {.type = MSG_ABORT};

		memset(text, 't', size);
		text[size] = '\0';
		message_set_text(&message, text);
		assert_int_equal(
			message.text_size, size < MESSAGE_TEXT_MAX ? size : MESSAGE_TEXT_MAX);
		assert_memory_equal(message.text, text, message.text_size);
	}
}

/* A field that the type does not use must not be sent, whatever it contains. */
static void encodes_no_field_of_another_type(void **state)
{
	struct message message = {
		.address = 0xa5a5a5a5a5a5a5a5,
		.length = 1,
		.rkey = 0xa5a5a5a5,
		.kept = 0xa5a5a5a5,
		.depth = 0xa5a5a5a5,
		.pieces = 0xa5a5a5a5a5a5a5a5,
		.digest = {{[0 ... DIGEST_SIZE - 1] = 0xa5}},
		.verdict = 0xa5a5a5a5,
		.device = {[0 ... MESSAGE_DEVICE_SIZE - 1] = (char)0xa5},
		.refusal = 0xa5a5a5a5,
		.proof = {[0 ... SECRET_PROOF_SIZE - 1] = 0xa5},
		.text = {(char)0xa5},
		.text_size = 1,
	};
	static const unsigned int own[MSG_TYPES] = {
		[MSG_MR] = 4 + 8 + 4 + 4 + 1,
		[MSG_DONE] = DIGEST_SIZE,
		[MSG_VERDICT] = 4 + DIGEST_SIZE + MESSAGE_DEVICE_SIZE - 1,
		[MSG_DATA] = 0,
		[MSG_CREDIT] = 8,
		[MSG_ABORT] = 4 + 1,
		[MSG_PROOF] = SECRET_PROOF_SIZE,
		[MSG_HAVE] = DIGEST_SIZE,
		[MSG_START] = 0,
	};
	uint8_t buffer[MESSAGE_MAX];

	(void)state;
	for (unsigned int type = 0; type < MSG_TYPES; type++) {
		unsigned int used = 0;
		size_t size;

		message.type = type;
		size = message_encode(&message, buffer);
		for (size_t i = 0; i < size; i++)
			used += buffer[i] == 0xa5;
		assert_int_equal(used, own[type]);
	}
}

static void decodes_encoded_messages(void **state)
{
	uint8_t buffer[MESSAGE_SIZE];
	struct message message;

	(void)state;
	for (size_t i = 0; i < COUNT(layouts); i++) {
		lay_out(&layouts[i], buffer);
		assert_int_equal(message_decode(&message, buffer, MESSAGE_SIZE), 0);
		assert_int_equal(message.type, layouts[i].message.type);
		assert_int_equal(message.address, layouts[i].message.address);
		assert_int_equal(message.length, layouts[i].message.length);
		assert_int_equal(message.rkey, layouts[i].message.rkey);
		assert_int_equal(message.kept, layouts[i].message.kept);
		assert_int_equal(message.holes, layouts[i].message.holes);
		assert_int_equal(message.verdict, layouts[i].message.verdict);
		assert_int_equal(message.depth, layouts[i].message.depth);
		assert_int_equal(message.refusal, layouts[i].message.refusal);
		assert_string_equal(message.device, layouts[i].message.device);
		assert_memory_equal(message.proof, layouts[i].message.proof, sizeof(message.proof));
		assert_int_equal(message.pieces, layouts[i].message.pieces);
		assert_int_equal(message.text_size, 0);
		assert_true(digest_equal(&message.digest, &layouts[i].message.digest));
	}
}

/* The tutorial sends a struct with a union and padding that it never initializes. */
static void ignores_uninitialised_bytes_of_a_tutorial_peer(void **state)
{
	uint8_t buffer[MESSAGE_SIZE], clean[MESSAGE_SIZE];
	struct message message;

	(void)state;
	lay_out(&layouts[0], clean);
	memset(buffer, 0xa5, sizeof(buffer));
	memcpy(buffer, clean, 4);
	memcpy(buffer + 24, clean + 24, 16);
	memcpy(buffer + 48, clean + 48, 4);
	assert_int_equal(message_decode(&message, buffer, MESSAGE_SIZE), 0);
	assert_int_equal(message.address, layouts[0].message.address);
	assert_int_equal(message.length, layouts[0].message.length);
	assert_int_equal(message.rkey, layouts[0].message.rkey);
	assert_int_equal(message.verdict, 0);
}

/* The layout is that of the tutorial's struct on its platform, 64-bit Linux. */
static void has_the_layout_of_the_tutorial_struct(void **state)
{
	struct tutorial_message {
		enum { TUTORIAL_MR, TUTORIAL_DONE } type;
		union {
			struct ibv_mr mr;
		} data;
	};

	(void)state;
	assert_int_equal(sizeof(struct tutorial_message), MESSAGE_SIZE);
	assert_int_equal(offsetof(struct tutorial_message, data.mr.addr), 24);
	assert_int_equal(offsetof(struct tutorial_message, data.mr.length), 32);
	assert_int_equal(offsetof(struct tutorial_message, data.mr.rkey), 48);
	assert_int_equal(TUTORIAL_MR, MSG_MR);
	assert_int_equal(TUTORIAL_DONE, MSG_DONE);
}

/* True if a message of this type may have this length. */
static bool may_be_as_long(unsigned int type, size_t length)
{
	return length == MESSAGE_SIZE ||
	       (may_have_text(type) && length > MESSAGE_SIZE && length <= MESSAGE_MAX);
}

static void accepts_texts_and_refuses_every_other_length(void **state)
{
	struct message message;

	(void)state;
	for (unsigned int type = 0; type < MSG_TYPES; type++)
		for (size_t length = 0; length <= MESSAGE_MAX + 100; length++) {
			/*
			 * Allocates exactly that size, so that a sanitizer detects reads past the
			 * end.
			 */
			uint8_t *buffer = malloc(length ? length : 1);
			size_t text = length > MESSAGE_SIZE ? length - MESSAGE_SIZE : 0;
			bool good = may_be_as_long(type, length);

			assert_non_null(buffer);
			memset(buffer, 't', length);
			memset(buffer, 0, length < MESSAGE_SIZE ? length : MESSAGE_SIZE);
			buffer[0] = (uint8_t)type;
			if (length > 32)
				buffer[32] = 1;
			assert_int_equal(
				message_decode(&message, buffer, length), good ? 0 : -EMSGSIZE);
			if (good) {
				assert_int_equal(message.text_size, text);
				assert_memory_equal(message.text, buffer + MESSAGE_SIZE, text);
			}
			free(buffer);
		}
}

static void refuses_unknown_types(void **state)
{
	static const uint32_t types[] = {
		MSG_TYPES, 10, 0xff, 0x100, 0x10000, 0x01000000, 0x80000000, 0xffffffff};
	struct message message;

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++) {
		const struct layout layout = {.fields = {{0, 4, types[i]}, {32, 8, 1}}};
		uint8_t buffer[MESSAGE_MAX] = {0};

		lay_out(&layout, buffer);
		assert_int_equal(message_decode(&message, buffer, MESSAGE_SIZE), -EPROTO);
		assert_int_equal((uint32_t)message.type, types[i]);
		/* The length of an unknown type cannot be checked: the error is its type. */
		assert_int_equal(message_decode(&message, buffer, MESSAGE_MAX), -EPROTO);
		assert_int_equal((uint32_t)message.type, types[i]);
		assert_string_equal(message_name(types[i]), "an unknown message");
	}
}

static void refuses_impossible_regions(void **state)
{
	static const struct region {
		uint64_t address, length;
		int result;
	} regions[] = {
		{0, 1, 0},
		{0, 0, -EPROTO},
		{0x1000, 0, -EPROTO},
		{UINT64_MAX, 0, -EPROTO},
		{UINT64_MAX, 1, 0},
		{UINT64_MAX, 2, -EPROTO},
		{UINT64_MAX - 1023, 1024, 0},
		{UINT64_MAX - 1023, 1025, -EPROTO},
		{UINT64_MAX - 1022, 1024, -EPROTO},
		{0, UINT64_MAX, 0},
		{1, UINT64_MAX, 0},
		{2, UINT64_MAX, -EPROTO},
		{UINT64_MAX, UINT64_MAX, -EPROTO},
	};
	struct message message;

	(void)state;
	for (size_t i = 0; i < COUNT(regions); i++) {
		const struct layout layout = {
			.fields = {{24, 8, regions[i].address}, {32, 8, regions[i].length}}};
		uint8_t buffer[MESSAGE_SIZE];

		lay_out(&layout, buffer);
		assert_int_equal(message_decode(&message, buffer, MESSAGE_SIZE), regions[i].result);
		assert_int_equal(message.type, MSG_MR);
	}
}

static void refuses_unknown_verdicts(void **state)
{
	static const uint32_t verdicts[] = {3, 0xff, 0x100, 0x80000000, 0xffffffff};
	struct message message;

	(void)state;
	for (size_t i = 0; i < COUNT(verdicts); i++) {
		const struct layout layout = {.fields = {{0, 4, MSG_VERDICT}, {4, 4, verdicts[i]}}};
		uint8_t buffer[MESSAGE_SIZE];

		lay_out(&layout, buffer);
		assert_int_equal(message_decode(&message, buffer, MESSAGE_SIZE), -EPROTO);
		assert_int_equal(message.type, MSG_VERDICT);
	}
}

static void names_each_type(void **state)
{
	static const char *const names[MSG_TYPES] = {"MSG_MR", "MSG_DONE", "MSG_VERDICT",
		"MSG_DATA", "MSG_CREDIT", "MSG_ABORT", "MSG_PROOF", "MSG_HAVE", "MSG_START"};

	(void)state;
	for (unsigned int type = 0; type < MSG_TYPES; type++)
		assert_string_equal(message_name(type), names[type]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_exact_bytes_and_nothing_else),
		cmocka_unit_test(encodes_the_text_behind_the_fields),
		cmocka_unit_test(sets_a_text_of_any_length),
		cmocka_unit_test(encodes_no_field_of_another_type),
		cmocka_unit_test(decodes_encoded_messages),
		cmocka_unit_test(ignores_uninitialised_bytes_of_a_tutorial_peer),
		cmocka_unit_test(has_the_layout_of_the_tutorial_struct),
		cmocka_unit_test(accepts_texts_and_refuses_every_other_length),
		cmocka_unit_test(refuses_unknown_types),
		cmocka_unit_test(refuses_impossible_regions),
		cmocka_unit_test(refuses_unknown_verdicts),
		cmocka_unit_test(names_each_type),
	};

	return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}

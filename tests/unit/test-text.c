/* Remote text made safe to print: every byte, no byte, and exactly the room that is promised. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "unit.h"

/* What a byte must look like, worked out another way than the code does. */
static void expect_byte(unsigned int byte, char expected[5])
{
	if (byte == '\\')
		snprintf(expected, 5, "\\\\");
	else if (byte >= ' ' && byte <= '~')
		snprintf(expected, 5, "%c", (char)byte);
	else
		snprintf(expected, 5, "\\x%02x", byte);
}

static void escapes_each_byte(void **state)
{
	(void)state;
	for (unsigned int byte = 0; byte < 256; byte++) {
		const uint8_t bytes[1] = {(uint8_t)byte};
		char text[TEXT_ESCAPED_SIZE(1)], expected[5];

		expect_byte(byte, expected);
		text_escape(text, bytes, 1);
		assert_string_equal(text, expected);
	}
}

static void escapes_a_terminal_sequence(void **state)
{
	static const char bytes[] = "\033[2J\a\r\nhi\\ \x7f\xff";
	char text[TEXT_ESCAPED_SIZE(sizeof(bytes))];

	(void)state;
	text_escape(text, bytes, sizeof(bytes));
	assert_string_equal(text, "\\x1b[2J\\x07\\x0d\\x0ahi\\\\ \\x7f\\xff\\x00");
}

static void takes_no_bytes(void **state)
{
	char text[TEXT_ESCAPED_SIZE(0)] = {'x'};

	(void)state;
	text_escape(text, NULL, 0);
	assert_string_equal(text, "");
}

/* AddressSanitizer sees a byte too many, this test a byte too few. */
static void needs_exactly_the_room_that_is_promised(void **state)
{
	static const size_t lengths[] = {0, 1, 2, 1023, 1024};

	(void)state;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		char *bytes = malloc(lengths[i] + 1);
		char *text = malloc(TEXT_ESCAPED_SIZE(lengths[i]));

		assert_true(bytes && text);
		memset(bytes, 0xff, lengths[i]);
		text_escape(text, bytes, lengths[i]);
		assert_int_equal(strlen(text) + 1, TEXT_ESCAPED_SIZE(lengths[i]));
		free(bytes);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes_each_byte),
		cmocka_unit_test(escapes_a_terminal_sequence),
		cmocka_unit_test(takes_no_bytes),
		cmocka_unit_test(needs_exactly_the_room_that_is_promised),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}

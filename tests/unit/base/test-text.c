/* Tests escaping and quoting of remote text: every byte value, empty text, exact buffer sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/unit/unit.h"

/* Computes the expected text for a byte independently of the code under test. */
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

static void escapes_an_empty_text(void **state)
{
	char text[TEXT_ESCAPED_SIZE(0)] = {'x'};

	(void)state;
	text_escape(text, NULL, 0);
	assert_string_equal(text, "");
}

/* AddressSanitizer detects a write past the promised size; the assertion detects an unused byte. */
static void needs_exactly_the_promised_size(void **state)
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

static void keeps_utf8_and_escapes_the_rest(void **state)
{
	static const struct {
		const char *bytes, *expected;
	} cases[] = {
		{"", ""},
		{"big file.iso", "big file.iso"},
		{"gr\xc3\xb6\xc3\x9fter", "gr\xc3\xb6\xc3\x9fter"},
		{"\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80"},
		/* Already escaped: unchanged. */
		{"\\x1b \\\\", "\\x1b \\\\"},
		/* C0, DEL and C1. */
		{"a\n\033[2J\x7f", "a\\x0a\\x1b[2J\\x7f"},
		{"\xc2\x9bJ \xc2\xa0", "\\xc2\\x9bJ \xc2\xa0"},
		/*
		 * Latin-1; a lone continuation byte; characters truncated at the end and before
		 * it.
		 */
		{"gr\xf6\xdfter", "gr\\xf6\\xdfter"},
		{"\x80", "\\x80"},
		{"\xc3", "\\xc3"},
		{"\xe2\x82", "\\xe2\\x82"},
		{"\xf0\x9f\x98!", "\\xf0\\x9f\\x98!"},
		/*
		 * Overlong forms, surrogates and values beyond U+10FFFF, each next to a valid
		 * neighbour.
		 */
		{"\xc0\xaf \xc1\xbf", "\\xc0\\xaf \\xc1\\xbf"},
		{"\xe0\x9f\xbf \xe0\xa0\x80", "\\xe0\\x9f\\xbf \xe0\xa0\x80"},
		{"\xed\xa0\x80 \xed\x9f\xbf", "\\xed\\xa0\\x80 \xed\x9f\xbf"},
		{"\xf0\x8f\xbf\xbf \xf0\x90\x80\x80", "\\xf0\\x8f\\xbf\\xbf \xf0\x90\x80\x80"},
		{"\xf4\x90\x80\x80 \xf4\x8f\xbf\xbf", "\\xf4\\x90\\x80\\x80 \xf4\x8f\xbf\xbf"},
		{"\xf5\x80\x80\x80 \xff", "\\xf5\\x80\\x80\\x80 \\xff"},
	};
	char text[TEXT_ESCAPED_SIZE(32)];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		text_escape_utf8(text, cases[i].bytes, strlen(cases[i].bytes));
		assert_string_equal(text, cases[i].expected);
	}
}

static void replaces_unprintable_characters(void **state)
{
	char text[] = "eth0 \033[2J\x7f\n\xc3\xa4~";

	(void)state;
	text_printable(text);
	assert_string_equal(text, "eth0 ?[2J????~");
}

static void fits_whole_words(void **state)
{
	static const struct {
		const char *text;
		size_t room, fitting;
	} cases[] = {{"", 0, 0}, {"", 5, 0}, {"two words", 9, 9}, {"two words", 8, 3},
		{"two words", 4, 3}, {"two words", 3, 3}, {"two words", 2, 2},
		{"onlyoneword", 5, 5}, {"a b c d", 4, 3}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(text_fit(cases[i].text, cases[i].room), cases[i].fitting);
}

/* A shell reads each result as one word, unchanged except for escaped unprintable bytes. */
static void quotes_shell_characters(void **state)
{
	static const struct {
		const char *word, *quoted;
	} cases[] = {
		{"fe80::1%eth0", "fe80::1%eth0"},
		{"a_b-C.9", "a_b-C.9"},
		{"", "''"},
		{"two words", "'two words'"},
		{"$(x)`y`\"*", "'$(x)`y`\"*'"},
		{"'", "''\\'''"},
		{"it's", "'it'\\''s'"},
		{"\x1b[2J", "'\\x1b[2J'"},
		{"\xc3\xa4\xff", "'\xc3\xa4\\xff'"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char *text = malloc(TEXT_QUOTED_SIZE(strlen(cases[i].word)));

		assert_non_null(text);
		text_quote(text, cases[i].word);
		assert_string_equal(text, cases[i].quoted);
		free(text);
	}
}

static void appends_what_fits(void **state)
{
	char text[8] = "";

	(void)state;
	text_append(text, sizeof(text), "%s", "");
	assert_string_equal(text, "");
	text_append(text, sizeof(text), "%s%d", "ab", 12);
	assert_string_equal(text, "ab12");
	text_append(text, sizeof(text), "%s", "cdefgh");
	assert_string_equal(text, "ab12cde");
	text_append(text, sizeof(text), "%s", "x");
	assert_string_equal(text, "ab12cde");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_what_fits),
		cmocka_unit_test(escapes_each_byte),
		cmocka_unit_test(escapes_a_terminal_sequence),
		cmocka_unit_test(escapes_an_empty_text),
		cmocka_unit_test(keeps_utf8_and_escapes_the_rest),
		cmocka_unit_test(replaces_unprintable_characters),
		cmocka_unit_test(fits_whole_words),
		cmocka_unit_test(quotes_shell_characters),
		cmocka_unit_test(needs_exactly_the_promised_size),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}

/*
 * Sets of words: finding a word, suggesting the nearest word after a typing error, and listing all
 * words in a sentence.
 */
#include <string.h>

#include "cli/choice.h"
#include "tests/unit/unit.h"

static void finds_words(void **state)
{
	static const struct {
		const char *choices, *word;
		int position;
	} cases[] = {
		{"write|read", "write", 0},
		{"write|read", "read", 1},
		{"write|read", "rea", -1},
		{"write|read", "reads", -1},
		{"write|read", "", -1},
		{"write|read", "write|read", -1},
		{"write", "write", 0},
		{"", "write", -1},
		{"", "", -1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(choice_find(cases[i].choices, cases[i].word), cases[i].position);
}

static void suggests_the_nearest_word(void **state)
{
	static const char commands[] = "write|read|bandwidth|latency|diagnose";
	static const struct {
		const char *choices, *word, *nearest;
	} cases[] = {
		{commands, "write", "write"},
		{commands, "bandwith", "bandwidth"},
		{commands, "bandwidht", "bandwidth"},
		{commands, "bandwidthh", "bandwidth"},
		{commands, "bnadwdith", "bandwidth"},
		{commands, "wirte", "write"},
		{commands, "wrte", "write"},
		{commands, "raed", "read"},
		{commands, "diagnosis", "diagnose"},
		{commands, "band", "bandwidth"},
		{commands, "lat", "latency"},
		{commands, "la", ""},
		{commands, "any", ""},
		{commands, "x", ""},
		{commands, "", ""},
		{commands, "frobnicate", ""},
		{commands, "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww", ""},
		{"", "write", ""},
		{"a|b", "c", ""},
		{"force|source", "sorce", "source"},
		{"force|source", "forcee", "force"},
		{"input|output", "nput", "input"},
		{"force|poll", "wrench", ""},
		/* Suggests the nearest word, not the first one within the limit. */
		{"size|sizes", "sizess", "sizes"},
		{"wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww|write", "writ", "write"},
	};
	char nearest[CHOICE_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		choice_nearest(cases[i].choices, cases[i].word, nearest);
		if (strcmp(nearest, cases[i].nearest) != 0)
			fail_msg("'%s': got '%s', expected '%s'", cases[i].word, nearest,
				cases[i].nearest);
	}
}

static void lists_words_in_a_sentence(void **state)
{
	static const struct {
		const char *choices, *list;
	} cases[] = {
		{"", ""},
		{"write", "write"},
		{"write|read", "write or read"},
		{"write|read|any", "write, read or any"},
	};
	char list[64];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		choice_list(cases[i].choices, "or", list, sizeof(list));
		assert_string_equal(list, cases[i].list);
	}
	choice_list("write|read|any", "or", list, 9);
	assert_string_equal(list, "write, r");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_words),
		cmocka_unit_test(suggests_the_nearest_word),
		cmocka_unit_test(lists_words_in_a_sentence),
	};

	return cmocka_run_group_tests_name("choice", tests, NULL, NULL);
}

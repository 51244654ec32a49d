/* Compares a word with a set of choices. Nothing is allocated or kept. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/choice.h"

/* The minimum number of characters in an abbreviation of a choice. */
#define ABBREVIATION 3

/* The length of the first choice. The next choice starts after the separator. */
static size_t length_of(const char *choices)
{
	return strcspn(choices, "|");
}

static const char *next_choice(const char *choices)
{
	choices += length_of(choices);
	return *choices ? choices + 1 : choices;
}

int choice_find(const char *choices, const char *word)
{
	for (int position = 0; *choices; position++, choices = next_choice(choices))
		if (strlen(word) == length_of(choices) && memcmp(choices, word, strlen(word)) == 0)
			return position;
	return -1;
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/*
 * The optimal string alignment distance: row i, column j of the matrix is the distance between the
 * first i characters of a and the first j of b. Three rows are kept. Both lengths are below
 * CHOICE_SIZE.
 */
static unsigned int distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	unsigned int rows[3][CHOICE_SIZE] = {{0}};

	for (unsigned int j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (unsigned int i = 1; i <= a_length; i++) {
		const unsigned int *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
		unsigned int *row = rows[i % 3];

		row[0] = i;
		for (unsigned int j = 1; j <= b_length; j++) {
			row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]),
				least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], two_above[j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

/*
 * Rates how poorly a choice matches the word: twice the number of typing errors, plus one if the
 * first characters differ, because few people mistype the first character. An abbreviation counts
 * as half an error. Lower is better.
 */
static unsigned int penalty(const char *word, size_t word_length, const char *choice, size_t length)
{
	if (word_length >= ABBREVIATION && word_length < length &&
		memcmp(word, choice, word_length) == 0)
		return 1;
	return 2 * distance(word, word_length, choice, length) + (*word != *choice);
}

void choice_nearest(const char *choices, const char *word, char nearest[CHOICE_SIZE])
{
	size_t word_length = strlen(word);
	/* Allow one error per three characters, but at least one. */
	unsigned int allowed = 2 * (word_length < 6 ? 1 : (unsigned int)word_length / 3) + 2;

	*nearest = '\0';
	if (word_length >= CHOICE_SIZE)
		return;
	for (; *choices; choices = next_choice(choices)) {
		size_t length = length_of(choices);
		unsigned int errors;

		if (length >= CHOICE_SIZE)
			continue;
		errors = penalty(word, word_length, choices, length);
		/* Several errors and a different first character indicate a different word. */
		if (errors >= allowed || (errors > 3 && *word != *choices) || errors >= 2 * length)
			continue;
		memcpy(nearest, choices, length);
		nearest[length] = '\0';
		allowed = errors;
	}
}

void choice_list(const char *choices, const char *conjunction, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (; *choices && used < size; choices = next_choice(choices)) {
		int length = (int)length_of(choices);
		bool last = choices[length] == '\0';

		if (used == 0)
			used += (size_t)snprintf(text, size, "%.*s", length, choices);
		else if (!last)
			used += (size_t)snprintf(
				text + used, size - used, ", %.*s", length, choices);
		else
			used += (size_t)snprintf(
				text + used, size - used, " %s %.*s", conjunction, length, choices);
	}
}

/* Adds up the tests of a measurement and puts them into words: see serve/session-tests.h. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "measure/table.h"
#include "serve/session-tests.h"

static uint64_t sum(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static double rate_of(const struct test_result *result)
{
	return result->nanoseconds ? (double)result->bytes * 1e9 / (double)result->nanoseconds : 0;
}

void session_tests_begin(struct session_tests *tests, const struct test_parameters *parameters)
{
	if (tests->last.size == 0) {
		tests->last = *parameters;
		tests->smallest = tests->largest = parameters->size;
	}
	tests->unfinished = true;
}

void session_tests_add(struct session_tests *tests, const struct test_parameters *parameters,
	const struct test_result *ours, const struct test_result *theirs)
{
	double rate = rate_of(ours) + rate_of(theirs);

	if (tests->last.size == 0 || parameters->size < tests->smallest)
		tests->smallest = parameters->size;
	if (parameters->size > tests->largest)
		tests->largest = parameters->size;
	tests->last = *parameters;
	tests->unfinished = false;
	tests->bytes = sum(tests->bytes, sum(ours->bytes, theirs->bytes));
	tests->wrong = sum(tests->wrong, sum(ours->wrong, theirs->wrong));
	if (rate > tests->best)
		tests->best = rate;
	if (parameters->kind == TEST_LATENCY && theirs->best > 0 &&
		(tests->median == 0 || theirs->best < tests->median))
		tests->median = theirs->best;
}

/* Appends a size as 4K, or as 100 B. */
static void append_size(char text[SESSION_TESTS_TEXT], uint32_t bytes)
{
	char size[TABLE_SIZE];

	table_size(size, bytes);
	text_append(text, SESSION_TESTS_TEXT, "%s%s", size,
		strspn(size, "0123456789") == strlen(size) ? " B" : "");
}

/* Writes which operation was tested how, and with which sizes. */
static void put_operation(const struct session_tests *tests, char text[SESSION_TESTS_TEXT])
{
	snprintf(text, SESSION_TESTS_TEXT, "%s %s of ", tests->last.operation->word,
		tests->last.kind == TEST_LATENCY ? "latency" : "bandwidth");
	append_size(text, tests->smallest);
	if (tests->largest > tests->smallest) {
		text_append(text, SESSION_TESTS_TEXT, " to ");
		append_size(text, tests->largest);
	}
}

void session_tests_text(
	const struct session_tests *tests, bool diagnosis, char text[SESSION_TESTS_TEXT])
{
	bool latency = tests->last.kind == TEST_LATENCY;
	char number[UNITS_TEXT];

	*text = '\0';
	if (tests->last.size > 0 && !diagnosis)
		put_operation(tests, text);
	if (tests->bytes > 0)
		text_append(text, SESSION_TESTS_TEXT, "%s%s", *text ? ", " : "",
			units_format(number, tests->bytes));
	/* A peer may claim anything; beyond these limits, it is no measurement. */
	if (!latency && tests->best >= 1 && tests->best < 1e18)
		text_append(text, SESSION_TESTS_TEXT, ", best rate %s",
			units_format_rate(number, (uint64_t)tests->best));
	if (latency && tests->median > 0 && tests->median < UINT64_C(1000000000000000))
		text_append(text, SESSION_TESTS_TEXT, ", best median %.2f us",
			(double)tests->median / 1000);
	if (tests->wrong > 0)
		text_append(text, SESSION_TESTS_TEXT, ", %s with wrong data",
			units_format_count(number, tests->wrong));
	if (tests->bytes == 0)
		text_append(text, SESSION_TESTS_TEXT, "%sno result", *text ? ", " : "");
	else if (tests->unfinished)
		text_append(text, SESSION_TESTS_TEXT, "; the last test was interrupted");
}

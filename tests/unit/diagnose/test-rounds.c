/* Lines of the rounds of a repeated diagnosis, and their summary. */
#include <stdio.h>
#include <string.h>

#include "diagnose/rounds.h"
#include "tests/unit/unit.h"

#define LISTENING \
	"Whether RDMA works is unknown: nothing is listening on this port; look at the other host."
#define GOOD "round trip in 0.214 ms; 812 MB/s to the server, 798 MB/s from it"

static const struct tm nine = {.tm_hour = 9, .tm_min = 5, .tm_sec = 7};

static const struct round good = {true, GOOD, {214000, 812000000, 798000000}};
static const struct round bad = {false, LISTENING, {0}};

static const char *line_of(struct rounds *rounds, const struct round *round, unsigned int columns)
{
	static char line[ROUNDS_LINE];

	rounds_add(rounds, round, &nine, columns, line);
	return line;
}

static void the_line_of_a_round_fits(void **state)
{
	static const struct {
		const struct round *round;
		bool changed;
		unsigned int columns;
		const char *line;
	} cases[] = {
		{&good, false, 0, "09:05:07  ok        0.214 ms     812.0 MB/s    798.0 MB/s"},
		{&good, true, 0,
			"09:05:07  ok        0.214 ms     812.0 MB/s    798.0 MB/s  <-- changed"},
		{&good, false, 100, "09:05:07  ok        0.214 ms     812.0 MB/s    798.0 MB/s"},
		{&good, true, 80,
			"09:05:07  ok        0.214 ms     812.0 MB/s    798.0 MB/s  <-- changed"},
		{&good, true, 60, "09:05:07  ok      to 812.0 from 798.0 MB/s  <-- changed"},
		{&good, false, 59, "09:05:07  ok 0.214 ms, to 812.0 from 798.0 MB/s"},
		{&good, false, 40, "09:05:07  ok to 812.0 from 798.0 MB/s"},
		{&good, true, 40, "09:05:07  ok to 812.0 from 798.0 MB/s <-"},
		{&bad, false, 80,
			"09:05:07  failed  nothing is listening on this port; look at the other host."},
		{&bad, true, 80,
			"09:05:07  failed  nothing is listening on this port  <-- changed"},
		{&bad, true, 40, "09:05:07  failed nothing is... <-"},
		/* Such a terminal breaks lines itself. */
		{&good, false, 39, "09:05:07  ok      " GOOD},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rounds rounds = {0};

		if (cases[i].changed)
			line_of(&rounds, cases[i].round->good ? &bad : &good, 0);
		assert_string_equal(
			line_of(&rounds, cases[i].round, cases[i].columns), cases[i].line);
	}
}

static void columns_stay_below_their_heading(void **state)
{
	static const struct round fast = {true, GOOD, {1234567, 48000000000, 1200000}};
	struct rounds rounds = {0};

	(void)state;
	assert_ptr_equal(rounds_heading(0), rounds_heading(60));
	assert_null(rounds_heading(59));
	assert_string_equal(
		rounds_heading(60), "time      result  round trip  to the server       from it");
	assert_string_equal(line_of(&rounds, &fast, 60),
		"09:05:07  ok        1.235 ms     48.00 GB/s      1.2 MB/s");
	assert_int_equal(strlen(line_of(&rounds, &fast, 60)), strlen(rounds_heading(60)));
}

/* Whatever a round says, and however fast the hosts are. */
static void no_line_is_wider_than_the_terminal(void **state)
{
	static const struct round cases[] = {
		{true, GOOD " (limited by the CPU, not the link)",
			{UINT64_MAX, UINT64_MAX, UINT64_MAX}},
		{true, "This host is ready for RDMA, but see the warning.", {0}},
		{false, LISTENING, {0}},
		{false, "averyveryveryveryveryveryveryverylongwordwithoutanyblankinit.", {0}},
		{false, "Whether RDMA works is unknown: probably this host is busy; look at it.",
			{0}},
	};

	(void)state;
	for (unsigned int columns = 40; columns < 200; columns++) {
		struct rounds rounds = {0};

		for (unsigned int i = 0; i < 2 * COUNT(cases); i++)
			assert_true(strlen(line_of(&rounds, &cases[i % COUNT(cases)], columns)) <=
				    columns);
	}
}

static void changes_are_marked(void **state)
{
	struct rounds rounds = {0};
	const struct round slower = {true, "round trip in 9 ms", {9000000, 0, 0}};
	const struct round other = {false, "This host is not ready: no device.", {0}};

	(void)state;
	assert_null(strstr(line_of(&rounds, &good, 0), "changed"));
	/* Another rate is no change. */
	assert_null(strstr(line_of(&rounds, &slower, 0), "changed"));
	assert_non_null(strstr(line_of(&rounds, &bad, 0), "changed"));
	assert_null(strstr(line_of(&rounds, &bad, 0), "changed"));
	assert_non_null(strstr(line_of(&rounds, &other, 0), "changed"));
	assert_non_null(strstr(line_of(&rounds, &good, 0), "changed"));
	assert_int_equal(rounds.changes, 3);
}

static void the_summary_says_what_changed_most(void **state)
{
	static const struct round slow = {true, GOOD, {240000, 406000000, 798000000}};
	struct rounds rounds = {0};
	char text[4096];

	(void)state;
	rounds_summary(&rounds, "h", 0, text, sizeof(text));
	assert_string_equal(text, "");
	line_of(&rounds, &good, 0);
	rounds_summary(&rounds, "h", 900, text, sizeof(text));
	assert_string_equal(text, "--- diagnosis of h ---\n"
				  "1 round in 900 ms: 1 ok, 0 failed, 0 changes\n"
				  "round trip: 0.214 to 0.214 ms, mean 0.214 ms\n"
				  "to the server: 812.0 to 812.0 MB/s, mean 812.0 MB/s\n"
				  "from the server: 798.0 to 798.0 MB/s, mean 798.0 MB/s\n");
	line_of(&rounds, &bad, 0);
	line_of(&rounds, &bad, 0);
	line_of(&rounds, &slow, 0);
	rounds_summary(&rounds, "h", 65000, text, sizeof(text));
	assert_string_equal(text, "--- diagnosis of h ---\n"
				  "4 rounds in 1:05: 2 ok, 2 failed, 2 changes\n"
				  "2 failed: " LISTENING "\n"
				  "round trip: 0.214 to 0.240 ms, mean 0.227 ms\n"
				  "to the server: 406.0 to 812.0 MB/s, mean 609.0 MB/s\n"
				  "from the server: 798.0 to 798.0 MB/s, mean 798.0 MB/s\n");
}

/* Those for which there is no room share the last entry. */
static void different_failures_are_counted(void **state)
{
	struct rounds rounds = {0};
	char verdict[32], text[4096];
	const struct round round = {false, verdict, {0}};

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		snprintf(verdict, sizeof(verdict), "verdict %u.", i);
		line_of(&rounds, &round, 0);
	}
	rounds_summary(&rounds, "h", 1000, text, sizeof(text));
	assert_non_null(strstr(text, "\n1 failed: verdict 6.\n13 failed: other failures\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_of_a_round_fits),
		cmocka_unit_test(columns_stay_below_their_heading),
		cmocka_unit_test(no_line_is_wider_than_the_terminal),
		cmocka_unit_test(changes_are_marked),
		cmocka_unit_test(the_summary_says_what_changed_most),
		cmocka_unit_test(different_failures_are_counted),
	};

	return cmocka_run_group_tests_name("rounds", tests, NULL, NULL);
}

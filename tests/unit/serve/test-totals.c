/* What a server has done, in words. */
#include <string.h>

#include "serve/totals.h"
#include "tests/unit/unit.h"

static void counts_without_overflow(void **state)
{
	struct totals_sessions sessions = {0};
	uint64_t moved = 0;

	(void)state;
	totals_add(&sessions, false, &moved, 5);
	totals_add(&sessions, true, &moved, UINT64_MAX - 1);
	assert_int_equal(sessions.ended, 2);
	assert_int_equal(sessions.failed, 1);
	assert_true(moved == UINT64_MAX);
}

static void leaves_out_what_is_zero(void **state)
{
	static const struct {
		struct totals totals;
		const char *text;
	} cases[] = {
		{{.start = 0}, "served no client in 12.0 s"},
		{{.refused = 1}, "served no client in 12.0 s; refused 1 client"},
		{{.exchanges = {1, 0}, .exchanged = 83},
			"served 1 exchange in 12.0 s; exchanged 83 B"},
		{{.exchanges = {1, 1}}, "served 1 exchange (1 failed) in 12.0 s"},
		{{.measurements = {2, 0}, .measured = 4200000000},
			"served 2 measurements in 12.0 s; moved 4.20 GB in measurements"},
		{{.exchanges = {12000, 7},
			 .measurements = {3, 1},
			 .diagnoses = {1, 0},
			 .exchanged = 1500,
			 .measured = 1000000,
			 .refused = 4181},
			"served 12,000 exchanges (7 failed), 3 measurements (1 failed) and 1 "
			"diagnosis in 12.0 s; exchanged 1.5 kB; moved 1.0 MB in measurements; "
			"refused 4,181 clients"},
	};
	char text[TOTALS_TEXT];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		totals_text(&cases[i].totals, 12000, text);
		assert_string_equal(text, cases[i].text);
	}
}

/* The longest text fits. */
static void is_not_truncated(void **state)
{
	const struct totals_sessions most = {UINT64_MAX, UINT64_MAX};
	const struct totals totals = {
		INT64_MIN / 2, most, most, most, UINT64_MAX, UINT64_MAX, UINT64_MAX};
	char text[TOTALS_TEXT];

	(void)state;
	totals_text(&totals, INT64_MAX / 2, text);
	assert_true(strlen(text) < TOTALS_TEXT - 1);
	assert_non_null(strstr(text, "refused 18,446,744,073,709,551,615 clients"));
}

static void says_what_is_running(void **state)
{
	char text[TOTALS_RUNNING_TEXT];

	(void)state;
	totals_running_text(0, 0, 0, text);
	assert_string_equal(text, "");
	totals_running_text(0, 1, 0, text);
	assert_string_equal(text, "1 measurement");
	totals_running_text(2, 0, 1, text);
	assert_string_equal(text, "2 exchanges and 1 diagnosis");
	totals_running_text(UINT32_MAX, UINT32_MAX, UINT32_MAX, text);
	assert_string_equal(text,
		"4,294,967,295 exchanges, 4,294,967,295 measurements and 4,294,967,295 diagnoses");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_without_overflow),
		cmocka_unit_test(leaves_out_what_is_zero),
		cmocka_unit_test(is_not_truncated),
		cmocka_unit_test(says_what_is_running),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

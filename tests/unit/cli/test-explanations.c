/* `rdma-client explain`: which sections of docs/troubleshooting.md a query selects. */
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "cli/explanations.h"
#include "tests/unit/unit.h"

#define TEXT_MAX 65536

/* Prints the explanations for a query. Returns the number of sections. */
static unsigned int explain_query(const char *query, char text[TEXT_MAX])
{
	FILE *stream = fmemopen(text, TEXT_MAX, "w");
	unsigned int count;

	assert_non_null(stream);
	memset(text, 0, TEXT_MAX);
	count = explanations_print(stream, query);
	assert_int_equal(fclose(stream), 0);
	return count;
}

static void lists_all_titles(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_true(explain_query("", text) > 70);
	assert_non_null(strstr(text, "\nThis host\n  No RDMA device\n"));
	assert_non_null(strstr(text, "\n  Nothing is listening\n"));
	assert_null(strstr(text, "##"));
}

static void explains_a_title_and_a_part_of_a_message(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_int_equal(explain_query("busy", text), 1);
	assert_non_null(
		strstr(text, "Busy\n    cannot connect to PEER: the server's input or output"));
	assert_non_null(strstr(text, "Exit status 3."));
	assert_int_equal(explain_query("blackhole", text), 1);
	assert_non_null(strstr(text, "Unusable address\n"));
}

/* A whole line, as the programs print it, with a peer and evidence. */
static void explains_a_pasted_line(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_int_equal(
		explain_query(
			"rdma-client: cannot connect to 10.0.0.1:7471: nothing is listening "
			"on this port; start rdma-server on that host, or check the port number.",
			text),
		1);
	assert_non_null(strstr(text, "Nothing is listening\n"));
}

static void every_cause_is_explained(void **state)
{
	const struct explanation *row;
	char text[TEXT_MAX];

	(void)state;
	for (unsigned int i = 0; (row = explain_row(i)); i++)
		if (row->cause)
			check_case(row->cause, explain_query(row->cause, text) > 0);
}

static void links_are_plain_text(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_true(explain_query("Host does not reply", text) > 0);
	assert_null(strstr(text, "]("));
	assert_int_equal(explain_query("Too much data", text), 1);
	assert_non_null(strstr(text, "so its exchange fails later."));
}

static void lists_the_titles_of_many_matches(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_true(explain_query("exit status", text) > EXPLANATIONS_MAX);
	assert_null(strstr(text, "Exit status"));
	assert_int_equal(explain_query("no such words anywhere", text), 0);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_all_titles),
		cmocka_unit_test(explains_a_title_and_a_part_of_a_message),
		cmocka_unit_test(explains_a_pasted_line),
		cmocka_unit_test(every_cause_is_explained),
		cmocka_unit_test(links_are_plain_text),
		cmocka_unit_test(lists_the_titles_of_many_matches),
	};

	return cmocka_run_group_tests_name("explanations", tests, NULL, NULL);
}

/* Templates of messages: what matches, and which of several matches best. */
#include <stdbool.h>
#include <string.h>

#include "cli/message-template.h"
#include "tests/unit/unit.h"

#define REMEDY "; check the peer"

static size_t score(const char *template, const char *message)
{
	return message_template_match(template, strlen(template), message).score;
}

/* Words in capitals, numbers and parentheses stand for any text; other text is compared. */
static void placeholders_stand_for_any_text(void **state)
{
	static const struct {
		const char *template, *message;
		bool matches;
	} cases[] = {
		{"cannot write FILE: MESSAGE", "cannot write photos: Is a directory", true},
		{"cannot write FILE: MESSAGE", "cannot write a b: c: No such file", true},
		{"cannot write FILE: MESSAGE", "cannot read photos: Is a directory", false},
		{"cannot write FILE: Is a directory", "cannot write photos: File exists", false},
		{"at most N --input are allowed", "at most 256 --input are allowed", true},
		{"more than the 10240 bytes", "more than the 7 bytes", true},
		{"the 0.5 s", "the 12 s", true},
		{"IPv6 is off", "IPv4 is off", false},
		{"received a second MSG_NAME", "received a second MSG_DONE", true},
		{"received NAMES", "received addresses", false},
		{"the --OPTION is wrong", "the --size is wrong", true},
		{"it is full (at N)", "it is full", true},
		{"it is full (at N (now))", "it is full (because (again) 3)", true},
		{"PEER sent MESSAGE", "10.0.0.1:7471 sent MSG_MR", true},
		{"waiting for EVENT", "waiting for", false},
		{"waiting for EVENT", "waiting for the next message", true},
		{"", "anything", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		check_case(cases[i].template,
			(score(cases[i].template, cases[i].message) > 0) == cases[i].matches);
}

/* A line is recognised by its cause, with any start, evidence and remedy, or without. */
static void the_cause_decides(void **state)
{
	static const char template[] =
		"cannot connect to PEER: nothing is listening (EVIDENCE)" REMEDY ".";

	(void)state;
	assert_true(score(template, "nothing is listening") > 0);
	assert_true(score(template, "Nov 25 host[7]: measurement with h:1 failed: nothing is "
				    "listening (Connection refused); try again.") > 0);
	assert_int_equal(score(template, "cannot connect to h:1: something else" REMEDY "."), 0);
	assert_int_equal(score(template, "nothing is"), 0);
	/* The more of it there is, the better. */
	assert_true(score(template, "nothing is listening" REMEDY) >
		    score(template, "nothing is listening"));
	assert_true(score(template, "cannot connect to h:1: nothing is listening") >
		    score(template, "cannot reach h:1: nothing is listening"));
}

/* If the cause is different each time, the remedy decides; if there is none, the attempt. */
static void other_parts_decide_without_a_cause(void **state)
{
	static const char with_remedy[] = "exchange with PEER failed: MESSAGE" REMEDY ".";
	static const char without[] = "exchange with PEER failed: MESSAGE.";

	(void)state;
	assert_true(score(with_remedy, "measurement with h failed: what" REMEDY ".") > 0);
	assert_int_equal(score(with_remedy, "exchange with h failed: what."), 0);
	assert_true(score(without, "exchange with h:1 failed: what.") > 0);
	assert_int_equal(score(without, "measurement with h:1 failed: what."), 0);
}

/* The text after a name is different each time, so a message without it is recognised, too. */
static void the_end_may_be_missing(void **state)
{
	(void)state;
	assert_true(score("cannot read FILE: MESSAGE", "cannot read photos") > 0);
	assert_int_equal(score("cannot read FILE: it is closed", "cannot read photos"), 0);
}

static void the_template_ends_where_it_says(void **state)
{
	static const char document[] = "first line\nsecond line\n";

	(void)state;
	assert_true(message_template_match(document, strlen("first line"), "first line").score > 0);
	assert_int_equal(
		message_template_match(document, strlen("first line"), "first one").score, 0);
}

/* Of two templates at the same place, the one with the longer fixed text there is more specific. */
static void the_place_of_the_cause_is_known(void **state)
{
	static const char general[] = "cannot write FILE: No such file or directory",
			  special[] = "cannot start: cannot write the port file FILE: MESSAGE",
			  message[] = "cannot write the port file p: No such file or directory";
	struct message_match match = message_template_match(general, strlen(general), message);

	(void)state;
	assert_ptr_equal(match.place, message);
	assert_int_equal(match.prefix, strlen("cannot write "));
	match = message_template_match(special, strlen(special), message);
	assert_ptr_equal(match.place, message);
	assert_int_equal(match.prefix, strlen("cannot write the port file "));
	/* A cause that is different each time has no place. */
	match = message_template_match("exchange with PEER failed: MESSAGE", 34,
		"rdma-client: exchange with h failed: what");
	assert_true(match.score > 0);
	assert_null(match.place);
	match = message_template_match("PEER sent MESSAGE", 17, "h:1 sent MSG_MR");
	assert_string_equal(match.place, " sent MSG_MR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placeholders_stand_for_any_text),
		cmocka_unit_test(the_cause_decides),
		cmocka_unit_test(other_parts_decide_without_a_cause),
		cmocka_unit_test(the_end_may_be_missing),
		cmocka_unit_test(the_template_ends_where_it_says),
		cmocka_unit_test(the_place_of_the_cause_is_known),
	};

	return cmocka_run_group_tests_name("message templates", tests, NULL, NULL);
}

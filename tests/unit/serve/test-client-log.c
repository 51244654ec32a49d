/* The lines about refused and failed clients: which are printed, and what is counted. */
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "serve/client-log.h"
#include "tests/unit/base/output-fixture.h"
#include "tests/unit/unit.h"

#define MODE_CAUSE "it requested the other mode"

static const struct failure no_receive = {.kind = FAILURE_COMPLETION,
	.phase = PHASE_EXCHANGE,
	.code = IBV_WC_RNR_RETRY_EXC_ERR,
	.evidence = "details"};

static struct client_log client_log;

static int finish(void)
{
	return (int)output_finish(client_log.output, STATUS_OK);
}

static void refuse(const char *peer, deadline_t now)
{
	client_log_refusal(&client_log, peer, REFUSAL_MODE, MODE_CAUSE, now);
}

static void end_session(const struct failure *failure, const char *peer, deadline_t now)
{
	char text[OUTPUT_FAILURE_SIZE];

	/* The line is also part of a report, in which nothing is counted. */
	if (client_log_failure(&client_log, failure, peer, text, now) != text ||
		!strstr(text, peer))
		output_error(client_log.output, "no line for %s: %s", peer, text);
}

/* The number of lines in a text that contain all of this. */
static unsigned int lines_with(const char *text, const char *part)
{
	unsigned int count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

static int refuse_often(void)
{
	char peer[ADDRESS_TEXT_SIZE];

	client_log_init(&client_log, &plain);
	if (client_log_next(&client_log, 0) != -1)
		return 1;
	for (unsigned int i = 0; i < 4181; i++) {
		snprintf(peer, sizeof(peer), "192.0.2.7:%u", 1024 + i);
		refuse(peer, 1000 + i);
	}
	if (client_log_next(&client_log, 60999) != 1 || client_log_next(&client_log, 61001) != 0)
		return 1;
	client_log_print_counts(&client_log, 60999);
	output_line(&plain, "before the end of the minute");
	client_log_print_counts(&client_log, 61000);
	if (client_log_next(&client_log, 61000) != -1)
		return 1;
	client_log_print_counts(&client_log, 200000);
	refuse("192.0.2.7:9", 200000);
	client_log_print_counts(&client_log, 300000);
	client_log_end(&client_log);
	return finish();
}

static void counts_the_refusals_of_one_address(void **state)
{
	(void)state;
	run(refuse_often, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_string_equal(printed.error, "");
	assert_string_equal(printed.out,
		"refused 192.0.2.7:1024: " MODE_CAUSE ".\n"
		"before the end of the minute\n"
		"refused 192.0.2.7: " MODE_CAUSE ", and 4,180 more in the last minute.\n"
		"refused 192.0.2.7:9: " MODE_CAUSE ".\n");
}

/* Another address, port or reason; the last counts are printed at the end. */
static int refuse_several(void)
{
	client_log_init(&client_log, &plain);
	for (unsigned int i = 0; i < 3; i++) {
		refuse("192.0.2.7:1000", 1);
		refuse("192.0.2.8:1000", 2);
		refuse(i == 0 ? "[2001:db8::7]:1000" : "[2001:db8:0:0:1::8%eth0]:1000", 3);
		client_log_refusal(&client_log, "192.0.2.7:1000", REFUSAL_VERSION, "version", 4);
	}
	refuse("192.0.2.9:1000", 5);
	client_log_end(&client_log);
	return finish();
}

static void addresses_and_reasons_are_counted_separately(void **state)
{
	(void)state;
	run(refuse_several, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_string_equal(printed.out,
		"refused 192.0.2.7:1000: " MODE_CAUSE ".\n"
		"refused 192.0.2.8:1000: " MODE_CAUSE ".\n"
		"refused [2001:db8::7]:1000: " MODE_CAUSE ".\n"
		"refused 192.0.2.7:1000: version.\n"
		"refused 192.0.2.9:1000: " MODE_CAUSE ".\n"
		"refused 192.0.2.7: " MODE_CAUSE ", and 2 more in the last minute.\n"
		"refused 192.0.2.8: " MODE_CAUSE ", and 2 more in the last minute.\n"
		"refused 2001:db8::/64: " MODE_CAUSE ", and 2 more in the last minute.\n"
		"refused 192.0.2.7: version, and 2 more in the last minute.\n");
}

static int fail_often(void)
{
	struct failure unauthenticated = {0};

	failure_set_unauthenticated(&unauthenticated, "MSG_PROOF");
	client_log_init(&client_log, &plain);
	for (unsigned int i = 0; i < CLIENT_LOG_FAILURES + 1234567; i++)
		end_session(&no_receive, "192.0.2.7:1000", i / 1000);
	for (unsigned int i = 0; i < 3; i++)
		end_session(&unauthenticated, "192.0.2.7:1000", 5);
	client_log_end(&client_log);
	return finish();
}

static void counts_failures(void **state)
{
	static const char repeated[] =
		"prog: exchange with 192.0.2.7 failed: the peer had no receive posted for a "
		"message; this is a bug in the peer's program; and 1,234,567 more in the last "
		"minute.\n";

	(void)state;
	run(fail_often, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_string_equal(printed.out, "");
	assert_int_equal(
		lines_with(printed.error, "192.0.2.7:1000 failed: the peer had no receive"),
		CLIENT_LOG_FAILURES);
	assert_int_equal(lines_with(printed.error, " (details); "), CLIENT_LOG_FAILURES);
	assert_non_null(strstr(printed.error, repeated));
	assert_int_equal(
		lines_with(printed.error, "192.0.2.7:1000 failed: the peer does not have the same"),
		1);
	assert_int_equal(
		lines_with(printed.error, "192.0.2.7 failed: the peer does not have the same"), 1);
	assert_int_equal(lines_with(printed.error, "; and 2 more in the last minute.\n"), 1);
	assert_int_equal(lines_with(printed.error, "\n"), CLIENT_LOG_FAILURES + 3);
}

/* More addresses than fit: twice, because the entries are used again. */
static int refuse_many_addresses(void)
{
	char peer[ADDRESS_TEXT_SIZE];

	client_log_init(&client_log, &plain);
	for (deadline_t minute = 0; minute < 2; minute++) {
		for (unsigned int i = 0; i < 100000; i++) {
			snprintf(peer, sizeof(peer), "10.%u.%u.%u:1000", i >> 16, i >> 8 & 255,
				i & 255);
			refuse(peer, minute * 60000);
		}
		client_log_print_counts(&client_log, (minute + 1) * 60000);
		if (client_log_next(&client_log, 0) != -1)
			return 1;
	}
	client_log_end(&client_log);
	return finish();
}

static void the_addresses_of_a_flood_are_counted_together(void **state)
{
	char others[128];

	(void)state;
	run(refuse_many_addresses, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_int_equal(lines_with(printed.out, "\n"), 2 * CLIENT_LOG_ENTRIES);
	assert_int_equal(lines_with(printed.out, "refused 10.0.0.0:1000: "), 2);
	assert_null(strstr(printed.out, "more in the last minute"));
	snprintf(others, sizeof(others),
		"prog: and 99,%d more clients of other addresses were refused or failed in the "
		"last minute\n",
		1000 - CLIENT_LOG_ENTRIES);
	assert_int_equal(lines_with(printed.error, others), 2);
	assert_int_equal(lines_with(printed.error, "\n"), 2);
}

static int print_steps(void)
{
	client_log_init(&client_log, &plain);
	for (unsigned int i = 0; i < 3; i++) {
		client_log_step(&client_log, "192.0.2.7:1000", "hostile step");
		client_log_step(&client_log, "192.0.2.8:1000", "good step");
		refuse("192.0.2.7:1000", 0);
	}
	client_log_print_counts(&client_log, 60000);
	client_log_step(&client_log, "192.0.2.7:1000", "hostile step");
	client_log_end(&client_log);
	return finish();
}

static void omits_the_transcript_of_an_address_while_it_is_counted(void **state)
{
	(void)state;
	run(print_steps, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_int_equal(lines_with(printed.out, "hostile step\n"), 3);
	assert_int_equal(lines_with(printed.out, "good step\n"), 3);
}

/* Once the table is full, a new address cannot be told from one that is being counted. */
static int print_steps_of_many(void)
{
	char peer[ADDRESS_TEXT_SIZE];

	client_log_init(&client_log, &plain);
	for (unsigned int i = 0; i < CLIENT_LOG_ENTRIES + 3; i++) {
		snprintf(peer, sizeof(peer), "10.0.0.%u:1000", i);
		client_log_step(&client_log, peer, "step");
		refuse(peer, 0);
	}
	client_log_print_counts(&client_log, 60000);
	client_log_step(&client_log, "10.0.1.1:1000", "late step");
	client_log_end(&client_log);
	return finish();
}

static void omits_the_transcript_of_other_addresses_while_they_are_counted(void **state)
{
	(void)state;
	run(print_steps_of_many, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_int_equal(lines_with(printed.out, "step\n"), CLIENT_LOG_ENTRIES + 2);
	assert_int_equal(lines_with(printed.out, "late step\n"), 1);
}

static int report_no_failure(void)
{
	static const struct failure none = {0};
	char text[OUTPUT_FAILURE_SIZE];

	client_log_init(&client_log, &plain);
	if (client_log_failure(&client_log, &none, "192.0.2.7:1000", text, 0) ||
		client_log_next(&client_log, 0) != -1)
		return 1;
	client_log_end(&client_log);
	return finish();
}

static void a_success_prints_nothing(void **state)
{
	(void)state;
	run(report_no_failure, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_string_equal(printed.out, "");
	assert_string_equal(printed.error, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_the_refusals_of_one_address),
		cmocka_unit_test(addresses_and_reasons_are_counted_separately),
		cmocka_unit_test(counts_failures),
		cmocka_unit_test(the_addresses_of_a_flood_are_counted_together),
		cmocka_unit_test(omits_the_transcript_of_an_address_while_it_is_counted),
		cmocka_unit_test(omits_the_transcript_of_other_addresses_while_they_are_counted),
		cmocka_unit_test(a_success_prints_nothing),
	};

	return cmocka_run_group_tests_name("client log", tests, NULL, NULL);
}

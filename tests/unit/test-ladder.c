/* The ladder of a diagnosis: what it prints, what it all comes to, and what programs read of it. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/explain.h"
#include "lib/host.h"
#include "lib/introduction.h"
#include "lib/ladder.h"
#include "lib/text.h"
#include "unit.h"

/* A work completion status of the InfiniBand specification: the peer acknowledges no more. */
#define WC_RETRY_EXC 12

static struct failure made(enum failure_kind kind, enum phase phase, int code, const char *evidence)
{
	struct failure failure = {0};

	failure_set(&failure, kind, phase, code, "test", "%s", evidence);
	return failure;
}

/* A ladder on which all rungs before this one hold. */
static struct ladder climbed(enum rung up_to)
{
	struct ladder ladder;

	ladder_init(&ladder, "10.9.0.2");
	for (enum rung rung = RUNG_HOST; rung < up_to; rung++)
		ladder_ok(&ladder, rung, "%s is good", ladder_name(rung));
	return ladder;
}

/* One on which this rung breaks, and what is above is not reached. */
static struct ladder broken_at(enum rung rung, struct failure failure)
{
	struct ladder ladder = climbed(rung);

	ladder_fail(&ladder, rung, &failure);
	for (enum rung next = rung + 1; next < RUNGS; next++)
		ladder_skip(&ladder, next, "it was not reached");
	return ladder;
}

static const char *lines(const struct ladder *ladder, enum rung rung)
{
	static char text[2048];

	size_t length = ladder_lines(ladder, rung, text, sizeof(text));

	assert_int_equal(length, strlen(text));
	return text;
}

static const char *verdict(const struct ladder *ladder)
{
	static char text[512];

	ladder_verdict(ladder, text, sizeof(text));
	return text;
}

static void every_rung_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (enum rung rung = RUNG_HOST; rung < RUNGS; rung++) {
		assert_true(strlen(ladder_name(rung)) <= strlen("connection"));
		for (enum rung other = RUNG_HOST; other < rung; other++)
			assert_string_not_equal(ladder_name(rung), ladder_name(other));
	}
}

static void one_line_says_what_held_and_what_was_left_out(void **state)
{
	struct ladder ladder = climbed(RUNG_HOST);

	(void)state;
	assert_string_equal(lines(&ladder, RUNG_HOST), "this host   skipped ");
	ladder_ok(&ladder, RUNG_HOST, "%s/%d ACTIVE", "rxe0", 1);
	assert_string_equal(lines(&ladder, RUNG_HOST), "this host   ok      rxe0/1 ACTIVE");
	ladder_skip(&ladder, RUNG_PATH, "the host is silent");
	assert_string_equal(lines(&ladder, RUNG_PATH), "path        skipped the host is silent");
	assert_int_equal(ladder_broken(&ladder), RUNGS);
}

static void a_broken_rung_says_cause_evidence_side_and_advice(void **state)
{
	struct ladder ladder = broken_at(RUNG_NEIGHBOUR,
		made(FAILURE_ERRNO, PHASE_ADDRESS, ETIMEDOUT, "10.9.0.2 on eth0: FAILED"));

	(void)state;
	ladder_took(&ladder, RUNG_NEIGHBOUR, 3021);
	assert_int_equal(ladder_broken(&ladder), RUNG_NEIGHBOUR);
	assert_string_equal(lines(&ladder, RUNG_NEIGHBOUR),
		"neighbour   failed  probably: the host does not answer address resolution (ARP or "
		"neighbour discovery)\n"
		"                    seen: 10.9.0.2 on eth0: FAILED\n"
		"                    after: 3021 ms\n"
		"                    where: the other host, or the way to it\n"
		"                    next: check that it is up and in the same subnet and VLAN\n"
		"                    look: ip neighbour show to 10.9.0.2");
	assert_string_equal(
		lines(&ladder, RUNG_CONNECTION), "connection  skipped it was not reached");
}

/* Where the table has no cause, the evidence is one, and is not said twice. */
static void evidence_that_is_the_cause_is_said_once(void **state)
{
	struct ladder ladder = broken_at(
		RUNG_NAME, made(FAILURE_NAME, PHASE_NAME, -2, "Name or service not known"));

	(void)state;
	assert_string_equal(lines(&ladder, RUNG_NAME),
		"name        failed  Name or service not known\n"
		"                    after: 0 ms\n"
		"                    where: this host\n"
		"                    next: check the spelling and the name service, or give the "
		"address itself\n"
		"                    look: getent ahosts 10.9.0.2");
	assert_string_equal(verdict(&ladder),
		"RDMA does not work: Name or service not known; look at this host.");
}

/* Each row of the table can break a rung, and is shown whole. */
static void every_explanation_is_shown(void **state)
{
	const struct explanation *row;

	(void)state;
	for (unsigned int i = 0; (row = explain_row(i)); i++) {
		enum phase phase = row->phase == PHASE_ANY ? PHASE_EXCHANGE : row->phase;
		struct failure failure = made(row->kind, phase, row->code, "seen by the test");
		struct ladder ladder = broken_at(RUNG_MESSAGE, failure);
		const struct explanation *taken = explain(row->kind, phase, row->code);
		const char *cause = taken->cause ? taken->cause : "seen by the test";
		const char *text = lines(&ladder, RUNG_MESSAGE);

		check_case(cause, strstr(text, cause));
		check_case(cause, strstr(text, "seen by the test"));
		check_case(cause, !taken->cure || strstr(text, taken->cure));
		check_case(cause, !strstr(text, "probably: ") == !taken->guess);
		check_case(cause, !strstr(text, "look: ") == !taken->command);
		check_case(cause, !strstr(text, "HOST"));
		text = verdict(&ladder);
		check_case(cause, strstr(text, cause));
		check_case(cause, !strstr(text, "probably ") == !taken->guess);
		check_case(cause, ladder_status(&ladder) == taken->status);
		check_case(cause, ladder_status(&ladder) != STATUS_OK);
	}
}

static void commands_name_the_host(void **state)
{
	struct failure failure = made(FAILURE_ERRNO, PHASE_ADDRESS, ENODEV, "");
	struct ladder ladder = broken_at(RUNG_ROUTE, failure);

	(void)state;
	assert_non_null(
		strstr(lines(&ladder, RUNG_ROUTE), "look: rdma link; ip route get 10.9.0.2"));
	/* Without evidence there is no line for it. */
	assert_null(strstr(lines(&ladder, RUNG_ROUTE), "seen:"));
	ladder_set_host(&ladder, "fd09::2");
	assert_non_null(strstr(lines(&ladder, RUNG_ROUTE), "ip route get fd09::2"));
	ladder_set_host(&ladder, "");
	assert_non_null(strstr(lines(&ladder, RUNG_ROUTE), "ip route get HOST"));
}

/* What the user typed, or a file had, is not what the shell shall do. */
static void commands_are_safe_to_copy(void **state)
{
	static const struct {
		const char *host, *word;
	} cases[] = {
		{"fe80::1%eth0", "fe80::1%eth0"},
		{"no_such-host.example", "no_such-host.example"},
		{"a;reboot", "'a;reboot'"},
		{"$(reboot)", "'$(reboot)'"},
		{"it's", "'it'\\''s'"},
		{"\x1b[2J\n\xff", "'\\x1b[2J\\x0a\\xff'"},
	};
	char many[256], expected[TEXT_QUOTED_SIZE(255) + 32], *end;
	struct ladder ladder =
		broken_at(RUNG_NAME, made(FAILURE_NAME, PHASE_NAME, -2, "it is not known"));

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		ladder_set_host(&ladder, cases[i].host);
		snprintf(expected, sizeof(expected), "\n                    look: getent ahosts %s",
			cases[i].word);
		end = strstr(lines(&ladder, RUNG_NAME), "\n                    look: ");
		check_case(cases[i].host, end && strcmp(end, expected) == 0);
	}
	/* The longest there is. */
	memset(many, '\'', 255);
	many[255] = '\0';
	ladder_set_host(&ladder, many);
	end = strstr(lines(&ladder, RUNG_NAME), "look: getent ahosts '");
	assert_non_null(end);
	assert_int_equal(strlen(end), strlen("look: getent ahosts ") + 2 + 4 * strlen(many));
}

static void what_it_comes_to(void **state)
{
	struct ladder ladder = climbed(RUNGS);

	(void)state;
	assert_string_equal(
		verdict(&ladder), "RDMA works between the two hosts: bandwidth is good.");
	assert_int_equal(ladder_status(&ladder), STATUS_OK);
	ladder = climbed(RUNG_BANDWIDTH);
	assert_string_equal(verdict(&ladder), "RDMA works between the two hosts: data.");
	ladder = climbed(RUNG_NAME);
	assert_string_equal(verdict(&ladder), "This host is ready for RDMA.");
	assert_int_equal(ladder_status(&ladder), STATUS_OK);
	ladder = climbed(RUNG_MESSAGE);
	assert_string_equal(verdict(&ladder), "No fault as far as was looked, up to: connection.");
	/* A rung that was left out in between is no fault. */
	ladder = climbed(RUNGS);
	ladder_skip(&ladder, RUNG_PATH, "silence");
	assert_string_equal(
		verdict(&ladder), "RDMA works between the two hosts: bandwidth is good.");
}

/* Only what is there but impaired lets RDMA work, wherever it is on the ladder. */
static void what_works_badly_is_told_from_what_does_not_work(void **state)
{
	static const struct {
		enum rung rung;
		enum impairment impairment;
		bool guess;
	} cases[] = {
		{RUNG_PATH, IMPAIRED_PATH, false},
		{RUNG_ENDS, IMPAIRED_MTU, false},
		{RUNG_ENDS, IMPAIRED_RDMA_MTU, false},
		{RUNG_BANDWIDTH, IMPAIRED_SPEED, true},
		{RUNG_COUNTERS, IMPAIRED_LOSS, true},
		{RUNG_COUNTERS, IMPAIRED_LINK, true},
	};
	struct failure gone = made(FAILURE_COMPLETION, PHASE_EXCHANGE, WC_RETRY_EXC, "");
	static const char well[] = "RDMA works, but not well: ";
	static const char not [] = "RDMA does not work: ";

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct failure failure =
			made(FAILURE_IMPAIRED, PHASE_EXCHANGE, (int)cases[i].impairment, "numbers");
		struct ladder ladder = climbed(RUNGS);

		ladder_fail(&ladder, cases[i].rung, &failure);
		check_case(ladder_name(cases[i].rung),
			strncmp(verdict(&ladder), well, strlen(well)) == 0);
		check_case(ladder_name(cases[i].rung),
			!strstr(verdict(&ladder), ": probably ") == !cases[i].guess);
		assert_int_equal(ladder_status(&ladder), STATUS_PEER);
		if (cases[i].rung >= RUNG_DATA)
			continue;
		/* The first rung that broke is the cause of what broke later. */
		ladder_fail(&ladder, RUNG_DATA, &gone);
		check_case(ladder_name(cases[i].rung),
			strncmp(verdict(&ladder), not, strlen(not )) == 0);
		assert_null(strstr(verdict(&ladder), "acknowledging"));
		assert_int_equal(ladder_broken(&ladder), cases[i].rung);
		/* But not of everything. */
		ladder_fail(&ladder, RUNG_MESSAGE, &gone);
		assert_int_equal(ladder_broken(&ladder), RUNG_MESSAGE);
	}
}

/* Who is served, and who is not, has nothing to do with what else breaks. */
static void a_full_server_explains_nothing_else(void **state)
{
	struct failure full = made(FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_FULL, "2 of 2");
	struct failure gone = made(FAILURE_GONE, PHASE_EXCHANGE, CODE_DIAGNOSIS, "");
	struct ladder ladder = climbed(RUNGS);

	(void)state;
	ladder_fail(&ladder, RUNG_ENDS, &full);
	assert_int_equal(ladder_broken(&ladder), RUNG_ENDS);
	assert_int_equal(ladder_status(&ladder), STATUS_PEER);
	assert_string_equal(verdict(&ladder), "RDMA works, but not well: the server serves as many "
					      "clients as it may; look at the other host.");
	for (enum rung rung = RUNG_DATA; rung < RUNGS; rung++) {
		ladder = climbed(RUNGS);
		ladder_fail(&ladder, RUNG_ENDS, &full);
		ladder_fail(&ladder, rung, &gone);
		assert_int_equal(ladder_broken(&ladder), rung);
	}
}

/* Loss that ends the climb. */
static void what_is_so_bad_that_nothing_gets_through_does_not_work(void **state)
{
	struct ladder ladder = broken_at(
		RUNG_DATA, made(FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_LOSS, "our WRITE"));

	(void)state;
	assert_string_equal(verdict(&ladder),
		"RDMA does not work: probably packets are lost on the way; look at the other host, "
		"or the way to it.");
	assert_int_equal(ladder_status(&ladder), STATUS_PEER);
}

static void statuses_are_those_of_an_exchange(void **state)
{
	static const struct {
		enum failure_kind kind;
		enum phase phase;
		int code;
		enum exit_status status;
	} cases[] = {
		{FAILURE_HOST, PHASE_OPEN, HOST_NO_DEVICE, STATUS_CONNECT},
		{FAILURE_ERRNO, PHASE_MEMORY, ENOMEM, STATUS_FAILED},
		{FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_FULL, STATUS_CONNECT},
		{FAILURE_STRANGER, PHASE_CONNECT, 0, STATUS_CONNECT},
		{FAILURE_DEADLINE, PHASE_EXCHANGE, ETIMEDOUT, STATUS_PEER},
		{FAILURE_DAMAGED, PHASE_EXCHANGE, 0, STATUS_DAMAGED},
		{FAILURE_REMOVED, PHASE_EXCHANGE, 0, STATUS_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct ladder ladder = broken_at(RUNG_CONNECTION,
			made(cases[i].kind, cases[i].phase, cases[i].code, "seen"));

		assert_int_equal(ladder_status(&ladder), cases[i].status);
	}
}

static const char *text_of(struct json_object *array, enum rung rung, const char *key)
{
	return json_object_get_string(
		json_object_object_get(json_object_array_get_idx(array, rung), key));
}

static void programs_read_it_all(void **state)
{
	struct ladder ladder = broken_at(
		RUNG_ROUTE, made(FAILURE_ERRNO, PHASE_ADDRESS, ENODEV, "it leaves through eth0"));
	struct json_object *array = ladder_json(&ladder);

	(void)state;
	assert_int_equal(json_object_array_length(array), RUNGS);
	assert_string_equal(text_of(array, RUNG_HOST, "rung"), "this host");
	assert_string_equal(text_of(array, RUNG_HOST, "state"), "ok");
	assert_string_equal(text_of(array, RUNG_HOST, "value"), "this host is good");
	assert_null(text_of(array, RUNG_HOST, "cause"));
	assert_null(text_of(array, RUNG_HOST, "guess"));
	assert_string_equal(text_of(array, RUNG_ROUTE, "state"), "failed");
	assert_string_equal(text_of(array, RUNG_ROUTE, "evidence"), "it leaves through eth0");
	assert_string_equal(text_of(array, RUNG_ROUTE, "side"), "this host");
	assert_string_equal(text_of(array, RUNG_ROUTE, "guess"), "false");
	assert_non_null(text_of(array, RUNG_ROUTE, "cause"));
	assert_non_null(text_of(array, RUNG_ROUTE, "next"));
	assert_string_equal(
		text_of(array, RUNG_ROUTE, "command"), "rdma link; ip route get 10.9.0.2");
	assert_string_equal(text_of(array, RUNG_DATA, "state"), "skipped");
	assert_string_equal(text_of(array, RUNG_DATA, "value"), "it was not reached");
	json_object_put(array);
}

static void texts_that_are_no_utf8_become_safe(void **state)
{
	struct ladder ladder = broken_at(RUNG_HOST,
		made(FAILURE_HOST, PHASE_OPEN, HOST_NO_SUCH_DEVICE, "--device \xff\x1b[2J"));
	struct json_object *array = ladder_json(&ladder);

	(void)state;
	assert_string_equal(text_of(array, RUNG_HOST, "evidence"), "--device \\xff\\x1b[2J");
	json_object_put(array);
}

static void nothing_overruns_its_buffer(void **state)
{
	char many[1000], text[64];
	struct ladder ladder;
	struct failure failure;
	size_t whole;

	(void)state;
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	ladder_init(&ladder, many);
	assert_int_equal(strlen(ladder.host), sizeof(ladder.host) - 1);
	ladder_ok(&ladder, RUNG_HOST, "%s", many);
	ladder_skip(&ladder, RUNG_NAME, "%s", many);
	assert_int_equal(strlen(ladder.rungs[RUNG_HOST].text), 255);
	assert_int_equal(strlen(ladder.rungs[RUNG_NAME].text), 255);
	failure = made(FAILURE_NAME, PHASE_NAME, -2, many);
	ladder_fail(&ladder, RUNG_ROUTE, &failure);
	whole = ladder_lines(&ladder, RUNG_ROUTE, NULL, 0);
	assert_true(whole > sizeof(failure.evidence) + 255);
	for (size_t size = 1; size <= sizeof(text); size++) {
		memset(text, '#', sizeof(text));
		assert_int_equal(ladder_lines(&ladder, RUNG_ROUTE, text, size), whole);
		assert_int_equal(strlen(text), size - 1);
		assert_true(size == sizeof(text) || text[size] == '#');
		memset(text, '#', sizeof(text));
		ladder_verdict(&ladder, text, size);
		assert_int_equal(strlen(text), size - 1);
		assert_true(size == sizeof(text) || text[size] == '#');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rung_has_a_name_of_its_own),
		cmocka_unit_test(one_line_says_what_held_and_what_was_left_out),
		cmocka_unit_test(a_broken_rung_says_cause_evidence_side_and_advice),
		cmocka_unit_test(evidence_that_is_the_cause_is_said_once),
		cmocka_unit_test(every_explanation_is_shown),
		cmocka_unit_test(commands_name_the_host),
		cmocka_unit_test(commands_are_safe_to_copy),
		cmocka_unit_test(what_it_comes_to),
		cmocka_unit_test(what_works_badly_is_told_from_what_does_not_work),
		cmocka_unit_test(a_full_server_explains_nothing_else),
		cmocka_unit_test(what_is_so_bad_that_nothing_gets_through_does_not_work),
		cmocka_unit_test(statuses_are_those_of_an_exchange),
		cmocka_unit_test(programs_read_it_all),
		cmocka_unit_test(texts_that_are_no_utf8_become_safe),
		cmocka_unit_test(nothing_overruns_its_buffer),
	};

	return cmocka_run_group_tests_name("ladder", tests, NULL, NULL);
}

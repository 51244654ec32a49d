/* The check list of a diagnosis: its lines, its verdict and its JSON. */
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "base/text.h"
#include "diagnose/checks.h"
#include "protocol/hello.h"
#include "tests/unit/unit.h"

/* IBV_WC_RETRY_EXC_ERR: the peer stopped acknowledging. */
#define WC_RETRY_EXC 12

static struct failure made(enum failure_kind kind, enum phase phase, int code, const char *evidence)
{
	struct failure failure = {0};

	failure_set(&failure, kind, phase, code, "test", "%s", evidence);
	return failure;
}

/* Returns a list in which all checks before this one passed. */
static struct check_list checked_up_to(enum check up_to)
{
	struct check_list list;

	check_list_init(&list, diagnose_checks, "10.9.0.2");
	for (enum check check = CHECK_HOST; check < up_to; check++)
		check_list_ok(&list, check, "%s is good", diagnose_checks[check].name);
	return list;
}

/* Returns a list in which this check failed and the later ones were skipped. */
static struct check_list broken_at(enum check check, struct failure failure)
{
	struct check_list list = checked_up_to(check);

	check_list_fail(&list, check, &failure);
	for (enum check next = check + 1; next < CHECKS; next++)
		check_list_skip(&list, next, "not reached");
	return list;
}

static const char *lines(const struct check_list *list, enum check check)
{
	static char text[2048];

	size_t length = check_list_lines(list, check, 0, text, sizeof(text));

	assert_int_equal(length, strlen(text));
	return text;
}

static const char *verdict(const struct check_list *list)
{
	static char text[512];

	check_list_verdict(list, text, sizeof(text));
	return text;
}

static const char *text_of(struct json_object *array, enum check check, const char *key)
{
	return json_object_get_string(
		json_object_object_get(json_object_array_get_idx(array, check), key));
}

static void every_check_has_its_own_name(void **state)
{
	(void)state;
	for (enum check check = CHECK_HOST; check < CHECKS; check++) {
		assert_true(strlen(diagnose_checks[check].name) <= strlen("connection"));
		for (enum check other = CHECK_HOST; other < check; other++)
			assert_string_not_equal(
				diagnose_checks[check].name, diagnose_checks[other].name);
	}
}

static void one_line_lists_passed_and_skipped_checks(void **state)
{
	struct check_list list = checked_up_to(CHECK_HOST);

	(void)state;
	assert_string_equal(lines(&list, CHECK_HOST), "this host   skipped ");
	check_list_ok(&list, CHECK_HOST, "%s/%d ACTIVE", "rxe0", 1);
	assert_string_equal(lines(&list, CHECK_HOST), "this host   ok      rxe0/1 ACTIVE");
	check_list_skip(&list, CHECK_PATH, "the host is silent");
	assert_string_equal(lines(&list, CHECK_PATH), "path        skipped the host is silent");
	assert_int_equal(check_list_broken(&list), CHECKS);
}

static void a_failed_check_shows_cause_evidence_side_and_advice(void **state)
{
	struct check_list list = broken_at(CHECK_NEIGHBOUR,
		made(FAILURE_ERRNO, PHASE_ADDRESS, ETIMEDOUT, "10.9.0.2 on eth0: FAILED"));

	(void)state;
	list.checks[CHECK_NEIGHBOUR].milliseconds = 3021;
	assert_int_equal(check_list_broken(&list), CHECK_NEIGHBOUR);
	assert_string_equal(lines(&list, CHECK_NEIGHBOUR),
		"neighbour   failed  probably: the host does not reply to ARP or neighbour discovery\n"
		"                    seen: 10.9.0.2 on eth0: FAILED\n"
		"                    after: 3.0 s\n"
		"                    where: the other host or the path to it\n"
		"                    next: check that it is up and on the same subnet and VLAN\n"
		"                    look: ip neighbour show to 10.9.0.2");
	assert_string_equal(lines(&list, CHECK_CONNECTION), "connection  skipped not reached");
}

/* If the table has no cause, the evidence is the cause and is not repeated. */
static void a_passed_check_shows_its_warnings(void **state)
{
	struct check_list list = checked_up_to(CHECK_NAME);
	struct json_object *array;

	(void)state;
	check_list_skip(&list, CHECK_NAME, "no HOST given");
	assert_string_equal(verdict(&list), "This host is ready for RDMA.");
	check_list_warn(&list, CHECK_HOST, "%d interfaces", 2);
	assert_string_equal(lines(&list, CHECK_HOST), "this host   ok      this host is good\n"
						      "                    warning: 2 interfaces");
	check_list_warn(&list, CHECK_HOST, "%d addresses", 3);
	assert_string_equal(lines(&list, CHECK_HOST),
		"this host   ok      this host is good\n"
		"                    warning: 2 interfaces; 3 addresses");
	assert_string_equal(verdict(&list), "This host is ready for RDMA, but see the warning.");
	assert_int_equal(check_list_status(&list), STATUS_OK);
	array = check_list_json(&list);
	assert_string_equal(text_of(array, CHECK_HOST, "warning"), "2 interfaces; 3 addresses");
	assert_null(text_of(array, CHECK_MANAGER, "warning"));
	json_object_put(array);
	/* As much as fits. */
	for (int i = 0; i < 100; i++)
		check_list_warn(&list, CHECK_HOST, "more and more");
	assert_int_equal(strlen(list.checks[CHECK_HOST].warning),
		sizeof(list.checks[CHECK_HOST].warning) - 1);
}

static void evidence_equal_to_the_cause_is_printed_once(void **state)
{
	struct check_list list = broken_at(
		CHECK_NAME, made(FAILURE_NAME, PHASE_NAME, -2, "Name or service not known"));

	(void)state;
	assert_string_equal(lines(&list, CHECK_NAME),
		"name        failed  Name or service not known\n"
		"                    where: this host\n"
		"                    next: check the name and the name service, or use an IP address\n"
		"                    look: getent ahosts 10.9.0.2");
	assert_string_equal(verdict(&list),
		"Whether RDMA works is unknown: Name or service not known; look at this host.");
}

/* A check can fail with any explanation, and its lines contain the whole explanation. */
static void every_explanation_is_shown(void **state)
{
	const struct explanation *row;

	(void)state;
	for (unsigned int i = 0; (row = explain_row(i)); i++) {
		enum phase phase = row->phase == PHASE_ANY ? PHASE_EXCHANGE : row->phase;
		struct failure failure = made(row->kind, phase, row->code, "seen by the test");
		struct check_list list = broken_at(CHECK_MESSAGE, failure);
		const struct explanation *taken = explain(row->kind, phase, row->code);
		const char *cause = taken->cause ? taken->cause : "seen by the test";
		const char *text = lines(&list, CHECK_MESSAGE);

		check_case(cause, strstr(text, cause));
		check_case(cause, strstr(text, "seen by the test"));
		check_case(cause, !taken->remedy || strstr(text, taken->remedy));
		check_case(cause, !strstr(text, "probably: ") == !taken->guess);
		check_case(cause, !strstr(text, "look: ") == !taken->command);
		check_case(cause, !strstr(text, "HOST"));
		text = verdict(&list);
		check_case(cause, strstr(text, cause));
		check_case(cause, !strstr(text, "probably ") == !taken->guess);
		check_case(cause, check_list_status(&list) == taken->status);
		check_case(cause, check_list_status(&list) != STATUS_OK);
	}
}

static void commands_name_the_host(void **state)
{
	struct failure failure = made(FAILURE_ERRNO, PHASE_ADDRESS, ENODEV, "");
	struct check_list list = broken_at(CHECK_ROUTE, failure);

	(void)state;
	assert_non_null(
		strstr(lines(&list, CHECK_ROUTE), "look: rdma link; ip route get 10.9.0.2"));
	/* Without evidence the line is omitted. */
	assert_null(strstr(lines(&list, CHECK_ROUTE), "seen:"));
	check_list_set_host(&list, "fd09::2");
	assert_non_null(strstr(lines(&list, CHECK_ROUTE), "ip route get fd09::2"));
	check_list_set_host(&list, "");
	assert_non_null(strstr(lines(&list, CHECK_ROUTE), "ip route get HOST"));
}

/* Quoting: a shell must not execute what the user typed or a file contained. */
static void commands_are_safe_to_paste(void **state)
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
	char many[256], expected[TEXT_QUOTED_SIZE(255) + 32];
	const char *end;
	struct check_list list =
		broken_at(CHECK_NAME, made(FAILURE_NAME, PHASE_NAME, -2, "it is not known"));

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		check_list_set_host(&list, cases[i].host);
		snprintf(expected, sizeof(expected), "\n                    look: getent ahosts %s",
			cases[i].word);
		end = strstr(lines(&list, CHECK_NAME), "\n                    look: ");
		check_case(cases[i].host, end && strcmp(end, expected) == 0);
	}
	/* The longest host name that fits. */
	memset(many, '\'', 255);
	many[255] = '\0';
	check_list_set_host(&list, many);
	end = strstr(lines(&list, CHECK_NAME), "look: getent ahosts '");
	assert_non_null(end);
	assert_int_equal(strlen(end), strlen("look: getent ahosts ") + 2 + 4 * strlen(many));
}

static void verdicts_follow_from_the_checks(void **state)
{
	struct check_list list = checked_up_to(CHECKS);

	(void)state;
	assert_string_equal(verdict(&list), "RDMA works between the two hosts: bandwidth is good.");
	assert_int_equal(check_list_status(&list), STATUS_OK);
	list = checked_up_to(CHECK_BANDWIDTH);
	assert_string_equal(verdict(&list), "RDMA works between the two hosts: data is good.");
	list = checked_up_to(CHECK_NAME);
	assert_string_equal(verdict(&list), "This host is ready for RDMA.");
	assert_int_equal(check_list_status(&list), STATUS_OK);
	list = checked_up_to(CHECK_MESSAGE);
	assert_string_equal(verdict(&list), "No problems found in the checks up to connection.");
	/* A check skipped in between is not a failure. */
	list = checked_up_to(CHECKS);
	check_list_skip(&list, CHECK_PATH, "silence");
	assert_string_equal(verdict(&list), "RDMA works between the two hosts: bandwidth is good.");
}

/* A server of this host: no other host is named. */
static void within_one_host_nothing_is_elsewhere(void **state)
{
	const struct failure failure = {
		.kind = FAILURE_REJECTED,
		.phase = PHASE_CONNECT,
		.code = REJECTED_NO_LISTENER,
	};
	struct check_list list = checked_up_to(CHECKS);
	char text[256];

	(void)state;
	list.same_host = true;
	assert_string_equal(verdict(&list), "RDMA works within this host: bandwidth is good.");
	check_list_short_verdict(&list, 31, text, sizeof(text));
	assert_string_equal(text, "RDMA works within this host.");
	check_list_fail(&list, CHECK_CONNECTION, &failure);
	assert_non_null(strstr(verdict(&list), "; look at this host."));
	assert_non_null(strstr(lines(&list, CHECK_CONNECTION), "where: this host\n"));
	list.same_host = false;
	assert_non_null(strstr(verdict(&list), "; look at the other host."));
}

/*
 * RDMA works if all failures are impairments. Any other failure, wherever it is in the list, means
 * that it does not.
 */
static void warnings_differ_from_failures(void **state)
{
	static const struct {
		enum check check;
		enum impairment impairment;
		bool guess, slow;
	} cases[] = {
		{CHECK_ENDS, IMPAIRED_MTU, false, false},
		{CHECK_ENDS, IMPAIRED_RDMA_MTU, false, false},
		{CHECK_BANDWIDTH, IMPAIRED_SPEED, true, true},
		{CHECK_BANDWIDTH, IMPAIRED_SLOW_TO, false, true},
		{CHECK_BANDWIDTH, IMPAIRED_SLOW_FROM, false, true},
		{CHECK_COUNTERS, IMPAIRED_LOSS, true, false},
		{CHECK_COUNTERS, IMPAIRED_LOSS_TO, false, false},
		{CHECK_COUNTERS, IMPAIRED_LINK, true, false},
	};
	struct failure gone = made(FAILURE_COMPLETION, PHASE_EXCHANGE, WC_RETRY_EXC, "");
	static const char well[] = "RDMA works, but not well: ";
	static const char slow[] = "RDMA works, but slowly: ";
	static const char not [] = "RDMA does not work: ";

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct failure failure =
			made(FAILURE_IMPAIRED, PHASE_EXCHANGE, (int)cases[i].impairment, "numbers");
		struct check_list list = checked_up_to(CHECKS);

		check_list_fail(&list, cases[i].check, &failure);
		check_case(diagnose_checks[cases[i].check].name,
			strncmp(verdict(&list), cases[i].slow ? slow : well,
				strlen(cases[i].slow ? slow : well)) == 0);
		check_case(diagnose_checks[cases[i].check].name,
			!strstr(verdict(&list), ": probably ") == !cases[i].guess);
		assert_int_equal(check_list_status(&list), STATUS_PEER);
		if (cases[i].check >= CHECK_DATA)
			continue;
		/* An impairment explains a later failure of the data check. */
		check_list_fail(&list, CHECK_DATA, &gone);
		check_case(diagnose_checks[cases[i].check].name,
			strncmp(verdict(&list), not, strlen(not )) == 0);
		assert_null(strstr(verdict(&list), "acknowledging"));
		assert_int_equal(check_list_broken(&list), cases[i].check);
		/* It does not explain a failed connection or message check. */
		check_list_fail(&list, CHECK_MESSAGE, &gone);
		assert_int_equal(check_list_broken(&list), CHECK_MESSAGE);
	}
}

/* Missing replies are no proof: the MTUs of both ends and RDMA packets that arrived are. */
static void missing_replies_give_way_to_better_evidence(void **state)
{
	struct failure large = made(FAILURE_IMPAIRED, PHASE_ADDRESS, IMPAIRED_LARGE, "sizes");
	struct failure path = made(FAILURE_IMPAIRED, PHASE_ADDRESS, IMPAIRED_PATH, "sizes");
	struct failure mtus = made(FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_MTU, "sizes");
	struct failure gone = made(FAILURE_COMPLETION, PHASE_EXCHANGE, WC_RETRY_EXC, "");
	struct check_list list = checked_up_to(CHECKS);

	(void)state;
	check_list_fail(&list, CHECK_PATH, &large);
	assert_int_equal(check_list_broken(&list), CHECKS);
	assert_string_equal(verdict(&list), "RDMA works between the two hosts: bandwidth is good.");
	check_list_fail(&list, CHECK_DATA, &gone);
	assert_int_equal(check_list_broken(&list), CHECK_PATH);
	check_list_fail(&list, CHECK_ENDS, &mtus);
	assert_int_equal(check_list_broken(&list), CHECK_ENDS);
	/* What a router reports is a fact, but data that arrives fits nevertheless. */
	check_list_fail(&list, CHECK_PATH, &path);
	assert_int_equal(check_list_broken(&list), CHECK_PATH);
	list = checked_up_to(CHECKS);
	check_list_fail(&list, CHECK_PATH, &path);
	assert_int_equal(check_list_broken(&list), CHECKS);
	assert_int_equal(check_list_status(&list), STATUS_OK);
	assert_string_equal(verdict(&list), "RDMA works between the two hosts: bandwidth is good.");
	/* So does data if only the interfaces differ. */
	check_list_fail(&list, CHECK_ENDS, &mtus);
	assert_int_equal(check_list_broken(&list), CHECK_ENDS);
	list.rdma_mtus_equal = true;
	assert_int_equal(check_list_broken(&list), CHECKS);
	check_list_fail(&list, CHECK_DATA, &gone);
	assert_int_equal(check_list_broken(&list), CHECK_PATH);
	/* Without a server, there is no better evidence. */
	list = checked_up_to(CHECK_MESSAGE);
	check_list_fail(&list, CHECK_PATH, &large);
	assert_int_equal(check_list_broken(&list), CHECK_PATH);
	assert_non_null(strstr(verdict(&list), "probably packets as large as"));
}

/* A full server does not explain other failures. */
static void a_full_server_is_the_only_cause(void **state)
{
	struct failure full = made(FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_FULL, "2 of 2");
	struct failure gone = made(FAILURE_GONE, PHASE_EXCHANGE, CODE_DIAGNOSIS, "");
	struct check_list list = checked_up_to(CHECKS);

	(void)state;
	check_list_fail(&list, CHECK_ENDS, &full);
	assert_int_equal(check_list_broken(&list), CHECK_ENDS);
	assert_int_equal(check_list_status(&list), STATUS_PEER);
	assert_string_equal(verdict(&list), "RDMA works, but not well: the server has no slot for "
					    "another client; look at the other host.");
	for (enum check check = CHECK_DATA; check < CHECKS; check++) {
		list = checked_up_to(CHECKS);
		check_list_fail(&list, CHECK_ENDS, &full);
		check_list_fail(&list, check, &gone);
		assert_int_equal(check_list_broken(&list), check);
	}
}

/* Packet loss that makes a data check fail. */
static void total_loss_is_a_failure(void **state)
{
	struct check_list list = broken_at(
		CHECK_DATA, made(FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_LOSS, "our WRITE"));

	(void)state;
	assert_string_equal(verdict(&list),
		"RDMA does not work: probably packets are lost on the path; look at the other host "
		"or the path to it.");
	assert_int_equal(check_list_status(&list), STATUS_PEER);
}

/* A server that has no room for a diagnosis shows that RDMA reaches it, but no more. */
static void a_full_server_proves_nothing(void **state)
{
	static const int codes[] = {REFUSAL_FULL, REFUSAL_MEMORY};

	(void)state;
	for (size_t i = 0; i < COUNT(codes); i++) {
		struct check_list list = broken_at(
			CHECK_CONNECTION, made(FAILURE_REFUSED, PHASE_CONNECT, codes[i], ""));

		assert_non_null(strstr(verdict(&list), "Whether RDMA works is unknown: "));
	}
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
		{FAILURE_NO_HELLO, PHASE_CONNECT, 0, STATUS_CONNECT},
		{FAILURE_DEADLINE, PHASE_EXCHANGE, ETIMEDOUT, STATUS_PEER},
		{FAILURE_DAMAGED, PHASE_EXCHANGE, 0, STATUS_DAMAGED},
		{FAILURE_REMOVED, PHASE_EXCHANGE, 0, STATUS_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct check_list list = broken_at(CHECK_CONNECTION,
			made(cases[i].kind, cases[i].phase, cases[i].code, "seen"));

		assert_int_equal(check_list_status(&list), cases[i].status);
	}
}

static void json_has_every_member(void **state)
{
	struct check_list list = broken_at(
		CHECK_ROUTE, made(FAILURE_ERRNO, PHASE_ADDRESS, ENODEV, "it leaves through eth0"));
	struct json_object *array = check_list_json(&list);

	(void)state;
	assert_int_equal(json_object_array_length(array), CHECKS);
	assert_string_equal(text_of(array, CHECK_HOST, "check"), "this host");
	assert_string_equal(text_of(array, CHECK_HOST, "state"), "ok");
	assert_string_equal(text_of(array, CHECK_HOST, "value"), "this host is good");
	assert_null(text_of(array, CHECK_HOST, "cause"));
	assert_null(text_of(array, CHECK_HOST, "guess"));
	assert_string_equal(text_of(array, CHECK_ROUTE, "state"), "failed");
	assert_string_equal(text_of(array, CHECK_ROUTE, "evidence"), "it leaves through eth0");
	assert_string_equal(text_of(array, CHECK_ROUTE, "side"), "this host");
	assert_string_equal(text_of(array, CHECK_ROUTE, "guess"), "false");
	assert_non_null(text_of(array, CHECK_ROUTE, "cause"));
	assert_non_null(text_of(array, CHECK_ROUTE, "next"));
	assert_string_equal(
		text_of(array, CHECK_ROUTE, "command"), "rdma link; ip route get 10.9.0.2");
	assert_string_equal(text_of(array, CHECK_DATA, "state"), "skipped");
	assert_string_equal(text_of(array, CHECK_DATA, "value"), "not reached");
	json_object_put(array);
}

static void invalid_utf8_is_escaped(void **state)
{
	struct check_list list = broken_at(CHECK_HOST,
		made(FAILURE_HOST, PHASE_OPEN, HOST_NO_SUCH_DEVICE, "--device \xff\x1b[2J"));
	struct json_object *array = check_list_json(&list);

	(void)state;
	assert_string_equal(text_of(array, CHECK_HOST, "evidence"), "--device \\xff\\x1b[2J");
	json_object_put(array);
}

static void nothing_overruns_its_buffer(void **state)
{
	char many[1000], text[64];
	struct check_list list;
	struct failure failure;
	size_t whole;

	(void)state;
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	check_list_init(&list, diagnose_checks, many);
	assert_int_equal(strlen(list.host), sizeof(list.host) - 1);
	check_list_ok(&list, CHECK_HOST, "%s", many);
	check_list_skip(&list, CHECK_NAME, "%s", many);
	assert_int_equal(strlen(list.checks[CHECK_HOST].text), 255);
	assert_int_equal(strlen(list.checks[CHECK_NAME].text), 255);
	failure = made(FAILURE_NAME, PHASE_NAME, -2, many);
	check_list_fail(&list, CHECK_ROUTE, &failure);
	whole = check_list_lines(&list, CHECK_ROUTE, 0, NULL, 0);
	assert_true(whole > sizeof(failure.evidence) + 255);
	for (size_t size = 1; size <= sizeof(text); size++) {
		memset(text, '#', sizeof(text));
		assert_int_equal(check_list_lines(&list, CHECK_ROUTE, 0, text, size), whole);
		assert_int_equal(strlen(text), size - 1);
		assert_true(size == sizeof(text) || text[size] == '#');
		memset(text, '#', sizeof(text));
		check_list_verdict(&list, text, size);
		assert_int_equal(strlen(text), size - 1);
		assert_true(size == sizeof(text) || text[size] == '#');
	}
}

/* Unlike other impairments, a long delay does not explain that data does not arrive. */
static void a_delay_explains_no_other_failure(void **state)
{
	struct failure delay = made(FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_DELAY, "numbers");
	struct failure gone = made(FAILURE_COMPLETION, PHASE_EXCHANGE, WC_RETRY_EXC, "");
	struct check_list list = checked_up_to(CHECKS);

	(void)state;
	check_list_fail(&list, CHECK_MESSAGE, &delay);
	assert_non_null(strstr(verdict(&list), "RDMA works, but slowly: each message takes long"));
	check_list_fail(&list, CHECK_DATA, &gone);
	assert_int_equal(check_list_broken(&list), CHECK_DATA);
	assert_non_null(strstr(verdict(&list), "RDMA does not work: "));
}

/* A host that is busy for long, or stopped, may be connected to healthy hardware. */
static void silence_of_a_connected_peer_proves_nothing(void **state)
{
	struct failure silent = made(FAILURE_DEADLINE, PHASE_EXCHANGE, CODE_DIAGNOSIS, "");
	struct check_list list = checked_up_to(CHECKS);

	(void)state;
	check_list_fail(&list, CHECK_MESSAGE, &silent);
	assert_string_equal(verdict(&list),
		"Whether RDMA works is unknown: the peer did not respond in time; look at the "
		"other host or the path to it.");
	assert_int_equal(check_list_status(&list), STATUS_PEER);
	list = checked_up_to(CHECK_OTHER_WAY);
	check_list_fail(&list, CHECK_CONNECTION, &silent);
	assert_non_null(strstr(verdict(&list), "RDMA does not work: "));
}

static void the_way_that_works_is_named(void **state)
{
	const struct failure dropped = made(FAILURE_ERRNO, PHASE_CONNECT, ETIMEDOUT, ""),
			     version = made(FAILURE_PATH, PHASE_ADDRESS, PATH_OTHER_VERSION, "");
	struct check_list list = broken_at(CHECK_CONNECTION, dropped);

	(void)state;
	list.way = "rdmacm";
	list.other_way = "TCP";
	check_list_ok(&list, CHECK_OTHER_WAY, "by TCP, too");
	assert_string_equal(verdict(&list),
		"RDMA works if connected by TCP, but not by rdmacm: no reply to the RDMA "
		"connection request arrived; look at this host, the other host or the path "
		"between them.");
	assert_int_equal(check_list_status(&list), STATUS_CONNECT);
	list = checked_up_to(CHECKS);
	list.way = "rdmacm";
	list.other_way = "TCP";
	check_list_fail(&list, CHECK_OTHER_WAY, &version);
	assert_string_equal(verdict(&list),
		"RDMA works if connected by rdmacm, but not by TCP: the GIDs are of different "
		"versions of RoCE; look at either host.");
	assert_int_equal(check_list_status(&list), STATUS_CONNECT);
	assert_string_equal(check_list_verdict_word(&list), "impaired");
	/* A fault of the data is not one of the way to connect. */
	list = broken_at(CHECK_DATA, dropped);
	check_list_ok(&list, CHECK_OTHER_WAY, "by TCP, too");
	assert_non_null(strstr(verdict(&list), "RDMA does not work: "));
}

/* What a wrong command, a refusal or a server that ends looks like is no fault of RDMA. */
static void an_answer_or_a_wrong_name_proves_nothing(void **state)
{
	static const struct {
		enum failure_kind kind;
		enum phase phase;
		int code;
		bool broken;
	} cases[] = {
		{FAILURE_NAME, PHASE_NAME, EAI_NONAME, false},
		{FAILURE_ADDRESS, PHASE_NAME, ADDRESS_NO_INTERFACE, false},
		{FAILURE_ADDRESS, PHASE_ADDRESS, ADDRESS_BROADCAST, false},
		{FAILURE_ADDRESS, PHASE_ADDRESS, ADDRESS_CONTESTED, true},
		{FAILURE_ADDRESS, PHASE_ADDRESS, ADDRESS_IN_VRF, true},
		{FAILURE_ERRNO, PHASE_CONNECT, ECONNREFUSED, false},
		{FAILURE_ERRNO, PHASE_CONNECT, ECONNRESET, false},
		{FAILURE_ERRNO, PHASE_CONNECT, EHOSTUNREACH, true},
		{FAILURE_ERRNO, PHASE_EXCHANGE, ECONNRESET, true},
		{FAILURE_REJECTED, PHASE_CONNECT, REJECTED_NO_LISTENER, false},
		{FAILURE_REJECTED, PHASE_CONNECT, REJECTED_CONSUMER, false},
		{FAILURE_REJECTED, PHASE_CONNECT, REJECTED_TIMEOUT, true},
		{FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_SECRET, false},
		{FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_CLIENTS, false},
		{FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_RESOURCES, true},
		{FAILURE_NO_HELLO, PHASE_CONNECT, 0, false},
		{FAILURE_PROTOCOL, PHASE_EXCHANGE, PROTOCOL_UNAUTHENTICATED, false},
		{FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO, true},
		{FAILURE_DEADLINE, PHASE_ADDRESS, CODE_NOTHING_ASKED, false},
		{FAILURE_DEADLINE, PHASE_ROUTE, CODE_NOTHING_ASKED, false},
		{FAILURE_DEADLINE, PHASE_CONNECT, CODE_DIAGNOSIS, true},
		{FAILURE_GONE, PHASE_CONNECT, 0, false},
		{FAILURE_GONE, PHASE_CONNECT, CODE_REPLY_LOST, true},
		{FAILURE_GONE, PHASE_DIAGNOSIS, CODE_DIAGNOSIS, false},
		{FAILURE_GONE, PHASE_DIAGNOSIS, CODE_UNACKNOWLEDGED, true},
		{FAILURE_HOST, PHASE_OPEN, HOST_NO_DEVICE, true},
		{FAILURE_COMPLETION, PHASE_EXCHANGE, WC_RETRY_EXC, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct check_list list = broken_at(CHECK_CONNECTION,
			made(cases[i].kind, cases[i].phase, cases[i].code, "numbers"));

		check_case(verdict(&list), strcmp(check_list_verdict_word(&list),
						   cases[i].broken ? "broken" : "unknown") == 0);
		assert_ptr_equal(verdict(&list),
			strstr(verdict(&list), cases[i].broken
						       ? "RDMA does not work: "
						       : "Whether RDMA works is unknown: "));
		assert_int_not_equal(check_list_status(&list), STATUS_OK);
	}
}

/* A busy host and a slow link look alike, so neither is claimed, and nothing is green. */
static void slow_data_leaves_the_cause_open(void **state)
{
	struct failure slow = made(FAILURE_DEADLINE, PHASE_EXCHANGE, CODE_TOO_SLOW, "a WRITE");
	struct failure delay = made(FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_DELAY, "numbers");
	struct failure path = made(FAILURE_IMPAIRED, PHASE_ADDRESS, IMPAIRED_PATH, "sizes");
	struct check_list list = broken_at(CHECK_DATA, slow);

	(void)state;
	assert_string_equal(verdict(&list),
		"Whether RDMA works is unknown: data moves, but too slowly to finish in time: a "
		"slow link or a busy host; look at this host, the other host or the path between "
		"them.");
	assert_int_equal(check_list_status(&list), STATUS_PEER);
	check_list_fail(&list, CHECK_MESSAGE, &delay);
	assert_non_null(strstr(verdict(&list), "unknown: data moves, but too slowly"));
	check_list_fail(&list, CHECK_PATH, &path);
	assert_non_null(strstr(verdict(&list), "Whether RDMA works is unknown: packets as large"));
	/* The data check passed before. */
	list = broken_at(CHECK_BANDWIDTH, slow);
	assert_string_equal(verdict(&list),
		"RDMA works, but too slowly to measure: data moves, but too slowly to finish in "
		"time: a slow link or a busy host; look at this host, the other host or the path "
		"between them.");
	assert_int_equal(check_list_status(&list), STATUS_PEER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_data_leaves_the_cause_open),
		cmocka_unit_test(silence_of_a_connected_peer_proves_nothing),
		cmocka_unit_test(the_way_that_works_is_named),
		cmocka_unit_test(an_answer_or_a_wrong_name_proves_nothing),
		cmocka_unit_test(every_check_has_its_own_name),
		cmocka_unit_test(one_line_lists_passed_and_skipped_checks),
		cmocka_unit_test(a_failed_check_shows_cause_evidence_side_and_advice),
		cmocka_unit_test(a_passed_check_shows_its_warnings),
		cmocka_unit_test(evidence_equal_to_the_cause_is_printed_once),
		cmocka_unit_test(every_explanation_is_shown),
		cmocka_unit_test(commands_name_the_host),
		cmocka_unit_test(commands_are_safe_to_paste),
		cmocka_unit_test(verdicts_follow_from_the_checks),
		cmocka_unit_test(within_one_host_nothing_is_elsewhere),
		cmocka_unit_test(warnings_differ_from_failures),
		cmocka_unit_test(a_delay_explains_no_other_failure),
		cmocka_unit_test(missing_replies_give_way_to_better_evidence),
		cmocka_unit_test(a_full_server_is_the_only_cause),
		cmocka_unit_test(total_loss_is_a_failure),
		cmocka_unit_test(a_full_server_proves_nothing),
		cmocka_unit_test(statuses_are_those_of_an_exchange),
		cmocka_unit_test(json_has_every_member),
		cmocka_unit_test(invalid_utf8_is_escaped),
		cmocka_unit_test(nothing_overruns_its_buffer),
	};

	return cmocka_run_group_tests_name("check-list", tests, NULL, NULL);
}

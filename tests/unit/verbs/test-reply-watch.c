/* Which side is at fault if no reply to a connection request arrives. */
#include <string.h>

#include "tests/unit/unit.h"
#include "verbs/reply-watch.h"

static struct failure missing_reply(void)
{
	struct failure failure = {0};

	failure_set(&failure, FAILURE_DEADLINE, PHASE_CONNECT, ETIMEDOUT, "--timeout", "no answer");
	return failure;
}

static void only_what_was_seen_accuses_this_host(void **state)
{
	static const struct {
		const char *name;
		bool seen, complete;
		unsigned int left, arrived;
		bool known;
		uint64_t sent, received;
		int code;
		const char *evidence;
	} cases[] = {
		{"the reply is dropped here", true, true, 2, 3, true, 2, 0, CODE_REPLY_DROPPED,
			"no answer; packets of the peer that arrived at eth0: 3, at rxe0: 0"},
		{"the watch began late", true, false, 0, 1, true, 0, 0, CODE_REPLY_DROPPED,
			"no answer; packets of the peer that arrived at eth0: 1, at rxe0: 0"},
		{"the device may have received it", true, true, 2, 3, true, 9, 7, ETIMEDOUT,
			"no answer; packets of the peer that arrived at eth0: 3, at rxe0: 7"},
		{"the request is dropped here", true, true, 0, 0, true, 2, 0, CODE_REQUEST_DROPPED,
			"no answer; packets to the peer that left this host: 0, from it: none"},
		{"the request may have left before", true, false, 0, 0, true, 0, 0, ETIMEDOUT,
			"no answer; packets to the peer that left this host: 0, from it: none"},
		{"lost elsewhere", true, true, 2, 0, true, 2, 0, ETIMEDOUT,
			"no answer; packets to the peer that left this host: 2, from it: none"},
		{"an ordinary user", false, true, 0, 0, true, 2, 0, ETIMEDOUT,
			"no answer; packets that rxe0 sent: 2, received: 0"},
		{"a device without counters", false, true, 0, 0, false, 0, 0, ETIMEDOUT,
			"no answer"},
		{"packets, but no counters", true, true, 0, 0, false, 0, 0, ETIMEDOUT,
			"no answer; packets to the peer that left this host: 0, from it: none"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct reply_watch watch = {
			.complete = cases[i].complete,
			.seen = cases[i].seen,
			.tap = {-1, cases[i].left, cases[i].arrived, "eth0"},
		};
		struct reply_traffic traffic = {cases[i].known, cases[i].sent, cases[i].received};
		struct failure failure = missing_reply();

		reply_watch_judge(&watch, &traffic, "rxe0", &failure);
		check_case(cases[i].name, failure.code == cases[i].code);
		assert_string_equal(failure.evidence, cases[i].evidence);
	}
}

/* A watch that did not begin, because the reply came at once, changes nothing. */
static void a_watch_that_did_not_begin_ends(void **state)
{
	struct reply_watch watch = {0};
	struct failure failure = missing_reply();

	(void)state;
	reply_watch_end(&watch, &failure);
	assert_int_equal(failure.code, ETIMEDOUT);
	assert_string_equal(failure.evidence, "no answer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_was_seen_accuses_this_host),
		cmocka_unit_test(a_watch_that_did_not_begin_ends),
	};

	return cmocka_run_group_tests_name("reply-watch", tests, NULL, NULL);
}

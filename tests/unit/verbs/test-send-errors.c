/* When packets that were not sent explain a broken connection. */
#include <string.h>

#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"
#include "verbs/send-errors.h"

#define COUNTER "/sys/class/infiniband/rxe0/ports/1/hw_counters/send_err"

static struct failure flushed(void)
{
	struct failure failure = {0};

	failure_set(&failure, FAILURE_COMPLETION, PHASE_EXCHANGE, IBV_WC_WR_FLUSH_ERR,
		"ibv_poll_cq", "while waiting");
	return failure;
}

static void packets_that_were_not_sent_explain_a_flush(void **state)
{
	const struct tree *tree = *state;
	struct send_errors errors = {0};
	struct failure failure = flushed();

	put(tree, COUNTER, "7\n");
	send_errors_begin(&errors, tree->path, "rxe0", 1, true);
	send_errors_blame(&errors, tree->path, &failure);
	assert_int_equal(failure.code, IBV_WC_WR_FLUSH_ERR);

	put(tree, COUNTER, "8\n");
	send_errors_blame(&errors, tree->path, &failure);
	assert_int_equal(failure.kind, FAILURE_COMPLETION);
	assert_int_equal(failure.code, CODE_UNSENT);
	assert_int_equal(failure.phase, PHASE_EXCHANGE);
	assert_string_equal(failure.call, "ibv_poll_cq");
	assert_string_equal(failure.evidence, "rxe0 could not send 1 packet; while waiting");

	put(tree, COUNTER, "10\n");
	failure = flushed();
	*failure.evidence = '\0';
	send_errors_blame(&errors, tree->path, &failure);
	assert_string_equal(failure.evidence, "rxe0 could not send 3 packets");
}

/* Linux before 6.10 sends on, but may skip the data of the packet. */
static void the_peer_may_reject_what_was_not_sent(void **state)
{
	const struct tree *tree = *state;

	for (unsigned int flushes = 0; flushes < 2; flushes++) {
		struct send_errors errors = {0};
		struct failure failure = flushed();

		put(tree, COUNTER, "7\n");
		send_errors_begin(&errors, tree->path, "rxe0", 1, flushes);
		put(tree, COUNTER, "8\n");
		send_errors_blame(&errors, tree->path, &failure);
		assert_int_equal(failure.code, flushes ? CODE_UNSENT : IBV_WC_WR_FLUSH_ERR);
		failure.code = IBV_WC_REM_INV_REQ_ERR;
		send_errors_blame(&errors, tree->path, &failure);
		assert_int_equal(failure.code, CODE_UNSENT);
		failure = (struct failure){.kind = FAILURE_GONE, .code = CODE_UNACKNOWLEDGED};
		send_errors_blame(&errors, tree->path, &failure);
		assert_int_equal(failure.kind, FAILURE_COMPLETION);
		assert_int_equal(failure.code, CODE_UNSENT);
		failure = (struct failure){.kind = FAILURE_ABORTED, .code = CODE_VIOLATION};
		send_errors_blame(&errors, tree->path, &failure);
		assert_int_equal(failure.code, flushes ? CODE_VIOLATION : CODE_UNSENT);
		failure = (struct failure){.kind = FAILURE_ABORTED};
		send_errors_blame(&errors, tree->path, &failure);
		assert_int_equal(failure.kind, FAILURE_ABORTED);
	}
}

/* A queue pair that reports a cause has not been broken by a packet that was not sent. */
static void other_failures_are_not_explained(void **state)
{
	static const struct {
		enum failure_kind kind;
		int code;
	} cases[] = {
		{FAILURE_COMPLETION, IBV_WC_RETRY_EXC_ERR},
		{FAILURE_COMPLETION, IBV_WC_REM_ACCESS_ERR},
		{FAILURE_GONE, 0},
		{FAILURE_DEADLINE, IBV_WC_WR_FLUSH_ERR},
		{FAILURE_NONE, 0},
	};
	const struct tree *tree = *state;
	struct send_errors errors = {0};

	put(tree, COUNTER, "7\n");
	send_errors_begin(&errors, tree->path, "rxe0", 1, true);
	put(tree, COUNTER, "8\n");
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct failure failure = {.kind = cases[i].kind, .code = cases[i].code};

		send_errors_blame(&errors, tree->path, &failure);
		assert_int_equal(failure.kind, cases[i].kind);
		assert_int_equal(failure.code, cases[i].code);
		assert_string_equal(failure.evidence, "");
	}
}

/* Without both counts, nothing is known, nor if the counter was reset. */
static void unknown_counts_explain_nothing(void **state)
{
	const struct tree *tree = *state;
	struct send_errors errors = {0};
	struct failure failure = flushed();

	send_errors_blame(&errors, tree->path, &failure);
	send_errors_begin(&errors, tree->path, "rxe0", 1, true);
	put(tree, COUNTER, "9\n");
	send_errors_blame(&errors, tree->path, &failure);
	send_errors_begin(&errors, tree->path, "rxe0", 1, true);
	put(tree, COUNTER, "3\n");
	send_errors_blame(&errors, tree->path, &failure);
	put(tree, COUNTER, "none\n");
	send_errors_blame(&errors, tree->path, &failure);
	assert_int_equal(failure.code, IBV_WC_WR_FLUSH_ERR);
	assert_string_equal(failure.evidence, "while waiting");
}

static void versions_of_linux_are_compared_as_numbers(void **state)
{
	static const struct {
		const char *release;
		unsigned int version;
	} cases[] = {
		{"6.1.0-56-amd64", LINUX(6, 1)},
		{"6.12.118+deb13-amd64", LINUX(6, 12)},
		{"7.2-rc3", LINUX(7, 2)},
		{"5.14.0-503.el9.x86_64", LINUX(5, 14)},
		{"", 0},
		{"6", 0},
		{"unknown", 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(linux_version(cases[i].release), cases[i].version);
	assert_true(LINUX(6, 9) < LINUX(6, 10));
	assert_true(LINUX(6, 99) < LINUX(7, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(packets_that_were_not_sent_explain_a_flush),
		with_tree(the_peer_may_reject_what_was_not_sent),
		with_tree(other_failures_are_not_explained),
		with_tree(unknown_counts_explain_nothing),
		cmocka_unit_test(versions_of_linux_are_compared_as_numbers),
	};

	return cmocka_run_group_tests_name("send-errors", tests, NULL, NULL);
}

/* struct failure: the first failure is kept, and every failure is explained in exactly one line. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/explain.h"
#include "base/failure.h"
#include "tests/unit/unit.h"

static void the_first_failure_wins(void **state)
{
	struct failure failure = {0};

	(void)state;
	assert_false(failure_is_set(&failure));
	assert_int_equal(explain_status(&failure), STATUS_OK);
	assert_int_equal(failure_set(&failure, FAILURE_COMPLETION, PHASE_EXCHANGE, 12,
				 "ibv_poll_cq", "queue pair %u", 17U),
		-1);
	assert_true(failure_is_set(&failure));
	assert_int_equal(
		failure_set(&failure, FAILURE_GONE, PHASE_CONNECT, 5, "later", "later"), -1);
	assert_int_equal(failure.kind, FAILURE_COMPLETION);
	assert_int_equal(failure.phase, PHASE_EXCHANGE);
	assert_int_equal(failure.code, 12);
	assert_string_equal(failure.call, "ibv_poll_cq");
	assert_string_equal(failure.evidence, "queue pair 17");
	assert_int_equal(explain_status(&failure), STATUS_PEER);
}

static void records_errnos_and_violations(void **state)
{
	struct failure failure = {0}, violation = {0};

	(void)state;
	assert_int_equal(failure_errno(&failure, PHASE_OPEN, "open", ENOSPC), -1);
	assert_int_equal(failure.kind, FAILURE_ERRNO);
	assert_int_equal(failure.phase, PHASE_OPEN);
	assert_int_equal(failure.code, ENOSPC);
	assert_string_equal(failure.call, "open");
	assert_string_equal(failure.evidence, strerror(ENOSPC));
	assert_int_equal(failure_protocol(&violation, "reply", "100 % wrong"), -1);
	assert_int_equal(violation.kind, FAILURE_PROTOCOL);
	assert_int_equal(violation.phase, PHASE_EXCHANGE);
	assert_int_equal(violation.code, -EPROTO);
	assert_string_equal(violation.call, "reply");
	assert_string_equal(violation.evidence, "100 % wrong");
}

static void truncates_long_evidence(void **state)
{
	struct failure failure = {0};
	char text[1024];

	(void)state;
	failure_set(&failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, 0, "c", "%0*d", 2000, 0);
	assert_int_equal(strlen(failure.evidence), sizeof(failure.evidence) - 1);
	explain_failure(&failure, "peer", true, text, 20);
	assert_int_equal(strlen(text), 19);
}

static void writes_whole_sentences(void **state)
{
	static const struct {
		enum failure_kind kind;
		enum phase phase;
		int code;
		const char *call, *evidence, *peer;
		bool names;
		const char *sentence;
	} cases[] = {
		{FAILURE_REJECTED, PHASE_CONNECT, 8, "RDMA_CM_EVENT_REJECTED", "", "10.0.0.1:7",
			false,
			"cannot connect to 10.0.0.1:7: nothing is listening on this port; start "
			"rdma-server on that host, or check the port number."},
		{FAILURE_REJECTED, PHASE_CONNECT, 8, "RDMA_CM_EVENT_REJECTED", "", "10.0.0.1:7",
			true,
			"cannot connect to 10.0.0.1:7: nothing is listening on this port; start "
			"rdma-server on that host, or check the port number. "
			"[RDMA_CM_EVENT_REJECTED: invalid service ID 8]"},
		{FAILURE_HOST, PHASE_OPEN, 1, "rdma_create_event_channel", "seen", "10.0.0.1:7",
			false,
			"cannot use RDMA: this host has no RDMA device (seen); load the adapter's "
			"driver, or create a soft-RoCE device: rdma link add rxe0 type rxe netdev "
			"INTERFACE."},
		{FAILURE_GONE, PHASE_EXCHANGE, 0, "RDMA_CM_EVENT_DISCONNECTED", "it left", "h:7",
			false,
			"exchange with h:7 failed: it left; check whether the peer is still "
			"running and what it reports."},
		{FAILURE_ERRNO, PHASE_EXCHANGE, EPERM, "call", "Operation not permitted", NULL,
			true, "exchange failed: Operation not permitted. [call: EPERM 1]"},
		{FAILURE_FILE, PHASE_EXCHANGE, ENOSPC, "output_file_write",
			"cannot write data.bin: No space left on device", "h:7", true,
			"exchange with h:7 failed: cannot write data.bin: No space left on "
			"device. [output_file_write: ENOSPC 28]"},
		{FAILURE_GONE, PHASE_DIAGNOSIS, 0, "RDMA_CM_EVENT_DISCONNECTED", "it left", "h:7",
			false,
			"diagnosis with h:7 failed: it left; check whether the peer is still "
			"running and what it reports."},
		{FAILURE_ERRNO, PHASE_MEASUREMENT, ETIMEDOUT, "call", "", "h:7", false,
			"measurement with h:7 failed: the connection manager reports the peer as "
			"unreachable; check whether the peer is still running and what it "
			"reports."},
		{FAILURE_ABORTED, PHASE_EXCHANGE, 0, "MSG_ABORT", "the peer aborted: why", "h:7",
			false, "exchange with h:7 failed: the peer aborted: why."},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct failure failure = {0};
		char text[1024];

		failure_set(&failure, cases[i].kind, cases[i].phase, cases[i].code, cases[i].call,
			"%s", cases[i].evidence);
		explain_failure(&failure, cases[i].peer, cases[i].names, text, sizeof(text));
		assert_string_equal(text, cases[i].sentence);
	}
}

/* Checks the sentence for any failure. With names, it ends with the call and code in brackets. */
static void assert_is_a_line(const char *text, bool names)
{
	size_t length = strlen(text);

	check_case(text, length > 0 && length < 1023);
	check_case(text, !strchr(text, '\n') && !strstr(text, "(null)"));
	check_case(text, !strstr(text, "..") && !strstr(text, "  ") && !strstr(text, ": ;"));
	check_case(text, islower(text[0]));
	check_case(text, text[length - 1] == (names ? ']' : '.'));
}

/* Every row in every phase, with and without a peer, evidence and names. */
static void every_failure_is_one_line(void **state)
{
	const struct explanation *row;
	char evidence[sizeof(((struct failure *)0)->evidence)];

	(void)state;
	memset(evidence, 'e', sizeof(evidence) - 1);
	evidence[sizeof(evidence) - 1] = '\0';
	for (unsigned int i = 0; (row = explain_row(i)); i++)
		for (unsigned int variant = 0; variant < 8 * PHASE_COUNT; variant++) {
			struct failure failure = {0};
			char text[1024];
			bool names = variant & 1, bare = (variant & 4) && row->cause;

			failure_set(&failure, row->kind, variant / 8, row->code, "ibv_reg_mr", "%s",
				bare ? "" : evidence);
			explain_failure(&failure, variant & 2 ? "[fd00::1]:65535" : NULL, names,
				text, sizeof(text));
			/* The row that applies in this phase may have no cause. */
			if (!bare || explain(row->kind, variant / 8, row->code)->cause)
				assert_is_a_line(text, names);
			assert_int_equal(explain_status(&failure),
				explain(row->kind, variant / 8, row->code)->status);
		}
}

/* The peer receives the cause, or the evidence if there is no cause, but not the local remedy. */
static void sends_the_peer_the_cause(void **state)
{
	static const struct {
		enum failure_kind kind;
		int code;
		const char *evidence, *sent;
	} cases[] = {
		{FAILURE_FILE, ENOSPC, "cannot write data.bin: No space left on device",
			"cannot write data.bin: No space left on device"},
		{FAILURE_PROTOCOL, 0, "it sent a second MSG_MR", "it sent a second MSG_MR"},
		{FAILURE_INTERRUPTED, EINTR, "seen", "interrupted by a signal"},
		{FAILURE_ERRNO, ENOMEM, "seen", "out of memory"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct failure failure = {0};
		char text[256];

		failure_set(&failure, cases[i].kind, PHASE_EXCHANGE, cases[i].code, "call", "%s",
			cases[i].evidence);
		explain_cause(&failure, text, sizeof(text));
		assert_string_equal(text, cases[i].sent);
		explain_cause(&failure, text, 10);
		assert_int_equal(strlen(text), 9);
		assert_memory_equal(text, cases[i].sent, 9);
	}
}

static void sends_the_peer_a_text_for_every_failure(void **state)
{
	const struct explanation *row;

	(void)state;
	for (unsigned int i = 0; (row = explain_row(i)); i++) {
		struct failure failure = {0};
		char text[1024];

		failure_set(&failure, row->kind, PHASE_EXCHANGE, row->code, "call", "evidence");
		explain_cause(&failure, text, sizeof(text));
		check_case(text, *text && !strchr(text, '\n') && !strstr(text, "(null)"));
		if (row->remedy)
			check_case(text, !strstr(text, row->remedy));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_failure_wins),
		cmocka_unit_test(records_errnos_and_violations),
		cmocka_unit_test(truncates_long_evidence),
		cmocka_unit_test(writes_whole_sentences),
		cmocka_unit_test(every_failure_is_one_line),
		cmocka_unit_test(sends_the_peer_the_cause),
		cmocka_unit_test(sends_the_peer_a_text_for_every_failure),
	};

	return cmocka_run_group_tests_name("failure", tests, NULL, NULL);
}

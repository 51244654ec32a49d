/* Streams that fail, between two ends on the fake device. Both ends report the cause, and no
 * failure leaves anything behind. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/explain.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/exchange/pair.h"

#define SIZE 100000

/* The input file of each end, SIZE bytes long. */
struct files {
	char paths[2][32];
	struct digest digests[2];
	int descriptors[2];
};

static void make_files(struct pair *pair, struct files *files)
{
	struct fixture *ends[] = {&pair->active, &pair->passive};

	for (unsigned int end = 0; end < 2; end++) {
		files->descriptors[end] =
			pair_file(SIZE, end, files->paths[end], &files->digests[end]);
		ends[end]->input = files->paths[end];
		ends[end]->chunk = 1000;
		ends[end]->depth = 4;
	}
}

static void stop_pair(struct pair *pair, const struct files *files)
{
	pair_close(pair);
	pair_stop(pair);
	close(files->descriptors[0]);
	close(files->descriptors[1]);
}

/* Checks the local failure of one end and what the other end reports about it. */
static void expect_reported(const struct fixture *failed, const struct fixture *announced,
	enum failure_kind kind, enum exit_status status, const char *reason)
{
	assert_int_equal(failed->outcome.kind, kind);
	assert_int_equal(explain_status(&failed->outcome), status);
	assert_int_equal(announced->outcome.kind, FAILURE_ABORTED);
	assert_int_equal(explain_status(&announced->outcome), STATUS_PEER);
	if (!strstr(announced->outcome.evidence, reason))
		fail_msg("'%s' does not contain '%s'", announced->outcome.evidence, reason);
}

/* Checks that the receiver has printed this digest. */
static void expect_verified(const struct pair *pair, const struct digest *digest)
{
	char text[DIGEST_TEXT_SIZE];

	digest_text(text, digest);
	assert_non_null(strstr(pair->active.printed, text));
}

/* One flipped bit anywhere: the receiver detects it and reports it to the sender. */
static void both_ends_report_damaged_data(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 12; i++) {
		struct pair pair = {.chance = i, .active = {.mode = i % MODE_COUNT}};
		enum failure_kind one, other;
		struct files files = {0};

		make_files(&pair, &files);
		pair_make(&pair);
		fake_damage(i * 16);
		pair_establish(&pair);
		pair_run(&pair);
		assert_true(fixture_events(&pair.active) & CONNECTION_FINISHED);
		stop_pair(&pair, &files);
		one = pair.active.outcome.kind;
		other = pair.passive.outcome.kind;
		assert_true((one == FAILURE_DAMAGED && other == FAILURE_DAMAGED_THERE) ||
			    (one == FAILURE_DAMAGED_THERE && other == FAILURE_DAMAGED));
		assert_int_equal(explain_status(&pair.active.outcome), STATUS_DAMAGED);
		assert_int_equal(explain_status(&pair.passive.outcome), STATUS_DAMAGED);
	}
}

/* An input file that shrinks below its announced size. */
static void a_failed_input_is_reported_to_the_peer(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct pair pair = {.active = {.mode = i % MODE_COUNT}};
		struct fixture *failing = i & 2 ? &pair.active : &pair.passive;
		struct fixture *announced = i & 2 ? &pair.passive : &pair.active;
		struct files files = {0};

		make_files(&pair, &files);
		pair_make(&pair);
		assert_int_equal(ftruncate(files.descriptors[i & 2 ? 0 : 1], SIZE / 2), 0);
		pair_age(files.descriptors[i & 2 ? 0 : 1]);
		pair_establish(&pair);
		pair_run(&pair);
		assert_true(fixture_events(failing) & CONNECTION_FINISHED);
		assert_true(fixture_events(announced) & CONNECTION_FINISHED);
		stop_pair(&pair, &files);
		expect_reported(failing, announced, FAILURE_FILE, STATUS_FAILED,
			"truncated while being read");
	}
}

/* An output that cannot be written or opened. */
static void a_failed_output_is_reported_to_the_peer(void **state)
{
	static const struct {
		const char *output_path, *reason;
	} cases[] = {
		{"/dev/full", "No space left on device"},
		{"/nonexistent/output", "No such file or directory"},
		{"/proc/", ""},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(cases) * 4; i++) {
		struct pair pair = {.active = {.mode = i % MODE_COUNT}};
		struct fixture *failing = i & 2 ? &pair.active : &pair.passive;
		struct fixture *announced = i & 2 ? &pair.passive : &pair.active;
		struct files files = {0};

		make_files(&pair, &files);
		failing->output_path = cases[i / 4].output_path;
		pair_start(&pair);
		pair_run(&pair);
		assert_true(fixture_events(failing) & CONNECTION_FINISHED);
		assert_true(fixture_events(announced) & CONNECTION_FINISHED);
		stop_pair(&pair, &files);
		expect_reported(
			failing, announced, FAILURE_FILE, STATUS_FAILED, cases[i / 4].reason);
	}
}

/* Either end cancels at any time. The other end fails as well, unless the exchange was complete. */
static void cancelling_ends_both_sides(void **state)
{
	static const struct failure interrupted = {
		.kind = FAILURE_INTERRUPTED,
		.phase = PHASE_EXCHANGE,
		.call = "signalfd",
		.evidence = "interrupted",
	};
	unsigned int cancelled = 0;

	(void)state;
	for (unsigned int i = 0; i < 40; i++) {
		struct pair pair = {.chance = i, .active = {.mode = i % MODE_COUNT}};
		struct fixture *failing = i & 2 ? &pair.active : &pair.passive;
		struct fixture *announced = i & 2 ? &pair.passive : &pair.active;
		struct files files = {0};

		make_files(&pair, &files);
		pair_start(&pair);
		pair_step(&pair, i / 4 * 50);
		connection_cancel(failing->connection, &interrupted);
		connection_cancel(failing->connection, &(struct failure){.kind = FAILURE_FILE});
		pair_run(&pair);
		/* If the reason cannot be sent yet, the connection ends without it. */
		assert_true(fixture_events(&pair.active) & CONNECTION_FINISHED ||
			    fixture_events(&pair.passive) & CONNECTION_FINISHED);
		stop_pair(&pair, &files);
		if (!failure_is_set(&failing->outcome)) {
			assert_false(failure_is_set(&announced->outcome));
			continue;
		}
		cancelled++;
		assert_int_equal(failing->outcome.kind, FAILURE_INTERRUPTED);
		if (failure_is_set(&announced->outcome)) {
			assert_int_equal(explain_status(&announced->outcome), STATUS_PEER);
			continue;
		}
		/* Complete: only the last message had not arrived. */
		expect_verified(&pair, &files.digests[0]);
		expect_verified(&pair, &files.digests[1]);
	}
	/* Most of the streams were cancelled before they completed. */
	assert_true(cancelled > 10);
}

/* In the middle of a stream the other end receives the reason. */
static void the_peer_receives_the_reason_of_a_cancel(void **state)
{
	static const struct failure interrupted = {
		.kind = FAILURE_INTERRUPTED, .phase = PHASE_EXCHANGE, .call = "signalfd"};

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		struct pair pair = {.chance = i, .active = {.mode = i % MODE_COUNT}};
		struct fixture *failing = i & 2 ? &pair.active : &pair.passive;
		struct fixture *announced = i & 2 ? &pair.passive : &pair.active;
		struct files files = {0};
		char reason[256];

		make_files(&pair, &files);
		pair_start(&pair);
		pair_step(&pair, 10 + i * 4);
		connection_cancel(failing->connection, &interrupted);
		pair_run(&pair);
		assert_true(fixture_events(failing) & CONNECTION_FINISHED);
		assert_true(fixture_events(announced) & CONNECTION_FINISHED);
		stop_pair(&pair, &files);
		explain_cause(&interrupted, reason, sizeof(reason));
		assert_int_not_equal(strlen(reason), 0);
		expect_reported(failing, announced, FAILURE_INTERRUPTED,
			explain_status(&interrupted), reason);
	}
}

/* An output file is either complete and verified or absent. */
static void a_cancelled_stream_leaves_no_file(void **state)
{
	static const struct failure interrupted = {
		.kind = FAILURE_INTERRUPTED, .phase = PHASE_EXCHANGE, .call = "signalfd"};

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		struct pair pair = {.chance = i, .active = {.mode = i % MODE_COUNT}};
		char folder[] = "/tmp/test-aborting.XXXXXX", output[64];
		struct files files = {0};

		assert_non_null(mkdtemp(folder));
		snprintf(output, sizeof(output), "%s/kept", folder);
		make_files(&pair, &files);
		pair.passive.output_path = output;
		pair_start(&pair);
		/* Part of the stream, which has a hundred pieces. */
		pair_step(&pair, i * 4);
		connection_cancel(pair.active.connection, &interrupted);
		pair_run(&pair);
		stop_pair(&pair, &files);
		assert_int_equal(pair.active.outcome.kind, FAILURE_INTERRUPTED);
		/* The directory contains no other file, not even a hidden one. */
		assert_int_equal(rmdir(folder), 0);
	}
}

static void abandon_if_stuck(struct fixture *fixture)
{
	connection_close(fixture->connection, NULL);
	fake_settle();
	if (!connection_drained(fixture->connection, fixture_events(fixture)))
		connection_abandon(fixture->connection, NULL);
	fake_settle();
}

/* Makes each call of a running exchange fail, one per iteration. No end may report success unless
 * the other has received its data. */
static void any_call_may_fail(void **state)
{
	static const char *const functions[] = {"ibv_post_send", "ibv_post_recv", "ibv_poll_cq",
		"ibv_req_notify_cq", "ibv_modify_qp", "rdma_disconnect"};

	(void)state;
	for (size_t i = 0; i < COUNT(functions) * MODE_COUNT; i++) {
		unsigned int step = 1;
		bool due = false;

		for (unsigned int after = 0; !due; after += step) {
			struct pair pair = {.chance = after, .active = {.mode = i % MODE_COUNT}};
			struct files files = {0};

			make_files(&pair, &files);
			pair_make(&pair);
			fake_fail(functions[i / MODE_COUNT], after, EIO);
			pair_establish(&pair);
			pair_run(&pair);
			/* Without completion events only the main thread's deadline ends the
			 * exchange. */
			abandon_if_stuck(&pair.active);
			abandon_if_stuck(&pair.passive);
			stop_pair(&pair, &files);
			due = fake_fail_is_due();
			step = after < 10 ? 1 : 47;
			if (!failure_is_set(&pair.active.outcome))
				expect_verified(&pair, &files.digests[0]);
			if (!failure_is_set(&pair.passive.outcome))
				expect_verified(&pair, &files.digests[1]);
		}
	}
}

/* Closes in the middle without settling, for sanitizers. */
static void closing_is_safe_at_any_time(void **state)
{
	static const struct failure deadline = {
		.kind = FAILURE_DEADLINE, .phase = PHASE_EXCHANGE, .call = "--timeout"};

	(void)state;
	for (unsigned int i = 0; i < 100; i++) {
		struct pair pair = {.chance = i, .active = {.mode = i % MODE_COUNT}};
		struct files files = {0};

		make_files(&pair, &files);
		pair.passive.output_path = "/dev/null";
		pair_start(&pair);
		pair_step(&pair, i / 4);
		if (i & 2)
			fake_flush_on_disconnect(false);
		connection_close(pair.active.connection, &deadline);
		connection_disconnected(pair.passive.connection);
		if (i & 2) {
			connection_abandon(pair.active.connection, &deadline);
			connection_abandon(pair.passive.connection, &deadline);
		}
		/* Destroys the connection as soon as the events arrive, while the device may still
		 * be busy. */
		while (!connection_drained(pair.passive.connection, fixture_events(&pair.passive)))
			;
		connection_destroy(pair.passive.connection);
		while (!connection_drained(pair.active.connection, fixture_events(&pair.active)))
			;
		fake_settle(); /* the CQ thread may still use that queue */
		wakeup_queue_close(&pair.passive.wakeups);
		fixture_stop(&pair.active);
		close(files.descriptors[0]);
		close(files.descriptors[1]);
	}
}

/*
 * A failed work request is often a consequence of the peer's abort, but may complete before its
 * MSG_ABORT. The reason is not lost, whether rdmacm would have to explain the failure or not.
 */
static void the_reason_may_follow_the_failure(void **state)
{
	static const enum ibv_wc_status statuses[] = {
		IBV_WC_WR_FLUSH_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_RETRY_EXC_ERR};
	struct message abort = {.type = MSG_ABORT};

	(void)state;
	message_set_text(&abort, "the disk is full");
	for (unsigned int i = 0; i < 4 * COUNT(statuses); i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2};
		struct failure gone = {.kind = FAILURE_GONE, .phase = PHASE_EXCHANGE};

		fixture_start_data(&fixture, PEER_MEMORY);
		fixture_complete(&fixture, statuses[i / 4]);
		fixture_receive(&fixture, &abort);
		assert_true(fixture_events(&fixture) & CONNECTION_FINISHED);
		fixture_close(&fixture, &gone);
		assert_int_equal(fixture.outcome.kind, FAILURE_ABORTED);
		assert_non_null(strstr(fixture.outcome.evidence, "the disk is full"));
		fixture_stop(&fixture);
	}
}

/* The same for the refusal of a client that does not hold the secret. */
static void the_refusal_may_follow_the_failure(void **state)
{
	static const enum ibv_wc_status statuses[] = {IBV_WC_WR_FLUSH_ERR, IBV_WC_RETRY_EXC_ERR};
	const struct message refusal = {.type = MSG_ABORT, .refusal = REFUSAL_SECRET};

	(void)state;
	for (unsigned int i = 0; i < COUNT(statuses); i++) {
		struct secret *secret = make_secret('a');
		struct pair pair = {.active.secret = secret, .passive.secret = secret};
		struct failure gone = {.kind = FAILURE_GONE, .phase = PHASE_EXCHANGE};

		pair_start(&pair);
		assert_int_equal(fixture_count(&pair.active, MSG_PROOF), 1);
		fixture_complete(&pair.active, statuses[i]);
		fixture_receive(&pair.active, &refusal);
		connection_close(pair.active.connection, &gone);
		pair_close(&pair);
		assert_int_equal(pair.active.outcome.kind, FAILURE_REFUSED);
		assert_int_equal(pair.active.outcome.code, REFUSAL_SECRET);
		pair_stop(&pair);
		secret_free(secret);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(both_ends_report_damaged_data),
		with_fixture(a_failed_input_is_reported_to_the_peer),
		with_fixture(a_failed_output_is_reported_to_the_peer),
		with_fixture(cancelling_ends_both_sides),
		with_fixture(the_peer_receives_the_reason_of_a_cancel),
		with_fixture(a_cancelled_stream_leaves_no_file),
		with_fixture(any_call_may_fail),
		with_fixture(closing_is_safe_at_any_time),
		with_fixture(the_reason_may_follow_the_failure),
		with_fixture(the_refusal_may_follow_the_failure),
	};

	return cmocka_run_group_tests_name("aborting", tests, NULL, NULL);
}

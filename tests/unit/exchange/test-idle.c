/* Idle timeout and keepalives, on the fake device with its clock: the connection to a silent peer
 * times out, and local keepalives are frequent enough to prevent that at the peer. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/explain.h"
#include "tests/unit/exchange/pair.h"

#define TIMEOUT 10000

/* Timeouts are checked at most this much late, ms. */
#define LATE 1000

/* Time limit for the final disconnect, ms. */
#define ABORT_MS 5000

/* Time limit for MSG_ABORT, ms. */
#define ABORT 1000

/* Checks that nothing happens just before the timeout, and that the exchange fails after it. */
static void expect_deadline(struct fixture *fixture, const char *awaited)
{
	char evidence[128];

	snprintf(evidence, sizeof(evidence), "timed out waiting for %s", awaited);
	fake_pass(TIMEOUT - 1);
	assert_int_equal(fixture_events(fixture), 0);
	assert_int_equal(fixture_count(fixture, MSG_ABORT), 0);
	fake_pass(1 + LATE);
	fixture_complete_all(fixture);
	assert_int_equal(fixture_events(fixture), CONNECTION_FINISHED);
	fixture_end(fixture);
	assert_int_equal(fixture->outcome.kind, FAILURE_DEADLINE);
	assert_int_equal(explain_status(&fixture->outcome), STATUS_PEER);
	assert_string_equal(fixture->outcome.evidence, evidence);
}

static void an_idle_handshake_times_out(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2, .tutorial = i & 4};

		fixture_start(&fixture);
		fixture_establish(&fixture);
		expect_deadline(
			&fixture, fixture.active ? "the acknowledgement of MSG_MR" : "MSG_MR");
	}
}

static void an_idle_exchange_times_out(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture unread = {.mode = i & 1, .active = i & 2, .input = "/dev/zero"};
		struct fixture unacknowledged = {.mode = i & 1, .active = i & 2}, undone, unjudged;

		undone = unjudged = unacknowledged;
		fixture_start_data(&unread, PEER_MEMORY);
		expect_deadline(&unread, "the next message");

		fixture_start_data(&unacknowledged, PEER_MEMORY);
		expect_deadline(&unacknowledged, "the acknowledgement of MSG_DONE");

		fixture_start_data(&undone, PEER_MEMORY);
		fixture_complete_all(&undone);
		expect_deadline(&undone, "MSG_DONE, the end of its data");

		fixture_start_data(&unjudged, PEER_MEMORY);
		fixture_exchange_data(&unjudged, PEER_TEXT, sizeof(PEER_TEXT));
		fixture_complete_all(&unjudged);
		expect_deadline(&unjudged, "MSG_VERDICT");
	}
}

/* rdmacm may never report that the connection is established. A message from the peer implies
 * it. */
static void an_unestablished_connection_times_out(void **state)
{
	struct message region;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = i & 1, .tutorial = i & 2};

		fixture_start(&fixture);
		region = fixture_peer_region(&fixture, PEER_MEMORY);
		fixture_receive(&fixture, &region);
		fixture_complete_all(&fixture);
		expect_deadline(&fixture, "MSG_DONE, the end of its data");
	}
}

/* Any message resets the timeout, even an empty one. */
static void a_keepalive_resets_the_idle_timeout(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {
			.mode = i % MODE_COUNT, .active = i / MODE_COUNT, .input = "/dev/zero"};

		fixture_start_data(&fixture, PEER_MEMORY);
		for (unsigned int keepalive = 0; keepalive < 20; keepalive++) {
			fake_pass(TIMEOUT - 1);
			fake_arrive(fixture.id, "", 0);
			fixture_complete_all(&fixture);
		}
		assert_int_equal(fixture_events(&fixture), 0);
		expect_deadline(&fixture, "the next message");
	}
}

/* Small packets get through, large ones do not: the peer sends keepalives but acknowledges
 * nothing. */
static void unacknowledged_sends_time_out(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i % MODE_COUNT, .active = i / MODE_COUNT};

		fixture_start_data(&fixture, PEER_MEMORY);
		for (unsigned int keepalive = 0; keepalive < 3; keepalive++) {
			assert_int_equal(fixture_events(&fixture), 0);
			fake_pass(TIMEOUT / 3);
			fake_arrive(fixture.id, "", 0);
		}
		fake_pass(LATE);
		fixture_complete_all(&fixture);
		assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_COMPLETION);
		assert_int_equal(fixture.outcome.code, IBV_WC_RETRY_EXC_ERR);
	}
}

/* The exchange is complete, but the client does not disconnect. It then ends without that. */
static void a_complete_exchange_does_not_time_out(void **state)
{
	static const struct message verified = {.type = MSG_VERDICT};
	struct fixture fixture = {.mode = MODE_WRITE};

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	fixture_exchange_data(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
	fixture_complete_all(&fixture);
	fixture_receive(&fixture, &verified);
	assert_int_equal(fixture_events(&fixture), 0);
	fake_pass(ABORT_MS + LATE);
	fixture_complete_all(&fixture);
	assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
	assert_int_equal(fixture_count(&fixture, MSG_ABORT), 0);
	fixture_end(&fixture);
	assert_false(failure_is_set(&fixture.outcome));
}

/* The peer, whose timeout may be shorter than the local one, receives at least three per
 * timeout. */
static void an_idle_connection_sends_keepalives(void **state)
{
	static const uint32_t timeouts[] = {200, 1000, 3000, TIMEOUT, 100 * TIMEOUT};

	(void)state;
	for (size_t i = 0; i < COUNT(timeouts) * 4; i++) {
		uint32_t theirs = timeouts[i / 4], shorter = theirs < TIMEOUT ? theirs : TIMEOUT;
		struct fixture fixture = {
			.mode = i & 1,
			.active = i & 2,
			.input = "/dev/zero",
			.peer_timeout = theirs,
		};
		struct fake_send keepalive;

		fixture_start_data(&fixture, PEER_MEMORY);
		fixture_complete_all(&fixture);
		for (unsigned int time = 0; time < 10; time++) {
			unsigned int before = fake_sends(fixture.id);

			fake_pass(shorter - 1);
			fake_arrive(fixture.id, "", 0);
			fixture_complete_all(&fixture);
			assert_in_range(fake_sends(fixture.id) - before, 3, 4);
			keepalive = fake_send(fixture.id, before);
			assert_int_equal(keepalive.opcode, IBV_WR_SEND);
			assert_int_equal(keepalive.piece.length, 0);
		}
		fixture_end(&fixture);
	}
}

/* An iWARP server, whose driver is unknown, might leave the first message unread until more data
 * arrives. */
static void an_iwarp_server_gets_data_until_it_replies(void **state)
{
	(void)state;
	for (unsigned int active = 0; active < 2; active++) {
		struct fixture fixture = {
			.mode = MODE_WRITE,
			.active = active,
			.transport = IBV_TRANSPORT_IWARP,
		};
		struct message mr;
		unsigned int before;

		fixture_start_device(&fixture);
		fixture_start_connection(&fixture);
		mr = fixture_peer_region(&fixture, PEER_MEMORY);
		fixture_establish(&fixture);
		fixture_complete_all(&fixture);
		before = fake_sends(fixture.id);
		for (unsigned int i = 0; i < 20 * active; i++) {
			struct fake_send last;

			fake_pass(100);
			fixture_complete_all(&fixture);
			assert_int_equal(fake_sends(fixture.id), before + i + 1);
			last = fake_send(fixture.id, before + i);
			assert_int_equal(last.opcode, IBV_WR_RDMA_WRITE);
			assert_int_equal(last.piece.length, 0);
		}
		fixture_receive(&fixture, &mr);
		fixture_complete_all(&fixture);
		before = fake_sends(fixture.id);
		fake_pass(1000);
		assert_int_equal(fake_sends(fixture.id), before);
		fixture_end(&fixture);
	}
}

/* A peer that is stopped has receives for three keepalives. Anything from it allows more. */
static void a_silent_peer_gets_three_keepalives(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE,
		.active = true,
		.depth = 1,
		.input = "/dev/zero",
		.peer_timeout = TIMEOUT / 20};
	unsigned int before;

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	fixture_complete_all(&fixture);
	before = fake_sends(fixture.id);
	for (unsigned int round = 1; round <= 2; round++) {
		/* A keepalive is due every quarter of the peer's timeout. */
		for (unsigned int i = 0; i < 60; i++)
			fake_pass(TIMEOUT / 80);
		fixture_complete_all(&fixture);
		assert_int_equal(fake_sends(fixture.id) - before, 3 * round);
		fake_arrive(fixture.id, "", 0);
	}
	fixture_end(&fixture);
}

/* The tutorial defines no keepalives. */
static void a_tutorial_peer_gets_no_keepalives(void **state)
{
	static const enum ibv_transport_type transports[] = {IBV_TRANSPORT_IB, IBV_TRANSPORT_IWARP};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture fixture = {.mode = MODE_WRITE,
			.active = true,
			.tutorial = true,
			.transport = transports[i]};

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		fixture_complete_all(&fixture);
		fake_pass(TIMEOUT - 1);
		assert_int_equal(fake_sends(fixture.id), 1);
		fixture_end(&fixture);
	}
}

/* A peer that does not acknowledge even the abort is not awaited. */
static void an_unacknowledged_abort_times_out_soon(void **state)
{
	static const struct failure interrupted = {
		.kind = FAILURE_INTERRUPTED, .phase = PHASE_EXCHANGE, .call = "signalfd"};

	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {
			.mode = i % MODE_COUNT, .active = i / MODE_COUNT, .input = "/dev/zero"};

		fixture_start_data(&fixture, PEER_MEMORY);
		connection_cancel(fixture.connection, &interrupted);
		fake_settle();
		assert_int_equal(fixture_count(&fixture, MSG_ABORT), 1);
		fake_pass(ABORT - 1);
		assert_int_equal(fixture_events(&fixture), 0);
		fake_pass(1 + LATE);
		assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_INTERRUPTED);
	}
}

/*
 * On iWARP, the completion of the abort does not show that it has arrived; the peer's disconnect or
 * its own abort does.
 */
static void an_abort_on_iwarp_waits_for_the_peer(void **state)
{
	static const struct failure interrupted = {
		.kind = FAILURE_INTERRUPTED, .phase = PHASE_EXCHANGE, .call = "signalfd"};
	const struct message abort = {.type = MSG_ABORT};

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		struct fixture fixture = {.mode = i & 1,
			.active = i & 2,
			.input = "/dev/zero",
			.transport = IBV_TRANSPORT_IWARP};

		fixture_start_data(&fixture, PEER_MEMORY);
		connection_cancel(fixture.connection, &interrupted);
		fake_settle();
		fixture_complete_all(&fixture);
		assert_int_equal(fixture_count(&fixture, MSG_ABORT), 1);
		assert_int_equal(fixture_events(&fixture), 0);
		if (i & 4) {
			fixture_receive(&fixture, &abort);
		} else {
			fake_pass(ABORT - 1);
			assert_int_equal(fixture_events(&fixture), 0);
			fake_pass(1 + LATE);
		}
		assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_INTERRUPTED);
	}
}

/* Advances the clock and delivers what both ends send. */
static void pass(struct pair *pair, int64_t milliseconds)
{
	for (; milliseconds > 0; milliseconds -= 100) {
		fake_pass(100);
		pair_run(pair);
	}
}

/* Both ends send only keepalives for a long time, and one has a short timeout. */
static void a_slow_producer_is_not_idle(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct pair pair = {.active = {.mode = i & 1, .timeout = 700}};
		struct fixture *sender = i & 2 ? &pair.active : &pair.passive;
		char path[32];
		int pipe_ends[2];

		assert_int_equal(pipe(pipe_ends), 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", pipe_ends[0]);
		sender->input = path;
		pair_start(&pair);
		assert_int_equal(write(pipe_ends[1], "some, ", 6), 6);
		pass(&pair, TIMEOUT + 2 * LATE);
		/* By now the source has reopened the path. */
		close(pipe_ends[0]);
		assert_int_equal(write(pipe_ends[1], "and more", 8), 8);
		pass(&pair, 2000);
		assert_int_equal(fixture_events(&pair.active), 0);
		close(pipe_ends[1]);
		pair_run(&pair);
		pair_close(&pair);
		pair_stop(&pair);
		assert_false(failure_is_set(&pair.active.outcome));
		assert_false(failure_is_set(&pair.passive.outcome));
		assert_non_null(strstr(pair.active.printed, "remote buffer: some, and more\n"));
	}
}

/* A pipe that is not read stalls the stream without a timeout. */
static void a_slow_consumer_is_not_idle(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct pair pair = {.active = {.mode = i & 1}, .passive = {.timeout = 700}};
		struct fixture *sender = i & 2 ? &pair.active : &pair.passive;
		struct fixture *receiver = i & 2 ? &pair.passive : &pair.active;
		char path[32], fifo[] = "/tmp/test-idle.XXXXXX";
		static uint8_t bytes[300000];
		struct digest digest, arrived;
		size_t size = 0;
		ssize_t got;
		int input = pair_file(sizeof(bytes), i, path, &digest), output;

		assert_non_null(mkdtemp(fifo));
		assert_int_equal(chdir(fifo), 0);
		assert_int_equal(mkfifo("fifo", 0600), 0);
		output = open("fifo", O_RDONLY | O_NONBLOCK);
		sender->input = path;
		receiver->output_path = "fifo";
		pair_start(&pair);
		pass(&pair, TIMEOUT + 2 * LATE);
		assert_int_equal(fixture_events(&pair.active) & CONNECTION_FINISHED, 0);
		do {
			got = read(output, bytes + size, sizeof(bytes) - size);
			size += got > 0 ? (size_t)got : 0;
			pair_run(&pair);
		} while (got != 0 && size < sizeof(bytes));
		pair_run(&pair);
		pair_close(&pair);
		pair_stop(&pair);
		arrived = digest_of(bytes, size);
		assert_true(digest_equal(&arrived, &digest));
		assert_false(failure_is_set(&pair.active.outcome));
		assert_false(failure_is_set(&pair.passive.outcome));
		close(input);
		close(output);
		assert_int_equal(unlink("fifo") || chdir("/") || rmdir(fifo), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(an_idle_handshake_times_out),
		with_fixture(an_idle_exchange_times_out),
		with_fixture(an_unestablished_connection_times_out),
		with_fixture(a_keepalive_resets_the_idle_timeout),
		with_fixture(unacknowledged_sends_time_out),
		with_fixture(a_complete_exchange_does_not_time_out),
		with_fixture(an_idle_connection_sends_keepalives),
		with_fixture(an_iwarp_server_gets_data_until_it_replies),
		with_fixture(a_silent_peer_gets_three_keepalives),
		with_fixture(a_tutorial_peer_gets_no_keepalives),
		with_fixture(an_unacknowledged_abort_times_out_soon),
		with_fixture(an_abort_on_iwarp_waits_for_the_peer),
		with_fixture(a_slow_producer_is_not_idle),
		with_fixture(a_slow_consumer_is_not_idle),
	};

	return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}

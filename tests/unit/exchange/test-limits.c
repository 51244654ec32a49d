/* The state that a server's limits depend on: when the handshake is done, when data last moved, and
 * how much the peer may send. Runs on the fake device with its clock. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/deadline.h"
#include "tests/unit/exchange/fixture.h"

/* The main thread receives the event once, and only in a server. */
static void expect_handshake_done_with_mr(struct fixture *fixture)
{
	struct message region;

	fixture_start(fixture);
	fixture_establish(fixture);
	fixture_events(fixture);
	assert_false(fixture->handshake_done);
	if (fixture->active)
		fixture_complete(fixture, IBV_WC_SUCCESS);
	region = fixture_peer_region(fixture, PEER_MEMORY);
	fixture_receive(fixture, &region);
	fixture_events(fixture);
	assert_int_equal(fixture->handshake_done, !fixture->active);
	fixture_end(fixture);
}

static void the_main_thread_is_notified_of_the_handshake(void **state)
{
	(void)state;
	for_each_fixture(true, expect_handshake_done_with_mr);
}

static void an_unexpected_message_does_not_complete_the_handshake(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};
	struct message done = {.type = MSG_DONE};

	(void)state;
	fixture_start(&fixture);
	fixture_establish(&fixture);
	fixture_receive(&fixture, &done);
	fixture_events(&fixture);
	assert_false(fixture.handshake_done);
	fixture_expect_failure(&fixture, FAILURE_PROTOCOL, STATUS_PEER);
}

/* Keepalives are not progress. Data in either direction is. */
static void expect_progress_from_data_only(struct fixture *fixture)
{
	deadline_t before, data;

	fixture->peer_size = 100;
	fixture_exchange_regions(fixture, PEER_MEMORY);
	fixture_complete_all(fixture);
	before = connection_last_progress(fixture->connection);
	fake_pass(1000);
	fake_arrive(fixture->id, "", 0);
	fake_settle();
	assert_int_equal(connection_last_progress(fixture->connection), before);
	fake_pass(1000);
	fixture_receive_data(fixture, "12345", 5);
	fixture_complete_all(fixture);
	data = connection_last_progress(fixture->connection);
	assert_int_equal(data, deadline_now());
	assert_true(data >= before + 2000);
	fake_pass(1000);
	assert_int_equal(connection_last_progress(fixture->connection), data);
	fixture_end(fixture);
}

static void keepalives_are_not_progress(void **state)
{
	(void)state;
	for_each_fixture(false, expect_progress_from_data_only);
}

/* A FIFO in its own directory. The descriptor keeps it open. */
struct fifo {
	char folder[32], path[64];
	int descriptor;
};

static void make_fifo(struct fifo *fifo)
{
	snprintf(fifo->folder, sizeof(fifo->folder), "/tmp/test-limits.XXXXXX");
	assert_non_null(mkdtemp(fifo->folder));
	snprintf(fifo->path, sizeof(fifo->path), "%s/fifo", fifo->folder);
	assert_int_equal(mkfifo(fifo->path, 0600), 0);
	fifo->descriptor = open(fifo->path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	assert_true(fifo->descriptor >= 0);
}

static void remove_fifo(const struct fifo *fifo)
{
	close(fifo->descriptor);
	unlink(fifo->path);
	rmdir(fifo->folder);
}

/* A slow local file does not count as an idle peer. */
static void a_slow_input_does_not_make_the_peer_idle(void **state)
{
	struct fifo fifo = {0};

	(void)state;
	make_fifo(&fifo);
	for (unsigned int i = 0; i < 2; i++) {
		struct fixture fixture = {.mode = i, .input = fifo.path};

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		fixture_complete_all(&fixture);
		fake_pass(5000);
		assert_int_equal(connection_last_progress(fixture.connection), deadline_now());
		fixture_end(&fixture);
	}
	remove_fifo(&fifo);
}

static void a_slow_output_does_not_make_the_peer_idle(void **state)
{
	static char filling[1 << 20];
	struct fifo fifo = {0};

	(void)state;
	make_fifo(&fifo);
	for (unsigned int i = 0; i < 2; i++) {
		struct fixture fixture = {.mode = i, .output_path = fifo.path, .peer_size = 100};

		while (write(fifo.descriptor, filling, sizeof(filling)) > 0)
			;
		fixture_exchange_regions(&fixture, PEER_MEMORY);
		fixture_receive_data(&fixture, "12345", 5);
		fixture_complete_all(&fixture);
		fake_pass(5000);
		assert_int_equal(connection_last_progress(fixture.connection), deadline_now());
		/* The exchange continues and consumes all data, and then waits for the peer. */
		while (read(fifo.descriptor, filling, sizeof(filling)) > 0 ||
			connection_last_progress(fixture.connection) == deadline_now())
			;
		fixture_end(&fixture);
	}
	remove_fifo(&fifo);
}

/* An announced size above the limit is refused with the connection request. Here the size is
 * unknown. */
static void a_stream_larger_than_max_size_is_refused(void **state)
{
	static const struct {
		uint64_t announced, allowed;
		bool fits;
	} cases[] = {
		{STREAM_SIZE_UNKNOWN, 0, true},
		{STREAM_SIZE_UNKNOWN, 5, true},
		{STREAM_SIZE_UNKNOWN, 4, false},
		{STREAM_SIZE_UNKNOWN, 1, false},
		{5, 5, true},
		/* Announced more than the limit and was admitted anyway: the limit still
		 * applies. */
		{5, 4, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) * 2; i++) {
		struct fixture fixture = {
			.mode = i & 1,
			.peer_size = cases[i / 2].announced,
			.max_size = cases[i / 2].allowed,
		};
		char says[80];
		struct message abort;

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		fixture_receive_data(&fixture, "12345", 5);
		if (cases[i / 2].fits) {
			fixture_complete_all(&fixture);
			assert_int_equal(fixture_count(&fixture, MSG_ABORT), 0);
			fixture_end(&fixture);
			continue;
		}
		fixture_complete_all(&fixture);
		snprintf(says, sizeof(says), "received more than the %u bytes that --max-size",
			(unsigned int)fixture.max_size);
		abort = fixture_last(&fixture, MSG_ABORT);
		assert_non_null(memmem(abort.text, abort.text_size, says, strlen(says)));
		fixture_expect_failure(&fixture, FAILURE_LIMIT, STATUS_PEER);
		assert_null(strstr(fixture.printed, "remote buffer"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(the_main_thread_is_notified_of_the_handshake),
		with_fixture(an_unexpected_message_does_not_complete_the_handshake),
		with_fixture(keepalives_are_not_progress),
		with_fixture(a_slow_input_does_not_make_the_peer_idle),
		with_fixture(a_slow_output_does_not_make_the_peer_idle),
		with_fixture(a_stream_larger_than_max_size_is_refused),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}

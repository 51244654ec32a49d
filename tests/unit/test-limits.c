/*
 * What a server limits, as the verbs module sees it: when the handshake is over, whether data moves or
 * the peer only lives, and how much it may send. On a made-up device with a made-up clock.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/deadline.h"
#include "rig.h"

/* The main thread is told once, and only at a server. */
static void the_handshake_ends_with_the_region(struct rig *rig)
{
	struct message region;

	rig_start(rig);
	rig_establish(rig);
	rig_notes(rig);
	assert_false(rig->met);
	if (rig->active)
		rig_complete(rig, IBV_WC_SUCCESS);
	region = rig_peer_region(rig, PEER_MEMORY);
	rig_hear(rig, &region);
	rig_notes(rig);
	assert_int_equal(rig->met, !rig->active);
	rig_close(rig, NULL);
	rig_stop(rig);
}

static void the_main_thread_hears_of_the_end_of_the_handshake(void **state)
{
	(void)state;
	for_each_rig(true, the_handshake_ends_with_the_region);
}

static void what_is_out_of_order_ends_no_handshake(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};
	struct message done = {.type = MSG_DONE};

	(void)state;
	rig_start(&rig);
	rig_establish(&rig);
	rig_hear(&rig, &done);
	rig_notes(&rig);
	assert_false(rig.met);
	rig_expect_failure(&rig, FAILURE_PROTOCOL, STATUS_PEER);
}

/* Signs of life move nothing; data does, either way. */
static void only_data_counts_as_movement(struct rig *rig)
{
	deadline_t before, data;

	rig->peer_size = 100;
	rig_exchange_regions(rig, PEER_MEMORY);
	rig_complete_all(rig);
	before = connection_moved(rig->connection);
	fake_pass(1000);
	fake_arrive(rig->id, "", 0);
	fake_settle();
	assert_int_equal(connection_moved(rig->connection), before);
	fake_pass(1000);
	rig_hear_data(rig, "12345", 5);
	rig_complete_all(rig);
	data = connection_moved(rig->connection);
	assert_int_equal(data, deadline_now());
	assert_true(data >= before + 2000);
	fake_pass(1000);
	assert_int_equal(connection_moved(rig->connection), data);
	rig_close(rig, NULL);
	rig_stop(rig);
}

static void a_peer_that_only_lives_moves_nothing(void **state)
{
	(void)state;
	for_each_rig(false, only_data_counts_as_movement);
}

/* A FIFO in a folder of its own, which the descriptor keeps alive. */
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

/* A file of ours that takes its time is not the peer's fault, however long it takes. */
static void while_our_input_is_slow_the_peer_is_not_idle(void **state)
{
	struct fifo fifo = {0};

	(void)state;
	make_fifo(&fifo);
	for (unsigned int i = 0; i < 2; i++) {
		struct rig rig = {.mode = i, .input = fifo.path};

		rig_exchange_regions(&rig, PEER_MEMORY);
		rig_complete_all(&rig);
		fake_pass(5000);
		assert_int_equal(connection_moved(rig.connection), deadline_now());
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
	remove_fifo(&fifo);
}

static void while_our_output_is_slow_the_peer_is_not_idle(void **state)
{
	static char filling[1 << 20];
	struct fifo fifo = {0};

	(void)state;
	make_fifo(&fifo);
	for (unsigned int i = 0; i < 2; i++) {
		struct rig rig = {.mode = i, .target = fifo.path, .peer_size = 100};

		while (write(fifo.descriptor, filling, sizeof(filling)) > 0)
			;
		rig_exchange_regions(&rig, PEER_MEMORY);
		rig_hear_data(&rig, "12345", 5);
		rig_complete_all(&rig);
		fake_pass(5000);
		assert_int_equal(connection_moved(rig.connection), deadline_now());
		/* It goes on, takes all there is, and then it is the peer's turn. */
		while (read(fifo.descriptor, filling, sizeof(filling)) > 0 ||
			connection_moved(rig.connection) == deadline_now())
			;
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
	remove_fifo(&fifo);
}

/* What was announced is refused when it is asked for; this is about pipes. */
static void more_than_is_allowed_is_refused(void **state)
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
		/* It said so and was let in all the same: the bound holds. */
		{5, 4, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) * 2; i++) {
		struct rig rig = {
			.mode = i & 1,
			.peer_size = cases[i / 2].announced,
			.max_size = cases[i / 2].allowed,
		};
		char says[80];
		struct message abort;

		rig_exchange_regions(&rig, PEER_MEMORY);
		rig_hear_data(&rig, "12345", 5);
		if (cases[i / 2].fits) {
			rig_complete_all(&rig);
			assert_int_equal(rig_count(&rig, MSG_ABORT), 0);
			rig_close(&rig, NULL);
			rig_stop(&rig);
			continue;
		}
		rig_complete_all(&rig);
		snprintf(says, sizeof(says), "it sent more than the %u bytes that --max-size",
			(unsigned int)rig.max_size);
		abort = rig_last(&rig, MSG_ABORT);
		assert_non_null(memmem(abort.text, abort.text_size, says, strlen(says)));
		rig_expect_failure(&rig, FAILURE_LIMIT, STATUS_PEER);
		assert_null(strstr(rig.printed, "remote buffer"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_rig(the_main_thread_hears_of_the_end_of_the_handshake),
		with_rig(what_is_out_of_order_ends_no_handshake),
		with_rig(a_peer_that_only_lives_moves_nothing),
		with_rig(while_our_input_is_slow_the_peer_is_not_idle),
		with_rig(while_our_output_is_slow_the_peer_is_not_idle),
		with_rig(more_than_is_allowed_is_refused),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}

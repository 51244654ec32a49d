/* Starts, feeds and ends a sink. The fixture owns the sink, its ring and the data. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/stream/sink-fixture.h"
#include "tests/unit/unit.h"

uint8_t drain_data[DRAIN_DATA];
struct drain drain;

static uint8_t kept_data[DRAIN_DATA + 1];

int drain_set_up(void **state)
{
	if (output_file_fixture_set_up(state))
		return -1;
	stream_fill(drain_data, 0, DRAIN_DATA);
	drain.sink = NULL;
	drain.workers = 1;
	drain.options = (struct output_file_options){0};
	drain.saved_output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	oracle_init(&drain.oracle);
	ring_init(&drain.ring, drain.memory, DRAIN_RING);
	return drain.saved_output < 0;
}

static void close_drain(void)
{
	sink_close(drain.sink);
	drain.sink = NULL;
	ring_destroy(&drain.ring);
	oracle_destroy(&drain.oracle);
}

int drain_tear_down(void **state)
{
	close_drain();
	dup2(drain.saved_output, STDOUT_FILENO);
	close(drain.saved_output);
	return output_file_fixture_tear_down(state);
}

void drain_again(void)
{
	close_drain();
	oracle_init(&drain.oracle);
	ring_init(&drain.ring, drain.memory, DRAIN_RING);
}

void drain_start(const char *output, uint64_t size)
{
	drain.options.output = output;
	assert_int_equal(sink_open(&drain.sink, &drain.options, size), 0);
	assert_int_equal(sink_start(drain.sink, &drain.ring, DRAIN_MOST, drain.workers,
				 &drain.oracle.listener),
		0);
	assert_int_equal(
		sink_is_running(drain.sink), output != NULL || size > (uint64_t)SINK_TEXT_SIZE);
	assert_int_equal(sink_state(drain.sink), SINK_WORKING);
}

void drain_begin(const char *name)
{
	sink_begin(drain.sink,
		&(struct output_file_offer){
			.name = name, .size = strlen(name), .fallback = "10.0.0.1-45678"},
		false);
}

/*
 * Plays the CQ thread, which never sleeps on a ring. Returns false if the sink gave up before all
 * data was in the ring.
 */
bool drain_arrive(size_t size)
{
	uint64_t position = 0;

	while (position < size) {
		struct ring_level level = ring_level(&drain.ring);
		size_t room = DRAIN_RING - (size_t)(level.filled - level.freed);
		size_t bytes = ring_contiguous(&drain.ring, position);

		if (sink_state(drain.sink) != SINK_WORKING)
			return false;
		if (room == 0)
			a_moment();
		if (bytes > room)
			bytes = room;
		if (bytes > size - position)
			bytes = (size_t)(size - position);
		memcpy(ring_at(&drain.ring, position), drain_data + position, bytes);
		ring_fill(&drain.ring, bytes);
		position += bytes;
	}
	return true;
}

void drain_finish(uint64_t size, size_t digested)
{
	const struct digest digest = digest_of(drain_data, digested);

	sink_finish(drain.sink, size, &digest);
}

void drain_assert_ends(enum sink_state wanted)
{
	oracle_await_end(&drain.oracle);
	assert_int_equal(sink_state(drain.sink), wanted);
	assert_true(oracle_moved(&drain.oracle) > 0);
	assert_true(sink_is_running(drain.sink)); /* until sink_close() */
	if (wanted != SINK_VERIFIED)
		assert_string_equal(sink_name(drain.sink), "");
}

void drain_assert_failed(int error, const char *sentence)
{
	const char *reason;
	int code;

	drain_assert_ends(SINK_FAILED);
	reason = sink_error(drain.sink, &code);
	assert_int_equal(code, error);
	if (sentence)
		assert_string_equal(reason, sentence);
}

void drain_assert_kept(const char *path, size_t size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	size_t at = 0;
	ssize_t got;

	assert_true(file >= 0);
	while ((got = read(file, kept_data + at, sizeof(kept_data) - at)) > 0)
		at += (size_t)got;
	close(file);
	assert_int_equal(at, size);
	assert_memory_equal(kept_data, drain_data, size);
}

int drain_to_pipe(void)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_true(dup2(ends[1], STDOUT_FILENO) >= 0);
	close(ends[1]);
	return ends[0];
}

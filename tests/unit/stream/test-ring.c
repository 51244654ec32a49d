/*
 * The ring: offsets follow from positions at any stream length, no span crosses the end of the
 * ring, data arrives intact in the other thread, and every waiting thread is woken.
 */
#include <string.h>

#include "stream/ring.h"
#include "tests/unit/common/stream-fixture.h"
#include "tests/unit/unit.h"

#define GIB ((uint64_t)1 << 30)

static const size_t sizes[] = {1, 2, 3, 7, 64, 1000, 4096};

/* Stream positions to start from: near the ends of rings and of 32 bits, and far beyond. */
static const uint64_t starts[] = {0, 1, 63, 4095, 4 * GIB - 1, 4 * GIB, 4 * GIB + 1, 4 * GIB - 4095,
	7 * GIB * 1000 - 3, ((uint64_t)1 << 62) - 5, UINT64_MAX - 4 * GIB};

static uint8_t memory[4096];

/* Initializes an empty ring for a stream that has reached this position. */
static void ring_from(struct ring *ring, size_t size, uint64_t position)
{
	ring_init(ring, memory, size);
	ring->filled = ring->freed = position;
}

static void addresses_follow_from_positions(void **state)
{
	struct ring ring;

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		ring_init(&ring, memory, sizes[i]);
		for (size_t j = 0; j < COUNT(starts); j++)
			for (uint64_t at = starts[j]; at < starts[j] + 3 * sizes[i]; at++) {
				size_t place = (size_t)(at % sizes[i]);

				assert_ptr_equal(ring_at(&ring, at), memory + place);
				assert_int_equal(ring_contiguous(&ring, at), sizes[i] - place);
			}
		ring_destroy(&ring);
	}
}

static void starts_empty(void **state)
{
	struct ring_level level;
	struct span span;
	struct ring ring;

	(void)state;
	ring_init(&ring, memory, 64);
	level = ring_level(&ring);
	assert_int_equal(level.filled, 0);
	assert_int_equal(level.freed, 0);
	assert_false(level.ended);
	assert_int_equal(ring_await_space(&ring, SIZE_MAX, &span), RING_READY);
	assert_ptr_equal(span.start, memory);
	assert_int_equal(span.size, 64);
	ring_destroy(&ring);
}

/*
 * Checks a span at this position: limited by the bytes available, by `most` and by the end of the
 * ring.
 */
static void assert_span(const struct ring *ring, const struct span *span, uint64_t position,
	uint64_t bytes, size_t most)
{
	size_t contiguous = ring->size - (size_t)(position % ring->size);
	size_t size = bytes < most ? (size_t)bytes : most;

	assert_ptr_equal(span->start, memory + position % ring->size);
	assert_int_equal(span->size, size < contiguous ? size : contiguous);
}

/* Every fill level at every offset, with every limit. */
static void spans_are_right_at_every_level(void **state)
{
	const size_t size = 7;
	struct span span;
	struct ring ring;

	(void)state;
	for (size_t i = 0; i < COUNT(starts); i++)
		for (uint64_t at = starts[i]; at < starts[i] + size; at++)
			for (size_t level = 0; level <= size; level++)
				for (size_t most = 1; most <= size + 1; most++) {
					ring_from(&ring, size, at);
					ring_fill(&ring, level);
					if (level < size) {
						assert_int_equal(
							ring_await_space(&ring, most, &span),
							RING_READY);
						assert_span(&ring, &span, at + level, size - level,
							most);
					}
					if (level > 0) {
						assert_int_equal(
							ring_await_data(&ring, most, &span),
							RING_READY);
						assert_span(&ring, &span, at, level, most);
					}
					ring_destroy(&ring);
				}
}

static void frees_forwards_only(void **state)
{
	struct ring ring;

	(void)state;
	ring_from(&ring, 64, 4 * GIB - 10);
	ring_fill(&ring, 20);
	ring_free_to(&ring, 4 * GIB + 5);
	assert_int_equal(ring_level(&ring).freed, 4 * GIB + 5);
	ring_free_to(&ring, 4 * GIB - 1);
	ring_free_to(&ring, 5);
	ring_free_to(&ring, 0);
	assert_int_equal(ring_level(&ring).freed, 4 * GIB + 5);
	assert_int_equal(ring_level(&ring).filled, 4 * GIB + 10);
	ring_destroy(&ring);
}

static void ends_after_all_data_is_taken(void **state)
{
	struct span span;
	struct ring ring;

	(void)state;
	ring_init(&ring, memory, 64);
	ring_fill(&ring, 10);
	ring_end(&ring);
	assert_true(ring_level(&ring).ended);
	assert_int_equal(ring_await_data(&ring, 6, &span), RING_READY);
	assert_int_equal(span.size, 6);
	ring_free_to(&ring, 6);
	assert_int_equal(ring_await_data(&ring, 6, &span), RING_READY);
	assert_int_equal(span.size, 4);
	ring_free_to(&ring, 10);
	assert_int_equal(ring_await_data(&ring, 6, &span), RING_ENDED);
	assert_int_equal(ring_await_data(&ring, 6, &span), RING_ENDED);
	ring_destroy(&ring);
}

/* At every fill level, and also after the end. */
static void stopping_ends_all_waits(void **state)
{
	(void)state;
	for (size_t level = 0; level <= 4; level++)
		for (unsigned int ended = 0; ended < 2; ended++) {
			struct span span;
			struct ring ring;

			ring_init(&ring, memory, 4);
			ring_fill(&ring, level);
			if (ended)
				ring_end(&ring);
			ring_stop(&ring);
			ring_stop(&ring);
			ring_begin(&ring);
			assert_int_equal(ring_await_begin(&ring), RING_STOPPED);
			assert_int_equal(ring_await_space(&ring, 4, &span), RING_STOPPED);
			assert_int_equal(ring_await_data(&ring, 4, &span), RING_STOPPED);
			assert_int_equal(ring_await_data(&ring, 4, &span), RING_STOPPED);
			ring_destroy(&ring);
		}
}

/* A thread and its results. Only the main thread asserts. */
struct filler {
	struct ring ring;
	uint64_t bytes; /* to be filled */
	uint64_t seed;
	enum ring_wait wait;
};

static void *fill(void *argument)
{
	struct filler *filler = argument;
	uint64_t position = filler->ring.filled, to = position + filler->bytes;

	while (position < to) {
		struct span span;
		size_t most = (size_t)random_below(&filler->seed, 100) + 1, size;

		if (most > to - position)
			most = (size_t)(to - position);
		filler->wait = ring_await_space(&filler->ring, most, &span);
		if (filler->wait != RING_READY)
			return NULL;
		/* Often fills less than offered, as read(2) may do. */
		size = (size_t)random_below(&filler->seed, span.size) + 1;
		stream_fill(span.start, position, size);
		ring_fill(&filler->ring, size);
		position += size;
	}
	ring_end(&filler->ring);
	return NULL;
}

static void pass_through(size_t size, uint64_t start)
{
	struct filler filler = {.bytes = 50 * size + 1000, .seed = size + 1};
	uint64_t position = start, seed = start + 1;
	enum ring_wait wait;
	struct span span;
	pthread_t thread;

	ring_from(&filler.ring, size, start);
	assert_int_equal(pthread_create(&thread, NULL, fill, &filler), 0);
	while ((wait = ring_await_data(
			&filler.ring, (size_t)random_below(&seed, 100) + 1, &span)) == RING_READY) {
		size_t taken = (size_t)random_below(&seed, span.size) + 1;

		assert_int_equal(stream_compare(span.start, position, taken), taken);
		/* Freed space may be filled again at once. */
		memset(span.start, 0, taken);
		position += taken;
		ring_free_to(&filler.ring, position);
	}
	assert_int_equal(wait, RING_ENDED);
	pthread_join(thread, NULL);
	assert_int_equal(position, start + filler.bytes);
	assert_int_equal(filler.wait, RING_READY);
	ring_destroy(&filler.ring);
}

static void passes_a_stream_between_two_threads(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t j = 0; j < COUNT(starts) - 1; j++)
			pass_through(sizes[i], starts[j]);
}

/* The CQ thread never sleeps on the ring: it polls, and moves the data that is there. */
static void passes_a_stream_to_a_polling_reader(void **state)
{
	struct filler filler = {.bytes = 20000, .seed = 1};
	uint64_t position = 4 * GIB - 1000, end = position + filler.bytes;
	struct ring_level level;
	pthread_t thread;

	(void)state;
	ring_from(&filler.ring, 100, position);
	assert_int_equal(pthread_create(&thread, NULL, fill, &filler), 0);
	do {
		level = ring_level(&filler.ring);
		assert_true(level.filled - level.freed <= 100);
		while (position < level.filled) {
			assert_int_equal(*ring_at(&filler.ring, position), stream_byte(position));
			position++;
		}
		ring_free_to(&filler.ring, position);
	} while (!level.ended);
	assert_int_equal(position, end);
	pthread_join(thread, NULL);
	ring_destroy(&filler.ring);
}

static void *await_data(void *argument)
{
	struct filler *filler = argument;
	struct span span;

	filler->wait = ring_await_data(&filler->ring, 1, &span);
	return NULL;
}

static void *await_begin(void *argument)
{
	struct filler *filler = argument;

	filler->wait = ring_await_begin(&filler->ring);
	return NULL;
}

/* Runs a wait in a full or empty ring, then the action that ends it. */
static enum ring_wait wait_until(void *(*run)(void *), size_t level, void (*action)(struct ring *))
{
	struct filler filler = {.bytes = 1, .seed = 1, .wait = RING_READY};
	pthread_t thread;

	ring_init(&filler.ring, memory, 4);
	ring_fill(&filler.ring, level);
	assert_int_equal(pthread_create(&thread, NULL, run, &filler), 0);
	a_moment();
	action(&filler.ring);
	pthread_join(thread, NULL);
	ring_destroy(&filler.ring);
	return filler.wait;
}

static void fill_one(struct ring *ring)
{
	ring_fill(ring, 1);
}

static void free_one(struct ring *ring)
{
	ring_free_to(ring, 1);
}

static void waiting_threads_are_woken(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(wait_until(fill, 4, ring_stop), RING_STOPPED);
		assert_int_equal(wait_until(fill, 4, free_one), RING_READY);
		assert_int_equal(wait_until(await_data, 0, ring_stop), RING_STOPPED);
		assert_int_equal(wait_until(await_data, 0, ring_end), RING_ENDED);
		assert_int_equal(wait_until(await_data, 0, fill_one), RING_READY);
		assert_int_equal(wait_until(await_begin, 0, ring_begin), RING_READY);
		assert_int_equal(wait_until(await_begin, 0, ring_stop), RING_STOPPED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_follow_from_positions),
		cmocka_unit_test(starts_empty),
		cmocka_unit_test(spans_are_right_at_every_level),
		cmocka_unit_test(frees_forwards_only),
		cmocka_unit_test(ends_after_all_data_is_taken),
		cmocka_unit_test(stopping_ends_all_waits),
		cmocka_unit_test(passes_a_stream_between_two_threads),
		cmocka_unit_test(passes_a_stream_to_a_polling_reader),
		cmocka_unit_test(waiting_threads_are_woken),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}

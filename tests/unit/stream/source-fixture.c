/* Starts, drains and ends a source. The fixture owns the source, its ring and the input files. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/stream/source-fixture.h"
#include "tests/unit/unit.h"

char feed_folder[] = "/tmp/test-source.XXXXXX";
uint8_t feed_data[FEED_DATA];
struct feed feed;

static size_t count_descriptors(void)
{
	size_t count = 0;

	for (int descriptor = 0; descriptor < 256; descriptor++)
		count += fcntl(descriptor, F_GETFD) >= 0;
	return count;
}

int feed_set_up(void **state)
{
	(void)state;
	feed.source = NULL;
	feed.size = 0;
	feed.workers = 1;
	feed.descriptors = count_descriptors();
	feed.saved_input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	oracle_init(&feed.oracle);
	ring_init(&feed.ring, feed.memory, FEED_RING);
	return feed.saved_input < 0;
}

int feed_tear_down(void **state)
{
	(void)state;
	source_close(feed.source);
	ring_destroy(&feed.ring);
	oracle_destroy(&feed.oracle);
	dup2(feed.saved_input, STDIN_FILENO);
	close(feed.saved_input);
	unlink(feed.path);
	assert_int_equal(count_descriptors(), feed.descriptors);
	return 0;
}

void feed_path(const char *name)
{
	snprintf(feed.path, sizeof(feed.path), "%s/%s", feed_folder, name);
}

int feed_make_file(const char *name, size_t size)
{
	int descriptor;

	feed_path(name);
	descriptor = open(feed.path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(descriptor >= 0);
	assert_int_equal(write(descriptor, feed_data, size), size);
	return descriptor;
}

void feed_from_pipe(int *writing)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
	*writing = ends[1];
}

void feed_open(const char *input)
{
	char why[WORKER_WHY_SIZE];

	assert_int_equal(source_open(&feed.source, input, NULL, 0, why), 0);
	assert_false(source_is_text(feed.source));
	assert_false(source_is_running(feed.source));
}

void feed_start(void)
{
	assert_int_equal(source_start(feed.source, &feed.ring, FEED_MOST, feed.workers,
				 &feed.oracle.listener),
		0);
	assert_true(source_is_running(feed.source));
}

bool feed_take(void)
{
	struct span span;

	if (ring_await_data(&feed.ring, FEED_RING, &span) != RING_READY)
		return false;
	assert_true(feed.size + span.size <= sizeof(feed.taken));
	memcpy(feed.taken + feed.size, span.start, span.size);
	feed.size += span.size;
	ring_free_to(&feed.ring, feed.size);
	return true;
}

void feed_run(void)
{
	feed_start();
	source_begin(feed.source);
	while (feed_take())
		;
	oracle_await_end(&feed.oracle);
	/* until source_close() */
	assert_true(source_is_running(feed.source));
	assert_true(oracle_moved(&feed.oracle) > 0);
}

void feed_assert_sent(const void *bytes, size_t size)
{
	const struct digest expected = digest_of(bytes, size);
	struct digest digest;
	const char *why;

	assert_true(ring_level(&feed.ring).ended);
	assert_int_equal(source_result(feed.source, &digest, &why), 0);
	assert_int_equal(feed.size, size);
	assert_memory_equal(feed.taken, bytes, size);
	assert_true(digest_equal(&digest, &expected));
}

int feed_set_up_group(void **state)
{
	(void)state;
	stream_fill(feed_data, 0, sizeof(feed_data));
	return mkdtemp(feed_folder) ? 0 : -1;
}

int feed_tear_down_group(void **state)
{
	(void)state;
	return rmdir(feed_folder);
}

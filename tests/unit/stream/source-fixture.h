/* What the tests of sources share: a source, a small ring that it fills, and files to read. */
#ifndef TESTS_UNIT_STREAM_SOURCE_FIXTURE_H
#define TESTS_UNIT_STREAM_SOURCE_FIXTURE_H

#include "stream/source.h"
#include "tests/unit/common/stream-fixture.h"

/* A ring that is small beside the data, and the most of one read. */
#define FEED_RING ((size_t)64)
#define FEED_MOST ((size_t)16)
#define FEED_DATA (20 * FEED_RING)

extern char feed_folder[];
extern uint8_t feed_data[FEED_DATA];

/* What each test has. Its teardown finds out whether descriptors were left open. */
struct feed {
	struct source *source;
	struct oracle oracle;
	struct ring ring;
	uint8_t memory[FEED_RING];
	uint8_t taken[FEED_DATA + FEED_RING];
	size_t size;    /* of what was taken */
	char path[512]; /* of the last file, which the teardown removes */
	int saved_input;
	size_t descriptors; /* open before */
};

extern struct feed feed;

int feed_set_up(void **state);
int feed_tear_down(void **state);
int feed_set_up_group(void **state);
int feed_tear_down_group(void **state);

/* Names a file of the folder in feed.path. */
void feed_path(const char *name);

/* Makes a file of so many bytes of feed_data; opened for reading and writing. */
int feed_make_file(const char *name, size_t size);

/* Makes standard input a pipe, and hands out its writing end. */
void feed_from_pipe(int *writing);

/* Opens the input, and starts the thread. */
void feed_open(const char *input);
void feed_start(void);

/* Takes what comes next. Returns false at the end. */
bool feed_take(void);

/* Starts, begins, and takes all. */
void feed_run(void);

/* All was taken, and it was this. */
void feed_assert_sent(const void *bytes, size_t size);

#endif

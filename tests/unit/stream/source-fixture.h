/* Shared by the source tests: a source, a small ring that it fills, and input files. */
#ifndef TESTS_UNIT_STREAM_SOURCE_FIXTURE_H
#define TESTS_UNIT_STREAM_SOURCE_FIXTURE_H

#include "stream/source.h"
#include "tests/unit/common/stream-fixture.h"

/* The ring is small compared with the data; FEED_MOST is the maximum size of one read. */
#define FEED_RING ((size_t)64)
#define FEED_MOST ((size_t)16)
#define FEED_DATA (20 * FEED_RING)

extern char feed_folder[];
extern uint8_t feed_data[FEED_DATA];

/* The state of one test. The teardown checks that no descriptor was left open. */
struct feed {
	struct source *source;
	struct oracle oracle;
	struct ring ring;
	uint8_t memory[FEED_RING];
	uint8_t taken[FEED_DATA + FEED_RING];
	size_t size;          /* bytes in taken */
	unsigned int workers; /* 1 unless the test sets it */
	char path[512];       /* the last file, which the teardown removes */
	int saved_input;
	size_t descriptors; /* open before the test */
};

extern struct feed feed;

int feed_set_up(void **state);
int feed_tear_down(void **state);
int feed_set_up_group(void **state);
int feed_tear_down_group(void **state);

/* Sets feed.path to this name in the folder. */
void feed_path(const char *name);

/*
 * Creates a file with the first `size` bytes of feed_data. Returns a descriptor for reading and
 * writing.
 */
int feed_make_file(const char *name, size_t size);

/* Redirects standard input from a pipe. *writing is its write end, which the caller closes. */
void feed_from_pipe(int *writing);

/* Opens the input; starts the thread. */
void feed_open(const char *input);
void feed_start(void);

/* Takes the next span from the ring. Returns false at the end. */
bool feed_take(void);

/* Starts and begins the source, and takes everything. */
void feed_run(void);

/* Checks that exactly these bytes were sent, with their digest. */
void feed_assert_sent(const void *bytes, size_t size);

#endif

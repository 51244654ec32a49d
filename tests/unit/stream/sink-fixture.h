/*
 * Shared by the sink tests: a sink, a small ring that it drains, and the data. Each test runs in
 * its own folder (tests/unit/stream/output-file-fixture.h).
 */
#ifndef TESTS_UNIT_STREAM_SINK_FIXTURE_H
#define TESTS_UNIT_STREAM_SINK_FIXTURE_H

#include "stream/sink.h"
#include "stream/source.h"
#include "tests/unit/common/stream-fixture.h"

/* The ring is small compared with the data; DRAIN_MOST is the maximum size of one write. */
#define DRAIN_RING ((size_t)4096)
#define DRAIN_MOST ((size_t)1000)
#define DRAIN_DATA (100 * DRAIN_RING)

extern uint8_t drain_data[DRAIN_DATA];

/* The state of one test. */
struct drain {
	struct sink *sink;
	unsigned int workers; /* 1 unless the test sets it */
	struct output_file_options options;
	struct oracle oracle;
	struct ring ring;
	uint8_t memory[DRAIN_RING];
	int saved_output;
};

extern struct drain drain;

int drain_set_up(void **state);
int drain_tear_down(void **state);

#define SINK_TEST(function) cmocka_unit_test_setup_teardown(function, drain_set_up, drain_tear_down)

/* Redirects standard output to a pipe. Returns the read end, which the caller closes. */
int drain_to_pipe(void);

/* Opens and starts a sink with this output, or NULL for none, for a stream of that size. */
void drain_start(const char *output, uint64_t size);

/* The peer offers its data under this name. */
void drain_begin(const char *name);

/*
 * Puts the data into the ring as the CQ thread does, without sleeping on the ring. Returns false if
 * the sink gave up before all of it was there.
 */
bool drain_arrive(size_t size);

/*
 * The peer announces the end: `size` bytes, with the digest of the first `digested` bytes of the
 * data.
 */
void drain_finish(uint64_t size, size_t digested);

/* Waits until the sink's thread ends, and checks its state and, unless NULL, the error message. */
void drain_assert_ends(enum sink_state wanted);
void drain_assert_failed(int error, const char *sentence);

/* Checks that the file contains exactly the first `size` bytes of the data. */
void drain_assert_kept(const char *path, size_t size);

/* Closes one stream of a test, so that the next one can start. */
void drain_again(void);

#endif

/*
 * What the tests of sinks share: a sink, a small ring that it empties, and data for it. Each test
 * runs in a folder of its own (tests/unit/stream/output-file-fixture.h).
 */
#ifndef TESTS_UNIT_STREAM_SINK_FIXTURE_H
#define TESTS_UNIT_STREAM_SINK_FIXTURE_H

#include "stream/sink.h"
#include "stream/source.h"
#include "tests/unit/common/stream-fixture.h"

/* A ring that is small beside the data, and the most of one write. */
#define DRAIN_RING ((size_t)4096)
#define DRAIN_MOST ((size_t)1000)
#define DRAIN_DATA (100 * DRAIN_RING)

extern uint8_t drain_data[DRAIN_DATA];

/* What each test has. */
struct drain {
	struct sink *sink;
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

/* Makes standard output a pipe, and hands out the end to read from. */
int drain_to_pipe(void);

/* Opens and starts a sink with this output, or none, for a stream of that size. */
void drain_start(const char *output, uint64_t size);

/* The peer offers its data under that name. */
void drain_begin(const char *name);

/*
 * Lets data arrive as the CQ thread does, which sleeps for no ring. Returns false when the sink has
 * given up before all of it was there.
 */
bool drain_arrive(size_t size);

/* The peer says what it sent: so many bytes with the digest of that many. */
void drain_finish(uint64_t size, size_t digested);

/* What became of it, once a thread is through; and with which sentence, if that is not NULL. */
void drain_assert_ends(enum sink_state wanted);
void drain_assert_failed(int error, const char *sentence);

/* The file holds the first bytes of the data, and nothing else. */
void drain_assert_kept(const char *path, size_t size);

/* Ends one stream of a test, so that the next can begin. */
void drain_again(void);

#endif

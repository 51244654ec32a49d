/*
 * Streams between two ends on a made-up device, which carries out their work requests in any order
 * that a connection allows and ends the test where one of them breaks a rule.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"

/* The sizes that matter to rings and chunks, of which there may be these. */
static const uint64_t sizes[] = {0, 1, 999, 1000, 1001, 1024, 1025, 4095, 4096, 4097, 8191, 8192, 8193,
	50000};

/* What one end sends; what the other must find. */
struct stream {
	int file;
	char path[32];
	struct digest digest;
	uint64_t size;
};

static void make_stream(
	struct stream *stream, struct rig *from, uint64_t size, unsigned int seed)
{
	stream->size = size;
	stream->file = pair_file(size, seed, stream->path, &stream->digest);
	from->input = stream->path;
}

/* What a side prints of a stream that it received and does not keep. */
static void expect_printed(const struct rig *rig, const struct stream *stream)
{
	char digest[DIGEST_TEXT_SIZE], line[128];

	if (stream->size <= SINK_TEXT_SIZE)
		return;
	digest_text(digest, &stream->digest);
	snprintf(line, sizeof(line), "remote buffer: %" PRIu64 " bytes, XXH3 %s\n", stream->size,
		digest);
	if (!strstr(rig->printed, line))
		fail_msg("no '%s' in '%s'", line, rig->printed);
}

/* Runs the pair until it is over, and expects that both ends have what the other sent. */
static void expect_exchange(struct pair *pair)
{
	pair_start(pair);
	pair_run(pair);
	assert_int_equal(rig_notes(&pair->active) & CONNECTION_FINISHED, CONNECTION_FINISHED);
	assert_int_equal(rig_notes(&pair->passive) & CONNECTION_FINISHED, 0);
	pair_close(pair);
	pair_stop(pair);
	if (failure_is_set(&pair->active.outcome))
		fail_msg("active: %s", pair->active.outcome.evidence);
	if (failure_is_set(&pair->passive.outcome))
		fail_msg("passive: %s", pair->passive.outcome.evidence);
}

static void any_size_goes_both_ways(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < COUNT(sizes) * MODE_COUNT * 2; i++) {
		uint64_t size = sizes[i / 2 / MODE_COUNT], other = sizes[i * 7 % COUNT(sizes)];
		struct pair pair = {.chance = i};
		struct stream up, down;

		pair.active.mode = i % MODE_COUNT;
		pair.active.transport = i & 2 ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
		pair.active.buffer = pair.passive.buffer = 8192;
		pair.active.chunk = pair.passive.chunk = 1000;
		make_stream(&up, &pair.active, size, i);
		make_stream(&down, &pair.passive, other, ~i);
		expect_exchange(&pair);
		expect_printed(&pair.active, &up);
		expect_printed(&pair.active, &down);
		close(up.file);
		close(down.file);
	}
}

/* Whatever the two ends have for a stream: it arrives, and no rule is broken. */
static void any_two_ends_fit(void **state)
{
	static const uint64_t buffers[] = {8192, 16384, 24576, 65536};
	static const uint32_t chunks[] = {512, 700, 1000, 2048, 4096, 65536};
	static const uint32_t depths[] = {1, 2, 3, 5, 16, 0};

	(void)state;
	for (unsigned int i = 0; i < 96; i++) {
		struct pair pair = {.chance = i};
		struct rig *ends[] = {&pair.active, &pair.passive};
		struct stream streams[2];
		unsigned int dice = i;

		pair.active.mode = i % MODE_COUNT;
		pair.active.transport = i & 2 ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
		for (unsigned int end = 0; end < 2; end++) {
			ends[end]->buffer = buffers[(unsigned int)rand_r(&dice) % COUNT(buffers)];
			ends[end]->chunk = chunks[(unsigned int)rand_r(&dice) % COUNT(chunks)];
			ends[end]->depth = depths[(unsigned int)rand_r(&dice) % COUNT(depths)];
			ends[end]->reads = (uint8_t)(rand_r(&dice) % 4 + 1);
			make_stream(&streams[end], ends[end],
				(uint64_t)rand_r(&dice) % 60000, i);
		}
		expect_exchange(&pair);
		for (unsigned int end = 0; end < 2; end++) {
			expect_printed(&pair.active, &streams[end]);
			close(streams[end].file);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_rig(any_size_goes_both_ways),
		with_rig(any_two_ends_fit),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}

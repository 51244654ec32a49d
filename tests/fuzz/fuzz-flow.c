/*
 * The flow control between two ends of ours, in the model that the unit tests walk through
 * (flow-model.h), with any rings, chunks, depths and positions and in any order: no byte is lost or
 * overwritten, and in the end all has arrived.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/exchange/flow-control-model.h"

/* Streams so long that the rings go round several times. */
#define LENGTH_MAX 255

/* NOLINTNEXTLINE(readability-non-const-parameter): that is how libFuzzer calls it */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	/* What the model finds wrong ends the process. */
	return setenv("CMOCKA_TEST_ABORT", "1", 1);
}

static struct setting read_setting(struct fuzz_input *input)
{
	uint8_t kind = fuzz_byte(input);
	struct setting setting = {
		.sender_ring = fuzz_byte(input) % 64U + 1,
		.receiver_ring = fuzz_byte(input) % 64U + 1,
		.sender_chunk = fuzz_byte(input) % 80U + 1,
		.receiver_chunk = fuzz_byte(input) % 80U + 1,
		.depth = fuzz_byte(input) % DEPTH_MAX + 1U,
		.reads = fuzz_byte(input) % READS_MAX + 1U,
		.writes = kind & 1,
		.unknown = kind & 2,
	};

	if (kind & 4)
		setting.from = fuzz_number(input, 8) >> 1;
	setting.to = setting.from + fuzz_byte(input) % LENGTH_MAX;
	return setting;
}

/* Lets everything happen that can, in turns, until nothing can. */
static void finish(const struct setting *setting, struct world *world)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (enum occurrence occurrence = 0; occurrence < OCCURRENCES; occurrence++)
			moved |= flow_model_occur(setting, world, occurrence);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	struct setting setting = read_setting(&input);
	struct world world;

	begin(&setting, &world);
	while (input.left > 0)
		flow_model_occur(
			&setting, &world, (enum occurrence)(fuzz_byte(&input) % OCCURRENCES));
	finish(&setting, &world);
	assert_final(&setting, &world);
	return 0;
}

/* Plans and tallies of runs: what is taken somebody can carry out; sent again, it is the same. */
#include <errno.h>

#include "fuzz.h"
#include "lib/plan.h"

static void check_plan(const uint8_t *data, size_t size)
{
	void *exact = fuzz_copy(data, size);
	uint8_t bytes[PLAN_SIZE], again[PLAN_SIZE];
	struct plan plan, back;
	int error = plan_decode(&plan, exact, size);

	free(exact);
	fuzz_check(error == 0 || error == -EPROTO);
	fuzz_check(size == PLAN_SIZE || error);
	if (error)
		return;
	fuzz_check(plan.kind < PLAN_KINDS && plan.wait < PLAN_WAITS);
	fuzz_check(plan.size > 0 && plan.operations + plan.milliseconds > 0);
	fuzz_check(plan.queue_pairs > 0 && plan.queue_pairs <= PLAN_QUEUE_PAIRS_MAX);
	fuzz_check(plan.depth > 0 && plan.depth <= PLAN_DEPTH_MAX);
	fuzz_check(plan.queue_pairs * plan.depth <= PLAN_REQUESTS_MAX);
	fuzz_check(plan.slots > 0 && plan.slots <= plan.depth);
	/* No product is cut. */
	fuzz_check(plan_memory(&plan) / plan.size == plan.slots * plan.queue_pairs);
	plan_encode(&plan, bytes);
	fuzz_check(plan_decode(&back, bytes, PLAN_SIZE) == 0);
	plan_encode(&back, again);
	fuzz_check(memcmp(bytes, again, PLAN_SIZE) == 0);
	/* But for the flags, which are 1 or nothing, and for what is not looked at. */
	fuzz_check(memcmp(bytes, data, 4) == 0 && memcmp(bytes + 8, data + 8, 20) == 0);
	fuzz_check(memcmp(bytes + 32, data + 32, 16) == 0);
	for (size_t i = 4; i < 7; i++)
		fuzz_check(bytes[i] == (data[i] == 1));
}

static void check_tally(const uint8_t *data, size_t size)
{
	void *exact = fuzz_copy(data, size);
	uint8_t bytes[TALLY_SIZE];
	struct tally tally;
	int error = tally_decode(&tally, exact, size);

	free(exact);
	fuzz_check(error == (size == TALLY_SIZE ? 0 : -EPROTO));
	if (error)
		return;
	tally_encode(&tally, bytes);
	fuzz_check(memcmp(bytes, data, 56) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_plan(data, size);
	check_tally(data, size);
	return 0;
}

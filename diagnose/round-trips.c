/* Round trips of the message check: see diagnose/round-trips.h. */
#include "diagnose/round-trips.h"

/*
 * A path delays all packets alike, a busy host each one differently: a delay is steady if, apart
 * from the shortest round trip, one in STEADY_PART takes at most a quarter longer than it.
 */
#define STEADY_PART 3

uint64_t round_trips_shortest(const uint64_t *took, unsigned int count)
{
	uint64_t shortest = took[0];

	for (unsigned int i = 1; i < count; i++)
		if (took[i] < shortest)
			shortest = took[i];
	return shortest;
}

static bool is_steady(const uint64_t *took, unsigned int count, uint64_t shortest)
{
	unsigned int steady = 0;

	for (unsigned int i = 0; i < count; i++)
		steady += took[i] <= shortest + shortest / 4;
	/* The shortest one is among them. */
	return (steady - 1) * STEADY_PART >= count - 1;
}

void round_trips_judge(struct check_list *list, const uint64_t *took, unsigned int count)
{
	uint64_t shortest = round_trips_shortest(took, count);
	double milliseconds = (double)shortest / 1e6;
	struct failure failure = {0};

	if (shortest < ROUND_TRIPS_SLOW) {
		check_list_ok(list, CHECK_MESSAGE, "round trip in %.3g ms", milliseconds);
	} else if (count == 1) {
		check_list_ok(list, CHECK_MESSAGE,
			"the only round trip took %.1f ms; a host seems to be busy, or the path is "
			"slow",
			milliseconds);
	} else if (count < ROUND_TRIPS_LEAST) {
		check_list_ok(list, CHECK_MESSAGE,
			"shortest of only %u round trips: %.1f ms; a host seems to be busy, or the "
			"path is slow",
			count, milliseconds);
	} else if (!is_steady(took, count, shortest)) {
		check_list_ok(list, CHECK_MESSAGE,
			"shortest of %u irregular round trips: %.1f ms; a host seems to be busy",
			count, milliseconds);
	} else {
		failure_set(&failure, FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_DELAY, "diagnose",
			"shortest of %u round trips: %.1f ms", count, milliseconds);
		check_list_fail(list, CHECK_MESSAGE, &failure);
	}
}

/* See diagnose/slow-direction.h. */
#include "diagnose/slow-direction.h"
#include "measure/report.h"

/* Data is slow in one direction if the other is more than this many times faster. */
#define LOPSIDED 4

enum impairment slow_direction_suspected(uint64_t there, uint64_t back)
{
	if (there < back / LOPSIDED)
		return IMPAIRED_SLOW_TO;
	return back < there / LOPSIDED ? IMPAIRED_SLOW_FROM : IMPAIRED_SPEED;
}

void slow_direction_add(
	struct slow_direction *direction, bool slow, const struct test_result *result)
{
	double average = measurement_rate_of(result), best = (double)result->best;

	if (!slow && (direction->floor == 0 || average < direction->floor))
		direction->floor = average;
	if (slow && average > direction->peak)
		direction->peak = average;
	if (slow && best > direction->peak)
		direction->peak = best;
}

bool slow_direction_holds(const struct slow_direction *direction)
{
	return direction->floor > direction->peak * LOPSIDED;
}

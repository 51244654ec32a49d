/*
 * Whether data moves several times slower in one direction than in the other. A host that is busy
 * for a moment slows down whatever is measured then, so that a difference between two tests proves
 * nothing. A limit on the way holds at any time: the slow direction is slow in each tenth of a
 * second of each test, and the other one fast in each test. Any thread.
 */
#ifndef DIAGNOSE_SLOW_DIRECTION_H
#define DIAGNOSE_SLOW_DIRECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "protocol/test-parameters.h"

/*
 * The direction whose rate is several times lower, IMPAIRED_SLOW_..., or IMPAIRED_SPEED for
 * neither.
 */
enum impairment slow_direction_suspected(uint64_t there, uint64_t back);

/* What the tests that confirm the suspicion have shown. Zero it first. */
struct slow_direction {
	double peak;  /* the highest rate of the slow direction, also of a tenth of a second */
	double floor; /* the lowest average of the other direction; 0: none yet */
};

/* Adds a test of the slow or the other direction: the result of the end that sent. */
void slow_direction_add(
	struct slow_direction *direction, bool slow, const struct test_result *result);

/* True if no test contradicts the suspicion. */
bool slow_direction_holds(const struct slow_direction *direction);

#endif

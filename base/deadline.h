/* Points in time on the monotonic clock, in milliseconds. Any thread. */
#ifndef BASE_DEADLINE_H
#define BASE_DEADLINE_H

#include <stdint.h>

typedef int64_t deadline_t;

/* Returns the current time. clock_gettime(2), CLOCK_MONOTONIC. */
deadline_t deadline_now(void);

/* Returns the time this many milliseconds from now. */
deadline_t deadline_in(int64_t milliseconds);

/*
 * Returns the milliseconds left, 0 after the deadline. Suitable as a timeout for poll(2) and
 * rdmacm.
 */
int deadline_left(deadline_t deadline);

#endif

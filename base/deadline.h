/* Points in time on the monotonic clock, in milliseconds. Any thread. */
#ifndef BASE_DEADLINE_H
#define BASE_DEADLINE_H

#include <stdint.h>

typedef int64_t deadline_t;

/* Now, as a point in time. clock_gettime(2), CLOCK_MONOTONIC. */
deadline_t deadline_now(void);

/* The point in time that many milliseconds from now. */
deadline_t deadline_in(int64_t milliseconds);

/* Milliseconds left, 0 if it has passed; fits the timeout of poll(2) and of rdmacm. */
int deadline_left(deadline_t deadline);

#endif

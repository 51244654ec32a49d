/* The monotonic clock in nanoseconds, to measure and to pace. Any thread. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Returns the current time. clock_gettime(2), CLOCK_MONOTONIC. */
uint64_t clock_now_ns(void);

#endif

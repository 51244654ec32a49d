/* Deadlines in milliseconds of CLOCK_MONOTONIC. Plain values that own nothing. */
#include <limits.h>
#include <time.h>

#include "base/deadline.h"

deadline_t deadline_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (deadline_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

deadline_t deadline_in(int64_t milliseconds)
{
	return deadline_now() + milliseconds;
}

int deadline_left(deadline_t deadline)
{
	deadline_t left = deadline - deadline_now();

	if (left <= 0)
		return 0;
	return left > INT_MAX ? INT_MAX : (int)left;
}

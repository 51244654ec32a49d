/* State shared by the threads of a test, and the rates of its intervals. */
#include <time.h>

#include "measure/shared-state.h"

void intervals_init(struct intervals *intervals, uint64_t now)
{
	*intervals = (struct intervals){.began = now, .last = now};
}

void intervals_add(struct intervals *intervals, uint64_t now, uint64_t bytes)
{
	uint64_t length, rate;

	/* A gap this long is itself an interval. The incomplete interval before it is discarded. */
	if (now - intervals->last >= INTERVAL_NS) {
		intervals->began = intervals->last;
		intervals->before = intervals->until_last;
	}
	intervals->last = now;
	intervals->until_last = bytes;
	length = now - intervals->began;
	if (length < INTERVAL_NS)
		return;
	rate = (uint64_t)((double)(bytes - intervals->before) * 1e9 / (double)length);
	if (intervals->best == 0 || rate < intervals->worst)
		intervals->worst = rate;
	if (rate > intervals->best)
		intervals->best = rate;
	intervals->began = now;
	intervals->before = bytes;
}

void intervals_include(struct intervals *intervals, uint64_t bytes, uint64_t nanoseconds)
{
	uint64_t rate;

	if (intervals->best == 0 || nanoseconds == 0)
		return;
	rate = (uint64_t)((double)bytes * 1e9 / (double)nanoseconds);
	if (rate < intervals->worst)
		intervals->worst = rate;
	if (rate > intervals->best)
		intervals->best = rate;
}

uint64_t test_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void test_shared_init(struct test_shared *shared, uint64_t now)
{
	*shared = (struct test_shared){.start = now, .lock = PTHREAD_MUTEX_INITIALIZER};
	intervals_init(&shared->intervals, now);
}

void test_shared_add(struct test_shared *shared, uint64_t now, uint64_t bytes)
{
	pthread_mutex_lock(&shared->lock);
	/* Another thread with a later timestamp may have acquired the lock first. */
	if (now < shared->intervals.last)
		now = shared->intervals.last;
	shared->bytes += bytes;
	intervals_add(&shared->intervals, now, shared->bytes);
	pthread_mutex_unlock(&shared->lock);
}

struct intervals test_shared_intervals(struct test_shared *shared)
{
	struct intervals intervals;

	pthread_mutex_lock(&shared->lock);
	intervals = shared->intervals;
	pthread_mutex_unlock(&shared->lock);
	return intervals;
}

#include "measure/shared-state.h"

void test_shared_init(struct test_shared *shared, uint64_t now)
{
	*shared = (struct test_shared){.start = now, .lock = PTHREAD_MUTEX_INITIALIZER};
	intervals_init(&shared->intervals, now);
}

void test_shared_add(struct test_shared *shared, uint64_t now, uint64_t bytes)
{
	pthread_mutex_lock(&shared->lock);
	/* Another thread, with a later time, may have got the lock first. */
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

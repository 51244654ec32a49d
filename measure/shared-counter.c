/* Counters that sessions share: see measure/shared-counter.h. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "measure/shared-counter.h"
#include "protocol/test-operation.h"

struct shared_counter {
	TAILQ_ENTRY(shared_counter) next;
	uint64_t number;
	unsigned int shares;
	struct region memory;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list and its counters */
static TAILQ_HEAD(, shared_counter) counters = TAILQ_HEAD_INITIALIZER(counters);

/* The counter with this number, or NULL. */
static struct shared_counter *find(uint64_t number)
{
	struct shared_counter *counter;

	TAILQ_FOREACH (counter, &counters, next)
		if (counter->number == number)
			break;
	return counter;
}

/* Returns NULL with the failure recorded if there is no memory. */
static struct shared_counter *make(
	uint64_t number, const struct device *device, struct failure *failure)
{
	struct shared_counter *counter = calloc(1, sizeof(*counter));

	if (!counter) {
		failure_errno(failure, PHASE_ALLOCATION, "calloc", ENOMEM);
		return NULL;
	}
	counter->number = number;
	if (region_map(&counter->memory, device, TEST_ATOMIC_SIZE, 0, failure)) {
		free(counter);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&counters, counter, next);
	return counter;
}

/* Takes the counter with this number, which is made if there is none. */
static struct shared_counter *take(
	uint64_t number, const struct device *device, struct failure *failure)
{
	struct shared_counter *counter;

	pthread_mutex_lock(&lock);
	counter = find(number);
	if (!counter)
		counter = make(number, device, failure);
	if (counter)
		counter->shares++;
	pthread_mutex_unlock(&lock);
	return counter;
}

int counter_share_join(struct counter_share *share, uint64_t number, const struct device *device,
	struct ibv_pd *pd, struct failure *failure)
{
	if (share->counter && share->counter->number == number)
		return 0;
	counter_share_leave(share);
	share->counter = take(number, device, failure);
	if (!share->counter)
		return -1;
	share->region = (struct region){
		.start = share->counter->memory.start,
		.size = TEST_ATOMIC_SIZE,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	};
	if (region_register(&share->region, pd, failure) == 0)
		return 0;
	counter_share_leave(share);
	return -1;
}

void counter_share_leave(struct counter_share *share)
{
	struct shared_counter *counter = share->counter;

	if (!counter)
		return;
	region_revoke(&share->region);
	*share = (struct counter_share){0};
	pthread_mutex_lock(&lock);
	if (--counter->shares == 0) {
		TAILQ_REMOVE(&counters, counter, next);
		region_free(&counter->memory);
		free(counter);
	}
	pthread_mutex_unlock(&lock);
}

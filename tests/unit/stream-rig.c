#include <poll.h>
#include <time.h>

#include "stream-rig.h"
#include "unit.h"

/* Seconds until a test gives up: more than the slowest sanitizer takes. */
#define PATIENCE 60

uint8_t stream_byte(uint64_t position)
{
	return (uint8_t)((position * 0x9e3779b97f4a7c15) >> 56);
}

void stream_fill(void *bytes, uint64_t position, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)bytes)[i] = stream_byte(position + i);
}

size_t stream_compare(const void *bytes, uint64_t position, size_t size)
{
	size_t same = 0;

	while (same < size && ((const uint8_t *)bytes)[same] == stream_byte(position + same))
		same++;
	return same;
}

/* xorshift64* */
uint64_t random_below(uint64_t *seed, uint64_t below)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return (*seed * 0x2545f4914f6cdd1d >> 16) % below;
}

void a_moment(void)
{
	poll(NULL, 0, 2);
}

static void moved(void *about)
{
	struct witness *witness = about;

	pthread_mutex_lock(&witness->lock);
	witness->moved++;
	pthread_cond_signal(&witness->changed);
	pthread_mutex_unlock(&witness->lock);
}

static void ended(void *about)
{
	struct witness *witness = about;

	pthread_mutex_lock(&witness->lock);
	witness->ended++;
	pthread_cond_signal(&witness->changed);
	pthread_mutex_unlock(&witness->lock);
}

void witness_init(struct witness *witness)
{
	*witness = (struct witness){.listener = {moved, ended, witness}};
	pthread_mutex_init(&witness->lock, NULL);
	pthread_cond_init(&witness->changed, NULL);
}

void witness_destroy(struct witness *witness)
{
	pthread_cond_destroy(&witness->changed);
	pthread_mutex_destroy(&witness->lock);
}

void witness_await_end(struct witness *witness)
{
	struct timespec until;
	unsigned int count;
	int error = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	pthread_mutex_lock(&witness->lock);
	while (witness->ended == 0 && error == 0)
		error = pthread_cond_timedwait(&witness->changed, &witness->lock, &until);
	count = witness->ended;
	pthread_mutex_unlock(&witness->lock);
	assert_int_equal(count, 1);
}

unsigned int witness_moved(struct witness *witness)
{
	unsigned int count;

	pthread_mutex_lock(&witness->lock);
	count = witness->moved;
	pthread_mutex_unlock(&witness->lock);
	return count;
}

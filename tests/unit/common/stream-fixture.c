/* Stream bytes by position, reproducible random numbers, and a listener that counts events. */
#include <poll.h>
#include <time.h>

#include "tests/unit/common/stream-fixture.h"
#include "tests/unit/unit.h"

/* Timeout of a test in seconds: longer than the slowest sanitizer needs. */
#define WAIT_SECONDS 60

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

/* The xorshift64* generator. */
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
	struct oracle *oracle = about;

	pthread_mutex_lock(&oracle->lock);
	oracle->moved++;
	pthread_cond_signal(&oracle->changed);
	pthread_mutex_unlock(&oracle->lock);
}

static void ended(void *about)
{
	struct oracle *oracle = about;

	pthread_mutex_lock(&oracle->lock);
	oracle->ended++;
	pthread_cond_signal(&oracle->changed);
	pthread_mutex_unlock(&oracle->lock);
}

void oracle_init(struct oracle *oracle)
{
	*oracle = (struct oracle){.listener = {moved, ended, oracle, NULL}};
	pthread_mutex_init(&oracle->lock, NULL);
	pthread_cond_init(&oracle->changed, NULL);
}

void oracle_destroy(struct oracle *oracle)
{
	pthread_cond_destroy(&oracle->changed);
	pthread_mutex_destroy(&oracle->lock);
}

void oracle_await_end(struct oracle *oracle)
{
	struct timespec until;
	unsigned int count;
	int error = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_SECONDS;
	pthread_mutex_lock(&oracle->lock);
	while (oracle->ended == 0 && error == 0)
		error = pthread_cond_timedwait(&oracle->changed, &oracle->lock, &until);
	count = oracle->ended;
	pthread_mutex_unlock(&oracle->lock);
	assert_int_equal(count, 1);
}

unsigned int oracle_moved(struct oracle *oracle)
{
	unsigned int count;

	pthread_mutex_lock(&oracle->lock);
	count = oracle->moved;
	pthread_mutex_unlock(&oracle->lock);
	return count;
}

/*
 * A ring of bytes: positions and flags under one lock, and a condition variable for the sleeping
 * thread. The ring owns the lock and the condition variable; the caller owns the memory, and
 * exchange/buffers.c chooses its size.
 */
#include "stream/ring.h"

void ring_init(struct ring *ring, void *memory, size_t size)
{
	*ring = (struct ring){.start = memory, .size = size};
	pthread_mutex_init(&ring->lock, NULL);
	pthread_cond_init(&ring->changed, NULL);
}

void ring_destroy(struct ring *ring)
{
	pthread_cond_destroy(&ring->changed);
	pthread_mutex_destroy(&ring->lock);
}

uint8_t *ring_at(const struct ring *ring, uint64_t position)
{
	return ring->start + position % ring->size;
}

size_t ring_contiguous(const struct ring *ring, uint64_t position)
{
	return ring->size - (size_t)(position % ring->size);
}

/* The contiguous bytes at this position, at most `most` of `bytes`. */
static struct span span_at(const struct ring *ring, uint64_t position, size_t bytes, size_t most)
{
	size_t contiguous = ring_contiguous(ring, position);
	struct span span = {ring_at(ring, position), bytes < most ? bytes : most};

	if (span.size > contiguous)
		span.size = contiguous;
	return span;
}

enum ring_wait ring_await_begin(struct ring *ring)
{
	enum ring_wait result;

	pthread_mutex_lock(&ring->lock);
	while (!ring->stopped && !ring->begun)
		pthread_cond_wait(&ring->changed, &ring->lock);
	result = ring->stopped ? RING_STOPPED : RING_READY;
	pthread_mutex_unlock(&ring->lock);
	return result;
}

enum ring_wait ring_await_space(struct ring *ring, size_t most, struct span *span)
{
	enum ring_wait result = RING_READY;

	pthread_mutex_lock(&ring->lock);
	while (!ring->stopped && ring->filled - ring->freed == ring->size)
		pthread_cond_wait(&ring->changed, &ring->lock);
	if (ring->stopped)
		result = RING_STOPPED;
	else
		*span = span_at(ring, ring->filled,
			ring->size - (size_t)(ring->filled - ring->freed), most);
	pthread_mutex_unlock(&ring->lock);
	return result;
}

enum ring_wait ring_await_data(struct ring *ring, size_t most, struct span *span)
{
	enum ring_wait result = RING_READY;

	pthread_mutex_lock(&ring->lock);
	while (!ring->stopped && ring->filled == ring->freed && !ring->ended)
		pthread_cond_wait(&ring->changed, &ring->lock);
	if (ring->stopped)
		result = RING_STOPPED;
	else if (ring->filled == ring->freed)
		result = RING_ENDED;
	else
		*span = span_at(ring, ring->freed, (size_t)(ring->filled - ring->freed), most);
	pthread_mutex_unlock(&ring->lock);
	return result;
}

void ring_begin(struct ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->begun = true;
	pthread_cond_signal(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
}

void ring_fill(struct ring *ring, size_t bytes)
{
	pthread_mutex_lock(&ring->lock);
	ring->filled += bytes;
	pthread_cond_signal(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
}

void ring_end(struct ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->ended = true;
	pthread_cond_signal(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
}

void ring_free_to(struct ring *ring, uint64_t position)
{
	pthread_mutex_lock(&ring->lock);
	if (position > ring->freed)
		ring->freed = position;
	pthread_cond_signal(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
}

struct ring_level ring_level(struct ring *ring)
{
	struct ring_level level;

	pthread_mutex_lock(&ring->lock);
	level = (struct ring_level){ring->filled, ring->freed, ring->ended};
	pthread_mutex_unlock(&ring->lock);
	return level;
}

void ring_stop(struct ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->stopped = true;
	pthread_cond_broadcast(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
}

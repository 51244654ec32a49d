/*
 * A ring of bytes: positions and flags under one lock, and a condition variable for the sleeping
 * threads. The ring owns the lock and the condition variable; the caller owns the memory, and
 * exchange/buffers.c chooses its size.
 */
#include "stream/ring.h"

/* ring_free_to() reports each of this many parts of the ring, or of its room for pieces. */
#define PARTS        4
#define PARTS_PLACED 2

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

void ring_use_pieces(struct ring *ring, struct span *pieces, unsigned int room)
{
	ring->pieces = pieces;
	ring->room = room;
}

void ring_place(struct ring *ring, uint8_t *start)
{
	ring->place = start;
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

/* The first placed piece that is not free. */
static struct span *first_piece(const struct ring *ring)
{
	return &ring->pieces[ring->pieces_freed % ring->room];
}

/* The bytes at this position, at most `most`, of the placed piece in which it lies. */
static struct span piece_at(const struct ring *ring, uint64_t position, size_t most)
{
	uint64_t number = ring->pieces_freed, start = ring->freed;
	struct span span = *first_piece(ring);

	while (position - start >= span.size) {
		start += span.size;
		span = ring->pieces[++number % ring->room];
	}
	span.start += position - start;
	span.size -= (size_t)(position - start);
	if (span.size > most)
		span.size = most;
	return span;
}

/* Frees this many bytes of the placed pieces. */
static void free_pieces(struct ring *ring, uint64_t bytes)
{
	struct span *piece;

	while (bytes > 0) {
		piece = first_piece(ring);
		if (bytes < piece->size) {
			piece->start += bytes;
			piece->size -= (size_t)bytes;
			return;
		}
		bytes -= piece->size;
		ring->pieces_freed++;
	}
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

enum ring_wait ring_await_space_at(
	struct ring *ring, uint64_t position, size_t most, struct span *span)
{
	enum ring_wait result = RING_READY;

	pthread_mutex_lock(&ring->lock);
	while (!ring->stopped && position - ring->freed >= ring->size)
		pthread_cond_wait(&ring->changed, &ring->lock);
	if (ring->stopped)
		result = RING_STOPPED;
	else
		*span = span_at(
			ring, position, ring->size - (size_t)(position - ring->freed), most);
	pthread_mutex_unlock(&ring->lock);
	return result;
}

/* Only filling threads change `filled`. */
enum ring_wait ring_await_space(struct ring *ring, size_t most, struct span *span)
{
	return ring_await_space_at(ring, ring->filled, most, span);
}

enum ring_wait ring_await_data_at(
	struct ring *ring, uint64_t position, size_t most, struct span *span)
{
	enum ring_wait result = RING_READY;

	pthread_mutex_lock(&ring->lock);
	while (!ring->stopped && ring->filled <= position && !ring->ended)
		pthread_cond_wait(&ring->changed, &ring->lock);
	if (ring->stopped)
		result = RING_STOPPED;
	else if (ring->filled <= position)
		result = RING_ENDED;
	else if (ring->pieces)
		*span = piece_at(ring, position, most);
	else
		*span = span_at(ring, position, (size_t)(ring->filled - position), most);
	pthread_mutex_unlock(&ring->lock);
	return result;
}

/* Only emptying threads change `freed`. */
enum ring_wait ring_await_data(struct ring *ring, size_t most, struct span *span)
{
	return ring_await_data_at(ring, ring->freed, most, span);
}

static enum ring_wait await_position(struct ring *ring, const uint64_t *reaches, uint64_t position)
{
	enum ring_wait result;

	pthread_mutex_lock(&ring->lock);
	while (!ring->stopped && *reaches < position)
		pthread_cond_wait(&ring->changed, &ring->lock);
	result = ring->stopped ? RING_STOPPED : RING_READY;
	pthread_mutex_unlock(&ring->lock);
	return result;
}

enum ring_wait ring_await_filled(struct ring *ring, uint64_t position)
{
	return await_position(ring, &ring->filled, position);
}

enum ring_wait ring_await_freed(struct ring *ring, uint64_t position)
{
	return await_position(ring, &ring->freed, position);
}

void ring_begin(struct ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->begun = true;
	pthread_cond_broadcast(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
}

void ring_fill(struct ring *ring, size_t bytes)
{
	pthread_mutex_lock(&ring->lock);
	ring->filled += bytes;
	if (ring->pieces)
		ring->pieces[ring->pieces_filled++ % ring->room] =
			(struct span){ring->place, bytes};
	pthread_cond_broadcast(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
}

void ring_end(struct ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->ended = true;
	pthread_cond_broadcast(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
}

/* True if another part has become free since this was last true. */
static bool another_part(struct ring *ring)
{
	uint64_t freed = ring->pieces ? ring->pieces_freed : ring->freed;
	uint64_t part =
		ring->pieces ? (ring->room + PARTS_PLACED - 1) / PARTS_PLACED : ring->size / PARTS;

	if (freed - ring->reported < part)
		return false;
	ring->reported = freed;
	return true;
}

bool ring_free_to(struct ring *ring, uint64_t position)
{
	bool report;

	pthread_mutex_lock(&ring->lock);
	if (position > ring->freed) {
		if (ring->pieces)
			free_pieces(ring, position - ring->freed);
		ring->freed = position;
	}
	report = another_part(ring);
	pthread_cond_broadcast(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
	return report;
}

struct ring_level ring_level(struct ring *ring)
{
	struct ring_level level;

	pthread_mutex_lock(&ring->lock);
	level = (struct ring_level){ring->filled, ring->freed, ring->pieces_freed, ring->ended};
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

/*
 * A ring of bytes between two threads: one fills it, the other empties it. One of them is the
 * file's thread, which may sleep in the ring_await functions; the other is the CQ thread, which
 * never sleeps.
 *
 * A position counts the bytes of the stream from its start, in 64 bits, and never goes back; the
 * byte at a position lies at that position modulo the size. `filled` is the end of the data in the
 * ring, `freed` its start. The bytes in between belong to the emptying thread, all others to the
 * filling thread; a thread that advances its position hands bytes over, with everything that it
 * wrote into them.
 */
#ifndef STREAM_RING_H
#define STREAM_RING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	uint8_t *start; /* the caller's memory */
	size_t size;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	uint64_t filled, freed;
	bool begun;   /* the file's thread may start: the peer is ready */
	bool ended;   /* no more data will be filled in */
	bool stopped; /* all waits fail */
};

/* Bytes of the ring, contiguous in memory. */
struct span {
	uint8_t *start;
	size_t size;
};

/* How a wait ended. */
enum ring_wait {
	RING_READY,
	RING_ENDED,   /* the ring is empty and has ended */
	RING_STOPPED, /* ring_stop() was called */
};

/* The state of a ring at one moment. */
struct ring_level {
	uint64_t filled, freed;
	bool ended;
};

/*
 * Makes a ring of the caller's memory, which outlives it; exchange/buffers.c (ring_size()) chooses
 * its size. ring_destroy() releases the lock, not the memory. Any thread.
 */
void ring_init(struct ring *ring, void *memory, size_t size);
void ring_destroy(struct ring *ring);

/* The byte at this position, and the bytes from there to the end of the memory. Any thread. */
uint8_t *ring_at(const struct ring *ring, uint64_t position);
size_t ring_contiguous(const struct ring *ring, uint64_t position);

/* Lets the file's thread start. Any thread. */
void ring_begin(struct ring *ring);

/* Sleeps until ring_begin(). Returns RING_READY or RING_STOPPED. The file's thread. */
enum ring_wait ring_await_begin(struct ring *ring);

/* Sleeps until there is space; returns at most `most` bytes of it. The filling thread. */
enum ring_wait ring_await_space(struct ring *ring, size_t most, struct span *span);

/* Sleeps until there is data; returns at most `most` bytes of it. The emptying thread. */
enum ring_wait ring_await_data(struct ring *ring, size_t most, struct span *span);

/* Hands over that many bytes more. The filling thread. */
void ring_fill(struct ring *ring, size_t bytes);

/* Ends the data. The filling thread. */
void ring_end(struct ring *ring);

/* Frees the bytes up to this position. An earlier position changes nothing. The emptying thread. */
void ring_free_to(struct ring *ring, uint64_t position);

/* Any thread. */
struct ring_level ring_level(struct ring *ring);

/* Makes all waits fail, now and later. Any thread. */
void ring_stop(struct ring *ring);

#endif

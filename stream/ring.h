/*
 * A ring of bytes between two threads, one of which fills it and one of which empties it. One of
 * the two deals with a file and may sleep in here; the other is the CQ thread, which never does.
 *
 * Positions count the bytes of the stream from its start, in 64 bits, and never go back; a byte's
 * place in the memory is its position modulo the size. `filled` is how far the stream has come into
 * the ring, `freed` how far it has left it. The bytes between the two belong to the emptying
 * thread, the others to the filling one; whoever moves a position hands bytes over, and what was
 * written into them before is seen by the other.
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
	bool ended;   /* nothing more will be filled in */
	bool stopped; /* whoever sleeps here is to give up */
};

/* A piece of the ring that does not run over its end. */
struct span {
	uint8_t *start;
	size_t size;
};

/* How a wait ended. */
enum ring_wait {
	RING_READY,
	RING_ENDED,   /* all is taken and nothing more will come */
	RING_STOPPED, /* ring_stop() was called */
};

/* What the emptying side sees. */
struct ring_level {
	uint64_t filled, freed;
	bool ended;
};

/* Lays a ring over memory of the caller, who keeps it until ring_free(). Any thread. */
void ring_init(struct ring *ring, void *memory, size_t size);
void ring_destroy(struct ring *ring);

/* Where the byte at this position is, and how many follow it before the ring's end. Any thread. */
uint8_t *ring_at(const struct ring *ring, uint64_t position);
size_t ring_contiguous(const struct ring *ring, uint64_t position);

/* Sleeps until there is room; gives at most `most` bytes of it. The filling thread. */
enum ring_wait ring_await_space(struct ring *ring, size_t most, struct span *span);

/* Sleeps until there is data; gives at most `most` bytes of it. The emptying thread. */
enum ring_wait ring_await_data(struct ring *ring, size_t most, struct span *span);

/* So many bytes more are filled in. The filling thread. */
void ring_fill(struct ring *ring, size_t bytes);

/* Nothing more will be. The filling thread. */
void ring_end(struct ring *ring);

/* All up to this position is done with. Earlier positions change nothing. The emptying thread. */
void ring_free_to(struct ring *ring, uint64_t position);

/* How full it is. Any thread. */
struct ring_level ring_level(struct ring *ring);

/* Ends all waits, now and later. Any thread. */
void ring_stop(struct ring *ring);

#endif

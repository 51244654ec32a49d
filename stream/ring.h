/*
 * A ring of bytes between two sides: one fills it, the other empties it. One of them is the file
 * thread, which may sleep in the ring_await functions, or several file threads, which work on
 * blocks side by side but fill and free them in the order of the stream; the other is the CQ
 * thread, which never sleeps.
 *
 * A position is a 64-bit count of stream bytes that never decreases; the byte at a position is
 * stored at that position modulo the size, unless the filling thread places it elsewhere in the
 * memory (ring_place()). `filled` is the head of the ring, `freed` its tail. The bytes between
 * them belong to the emptying thread, all others to the filling thread. Advancing a position
 * transfers ownership of the bytes and makes everything written to them visible.
 */
#ifndef STREAM_RING_H
#define STREAM_RING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Contiguous bytes of the ring. */
struct span {
	uint8_t *start;
	size_t size;
};

struct ring {
	uint8_t *start; /* the caller's memory */
	size_t size;
	struct span *pieces;  /* if the data is placed: the caller's array, itself a ring */
	unsigned int room;    /* its length */
	uint8_t *place;       /* where the next bytes are; filling thread */
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t changed;
	uint64_t filled, freed;
	uint64_t pieces_filled, pieces_freed;
	uint64_t reported; /* what was freed when ring_free_to() last returned true */
	bool begun;        /* the peer is ready: the file thread may start */
	bool ended;        /* no more data will be added */
	bool stopped;      /* all waits fail */
};

/* The result of a wait. */
enum ring_wait {
	RING_READY,
	RING_ENDED,   /* empty, and no more data will be added */
	RING_STOPPED, /* ring_stop() was called */
};

/* A snapshot of the ring's state. */
struct ring_level {
	uint64_t filled, freed;
	uint64_t pieces_freed; /* placed pieces of which no byte is left */
	bool ended;
};

/*
 * Initialises a ring in the caller's memory, which must outlive it; ring_size() in
 * exchange/buffers.c chooses its size. ring_destroy() releases the lock, not the memory. Any
 * thread.
 */
void ring_init(struct ring *ring, void *memory, size_t size);
void ring_destroy(struct ring *ring);

/*
 * From now on the filling thread places the data: each ring_fill() adds one piece, which begins at
 * the place that the last ring_place() set. The array, with room for this many pieces in the ring
 * at a time, must outlive the ring. Any thread, before there is data.
 */
void ring_use_pieces(struct ring *ring, struct span *pieces, unsigned int room);
void ring_place(struct ring *ring, uint8_t *start);

/*
 * The byte at this position, and the bytes from there to the end of the memory, if the data is not
 * placed. Any thread.
 */
uint8_t *ring_at(const struct ring *ring, uint64_t position);
size_t ring_contiguous(const struct ring *ring, uint64_t position);

/* Lets the file thread start. Any thread. */
void ring_begin(struct ring *ring);

/* Sleeps until ring_begin(). Returns RING_READY or RING_STOPPED. File thread. */
enum ring_wait ring_await_begin(struct ring *ring);

/* Sleeps until there is free space; returns at most `most` bytes of it. Filling thread. */
enum ring_wait ring_await_space(struct ring *ring, size_t most, struct span *span);

/* Sleeps until there is data; returns at most `most` bytes of it. Emptying thread. */
enum ring_wait ring_await_data(struct ring *ring, size_t most, struct span *span);

/*
 * The same for the space or data from a position on, which is not before `filled` or `freed`:
 * what lies between belongs to other threads of the same side. Filling threads; emptying threads.
 */
enum ring_wait ring_await_space_at(
	struct ring *ring, uint64_t position, size_t most, struct span *span);
enum ring_wait ring_await_data_at(
	struct ring *ring, uint64_t position, size_t most, struct span *span);

/*
 * Sleeps until `filled` or `freed` has reached this position: everything before it was filled or
 * freed by other threads of the same side. Returns RING_READY or RING_STOPPED.
 */
enum ring_wait ring_await_filled(struct ring *ring, uint64_t position);
enum ring_wait ring_await_freed(struct ring *ring, uint64_t position);

/* Advances `filled` by this many bytes. Filling thread. */
void ring_fill(struct ring *ring, size_t bytes);

/* Marks the end of the data. Filling thread. */
void ring_end(struct ring *ring);

/*
 * Advances `freed` to this position; earlier positions are ignored. Returns true each time another
 * quarter of the ring is free, or half of its room for pieces. Emptying thread.
 */
bool ring_free_to(struct ring *ring, uint64_t position);

/* Returns a snapshot of the state. Any thread. */
struct ring_level ring_level(struct ring *ring);

/* Makes all current and later waits fail. Any thread. */
void ring_stop(struct ring *ring);

#endif

/*
 * What one measured run does, and what came of it: the client makes the plan and tells the server, and
 * both carry it out; at its end the server tells its half. 64 bytes each, little-endian, as the text of
 * an order. See docs/protocol.md, "Measurement".
 */
#ifndef PLAN_H
#define PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_SIZE  64
#define TALLY_SIZE 64

#define PLAN_QUEUE_PAIRS_MAX 64
#define PLAN_DEPTH_MAX       1024
#define PLAN_REQUESTS_MAX    8192 /* of all queue pairs together */

enum plan_kind {
	PLAN_BANDWIDTH = 0, /* as many operations as there may be under way */
	PLAN_LATENCY = 1,   /* one, and the next when it is over */
	PLAN_KINDS
};

/* How an end learns that something is complete. */
enum plan_wait {
	PLAN_EVENT = 0, /* it sleeps until the device raises an event */
	PLAN_SPIN = 1,  /* it looks again and again */
	PLAN_WAITS
};

struct plan {
	enum plan_kind kind;
	enum plan_wait wait;
	bool reads;            /* READs, or else WRITEs */
	bool both_ways;        /* the server does the same at the same time */
	bool verify;           /* every byte of every operation is looked at */
	uint32_t size;         /* bytes of an operation, not 0 */
	uint32_t queue_pairs;  /* from 1 up */
	uint32_t depth;        /* operations under way on each, from 1 up */
	uint32_t slots;        /* pieces of memory that these use in turn, up to depth */
	uint64_t operations;   /* on each; 0: as many as fit into the time */
	uint32_t milliseconds; /* if so */
	uint64_t seed;         /* of the patterns, to verify */
};

/* What one end has done. */
struct tally {
	uint64_t operations, bytes;
	uint64_t nanoseconds;     /* from the first to the end of the last */
	uint64_t cpu_nanoseconds; /* that its thread was running meanwhile */
	uint64_t worst, best; /* bytes in a second, over 100 ms each; best 0: it was over sooner */
	uint64_t wrong;       /* operations whose data was not right, at this end */
};

/* Any thread, like all functions here. */
void plan_encode(const struct plan *plan, uint8_t buffer[PLAN_SIZE]);

/*
 * Reads a plan of the peer's. Returns 0, or -EPROTO if it has a wrong length or cannot be carried out
 * by anybody.
 */
int plan_decode(struct plan *plan, const void *buffer, size_t length);

/* Whether there can be so many queue pairs of that depth. */
bool plan_shape_is_possible(uint32_t queue_pairs, uint32_t depth);

/* Bytes of memory that each end needs for it. At most 2^62. */
uint64_t plan_memory(const struct plan *plan);

void tally_encode(const struct tally *tally, uint8_t buffer[TALLY_SIZE]);

/*
 * Adds what another thread has done in the same time. Its worst and best interval are not those in which
 * the other one had its own: those of the sum are not known.
 */
void tally_add(struct tally *sum, const struct tally *part);

/* Returns 0, or -EPROTO if it has a wrong length. */
int tally_decode(struct tally *tally, const void *buffer, size_t length);

#endif

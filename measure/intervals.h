/*
 * The worst and the best tenth of a second of a transfer, and the time in all: an average hides a link
 * that stops now and then.
 */
#ifndef MEASURE_INTERVALS_H
#define MEASURE_INTERVALS_H

#include <stdint.h>

#define INTERVAL_NS UINT64_C(100000000)

struct intervals {
	uint64_t began, before;    /* when the current one did, in ns; the bytes until then */
	uint64_t last, until_last; /* the same of the last call */
	uint64_t worst, best;      /* bytes in a second; best 0: no interval is over yet */
};

/* Begins now. Any thread, like all functions here; the caller serialises. */
void intervals_init(struct intervals *intervals, uint64_t now);

/* So many bytes have been moved until now. An interval ends with the first call after its time. */
void intervals_add(struct intervals *intervals, uint64_t now, uint64_t bytes);

#endif

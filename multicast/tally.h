/*
 * Which datagrams of a stream arrived: each number counts once, and again as a duplicate. A number
 * that arrives after a higher one is reordered. The caller owns the tally. Any thread.
 */
#ifndef MULTICAST_TALLY_H
#define MULTICAST_TALLY_H

#include <stdbool.h>
#include <stdint.h>

struct tally {
	uint64_t count; /* in the stream */
	uint64_t received, duplicated, reordered;
	uint64_t next; /* the highest number that arrived, plus 1 */
	uint8_t *seen; /* one bit for each */
};

/* Begins a stream of this many datagrams. Returns 0 or -ENOMEM. tally_end() frees it. */
int tally_begin(struct tally *tally, uint64_t count);
void tally_end(struct tally *tally);

/* Counts a datagram, whose number is below the count. Returns false for a duplicate. */
bool tally_take(struct tally *tally, uint64_t number);

/* Those that have not arrived. */
uint64_t tally_lost(const struct tally *tally);

#endif

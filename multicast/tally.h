/*
 * Which datagrams of a stream arrived: each number counts once, and again as a duplicate. A number
 * that arrives after a higher one is reordered. The caller owns the tally. Any thread.
 */
#ifndef MULTICAST_TALLY_H
#define MULTICAST_TALLY_H

#include <stdbool.h>
#include <stdint.h>

struct tally {
	uint64_t count; /* planned for the stream */
	uint64_t sent;  /* of these; the count until tally_set_sent() */
	uint64_t received, duplicated, reordered;
	uint64_t first; /* the lowest number that arrived; the count: none */
	uint64_t next;  /* the highest number that arrived, plus 1 */
	uint8_t *seen;  /* one bit for each */
};

/* Begins a stream of this many datagrams. Returns 0 or -ENOMEM. tally_end() frees it. */
int tally_begin(struct tally *tally, uint64_t count);
void tally_end(struct tally *tally);

/*
 * Sets how many datagrams were sent. Returns false, and changes nothing, if that is more than the
 * count, or if a higher number has arrived.
 */
bool tally_set_sent(struct tally *tally, uint64_t sent);

/*
 * Counts a datagram. Returns false for a duplicate, and for a number that was not sent, which does
 * not count.
 */
bool tally_take(struct tally *tally, uint64_t number);

/* Those that were sent and have not arrived. */
uint64_t tally_missing(const struct tally *tally);

#endif

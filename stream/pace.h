/*
 * What a stream waited for at one end: its file, the digest, or the link, which fills or empties
 * the other side of the ring. Several threads work on several blocks at a time, but only the first
 * block that is not done holds up the stream, so only its time counts, from the moment at which
 * the block before it was done. The parts therefore add up to the time that has passed, and the
 * largest one limits the rate.
 */
#ifndef STREAM_PACE_H
#define STREAM_PACE_H

#include <stddef.h>
#include <stdint.h>

enum pace_part { PACE_FILE, PACE_DIGEST, PACE_LINK, PACE_PARTS };

/* Changed by one thread at a time, the one whose block is the first; any thread may read. */
struct pace {
	_Atomic unsigned int workers;       /* threads */
	size_t block;                       /* bytes read or written at a time */
	uint64_t until;                     /* up to which the time was counted */
	_Atomic uint64_t spent[PACE_PARTS]; /* nanoseconds */
};

/* Counts from now on. */
void pace_start(struct pace *pace, unsigned int workers, size_t block);

/* Counts the time from the last call until then, if that is later, as spent on this part. */
void pace_until(struct pace *pace, enum pace_part part, uint64_t then);

/* Stores the share of each part, from 0 to 1. Returns 0, or -1 if no time was spent. */
int pace_shares(const struct pace *pace, double shares[PACE_PARTS]);

/*
 * Writes the shares, such as "file 61 %, digest 30 %, waiting for the link 9 %", into text of
 * PACE_TEXT bytes. Returns 0, or -1 if no time was spent.
 */
#define PACE_TEXT 80
int pace_text(char *text, const struct pace *pace);

#endif

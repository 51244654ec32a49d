/*
 * What the threads of a source or a sink spend their time on: the file, the digest, or waiting for
 * the link, which fills or empties the other end of the ring. So it shows which of them limits the
 * rate. Any thread; the numbers are exact once the threads have ended.
 */
#ifndef STREAM_PACE_H
#define STREAM_PACE_H

#include <stddef.h>
#include <stdint.h>

enum pace_part { PACE_FILE, PACE_DIGEST, PACE_LINK, PACE_PARTS };

struct pace {
	unsigned int workers;               /* threads; set before they start */
	_Atomic uint64_t spent[PACE_PARTS]; /* nanoseconds of all threads together */
};

/* The current time, for pace_add(). */
uint64_t pace_now(void);

/* Adds the time since then to a part. Returns the current time. */
uint64_t pace_add(struct pace *pace, enum pace_part part, uint64_t since);

/* Stores the share of each part, from 0 to 1. Returns 0, or -1 if no time was spent. */
int pace_shares(const struct pace *pace, double shares[PACE_PARTS]);

/*
 * Writes the shares, such as "file 61 %, digest 30 %, waiting for the link 9 %", into text of
 * PACE_TEXT bytes. Returns 0, or -1 if no time was spent.
 */
#define PACE_TEXT 80
int pace_text(char *text, const struct pace *pace);

#endif

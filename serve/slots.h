/*
 * The places of a server: who holds one, from which address, and since when nothing moves at it. They
 * decide whether a newcomer may come in, and who has to go for it: nobody who moves data, but whoever
 * holds a place and has moved nothing for longer than the server's patience.
 *
 * Addresses are counted as what one host may make up by itself: an IPv4 address, also one that is
 * mapped into IPv6, by itself; of IPv6 the first 64 bits, the rest of which every host chooses.
 *
 * Holders look after their own struct place. Nothing here asks for the time. One thread.
 */
#ifndef SERVE_SLOTS_H
#define SERVE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/deadline.h"

struct slot {
	TAILQ_ENTRY(slot) next;
	void *holder; /* the caller's business */
	bool taken;
	bool settled;        /* its handshake is over: it may be asked to go */
	deadline_t moved;    /* when something last did, or the place was taken */
	uint8_t address[16]; /* the part that counts */
};

struct slots {
	TAILQ_HEAD(slot_list, slot) all; /* in the order in which they were taken */
	unsigned int taken;
	unsigned int most;             /* more than 0 */
	unsigned int most_per_address; /* 0: as many as there are */
	int64_t patience;              /* milliseconds */
};

enum slots_capacity {
	SLOTS_FREE,
	SLOTS_FULL,         /* all are taken */
	SLOTS_FULL_ADDRESS, /* all that one address may have */
};

void slots_init(
	struct slots *slots, unsigned int most, unsigned int most_per_address, int64_t patience);

/* Whether a newcomer from that address finds a place. */
enum slots_capacity slots_capacity(const struct slots *slots, const struct sockaddr *address);

/*
 * Who has to go for a newcomer from that address, for which there is no room: of those whose place
 * would help it and who may be asked, the one at whose place nothing has moved for the longest time.
 * NULL if there is none.
 */
struct slot *slots_idlest(
	const struct slots *slots, const struct sockaddr *address, deadline_t now);

/* Takes a place: there may be more of them than there is room for, if the caller wants it so. */
void slots_take(
	struct slots *slots, struct slot *slot, const struct sockaddr *address, deadline_t now);

/* Gives the place back, if it is taken. */
void slots_leave(struct slots *slots, struct slot *slot);

/* Something moved at this place, then; an earlier time than the last changes nothing. */
void slot_moved(struct slot *slot, deadline_t when);

#endif

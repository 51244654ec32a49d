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
#ifndef PLACES_H
#define PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "deadline.h"

struct place {
	TAILQ_ENTRY(place) next;
	void *holder; /* the caller's business */
	bool taken;
	bool settled;        /* its handshake is over: it may be asked to go */
	deadline_t moved;    /* when something last did, or the place was taken */
	uint8_t address[16]; /* the part that counts */
};

struct places {
	TAILQ_HEAD(place_list, place) all; /* in the order in which they were taken */
	unsigned int taken;
	unsigned int most;             /* more than 0 */
	unsigned int most_per_address; /* 0: as many as there are */
	int64_t patience;              /* milliseconds */
};

enum places_room {
	PLACES_FREE,
	PLACES_FULL,         /* all are taken */
	PLACES_FULL_ADDRESS, /* all that one address may have */
};

void places_init(
	struct places *places, unsigned int most, unsigned int most_per_address, int64_t patience);

/* Whether a newcomer from that address finds a place. */
enum places_room places_room(const struct places *places, const struct sockaddr *address);

/*
 * Who has to go for a newcomer from that address, for which there is no room: of those whose place
 * would help it and who may be asked, the one at whose place nothing has moved for the longest time.
 * NULL if there is none.
 */
struct place *places_idlest(
	const struct places *places, const struct sockaddr *address, deadline_t now);

/* Takes a place: there may be more of them than there is room for, if the caller wants it so. */
void places_take(
	struct places *places, struct place *place, const struct sockaddr *address, deadline_t now);

/* Gives the place back, if it is taken. */
void places_leave(struct places *places, struct place *place);

/* Something moved at this place, then; an earlier time than the last changes nothing. */
void place_moved(struct place *place, deadline_t when);

#endif

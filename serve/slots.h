/*
 * The server's slots record which clients hold them, from which addresses, and when each client was
 * last active. They determine whether another client is admitted and, if not, which client may be
 * evicted: only a client that has moved no data for longer than the idle timeout.
 *
 * Clients are counted by the network-assigned part of their address: all of an IPv4 address, even
 * if mapped into IPv6; the first 64 bits of an IPv6 address.
 *
 * Each struct slot belongs to its holder. serve/service.c accepts, evicts and frees clients.
 * Nothing here reads the clock. One thread.
 */
#ifndef SERVE_SLOTS_H
#define SERVE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/deadline.h"

/* Leading bytes of an IPv6 address, which are assigned by the network, not by the host. */
#define SLOTS_PREFIX_SIZE 8

struct slot {
	TAILQ_ENTRY(slot) next;
	void *holder; /* the caller's */
	bool taken;
	bool evictable;         /* set by the caller when the handshake is done */
	deadline_t last_active; /* when data last moved, or the slot was taken */
	uint8_t address[16];    /* the part that is counted */
};

struct slots {
	TAILQ_HEAD(slot_list, slot) all; /* in the order they were taken */
	unsigned int taken;
	unsigned int capacity;             /* greater than 0 */
	unsigned int capacity_per_address; /* 0: no limit per address */
	int64_t idle_timeout;              /* milliseconds */
};

enum slots_state {
	SLOTS_FREE,
	SLOTS_FULL,         /* all slots are taken */
	SLOTS_FULL_ADDRESS, /* all slots of that address are taken */
};

void slots_init(struct slots *slots, unsigned int capacity, unsigned int capacity_per_address,
	int64_t idle_timeout);

/* Returns whether a slot is free for a client from that address. */
enum slots_state slots_state(const struct slots *slots, const struct sockaddr *address);

/*
 * Returns the least recently active slot that may be evicted and whose release would admit a client
 * from that address, or NULL if there is none.
 */
struct slot *slots_evictable(
	const struct slots *slots, const struct sockaddr *address, deadline_t now);

/* Takes a slot, even beyond the capacity: the caller has checked slots_state(). */
void slots_take(
	struct slots *slots, struct slot *slot, const struct sockaddr *address, deadline_t now);

/* Releases the slot if it is taken. */
void slots_release(struct slots *slots, struct slot *slot);

/* Records activity by the holder; earlier timestamps are ignored. */
void slot_active(struct slot *slot, deadline_t when);

#endif

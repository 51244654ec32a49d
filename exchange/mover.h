/*
 * A mover transfers the data of an exchange; it is a table of functions, one for each mode.
 * Another mode needs a file like write.c (one-sided) or send.c (two-sided), a row in movers.c
 * (with a column for tutorial peers) and the changes listed in protocol/mode.h. Data that arrives
 * in receives needs slots for them, which buffers.c lays out in the incoming region if the mover
 * exposes nothing.
 *
 * The driver calls these functions on the CQ thread. They post work requests, do the accounting
 * and return the resulting event for the state machine, or EVENT_NONE. They never call the driver.
 */
#ifndef EXCHANGE_MOVER_H
#define EXCHANGE_MOVER_H

#include <stdbool.h>

#include "exchange/state-machine.h"
#include "protocol/message.h"

struct completion;
struct connection;
struct flow;

/* The region that the peer may access. */
enum mover_exposes {
	EXPOSES_INCOMING, /* the peer WRITEs its data into it */
	EXPOSES_OUTGOING, /* the peer READs our data from it */
	EXPOSES_NOTHING,  /* the peer SENDs its data into receives in the incoming region */
};

struct mover {
	const struct exchange_rules *rules; /* rules for the messages around the data */
	int outgoing_access,
		incoming_access; /* access flags of the regions, enum ibv_access_flags */
	enum mover_exposes exposes;
	unsigned int gathers; /* pieces of memory that a send may consist of; 0: one */
	enum exchange_received
		done_with;       /* the message after which the peer no longer needs our region */
	unsigned int done_flags; /* send flags of MSG_DONE, enum ibv_send_flags */

	/* Adds fields to our MSG_MR besides the region. NULL: none. */
	void (*describe_region)(struct connection *connection, struct message *message);
	/* Posts the receives for the peer's data, before our MSG_MR. NULL: none. */
	enum exchange_event (*post_receives)(struct connection *connection);
	/* Handles the peer's MSG_MR. Returns EVENT_RECEIVED_MR, or the failure. */
	enum exchange_event (*prepare)(struct connection *connection);
	/* Limits the pieces of our or the peer's stream. NULL: by the exposed ring. */
	void (*limit_flow)(const struct connection *connection, struct flow *flow, bool ours);
	/* Starts sending our data, after both MSG_MR messages have been exchanged. */
	enum exchange_event (*start)(struct connection *connection);
	/*
	 * Streams: moves or announces our data within the credit. Returns true if it stopped after
	 * a burst.
	 */
	bool (*send)(struct connection *connection, enum exchange_event *event);
	/* Streams: requests the peer's announced data. Same result as send(). May be NULL. */
	bool (*receive)(struct connection *connection, enum exchange_event *event);
	/*
	 * Handles a receive if it contains data of the peer's stream; the mover then owns its slot.
	 * Returns false if it contains anything else. *event may be a failure. NULL: never data.
	 */
	bool (*take)(struct connection *connection, const struct completion *completion,
		enum exchange_event *event);
	/* Posts again the receives whose data the sink has freed. NULL: none. */
	enum exchange_event (*repost)(struct connection *connection);
	/* Handles the completion of all WRITEs, READs or SENDs of data up to this send number. */
	void (*completed)(struct connection *connection, uint64_t number);
	/* Adds fields to our MSG_DONE. NULL: none. */
	void (*describe_done)(struct connection *connection, struct message *message);
	/* Handles the peer's MSG_DONE. Returns EVENT_RECEIVED_DONE, or the failure. */
	enum exchange_event (*peer_done)(struct connection *connection);
	/*
	 * Prints the peer's data once both sides' data is in place. NULL for streams, which are
	 * delivered when they end.
	 */
	void (*deliver)(struct connection *connection);
};

/* The movers; the table is in exchange/movers.c. */
extern const struct mover write_mover, read_mover, send_mover;
extern const struct mover tutorial_write_mover, tutorial_read_mover, tutorial_any_mover;

#endif

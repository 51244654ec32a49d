/*
 * A mover transfers the data of an exchange; it is a table of functions, one for each mode. Another
 * one-sided mode needs a file like write.c, a row in movers.c (with a column for tutorial peers)
 * and the changes listed in protocol/mode.h. Data sent by two-sided SENDs also needs receive
 * buffers: take_receive() and take_sent() in driver.c, the receive slots in buffers.c, and a third
 * value of `exposes`.
 *
 * The driver calls these functions on the CQ thread. They post work requests, do the accounting and
 * return the resulting event for the state machine, or EVENT_NONE. They never call the driver.
 */
#ifndef EXCHANGE_MOVER_H
#define EXCHANGE_MOVER_H

#include <stdbool.h>

#include "exchange/state-machine.h"
#include "protocol/message.h"

struct connection;

/* The region that the peer may access. */
enum mover_exposes {
	EXPOSES_INCOMING, /* the peer WRITEs its data into it */
	EXPOSES_OUTGOING, /* the peer READs our data from it */
};

struct mover {
	const struct exchange_rules *rules; /* rules for the messages around the data */
	int outgoing_access,
		incoming_access; /* access flags of the regions, enum ibv_access_flags */
	enum mover_exposes exposes;
	enum exchange_received
		done_with;       /* the message after which the peer no longer needs our region */
	unsigned int done_flags; /* send flags of MSG_DONE, enum ibv_send_flags */

	/* Adds fields to our MSG_MR besides the region. NULL: none. */
	void (*describe_region)(struct connection *connection, struct message *message);
	/* Handles the peer's MSG_MR. Returns EVENT_RECEIVED_MR, or the failure. */
	enum exchange_event (*prepare)(struct connection *connection);
	/* Starts sending our data, after both MSG_MR messages have been exchanged. */
	enum exchange_event (*start)(struct connection *connection);
	/*
	 * Streams: moves or announces our data within the credit. Returns true if it stopped after
	 * a burst.
	 */
	bool (*send)(struct connection *connection, enum exchange_event *event);
	/* Streams: requests the peer's announced data. Same result as send(). May be NULL. */
	bool (*receive)(struct connection *connection, enum exchange_event *event);
	/* Handles the completion of all WRITEs or READs up to this send number. */
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
extern const struct mover write_mover, read_mover;
extern const struct mover tutorial_write_mover, tutorial_read_mover, tutorial_any_mover;

#endif

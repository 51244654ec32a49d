/*
 * How the data of an exchange moves: one row of functions for each way. Another one-sided way is a
 * file like write.c, a row in movers.c and a row in protocol/mode.c. Data that is sent with
 * two-sided SENDs also needs receives to land in: take_receive() and take_sent() in driver.c, the
 * receive slots in buffers.c, and a third value of `exposes`.
 *
 * The driver calls these functions on the CQ thread. They post work requests and keep account; what
 * follows from that they return as an event for the state machine, EVENT_NONE if nothing does. They
 * never call the driver.
 */
#ifndef EXCHANGE_MOVER_H
#define EXCHANGE_MOVER_H

#include <stdbool.h>

#include "exchange/state-machine.h"
#include "protocol/message.h"

struct connection;

/* The region that the peer may access. */
enum mover_exposes {
	EXPOSES_INCOMING, /* it WRITEs its data there */
	EXPOSES_OUTGOING, /* it READs our data there */
};

struct mover {
	const struct exchange_rules *rules;   /* of the messages around the data */
	int outgoing_access, incoming_access; /* rights of the regions, enum ibv_access_flags */
	enum mover_exposes exposes;
	enum exchange_received
		done_with;       /* the peer's message after which it needs our region no more */
	unsigned int done_flags; /* of the work request that sends MSG_DONE, enum ibv_send_flags */

	/* Adds what our MSG_MR says beyond the region. NULL: nothing. */
	void (*describe_region)(struct connection *connection, struct message *message);
	/* The peer's MSG_MR arrived: returns EVENT_RECEIVED_MR, or why it cannot go on. */
	enum exchange_event (*prepare)(struct connection *connection);
	/* Our data may go: both MSG_MR are there. */
	enum exchange_event (*start)(struct connection *connection);
	/* Streams: moves or announces our data within the credit. True if it stopped earlier. */
	bool (*send)(struct connection *connection, enum exchange_event *event);
	/* Streams: requests the peer's announced data. True if it stopped earlier. May be NULL. */
	bool (*receive)(struct connection *connection, enum exchange_event *event);
	/* The WRITE or READ of that send number is complete, and those before it. */
	void (*completed)(struct connection *connection, uint64_t number);
	/* Adds what our MSG_DONE says. NULL: nothing. */
	void (*describe_done)(struct connection *connection, struct message *message);
	/* The peer's MSG_DONE arrived: returns EVENT_RECEIVED_DONE, or why not. */
	enum exchange_event (*peer_done)(struct connection *connection);
	/* Both sides' data is in place: shows the peer's. NULL: streams, delivered as they end. */
	void (*deliver)(struct connection *connection);
};

/* The rows: exchange/movers.c has the table. */
extern const struct mover write_mover, read_mover;
extern const struct mover tutorial_write_mover, tutorial_read_mover;

#endif

/*
 * How the data of an exchange moves: one row of functions for each way. A new way is one file and
 * one row of the table in movers.c.
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

struct mover {
	bool tutorial; /* the peer is a program of the tutorial: no hello, files or digests */
	bool reads;    /* needs RDMA READ */
	int outgoing_access, incoming_access; /* rights of the regions, enum ibv_access_flags */
	bool exposes_incoming; /* the peer may access our incoming region; else the outgoing one */
	enum exchange_received
		done_with; /* the peer's message after which it needs our region no more */

	/* Adds what our MSG_MR says beyond the region. */
	void (*describe_region)(struct connection *connection, struct message *message);
	/* The peer's MSG_MR arrived: returns EVENT_RECEIVED_MR, or why the exchange cannot go on. */
	enum exchange_event (*prepare)(struct connection *connection);
	/* Our data may go: both MSG_MR are there. */
	enum exchange_event (*start)(struct connection *connection);
	/* Moves whatever may be moved now; called again until it returns EVENT_NONE. */
	enum exchange_event (*advance)(struct connection *connection);
	/* Streams: moves or announces our data as far as credit goes. True if it stopped earlier. */
	bool (*send)(struct connection *connection, enum exchange_event *event);
	/* Streams: requests the peer's announced data. True if it stopped before there was none. */
	bool (*receive)(struct connection *connection, enum exchange_event *event);
	/* Streams: the peer has freed our data up to this position, or announced its own. */
	void (*credited)(struct connection *connection, uint64_t position);
	void (*announced)(struct connection *connection, uint64_t before);
	/* The WRITE or READ of that send number is complete, and those before it. */
	void (*completed)(struct connection *connection, uint64_t number);
	/* Adds what our MSG_DONE says. Returns flags for its work request. */
	unsigned int (*describe_done)(struct connection *connection, struct message *message);
	/* The peer's MSG_DONE arrived: returns EVENT_RECEIVED_DONE, or why not. */
	enum exchange_event (*peer_done)(struct connection *connection);
	/* Both sides' data is in place: shows the peer's. */
	void (*deliver)(struct connection *connection);
};

/* The rows: exchange/movers.c has the table. */
extern const struct mover write_mover, read_mover;
extern const struct mover tutorial_write_mover, tutorial_read_mover;

#endif

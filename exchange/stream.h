/*
 * The streams of an exchange: functions shared by the movers in write.c, read.c and send.c, their
 * helpers, and functions for the driver. CQ thread.
 */
#ifndef EXCHANGE_STREAM_H
#define EXCHANGE_STREAM_H

#include "exchange/internal.h"

/*
 * WRITEs, READs or SENDs of data posted in one burst, before other connections get their turn and
 * completions free space for the file threads. Otherwise a device that executes requests while it
 * accepts them, such as soft-RoCE, would process a whole ring first.
 */
#define STREAM_BURST FLOW_TOGETHER

/* Functions of the movers: see exchange/mover.h. */
void stream_describe_region(struct connection *connection, struct message *message);
enum exchange_event stream_prepare(struct connection *connection);
enum exchange_event stream_start(struct connection *connection);
void stream_describe_done(struct connection *connection, struct message *message);
enum exchange_event stream_peer_done(struct connection *connection);

/* Announces with MSG_DATA that our stream extends to this position. */
enum exchange_event stream_announce(struct connection *connection, uint64_t position);

/*
 * Stores the mark of the next send, the stream progress that its completion confirms; returns the
 * mark of a completed send.
 */
void stream_set_mark(struct connection *connection, uint64_t position);
const struct mark *stream_mark(const struct connection *connection, uint64_t number);

/* Passes to the sink the data that has arrived since the last call. */
void stream_arrived(struct connection *connection);

/* Functions for the driver. */

/* Once it is known, tells the peer what is already here of its file. */
enum exchange_event stream_send_have(struct connection *connection);

/*
 * Once it is known, tells the peer where our file starts. Returns true if our data may follow;
 * otherwise *event may be a failure.
 */
bool stream_has_started(struct connection *connection, enum exchange_event *event);

/* Sends credit if it is due. */
enum exchange_event stream_give_credit(struct connection *connection);

/* Detects the end of our data, or a failure to read it. */
enum exchange_event stream_end_sending(struct connection *connection);

/* Finishes the sink when all of the peer's data has arrived, and handles its result. */
enum exchange_event stream_end_receiving(struct connection *connection);

/* For idle checks, records progress and whether the exchange waits for the source or the sink. */
void stream_record_progress(struct connection *connection);

#endif

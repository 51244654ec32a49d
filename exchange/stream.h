/*
 * The streams of an exchange: functions that the rows of write.c and read.c share, what these two
 * move data with, and what the driver calls. The CQ thread.
 */
#ifndef EXCHANGE_STREAM_H
#define EXCHANGE_STREAM_H

#include "exchange/internal.h"

/*
 * WRITEs or READs posted at a time. Then it is the turn of completions, which free what the file
 * threads wait for, and of other connections: a device that works while it takes requests, as
 * soft-RoCE does, would else work off a whole ring first.
 */
#define STREAM_BURST FLOW_TOGETHER

/* Functions of a row: see exchange/mover.h. */
void stream_describe_region(struct connection *connection, struct message *message);
enum exchange_event stream_prepare(struct connection *connection);
enum exchange_event stream_start(struct connection *connection);
void stream_describe_done(struct connection *connection, struct message *message);
enum exchange_event stream_peer_done(struct connection *connection);

/* Announces by MSG_DATA that our stream now extends to this position. */
enum exchange_event stream_announce(struct connection *connection, uint64_t position);

/* Remembers how far the streams are when the next send is complete; and what that was. */
void stream_set_mark(struct connection *connection, uint64_t position);
const struct mark *stream_mark(const struct connection *connection, uint64_t number);

/* Hands what arrived since the last call to the sink. */
void stream_arrived(struct connection *connection);

/* For the driver. */

/* Gives credit if it is due. */
enum exchange_event stream_give_credit(struct connection *connection);

/* Notices the end of our data, or that it cannot be read. */
enum exchange_event stream_end_sending(struct connection *connection);

/* Lets the sink finish when all of the peer's data is here, and takes its verdict. */
enum exchange_event stream_end_receiving(struct connection *connection);

/*
 * Records what moved, and whether the exchange waits for the source or the sink, for idle checks.
 */
void stream_record_progress(struct connection *connection);

#endif

/*
 * What the movers of streams (write.c, read.c) share: most functions of their rows, and a few to
 * move data with. The CQ thread. See exchange/mover.h for what the functions of a row do.
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

/* Functions of a row. */
void stream_describe_region(struct connection *connection, struct message *message);
enum exchange_event stream_prepare(struct connection *connection);
enum exchange_event stream_start(struct connection *connection);
enum exchange_event stream_advance(struct connection *connection);
unsigned int stream_describe_done(struct connection *connection, struct message *message);
enum exchange_event stream_peer_done(struct connection *connection);
void stream_deliver(struct connection *connection);

/* Announces by MSG_DATA that our stream now extends to this position. */
enum exchange_event stream_announce(struct connection *connection, uint64_t position);

/* Remembers how far the streams are when the next send is complete; and what that was. */
void stream_set_mark(struct connection *connection, uint64_t position);
const struct mark *stream_mark(const struct connection *connection, uint64_t number);

/* More of the peer's data arrived, after that many bytes. */
void stream_arrived(struct connection *connection, uint64_t before);

#endif

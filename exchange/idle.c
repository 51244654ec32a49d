/*
 * Keepalives and idle timeouts of an exchange. A side that sends nothing within the other side's
 * --timeout is disconnected, so each side sends several times within that period. Runs on the CQ
 * thread.
 */
#include <errno.h>

#include "exchange/internal.h"

/* Keepalives sent within the shorter of the two timeouts. */
#define KEEPALIVES 4

/*
 * Keepalives in a row without anything from the peer, which has this many receives for them: iWARP
 * ends a connection on which a message finds no receive. A peer that responds sends its own.
 */
#define UNANSWERED_MAX (KEEPALIVES - 1)

/* Interval of keepalives until the peer has read our first message, in milliseconds. */
#define FIRST_MESSAGE_MS 100

/*
 * How long to wait for the completion of MSG_ABORT or, on iWARP, for the peer's disconnect, in
 * milliseconds.
 */
#define ABORT_MS 1000

/*
 * How long to wait for the disconnect after a complete exchange, in milliseconds: the peer's
 * disconnect is a single packet, which may be lost.
 */
#define DISCONNECT_MS 5000

const char *idle_awaits(const struct connection *connection)
{
	return connection->registration.pending ? "a message during memory registration"
						: exchange_awaits(&connection->exchange);
}

/* False if the peer has acknowledged nothing for ABORT_MS: MSG_ABORT would not reach it either. */
static bool reaches_peer(const struct connection *connection)
{
	return !connection_is_unacknowledged(connection) ||
	       deadline_now() - connection->last_acknowledged < ABORT_MS;
}

/*
 * Ends an exchange whose peer was idle for too long. acknowledging is false if the peer has not
 * acknowledged our sends.
 */
static enum exchange_event time_out(struct connection *connection, bool acknowledging)
{
	if (exchange_complete(&connection->exchange))
		return EVENT_FAILED;
	/* The status that the transport reports when it gives up. */
	if (!acknowledging)
		connection_record_completion(
			connection, IBV_WC_RETRY_EXC_ERR, "no acknowledgement within --timeout");
	connection_fail(connection, FAILURE_DEADLINE, ETIMEDOUT, "--timeout",
		"timed out waiting for %s", idle_awaits(connection));
	return reaches_peer(connection) ? EVENT_ABORTED : EVENT_FAILED;
}

/* True if everything has been exchanged and only the disconnect is missing. */
static bool is_over(const struct connection *connection)
{
	return connection->exchange.rules->verdicts && exchange_complete(&connection->exchange) &&
	       connection->exchange.sent == SENT_ALL;
}

/* The deadline for hearing from the peer, in milliseconds. */
static int64_t patience(const struct connection *connection)
{
	int64_t ours = connection->settings->timeout;

	return is_over(connection) && ours > DISCONNECT_MS ? DISCONNECT_MS : ours;
}

bool idle_is_late(const struct connection *connection, deadline_t now)
{
	int64_t ours = patience(connection);

	return now - connection->last_receive >= ours ||
	       (connection_is_unacknowledged(connection) &&
		       now - connection->last_acknowledged >= ours);
}

/* True if our first message might still be unread, and more data is needed to have it read. */
static bool may_be_unread(const struct connection *connection)
{
	return connection->device->traits->peer_wakes_late && connection->settings->active &&
	       connection->running && !exchange_has_first_message(&connection->exchange);
}

/* How long we may send nothing: a fraction of the shorter of the two timeouts. */
static int64_t interval(const struct connection *connection)
{
	int64_t ours = patience(connection), theirs = connection->theirs.timeout;

	if (may_be_unread(connection))
		return FIRST_MESSAGE_MS;
	return (theirs && theirs < ours ? theirs : ours) / KEEPALIVES;
}

static bool may_send_keepalive(const struct connection *connection)
{
	if (connection_capacity(connection) == 0)
		return false;
	if (may_be_unread(connection))
		return true;
	return exchange_allows_keepalives(&connection->exchange) && !is_over(connection) &&
	       connection->keepalives < UNANSWERED_MAX;
}

static deadline_t earlier(deadline_t one, deadline_t other)
{
	return one < other ? one : other;
}

deadline_t idle_next_check(const struct connection *connection)
{
	deadline_t next = connection->last_receive + patience(connection);

	if (connection->exchange.ended)
		return connection->exchange.sent == SENDING_ABORT ? connection->aborted + ABORT_MS
								  : INT64_MAX;
	if (connection_is_unacknowledged(connection))
		next = earlier(next, connection->last_acknowledged + patience(connection));
	if (may_send_keepalive(connection))
		next = earlier(next, connection->last_send + interval(connection));
	return next;
}

enum exchange_event idle_check(struct connection *connection, deadline_t now)
{
	if (now < idle_next_check(connection))
		return EVENT_NONE;
	if (connection->exchange.ended)
		return EVENT_FAILED;
	if (idle_is_late(connection, now))
		return time_out(connection, now - connection->last_receive >= patience(connection));
	connection->keepalives++;
	return connection_send_keepalive(connection);
}

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

/* How long to wait for the completion of MSG_ABORT, in milliseconds. */
#define ABORT_MS 1000

/*
 * How long to wait for the disconnect after a complete exchange, in milliseconds: the peer's
 * disconnect is a single packet, which may be lost.
 */
#define DISCONNECT_MS 5000

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
	return connection_fail(connection, FAILURE_DEADLINE, ETIMEDOUT, "--timeout",
		"timed out waiting for %s", exchange_awaits(&connection->exchange));
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

enum exchange_event idle_check(struct connection *connection, deadline_t now, deadline_t *again)
{
	int64_t ours = patience(connection), theirs = connection->theirs.timeout;
	int64_t interval = (theirs && theirs < ours ? theirs : ours) / KEEPALIVES;
	bool over = is_over(connection);

	*again = now + ABORT_MS;
	if (connection->exchange.ended)
		return connection->exchange.sent == SENDING_ABORT &&
				       now - connection->aborted >= ABORT_MS
			       ? EVENT_FAILED
			       : EVENT_NONE;
	if (interval < ABORT_MS)
		*again = now + interval;
	if (now - connection->last_receive >= ours)
		return time_out(connection, true);
	if (connection_is_unacknowledged(connection) && now - connection->last_acknowledged >= ours)
		return time_out(connection, false);
	if (over || !connection->streaming || now - connection->last_send < interval ||
		connection->keepalives == UNANSWERED_MAX || connection_capacity(connection) == 0)
		return EVENT_NONE;
	connection->keepalives++;
	return connection_send_keepalive(connection);
}

/*
 * Posts the work requests of an exchange, messages and RDMA operations, within the capacity of the
 * send queue, and records requests that the device rejects. Runs on the CQ thread.
 *
 * A slot of the `control` region belongs to the device from posting to completion. A send's number
 * determines its slot; there is one slot for each send queue entry.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exchange/internal.h"

/* Send queue entries reserved for the exchange's control messages. */
#define RESERVED 5

static struct queue_pair *pair_of(const struct connection *connection)
{
	return &connection->endpoint.pairs[0];
}

bool connection_has_transcript(const struct connection *connection)
{
	const struct exchange *exchange = &connection->exchange;

	return !connection->counted || (exchange->secret && exchange->received >= RECEIVED_PROOF);
}

const char *connection_client(const struct connection *connection)
{
	return connection->settings->active ? NULL : connection->peer;
}

void connection_name_device(const struct connection *connection, char name[MESSAGE_DEVICE_SIZE])
{
	snprintf(name, MESSAGE_DEVICE_SIZE, "%s/%u", device_name(connection->device),
		connection->id->port_num);
}

uint64_t connection_capacity(const struct connection *connection)
{
	return queue_pair_capacity(pair_of(connection), RESERVED);
}

bool connection_is_unacknowledged(const struct connection *connection)
{
	return queue_pair_is_unacknowledged(pair_of(connection));
}

bool connection_may_have_cause(const struct connection *connection)
{
	return !failure_is_set(&connection->failure) && !connection->exchange.ended &&
	       connection->running && connection->exchange.rules->hello;
}

enum exchange_event connection_post(
	struct connection *connection, enum operation operation, struct ibv_send_wr *request)
{
	bool may_have_cause = connection_may_have_cause(connection);
	int error;

	if (!connection_is_unacknowledged(connection))
		connection->last_acknowledged = deadline_now();
	error = queue_pair_post(pair_of(connection), operation, request);
	if (!error) {
		connection->messages += request->opcode == IBV_WR_SEND;
		connection->last_send = deadline_now();
		return EVENT_NONE;
	}
	failure_set(&connection->failure, FAILURE_ERRNO, PHASE_EXCHANGE, -error, "ibv_post_send",
		"the device rejected a work request: %s", strerror(-error));
	if (error != -ENOTCONN || !(may_have_cause || connection->cause_due))
		return EVENT_FAILED;
	/* The peer's MSG_ABORT may be in the completion queue, and its disconnect follows. */
	if (!connection->cause_due)
		connection->cause_due = deadline_in(CAUSE_OF_FLUSH_MS);
	return EVENT_NONE;
}

enum exchange_event connection_send(struct connection *connection, enum operation operation,
	const struct message *message, unsigned int flags)
{
	return connection_send_with(connection, operation, message, NULL, flags);
}

enum exchange_event connection_send_with(struct connection *connection, enum operation operation,
	const struct message *message, const struct ibv_sge *data, unsigned int flags)
{
	uint8_t bytes[MESSAGE_MAX], *slot = control_send(connection, operation);
	size_t size = message_encode(message, bytes);
	struct ibv_sge pieces[] = {
		{
			.addr = (uintptr_t)slot,
			.length = (uint32_t)size,
			.lkey = connection->control.mr->lkey,
		},
		data ? *data : (struct ibv_sge){0},
	};
	struct ibv_send_wr request = {
		.sg_list = pieces,
		.num_sge = data ? 2 : 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
	};

	memcpy(slot, bytes, size);
	return connection_post(connection, operation, &request);
}

enum exchange_event connection_post_receive(struct connection *connection, uint64_t slot)
{
	if (queue_pair_post_receive(pair_of(connection), slot) == 0)
		return EVENT_NONE;
	failure_set(&connection->failure, FAILURE_ERRNO, PHASE_EXCHANGE, EIO, "ibv_post_recv",
		"the device rejected a receive request");
	return EVENT_FAILED;
}

enum exchange_event connection_send_keepalive(struct connection *connection)
{
	struct ibv_send_wr request = {
		.opcode = exchange_allows_keepalives(&connection->exchange) ? IBV_WR_SEND
									    : IBV_WR_RDMA_WRITE,
		/* Its acknowledgement tells an idle side that packets arrive. */
		.send_flags = IBV_SEND_SIGNALED,
	};

	return connection_post(connection, OPERATION_KEEPALIVE, &request);
}

enum exchange_event connection_fail(struct connection *connection, enum failure_kind kind, int code,
	const char *call, const char *format, ...)
{
	char evidence[sizeof(connection->failure.evidence)];
	va_list args;

	va_start(args, format);
	vsnprintf(evidence, sizeof(evidence), format, args);
	va_end(args);
	failure_set(&connection->failure, kind, PHASE_EXCHANGE, code, call, "%s", evidence);
	return EVENT_ABORTED;
}

enum exchange_event connection_fail_file(struct connection *connection, int code, const char *call,
	const char *path, const char *why)
{
	if (!failure_is_set(&connection->failure))
		connection->failure.path = path;
	return connection_fail(connection, FAILURE_FILE, code, call, "%s", why);
}

void connection_record_completion(struct connection *connection, int status, const char *doing)
{
	const struct rdma_addr *route = &connection->id->route.addr;
	const struct message *peer = &connection->peer_mr;
	char ours[INET6_ADDRSTRLEN] = "?", theirs[INET6_ADDRSTRLEN] = "?";

	inet_ntop(AF_INET6, &route->addr.ibaddr.sgid, ours, sizeof(ours));
	inet_ntop(AF_INET6, &route->addr.ibaddr.dgid, theirs, sizeof(theirs));
	failure_set(&connection->failure, FAILURE_COMPLETION, PHASE_EXCHANGE, status, "ibv_poll_cq",
		"%s, queue pair %u, GID %s to %s, remote region of %llu bytes at %#llx", doing,
		connection->id->qp->qp_num, ours, theirs, (unsigned long long)peer->length,
		(unsigned long long)peer->address);
}

enum exchange_event connection_revoke(struct connection *connection, struct region *region)
{
	int error = region_revoke(region);

	return error ? connection_fail(connection, FAILURE_ERRNO, -error, "ibv_dereg_mr",
			       "cannot deregister memory: %s", strerror(-error))
		     : EVENT_NONE;
}

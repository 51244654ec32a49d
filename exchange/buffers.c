/*
 * A connection's memory: the sizes of its regions and queues, and the layout of its message slots.
 *
 * Each connection has three separately mapped regions: `control` for messages, which no peer can
 * access; `outgoing` for our data and `incoming` for the peer's. The mode exposes one of the latter
 * two, with the single access right that it needs, and only until the peer has finished with it. (A
 * tutorial client whose mode is unknown needs two rights, and its region stays until it has gone.)
 * The CQ thread then deregisters it, and the main thread frees it later. Locked memory is counted
 * in pages, and many systems limit each user to 8 MiB. By default (--buffer, in cli/parse.c), the
 * two rings therefore occupy 7 MiB together, or less if the streams are shorter or the limit is
 * lower. To exchange two texts, a server needs two pages, or three with test data.
 */
#include <errno.h>
#include <string.h>

#include "base/guard-pages.h"
#include "exchange/internal.h"

#define DEPTH_MIN 16
#define DEPTH_MAX 64

/*
 * In addition to the pieces that its depth allows, a peer sends MSG_MR, MSG_HAVE, MSG_START,
 * MSG_DONE, MSG_VERDICT, MSG_ABORT, up to three keepalives before the idle timeout expires, and up
 * to eight MSG_CREDIT messages that we have not processed (docs/protocol.md, "Flow control"). One
 * more receive is posted so that an excess message arrives and can be reported. The send queue has
 * the same allowance.
 */
#define MESSAGES 18

/* Limits for an exchange of two texts: one piece in each direction and few credit messages. */
#define TEXT_DEPTH    1
#define TEXT_SENDS    9
#define TEXT_RECEIVES 7

int connection_create_region(struct connection *connection, struct region *region, size_t size,
	int access, struct failure *failure)
{
	struct failure attempt = {0};

	while (region_create(
		region, connection->device, connection->endpoint.pd, size, access, &attempt)) {
		if (size <= guard_pages_round(1)) {
			*failure = attempt;
			return -1;
		}
		output_detail(connection->settings->output,
			"%s: cannot register %zu KiB of memory (%s); trying half", connection->peer,
			size / 1024, attempt.evidence);
		attempt = (struct failure){0};
		size = guard_pages_round(size / 2);
	}
	return 0;
}

struct region *connection_exposed(struct connection *connection)
{
	return connection->mover->exposes == EXPOSES_INCOMING ? &connection->incoming
							      : &connection->outgoing;
}

static uint32_t clamp(uint64_t value, uint32_t least, uint32_t most)
{
	if (value < least)
		return least;
	return value < most ? (uint32_t)value : most;
}

void queue_limits_choose(struct queue_limits *limits, const struct exchange_settings *settings,
	const struct device *device, uint8_t port, bool streams, bool test_data)
{
	const struct ibv_device_attr *attributes = &device->attributes;
	uint32_t chunk = settings->chunk, most;

	if (!streams) {
		*limits = (struct queue_limits){SINK_TEXT_SIZE, TEXT_DEPTH,
			TEXT_SENDS + (test_data ? TEST_DATA_OPERATIONS : 0), TEXT_RECEIVES};
		return;
	}
	if (chunk == 0)
		chunk = device->traits->chunk;
	limits->chunk = clamp(chunk, 1, device_message_max(device, port));
	limits->depth = settings->depth
				? settings->depth
				: clamp(settings->buffer / 2 / limits->chunk, DEPTH_MIN, DEPTH_MAX);
	/* A piece needs up to two sends, and the device may limit the send queue. */
	most = attributes->max_qp_wr > MESSAGES ? (uint32_t)(attributes->max_qp_wr - MESSAGES) / 2
						: 1;
	limits->depth = clamp(limits->depth, 1, most);
	limits->sends = 2 * limits->depth + MESSAGES;
	limits->receives = limits->depth + MESSAGES;
}

/*
 * Bytes that a connection may lock for its rings. Under a locked-memory limit, each connection
 * leaves memory for later connections: it may lock a quarter of the remaining memory on the server,
 * and half of it on the client.
 */
static uint64_t budget(const struct connection *connection)
{
	const struct exchange_settings *settings = connection->settings;
	uint64_t lockable = memory_lockable();

	if (lockable == UINT64_MAX)
		return settings->buffer;
	lockable /= settings->active ? 2 : 4;
	return lockable < settings->buffer ? lockable : settings->buffer;
}

size_t ring_size(const struct connection *connection, uint64_t stream, uint64_t other)
{
	uint64_t all = budget(connection), most = other < all / 2 ? all - other : all / 2;
	uint32_t chunk = connection->limits.chunk, depth = connection->settings->depth;

	if (stream <= SINK_TEXT_SIZE)
		return connection->test_data ? TEST_DATA_SIZE : SINK_TEXT_SIZE;
	if (depth && most > (uint64_t)depth * chunk)
		most = (uint64_t)depth * chunk;
	if (stream <= most)
		return (size_t)stream;
	if (most > chunk)
		return (size_t)(most / chunk * chunk);
	return most > guard_pages_round(1) ? (size_t)most : guard_pages_round(1);
}

/*
 * Messages with text have dedicated slots: MSG_ABORT and, if named files may be exchanged, MSG_MR.
 */
static uint64_t long_sends(const struct queue_limits *limits)
{
	return queue_limits_are_for_texts(limits) ? 1 : 2;
}

bool queue_limits_are_for_texts(const struct queue_limits *limits)
{
	return limits->receives == TEXT_RECEIVES;
}

size_t control_size(const struct queue_limits *limits)
{
	return (size_t)(long_sends(limits) + limits->receives) * LONG_SLOT +
	       (size_t)limits->sends * MESSAGE_SIZE;
}

uint8_t *control_receives(const struct connection *connection)
{
	return connection->control.start + long_sends(&connection->limits) * LONG_SLOT;
}

uint8_t *control_send(const struct connection *connection, enum operation operation)
{
	const struct queue_limits *limits = &connection->limits;
	uint8_t *start = connection->control.start;

	if (operation == OPERATION_ABORT)
		return start;
	if (operation == OPERATION_MR && !queue_limits_are_for_texts(limits))
		return start + LONG_SLOT;
	start += (size_t)(long_sends(limits) + limits->receives) * LONG_SLOT;
	return start + connection->endpoint.pairs[0].sends_posted % limits->sends * MESSAGE_SIZE;
}

/*
 * A connection's memory: the sizes of its regions and queues, and the layout of its message slots.
 *
 * Each connection has three separately mapped regions: `control` for messages, which no peer can
 * access; `outgoing` for our data and `incoming` for the peer's. The mode exposes one of the
 * latter two, with the single access right that it needs, and only until the peer has finished
 * with it. In send mode the peer accesses nothing: `incoming` consists of slots for receives. (A
 * tutorial client whose mode is unknown needs two rights, and its region stays until it has
 * gone.) The CQ thread then deregisters it, and the main thread frees it later. Locked memory is
 * counted in pages, and many systems limit each user to 8 MiB. By default (--buffer, in
 * cli/parse.c), the two rings therefore occupy 7 MiB together, more if the link is fast and the
 * limit is higher, or less if the streams are shorter or the limit is lower. To exchange two
 * texts, a server needs two pages, or three with test data.
 */
#include <errno.h>
#include <string.h>

#include "base/guard-pages.h"
#include "exchange/internal.h"
#include "stream/direct.h"

#define DEPTH_MIN 16
#define DEPTH_MAX 64

/*
 * From this size of a file on, bytes, several threads read or write it: as many as have this many
 * processors.
 */
#define WORKERS_FILE_SIZE     (UINT64_C(64) << 20)
#define PROCESSORS_PER_WORKER 4

/* The round trip of a fast link, in microseconds, and the largest buffer without --buffer. */
#define ROUND_TRIP_US 100
#define BUFFER_MOST   (UINT64_C(64) << 20)

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

/*
 * In send mode, the receives posted before connect or accept: until it has received our MSG_MR, for
 * which the slots are posted, the peer sends MSG_PROOF, MSG_MR, MSG_ABORT and up to three
 * keepalives. One more is posted so that an excess message arrives and can be reported.
 */
#define FIRST_RECEIVES 7

/*
 * The pieces that the peer may send before credit in send mode, unless --depth says otherwise; with
 * more, each would be smaller, because all slots share --buffer.
 */
#define SEND_DEPTH 8

/*
 * Slots besides those for pieces. The peer sends MSG_START, MSG_DONE, MSG_VERDICT, up to three
 * keepalives and, because each covers half of our depth of its pieces, up to two MSG_CREDIT
 * messages. MSG_HAVE has been processed before any credit is due, so it needs no slot of its own.
 * One more is for MSG_ABORT, or for an excess message, which then arrives and can be reported. In
 * an exchange of two texts: MSG_DONE, MSG_VERDICT, MSG_ABORT and the keepalives.
 */
#define SLOT_MESSAGES      9
#define TEXT_SLOT_MESSAGES 6

/* The sizes of slots are multiples of this. */
#define SLOT_ALIGNMENT UINT64_C(64)

/* The size of a slot for this much data, after MSG_DATA. */
#define SLOT_FOR(data) \
	(((data) + MESSAGE_SIZE + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT)

/* The smallest slot: a text fits into it. */
#define SLOT_MIN SLOT_FOR(SINK_TEXT_SIZE)

int connection_create_region(struct connection *connection, struct region *region, size_t size,
	size_t least, int access, struct failure *failure)
{
	struct failure attempt = {0};

	while (region_create(
		region, connection->device, connection->endpoint.pd, size, access, &attempt)) {
		if (size <= guard_pages_round(1) || size / 2 < least) {
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
	if (connection->mover->exposes == EXPOSES_NOTHING)
		return NULL;
	return connection->mover->exposes == EXPOSES_INCOMING ? &connection->incoming
							      : &connection->outgoing;
}

static uint32_t clamp(uint64_t value, uint32_t least, uint32_t most)
{
	if (value < least)
		return least;
	return value < most ? (uint32_t)value : most;
}

/* Rounds the size of a slot down: large SENDs then consist of whole packets. */
static uint64_t round_slot(uint64_t size)
{
	uint64_t page = guard_pages_round(1), unit = size < page ? SLOT_ALIGNMENT : page;

	return size / unit * unit;
}

/*
 * The bytes for data, both directions. On a fast link, each thread that reads or writes a file
 * needs a chunk while another one moves, and the link what it carries in a round trip.
 */
static uint64_t choose_buffer(
	const struct exchange_settings *settings, const struct device *device, uint8_t port)
{
	uint64_t workers = settings->workers ? settings->workers : WORKERS_MOST;
	uint64_t wanted = 2 * workers * device->traits->chunk +
			  device_port_rate(device, port) / 1000000 * ROUND_TRIP_US;

	if (!settings->buffer_grows || device->traits->software || wanted < settings->buffer)
		return settings->buffer;
	return wanted < BUFFER_MOST ? wanted : BUFFER_MOST;
}

/* Replaces most receives by slots, all of which fit into the buffer. */
static void choose_slots(struct queue_limits *limits)
{
	uint64_t slot;

	limits->receives = FIRST_RECEIVES;
	limits->sends += FIRST_RECEIVES; /* which our empty SENDs use up at the peer */
	limits->slots = limits->depth + (limits->texts ? TEXT_SLOT_MESSAGES : SLOT_MESSAGES);
	slot = round_slot(limits->buffer / limits->slots);
	if (slot < SLOT_MIN)
		slot = SLOT_MIN;
	if (!limits->texts && limits->chunk > slot - MESSAGE_SIZE)
		limits->chunk = (uint32_t)(slot - MESSAGE_SIZE);
}

void queue_limits_choose(struct queue_limits *limits, const struct exchange_settings *settings,
	const struct device *device, uint8_t port, const struct mover *mover, bool streams,
	bool test_data)
{
	const struct ibv_device_attr *attributes = &device->attributes;
	bool posted = mover->exposes == EXPOSES_NOTHING;
	uint32_t chunk = settings->chunk, depth, most;

	*limits = (struct queue_limits){0};
	if (!streams) {
		*limits = (struct queue_limits){
			.chunk = SINK_TEXT_SIZE,
			.depth = TEXT_DEPTH,
			.sends = TEXT_SENDS + (test_data ? TEST_DATA_OPERATIONS : 0),
			.receives = TEXT_RECEIVES,
			.buffer = settings->buffer,
			.texts = true,
		};
		if (posted)
			choose_slots(limits);
		return;
	}
	limits->buffer = choose_buffer(settings, device, port);
	/* A SEND wakes the peer's program, as a WRITE does that completes FLOW_TOGETHER chunks. */
	if (chunk == 0)
		chunk = device->traits->chunk * (posted ? FLOW_TOGETHER : 1);
	most = device_message_max(device, port);
	limits->chunk = clamp(chunk, 1, posted ? most - MESSAGE_SIZE : most);
	depth = posted ? SEND_DEPTH
		       : clamp(limits->buffer / 2 / limits->chunk, DEPTH_MIN, DEPTH_MAX);
	limits->depth = settings->depth ? settings->depth : depth;
	/*
	 * A piece needs up to two sends, and the device may limit the send queue. Slots then fit
	 * into the receive queue, which is shorter.
	 */
	most = MESSAGES + (posted ? FIRST_RECEIVES : 0);
	most = (uint32_t)attributes->max_qp_wr > most ? ((uint32_t)attributes->max_qp_wr - most) / 2
						      : 1;
	limits->depth = clamp(limits->depth, 1, most);
	limits->sends = 2 * limits->depth + MESSAGES;
	limits->receives = limits->depth + MESSAGES;
	if (posted)
		choose_slots(limits);
	/* Then all laps of the ring have blocks that a disk can read directly. */
	if (settings->direct && limits->chunk > DIRECT_BLOCK)
		limits->chunk -= limits->chunk % DIRECT_BLOCK;
}

unsigned int workers_choose(const struct exchange_settings *settings, const struct device *device,
	uint64_t size, bool tree)
{
	const cpu_set_t *ours = locality_processors(&device->locality);
	cpu_set_t all;
	int count;

	if (settings->workers)
		return settings->workers;
	if (device->traits->software)
		return 1;
	if (!tree && (size == STREAM_SIZE_UNKNOWN || size < WORKERS_FILE_SIZE))
		return 1;
	if (!ours && sched_getaffinity(0, sizeof(all), &all))
		return 1;
	count = CPU_COUNT(ours ? ours : &all) / PROCESSORS_PER_WORKER;
	return clamp(count > 0 ? (uint64_t)count : 0, 1, WORKERS_MOST);
}

/*
 * Bytes that a connection may lock for its rings. Under a locked-memory limit, each connection
 * leaves memory for later connections: it may lock a quarter of the remaining memory on the server,
 * and half of it on the client.
 */
static uint64_t budget(const struct connection *connection)
{
	uint64_t lockable = memory_lockable(), buffer = connection->limits.buffer;

	if (lockable == UINT64_MAX)
		return buffer;
	lockable /= connection->settings->active ? 2 : 4;
	return lockable < buffer ? lockable : buffer;
}

/* The most bytes for one stream's data if the other's needs this many. */
static uint64_t share_beside(const struct connection *connection, uint64_t other)
{
	uint64_t all = budget(connection);

	return other < all / 2 ? all - other : all / 2;
}

size_t ring_size(const struct connection *connection, uint64_t stream, uint64_t other)
{
	uint64_t most = share_beside(connection, other);
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

size_t slots_size(
	const struct connection *connection, uint64_t stream, uint64_t other, size_t *least)
{
	const struct queue_limits *limits = &connection->limits;
	uint64_t most = round_slot(share_beside(connection, other) / limits->slots);
	uint64_t data = stream < limits->chunk ? stream : limits->chunk;
	uint64_t slot = SLOT_FOR(data);

	if (slot > most)
		slot = most;
	if (slot < SLOT_MIN)
		slot = SLOT_MIN;
	*least = (size_t)limits->slots * (stream <= SINK_TEXT_SIZE ? SLOT_MIN : LONG_SLOT);
	return (size_t)(slot * limits->slots);
}

void slots_divide(struct connection *connection)
{
	size_t size = connection->incoming_ring.size / connection->limits.slots;

	connection->slot_size = (uint32_t)(size / SLOT_ALIGNMENT * SLOT_ALIGNMENT);
}

/*
 * Messages with text have dedicated slots: MSG_ABORT and, if named files may be exchanged, MSG_MR.
 */
static uint64_t long_sends(const struct queue_limits *limits)
{
	return limits->texts ? 1 : 2;
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
	if (operation == OPERATION_MR && !limits->texts)
		return start + LONG_SLOT;
	start += (size_t)(long_sends(limits) + limits->receives) * LONG_SLOT;
	return start + connection->endpoint.pairs[0].sends_posted % limits->sends * MESSAGE_SIZE;
}

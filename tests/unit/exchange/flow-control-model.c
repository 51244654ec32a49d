/* The steps of the flow control model, and the checks after each. Worlds are copied by value. */
#include <string.h>

#include "tests/unit/exchange/flow-control-model.h"
#include "tests/unit/unit.h"

static struct flow make_flow(const struct setting *setting, bool sends)
{
	uint64_t size = setting->unknown ? UINT64_MAX : setting->to - setting->from;
	struct flow flow = {
		.exposed = setting->writes ? setting->receiver_ring : setting->sender_ring,
		.local = sends ? setting->sender_ring : setting->receiver_ring,
		.depth = setting->depth,
		.fetched = !setting->writes && !setting->sends,
		.held = setting->sends,
		.reads = setting->reads,
	};

	/* The same chunk sizes as in exchange/stream.c. */
	flow.chunk = flow_chunk(
		sends ? setting->sender_chunk : setting->receiver_chunk, flow.local, size);
	if (setting->sends) {
		flow.exposed = FLOW_UNEXPOSED;
		flow.chunk = (uint32_t)smaller(flow.chunk, setting->receiver_chunk);
	} else {
		flow.chunk = flow_chunk(flow.chunk, flow.exposed, size);
	}
	return flow;
}

void begin(const struct setting *setting, struct world *world)
{
	uint64_t from = setting->from;

	memset(world, 0, sizeof(*world));
	world->sender = (struct flow_sender){.written = from, .announced = from, .credited = from};
	world->receiver.announced = world->receiver.requested = from;
	world->receiver.arrived = world->receiver.credited = from;
	world->filled = world->emptied = world->freed = from;
}

uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool crosses(uint64_t ring, uint64_t from, size_t size)
{
	return from / ring != (from + size - 1) / ring;
}

/* Removes the first of *count entries from a queue and zeroes the slot behind the last. */
static void drop_first(void *queue, uint64_t *count, size_t entry)
{
	size_t rest = (size_t)-- * count * entry;

	memmove(queue, (char *)queue + entry, rest);
	memset((char *)queue + rest, 0, entry);
}

/* Returns how many of these bytes source or sink moves: at most one step, or if all is set, all of
 * them if that is more than a step. Returns 0 if it cannot move. */
static uint64_t move(const struct setting *setting, uint64_t bytes, bool all)
{
	uint64_t step = setting->step ? setting->step : 1;

	if (!all)
		return smaller(bytes, step);
	return bytes > step ? bytes : 0;
}

static bool fill(const struct setting *setting, struct world *world, bool all)
{
	uint64_t space = smaller(setting->sender_ring - (world->filled - world->emptied),
		setting->to - world->filled);
	uint64_t bytes = move(setting, space, all);

	world->filled += bytes;
	return bytes > 0;
}

static bool empty(const struct setting *setting, struct world *world, bool all)
{
	uint64_t bytes = move(setting, world->receiver.arrived - world->freed, all);

	world->freed += bytes;
	return bytes > 0;
}

static bool announce(const struct setting *setting, struct world *world)
{
	const struct flow flow = make_flow(setting, true);
	struct flow_sender *sender = &world->sender;
	uint64_t before = sender->announced;

	if (setting->sends)
		return false;
	/* As in exchange/read.c. */
	if (!setting->writes)
		sender->written = world->filled;
	if (!flow_announce(&flow, sender, world->filled))
		return false;
	assert_true(sender->announced > before && sender->announced <= world->filled);
	assert_true(sender->announced == sender->written);
	assert_true(world->piece_count < setting->depth);
	world->pieces[world->piece_count++] = sender->announced;
	return true;
}

static bool complete_write(struct world *world)
{
	if (world->write_count == 0)
		return false;
	world->emptied = world->writes[0];
	drop_first(world->writes, &world->write_count, sizeof(world->writes[0]));
	return true;
}

static bool write_chunk(const struct setting *setting, struct world *world)
{
	const struct flow flow = make_flow(setting, true);
	uint64_t from = world->sender.written, to;
	size_t size;

	if (!setting->writes)
		return false;
	size = flow_write(&flow, &world->sender, world->filled);
	to = world->sender.written;

	assert_int_equal(to - from, size);
	if (size == 0)
		return false;
	assert_true(to <= world->filled);
	assert_true(size <= flow.chunk);
	assert_false(crosses(setting->sender_ring, from, size));
	assert_false(crosses(setting->receiver_ring, from, size));
	/* The target of the WRITE is free, no matter when the WRITE is executed. */
	assert_true(to - world->freed <= setting->receiver_ring);
	/* Only WRITEs announced immediately are signaled. */
	if (!announce(setting, world))
		return true;
	if (world->write_count == SIGNALS_MAX)
		complete_write(world);
	world->writes[world->write_count++] = to;
	return true;
}

/* As in exchange/send.c. */
static bool send_piece(const struct setting *setting, struct world *world)
{
	const struct flow flow = make_flow(setting, true);
	struct flow_sender *sender = &world->sender, next;
	uint64_t from = sender->written;
	size_t size;

	if (!setting->sends)
		return false;
	size = flow_send(&flow, sender, world->filled);
	assert_int_equal(sender->written - from, size);
	if (size == 0)
		return false;
	assert_true(sender->written <= world->filled);
	assert_int_equal(sender->announced, sender->written);
	assert_true(size <= flow.chunk && size <= setting->receiver_chunk);
	assert_false(crosses(setting->sender_ring, from, size));
	world->pieces[world->piece_count++] = sender->written;
	/* A receive is posted for each piece in flight. */
	assert_true(world->piece_count + world->held_count <= setting->depth);
	next = *sender;
	if (sender->pieces % 4 > 0 && flow_send(&flow, &next, world->filled) > 0)
		return true;
	if (world->write_count == SIGNALS_MAX)
		complete_write(world);
	world->writes[world->write_count++] = sender->written;
	return true;
}

static bool repost(struct world *world)
{
	if (world->held_count == 0 || world->held[0] > world->freed)
		return false;
	drop_first(world->held, &world->held_count, sizeof(world->held[0]));
	world->receiver.pieces_freed++;
	return true;
}

static bool receive_piece(const struct setting *setting, struct world *world)
{
	const struct flow flow = make_flow(setting, false);
	uint64_t position = world->pieces[0];

	if (world->piece_count == 0)
		return false;
	drop_first(world->pieces, &world->piece_count, sizeof(world->pieces[0]));
	assert_true(flow_receive_announcement(&flow, &world->receiver, position));
	assert_int_equal(world->receiver.announced, position);
	if (setting->sends)
		world->held[world->held_count++] = position;
	return true;
}

/* Posts one READ if possible. Sets *last if no further READ can follow now. */
static bool read_chunk(const struct setting *setting, struct world *world, bool *last)
{
	const struct flow flow = make_flow(setting, false);
	struct flow_receiver *receiver = &world->receiver;
	uint64_t from = receiver->requested, to;
	size_t size;

	*last = true;
	if (setting->writes || setting->sends)
		return false;
	size = flow_read(&flow, receiver, world->freed, last);
	to = receiver->requested;
	assert_int_equal(to - from, size);
	if (size == 0)
		return false;
	assert_true(size <= flow.chunk);
	assert_true(to <= receiver->announced);
	assert_false(crosses(setting->sender_ring, from, size));
	assert_false(crosses(setting->receiver_ring, from, size));
	assert_true(to - world->freed <= setting->receiver_ring);
	assert_true(receiver->reads - receiver->reads_complete <= setting->reads);
	/* Credit is queued behind READs, so several READs are posted only within a quarter of the
	 * credit. */
	assert_true(to - receiver->arrived == size || to - receiver->arrived <= flow.exposed / 4);
	return true;
}

/* Posts at most `most` READs, the last one signaled. */
static bool read_chunks(const struct setting *setting, struct world *world, unsigned int most)
{
	unsigned int posted = 0;
	bool last = false;

	while (posted < most && !last) {
		/* A READ that is not the last must be followed by another: it is unsignaled, so its
		 * completion would never be noticed. */
		if (!read_chunk(setting, world, &last)) {
			assert_int_equal(posted, 0);
			return false;
		}
		posted++;
	}
	assert_true(world->read_count < READS_MAX);
	world->reads[world->read_count++] =
		(struct signal){world->receiver.requested, world->receiver.reads};
	return true;
}

static bool complete_read(struct world *world)
{
	if (world->read_count == 0)
		return false;
	flow_arrived(&world->receiver, world->reads[0].position, world->reads[0].reads);
	drop_first(world->reads, &world->read_count, sizeof(world->reads[0]));
	return true;
}

static bool give_credit(const struct setting *setting, struct world *world)
{
	const struct flow flow = make_flow(setting, false);
	const unsigned int credits_max = setting->sends ? CREDITS_HELD_MAX : CREDITS_MAX;
	struct flow_receiver *receiver = &world->receiver, before = *receiver;

	if (world->done_received || !flow_give_credit(&flow, receiver, world->freed))
		return false;
	/* Only for free space, and never an empty credit. */
	assert_true(receiver->credited <= (flow.fetched ? receiver->arrived : world->freed));
	assert_true(receiver->pieces_credited <= receiver->pieces_freed);
	assert_true(receiver->credited > before.credited ||
		    receiver->pieces_credited > before.pieces_credited);
	if (world->credit_count == credits_max)
		fail_msg("more than %u MSG_CREDIT in flight", credits_max);
	world->credits[world->credit_count++] =
		(struct credit){receiver->credited, receiver->pieces_credited};
	return true;
}

static bool receive_credit(const struct setting *setting, struct world *world)
{
	const struct credit credit = world->credits[0];

	if (world->credit_count == 0)
		return false;
	drop_first(world->credits, &world->credit_count, sizeof(credit));
	assert_true(flow_receive_credit(&world->sender, credit.position, credit.pieces));
	if (!setting->writes && !setting->sends)
		world->emptied = credit.position;
	return true;
}

static bool send_done(const struct setting *setting, struct world *world)
{
	if (world->done_sent || world->sender.announced < setting->to)
		return false;
	world->done_sent = true;
	return true;
}

static bool receive_done(struct world *world)
{
	/* MSG_DONE arrives after all pieces. */
	if (!world->done_sent || world->done_received || world->piece_count > 0)
		return false;
	world->done_received = true;
	return true;
}

bool flow_model_occur(
	const struct setting *setting, struct world *world, enum occurrence occurrence)
{
	switch (occurrence) {
	case FILLS_STEP:
	case FILLS_ALL:
		return fill(setting, world, occurrence == FILLS_ALL);
	case WRITES:
		return write_chunk(setting, world);
	case ANNOUNCES:
		return announce(setting, world);
	case SENDS:
		return send_piece(setting, world);
	case REPOSTS:
		return repost(world);
	case RECEIVES:
		return receive_piece(setting, world);
	case WRITE_COMPLETES:
		return complete_write(world);
	case READS_ONE:
	case READS_ALL:
		return read_chunks(setting, world, occurrence == READS_ALL ? FLOW_TOGETHER : 1);
	case READ_COMPLETES:
		return complete_read(world);
	case FREES_STEP:
	case FREES_ALL:
		return empty(setting, world, occurrence == FREES_ALL);
	case CREDITS:
		return give_credit(setting, world);
	case RECEIVES_CREDIT:
		return receive_credit(setting, world);
	case SENDS_DONE:
		return send_done(setting, world);
	default:
		return receive_done(world);
	}
}

void assert_final(const struct setting *setting, const struct world *world)
{
	if (world->done_received && world->freed == setting->to)
		return;
	fail_msg("stuck at %llu of %llu to %llu: rings %llu and %llu, chunks %u and %u, depth %u, "
		 "%u READs, %s mode",
		(unsigned long long)world->freed, (unsigned long long)setting->from,
		(unsigned long long)setting->to, (unsigned long long)setting->sender_ring,
		(unsigned long long)setting->receiver_ring, setting->sender_chunk,
		setting->receiver_chunk, setting->depth, setting->reads,
		setting->sends    ? "send"
		: setting->writes ? "write"
				  : "read");
}

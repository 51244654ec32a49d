/*
 * The flow control, played out: a model of both ends of a stream, in which everything that takes
 * time may take any time. Small streams are walked through in every order of events, larger ones
 * in many random orders, in both modes, with rings of different sizes, chunks and depths.
 *
 * In every step it holds that no byte is written where one is that nobody has taken, that no peer
 * refuses what a peer of ours says, and that the messages under way fit into the receives that are
 * there for them; and where nothing can happen any more, all has arrived.
 */
#include <string.h>

#include "lib/digest.h"
#include "lib/flow.h"
#include "stream-rig.h"
#include "unit.h"

#define GIB ((uint64_t)1 << 30)

#define DEPTH_MAX   64
#define READS_MAX   16
#define CREDITS_MAX 8 /* rdma-memory.c counts on it */

struct setting {
	uint64_t sender_ring, receiver_ring;
	uint32_t sender_chunk, receiver_chunk; /* wanted */
	uint32_t depth, reads;
	bool writes;
	bool unknown; /* the stream's size is not known before its end */
	uint64_t from, to;
};

/* Both ends, and what is on its way between them. Positions where nothing is said. */
struct world {
	struct flow_sender sender;
	struct flow_receiver receiver;
	uint64_t filled;  /* by the source */
	uint64_t written; /* the last WRITE that will complete with a signal, and has arrived */
	uint64_t emptied; /* the sender's ring, for the source to fill again */
	uint64_t freed;   /* by the sink */
	uint64_t pieces[DEPTH_MAX], reads[READS_MAX];
	struct credit {
		uint64_t position, pieces;
	} credits[CREDITS_MAX];
	uint64_t piece_count, read_count, credit_count;
	uint64_t done_sent, done_heard; /* as flags: without padding */
};

enum occurrence {
	FILLS_ONE, /* the source */
	FILLS_ALL,
	TELLS, /* the sender, of a piece */
	HEARS, /* the receiver of it */
	WRITE_COMPLETES,
	READS,
	READ_COMPLETES,
	FREES_ONE, /* the sink */
	FREES_ALL,
	CREDITS,
	HEARS_CREDIT,
	SAYS_DONE,
	HEARS_DONE,
	OCCURRENCES
};

static struct flow make_flow(const struct setting *setting, bool sends)
{
	uint64_t size = setting->unknown ? UINT64_MAX : setting->to - setting->from;
	struct flow flow = {
		.exposed = setting->writes ? setting->receiver_ring : setting->sender_ring,
		.local = sends ? setting->sender_ring : setting->receiver_ring,
		.depth = setting->depth,
		.writes = setting->writes,
		.reads = setting->reads,
	};

	/* As rdma-stream.c does it. */
	flow.chunk = flow_chunk(
		sends ? setting->sender_chunk : setting->receiver_chunk, flow.local, size);
	flow.chunk = flow_chunk(flow.chunk, flow.exposed, size);
	return flow;
}

static void begin(const struct setting *setting, struct world *world)
{
	uint64_t from = setting->from;

	memset(world, 0, sizeof(*world));
	world->sender = (struct flow_sender){.told = from, .credited = from};
	world->receiver.told = world->receiver.requested = from;
	world->receiver.arrived = world->receiver.credited = from;
	world->filled = world->written = world->emptied = world->freed = from;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool crosses(uint64_t ring, uint64_t from, size_t size)
{
	return from / ring != (from + size - 1) / ring;
}

static void drop_first(uint64_t *queue, uint64_t *count)
{
	memmove(queue, queue + 1, (size_t)(*count - 1) * sizeof(*queue));
	queue[--*count] = 0;
}

static bool fill(const struct setting *setting, struct world *world, bool all)
{
	uint64_t room = smaller(setting->sender_ring - (world->filled - world->emptied),
		setting->to - world->filled);

	/* Where one byte is all, one of the two will do. */
	if (room < 1U + all)
		return false;
	world->filled += all ? room : 1;
	return true;
}

static bool empty(struct world *world, bool all)
{
	uint64_t bytes = world->receiver.arrived - world->freed;

	if (bytes < 1U + all)
		return false;
	world->freed += all ? bytes : 1;
	return true;
}

static bool tell(const struct setting *setting, struct world *world)
{
	const struct flow flow = make_flow(setting, true);
	struct flow_sender *sender = &world->sender;
	size_t size = flow_next_piece(&flow, sender, world->filled);

	if (size == 0)
		return false;
	assert_true(sender->told + size <= world->filled);
	assert_true(world->piece_count < setting->depth);
	if (setting->writes) {
		assert_true(size <= flow.chunk);
		assert_false(crosses(setting->sender_ring, sender->told, size));
		assert_false(crosses(setting->receiver_ring, sender->told, size));
		/* The place that the WRITE goes to has been emptied, whenever it is carried out. */
		assert_true(sender->told + size - world->freed <= setting->receiver_ring);
	}
	flow_told(sender, size);
	world->pieces[world->piece_count++] = sender->told;
	return true;
}

static bool hear(const struct setting *setting, struct world *world)
{
	const struct flow flow = make_flow(setting, false);
	uint64_t position = world->pieces[0];

	if (world->piece_count == 0)
		return false;
	drop_first(world->pieces, &world->piece_count);
	assert_true(flow_hear(&flow, &world->receiver, position));
	assert_int_equal(world->receiver.told, position);
	if (setting->writes && position - world->written >= setting->sender_ring / 4)
		world->written = position;
	return true;
}

static bool read_piece(const struct setting *setting, struct world *world)
{
	const struct flow flow = make_flow(setting, false);
	struct flow_receiver *receiver = &world->receiver;
	size_t size = flow_next_read(&flow, receiver, world->freed);

	if (size == 0)
		return false;
	assert_false(setting->writes);
	assert_true(size <= flow.chunk);
	assert_true(receiver->requested + size <= receiver->told);
	assert_false(crosses(setting->sender_ring, receiver->requested, size));
	assert_false(crosses(setting->receiver_ring, receiver->requested, size));
	assert_true(receiver->requested + size - world->freed <= setting->receiver_ring);
	assert_true(world->read_count < setting->reads);
	receiver->requested += size;
	receiver->reading++;
	world->reads[world->read_count++] = receiver->requested;
	return true;
}

static bool complete_read(struct world *world)
{
	if (world->read_count == 0)
		return false;
	world->receiver.arrived = world->reads[0];
	world->receiver.reading--;
	drop_first(world->reads, &world->read_count);
	return true;
}

static bool give_credit(const struct setting *setting, struct world *world)
{
	const struct flow flow = make_flow(setting, false);
	struct flow_receiver *receiver = &world->receiver, before = *receiver;

	if (world->done_heard || !flow_give_credit(&flow, receiver, world->freed))
		return false;
	/* Not for what is not free, and never for nothing. */
	assert_true(receiver->credited <= (setting->writes ? world->freed : receiver->arrived));
	assert_true(receiver->credited > before.credited ||
		    receiver->pieces_credited > before.pieces_credited);
	if (world->credit_count == CREDITS_MAX)
		fail_msg("more than %d MSG_CREDIT are under way", CREDITS_MAX);
	world->credits[world->credit_count++] =
		(struct credit){receiver->credited, receiver->pieces_credited};
	return true;
}

static bool hear_credit(const struct setting *setting, struct world *world)
{
	const struct credit credit = world->credits[0];

	if (world->credit_count == 0)
		return false;
	world->credit_count--;
	memmove(world->credits, world->credits + 1,
		(size_t)world->credit_count * sizeof(struct credit));
	world->credits[world->credit_count] = (struct credit){0};
	assert_true(flow_credited(&world->sender, credit.position, credit.pieces));
	if (!setting->writes)
		world->emptied = credit.position;
	return true;
}

static bool say_done(const struct setting *setting, struct world *world)
{
	if (world->done_sent || world->sender.told < setting->to)
		return false;
	world->done_sent = true;
	return true;
}

static bool hear_done(struct world *world)
{
	/* It comes behind all pieces. */
	if (!world->done_sent || world->done_heard || world->piece_count > 0)
		return false;
	world->done_heard = true;
	return true;
}

static bool complete_write(struct world *world)
{
	if (world->written <= world->emptied)
		return false;
	world->emptied = world->written;
	return true;
}

/* Makes it happen, or returns false if it cannot. */
static bool occur(const struct setting *setting, struct world *world, enum occurrence occurrence)
{
	switch (occurrence) {
	case FILLS_ONE:
	case FILLS_ALL:
		return fill(setting, world, occurrence == FILLS_ALL);
	case TELLS:
		return tell(setting, world);
	case HEARS:
		return hear(setting, world);
	case WRITE_COMPLETES:
		return complete_write(world);
	case READS:
		return read_piece(setting, world);
	case READ_COMPLETES:
		return complete_read(world);
	case FREES_ONE:
	case FREES_ALL:
		return empty(world, occurrence == FREES_ALL);
	case CREDITS:
		return give_credit(setting, world);
	case HEARS_CREDIT:
		return hear_credit(setting, world);
	case SAYS_DONE:
		return say_done(setting, world);
	default:
		return hear_done(world);
	}
}

static void assert_final(const struct setting *setting, const struct world *world)
{
	if (world->done_heard && world->freed == setting->to)
		return;
	fail_msg("stuck at %llu of %llu to %llu: rings %llu and %llu, chunks %u and %u, depth %u, "
		 "%u READs, %s mode",
		(unsigned long long)world->freed, (unsigned long long)setting->from,
		(unsigned long long)setting->to, (unsigned long long)setting->sender_ring,
		(unsigned long long)setting->receiver_ring, setting->sender_chunk,
		setting->receiver_chunk, setting->depth, setting->reads,
		setting->writes ? "write" : "read");
}

/* The worlds that a walk has seen, by their digests. */
#define SEEN_MAX (1 << 20)

static struct digest seen[SEEN_MAX];
static size_t seen_count;

static bool is_new(const struct world *world)
{
	static const struct digest none;
	const struct digest digest = digest_of(world, sizeof(*world));
	size_t place;

	memcpy(&place, digest.bytes, sizeof(place));
	for (;; place++) {
		struct digest *slot = &seen[place % SEEN_MAX];

		if (digest_equal(slot, &digest))
			return false;
		if (digest_equal(slot, &none)) {
			*slot = digest;
			assert_true(++seen_count < SEEN_MAX / 2);
			return true;
		}
	}
}

static void walk(const struct setting *setting, const struct world *world)
{
	bool final = true;

	if (!is_new(world))
		return;
	for (enum occurrence occurrence = 0; occurrence < OCCURRENCES; occurrence++) {
		struct world next;

		memcpy(&next, world, sizeof(next));
		if (!occur(setting, &next, occurrence))
			continue;
		walk(setting, &next);
		final = false;
	}
	if (final)
		assert_final(setting, world);
}

static void walk_from_start(const struct setting *setting)
{
	struct world world;

	memset(seen, 0, sizeof(seen));
	seen_count = 0;
	begin(setting, &world);
	walk(setting, &world);
	assert_true(seen_count > setting->to - setting->from);
}

static void arrives_in_every_order_of_events(void **state)
{
	static const struct setting settings[] = {
		{1, 1, 1, 1, 1, 1, .to = 4},
		{1, 3, 9, 9, 2, 1, .to = 5},
		{3, 1, 9, 9, 2, 2, .to = 5},
		{2, 2, 1, 1, 2, 1, .to = 5},
		{2, 3, 9, 9, 3, 2, .to = 5},
		{4, 3, 1, 2, 2, 2, .to = 6},
		{4, 4, 9, 9, 1, 1, .to = 6},
		{3, 3, 9, 9, 3, 1, .to = 3},
		{4, 4, 9, 9, 1, 1, .to = 0},
		{4, 2, 2, 1, 4, 4, .to = 6},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(settings); i++)
		for (unsigned int variant = 0; variant < 4; variant++) {
			struct setting setting = settings[i];

			setting.writes = variant & 1;
			setting.unknown = variant & 2;
			walk_from_start(&setting);
		}
}

/*
 * Goes through a stream in a random order. Some occurrences are lazy: they come only when nothing
 * else can, as if a thread or the network slept.
 */
static void stroll(const struct setting *setting, uint64_t *seed)
{
	unsigned int lazy = (unsigned int)random_below(seed, 1 << OCCURRENCES);
	struct world world;
	bool moved = true;

	begin(setting, &world);
	while (moved) {
		unsigned int first = (unsigned int)random_below(seed, OCCURRENCES);

		moved = false;
		for (unsigned int i = 0; i < 2 * OCCURRENCES && !moved; i++) {
			enum occurrence occurrence = (first + i) % OCCURRENCES;

			if (i >= OCCURRENCES || !(lazy & 1U << occurrence))
				moved = occur(setting, &world, occurrence);
		}
	}
	assert_final(setting, &world);
}

static uint64_t random_position(uint64_t *seed)
{
	static const uint64_t positions[] = {
		0, 1, 4 * GIB - 100, 4 * GIB, 8 * GIB - 1, 1000 * GIB + 17, 1ULL << 62};

	return positions[random_below(seed, COUNT(positions))] + random_below(seed, 64);
}

static void arrives_in_random_orders(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (unsigned int i = 0; i < 20000; i++) {
		struct setting setting = {
			.sender_ring = random_below(&seed, 64) + 1,
			.receiver_ring = random_below(&seed, 64) + 1,
			.sender_chunk = (uint32_t)random_below(&seed, 70) + 1,
			.receiver_chunk = (uint32_t)random_below(&seed, 70) + 1,
			.depth = (uint32_t)random_below(&seed, i & 1 ? 4 : DEPTH_MAX) + 1,
			.reads = (uint32_t)random_below(&seed, READS_MAX) + 1,
			.writes = random_below(&seed, 2),
			.unknown = random_below(&seed, 2),
			.from = random_position(&seed),
		};

		setting.to = setting.from + random_below(&seed, i & 2 ? 300 : 70);
		stroll(&setting, &seed);
	}
}

/* With chunks of what devices have, and rings that are no power of two. */
static void arrives_in_the_usual_sizes(void **state)
{
	static const uint64_t rings[] = {1024, 4096, 65536, 1 << 20, 2 << 20, 3 * 4096, 200 * 4096};
	uint64_t seed = 5;

	(void)state;
	for (unsigned int i = 0; i < 300; i++) {
		struct setting setting = {
			.sender_ring = rings[random_below(&seed, COUNT(rings))],
			.receiver_ring = rings[random_below(&seed, COUNT(rings))],
			.sender_chunk = 1U << random_below(&seed, 20),
			.receiver_chunk = 1U << random_below(&seed, 20),
			.depth = (uint32_t)random_below(&seed, DEPTH_MAX) + 1,
			.reads = (uint32_t)random_below(&seed, READS_MAX) + 1,
			.writes = i & 1,
			.unknown = i & 2,
			.from = random_position(&seed),
		};
		uint64_t chunks = 200 * smaller(setting.sender_chunk, setting.receiver_chunk);

		setting.to = setting.from + random_below(&seed, chunks);
		stroll(&setting, &seed);
	}
}

static void chunks_suit_the_ring(void **state)
{
	(void)state;
	for (uint64_t ring = 1; ring <= 64; ring++)
		for (uint64_t stream = 0; stream <= 80; stream++)
			for (uint32_t wanted = 1; wanted <= 80; wanted++) {
				uint32_t chunk = flow_chunk(wanted, ring, stream);

				assert_in_range(chunk, 1, smaller(wanted, ring));
				if (stream > ring && ring > 1)
					assert_true(2 * chunk <= ring);
				else
					assert_true(chunk == smaller(wanted, ring));
			}
	assert_int_equal(flow_chunk(65536, 2 << 20, UINT64_MAX), 65536);
	assert_int_equal(flow_chunk(UINT32_MAX, 16 * GIB, UINT64_MAX), UINT32_MAX);
	assert_int_equal(flow_chunk(UINT32_MAX, 2 << 20, UINT64_MAX), 1 << 20);
}

/* Every small state of the sender, and every credit: only what does not go back or ahead is taken.
 */
static void takes_no_credit_that_cannot_be(void **state)
{
	static const uint64_t bases[] = {0, 4 * GIB - 2, 1ULL << 63};

	(void)state;
	for (size_t i = 0; i < COUNT(bases); i++)
		for (unsigned int bits = 0; bits < 1 << 12; bits++) {
			uint64_t base = bases[i];
			uint64_t credited = bits & 3, told = credited + (bits >> 2 & 1);
			uint64_t credited_pieces = bits >> 3 & 3;
			uint64_t pieces = credited_pieces + (bits >> 5 & 1);
			uint64_t position = bits >> 6 & 7, credit = bits >> 9 & 7;
			struct flow_sender sender = {
				base + told, base + credited, pieces, credited_pieces};
			bool good = position >= credited && position <= told &&
				    credit >= credited_pieces && credit <= pieces;

			assert_int_equal(flow_credited(&sender, base + position, credit), good);
			assert_int_equal(sender.told, base + told);
			assert_int_equal(sender.pieces, pieces);
			assert_int_equal(sender.credited, base + (good ? position : credited));
			assert_int_equal(sender.pieces_credited, good ? credit : credited_pieces);
		}
}

static void takes_no_credit_from_far_off(void **state)
{
	static const uint64_t far[] = {0, 1, 4 * GIB, UINT64_MAX, 1ULL << 63, UINT64_MAX - 99};
	struct flow_sender sender = {5 * GIB, 5 * GIB - 10, 7, 5};

	(void)state;
	for (size_t i = 0; i < COUNT(far); i++) {
		assert_false(flow_credited(&sender, far[i], 6));
		assert_false(flow_credited(&sender, 5 * GIB - 5, far[i]));
	}
	assert_true(flow_credited(&sender, 5 * GIB - 10, 5));
	assert_true(flow_credited(&sender, 5 * GIB, 7));
}

/* Every small state of the receiver, and every position. */
static void hears_of_no_piece_that_cannot_be(void **state)
{
	static const uint64_t bases[] = {0, 4 * GIB - 2, 1ULL << 63};

	(void)state;
	for (size_t i = 0; i < COUNT(bases); i++)
		for (unsigned int bits = 0; bits < 1 << 12; bits++) {
			uint64_t base = bases[i], credited = bits & 3;
			uint64_t told = credited + (bits >> 2 & 3), position = bits >> 4 & 15;
			uint64_t pieces = bits >> 8 & 3;
			struct flow flow = {
				.exposed = 4, .local = 4, .depth = 2, .writes = bits >> 10 & 1};
			struct flow_receiver receiver = {.told = base + told,
				.arrived = base + credited,
				.credited = base + credited,
				.pieces = 10 + pieces,
				.pieces_credited = 10};
			bool good = position > told && position - credited <= 4 && pieces < 2;
			uint64_t arrived = good && flow.writes ? position : credited;

			assert_int_equal(flow_hear(&flow, &receiver, base + position), good);
			assert_int_equal(receiver.told, base + (good ? position : told));
			assert_int_equal(receiver.pieces, 10 + pieces + good);
			assert_int_equal(receiver.arrived, base + arrived);
		}
}

static void hears_of_no_piece_far_off(void **state)
{
	static const uint64_t far[] = {0, 1, 1 * GIB, 4 * GIB, 5 * GIB, 5 * GIB + 4097, 9 * GIB,
		1ULL << 63, UINT64_MAX, UINT64_MAX - 4096};
	const struct flow flow = {
		.exposed = 4096, .local = 4096, .chunk = 64, .depth = 8, .writes = true};
	struct flow_receiver receiver = {
		.told = 5 * GIB, .arrived = 5 * GIB, .credited = 5 * GIB, .requested = 5 * GIB};

	(void)state;
	for (size_t i = 0; i < COUNT(far); i++)
		assert_false(flow_hear(&flow, &receiver, far[i]));
	assert_int_equal(receiver.told, 5 * GIB);
	assert_int_equal(receiver.pieces, 0);
	assert_true(flow_hear(&flow, &receiver, 5 * GIB + 4096));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_suit_the_ring),
		cmocka_unit_test(takes_no_credit_that_cannot_be),
		cmocka_unit_test(takes_no_credit_from_far_off),
		cmocka_unit_test(hears_of_no_piece_that_cannot_be),
		cmocka_unit_test(hears_of_no_piece_far_off),
		cmocka_unit_test(arrives_in_every_order_of_events),
		cmocka_unit_test(arrives_in_random_orders),
		cmocka_unit_test(arrives_in_the_usual_sizes),
	};

	return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}

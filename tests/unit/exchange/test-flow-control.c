/* Flow control: small streams in every order of events, larger ones in many random orders, in each
 * mode, with different ring sizes, chunk sizes and depths
 * (tests/unit/exchange/flow-control-model.h). When no further event is possible, all data has
 * arrived. Messages that a correct peer never sends are refused. */
#include <string.h>

#include "tests/unit/common/stream-fixture.h"
#include "tests/unit/exchange/flow-control-model.h"
#include "tests/unit/exchange/seen-states.h"
#include "tests/unit/unit.h"

#define GIB ((uint64_t)1 << 30)

static void walk(const struct setting *setting, const struct world *world)
{
	bool final = true;

	if (!seen_add(world, sizeof(*world)))
		return;
	for (enum occurrence occurrence = 0; occurrence < OCCURRENCES; occurrence++) {
		struct world next;

		memcpy(&next, world, sizeof(next));
		if (!flow_model_occur(setting, &next, occurrence))
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

	seen_clear();
	begin(setting, &world);
	walk(setting, &world);
	assert_true(seen_count() > setting->to - setting->from);
}

static void arrives_in_every_order_of_events(void **state)
{
	static const struct setting settings[] = {
		{1, 1, 1, 1, 1, 1, .to = 4},
		{1, 3, 9, 9, 2, 1, .to = 5},
		{3, 1, 9, 9, 2, 2, .to = 5},
		{2, 2, 1, 1, 2, 1, .to = 5},
		{2, 3, 9, 9, 3, 2, .to = 5},
		{4, 3, 1, 2, 2, 2, .to = 5},
		{3, 4, 9, 9, 1, 1, .to = 6},
		{3, 3, 9, 9, 3, 1, .to = 3},
		{4, 4, 9, 9, 1, 1, .to = 0},
		{4, 2, 2, 1, 4, 4, .to = 5},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(settings); i++)
		for (unsigned int variant = 0; variant < 6; variant++) {
			struct setting setting = settings[i];

			setting.writes = variant % 3 == 1;
			setting.sends = variant % 3 == 2;
			setting.unknown = variant & 1;
			walk_from_start(&setting);
		}
}

/* Runs a stream in a random order. Some occurrences are lazy: they happen only when nothing else
 * can, as if a thread or the network were slow. */
static void walk_randomly(const struct setting *setting, uint64_t *seed)
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
				moved = flow_model_occur(setting, &world, occurrence);
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
			.writes = i % 3 == 1,
			.sends = i % 3 == 2,
			.unknown = random_below(&seed, 2),
			.from = random_position(&seed),
		};

		setting.to = setting.from + random_below(&seed, i & 2 ? 300 : 70);
		walk_randomly(&setting, &seed);
	}
}

/* Typical chunk sizes, and ring sizes that are not all powers of two. */
static void arrives_in_common_sizes(void **state)
{
	static const uint64_t rings[] = {1024, 4096, 65536, 1 << 20, 2 << 20, 12288, 819200};
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
			.writes = i % 3 == 1,
			.sends = i % 3 == 2,
			.unknown = i & 1,
			.from = random_position(&seed),
		};
		uint64_t chunk = smaller(setting.sender_chunk, setting.receiver_chunk);

		setting.to = setting.from + random_below(&seed, 200 * chunk);
		setting.step = random_below(&seed, chunk) + 1;
		walk_randomly(&setting, &seed);
	}
}

/* One announcement covers several WRITEs, because each announcement uses a receive. All data is
 * announced in the end. */
static void announces_several_chunks_together(void **state)
{
	const struct flow flow = {.exposed = 6400, .local = 6400, .chunk = 64, .depth = 64};

	(void)state;
	for (uint64_t chunks = 1; chunks <= 20; chunks++) {
		struct flow_sender sender = {0};

		assert_false(flow_announce(&flow, &sender, 0));
		while (flow_write(&flow, &sender, 64 * chunks) > 0)
			flow_announce(&flow, &sender, 64 * chunks);
		assert_int_equal(sender.announced, 64 * chunks);
		assert_int_equal(sender.pieces, (chunks + FLOW_TOGETHER - 1) / FLOW_TOGETHER);
		assert_false(flow_announce(&flow, &sender, 64 * chunks));
	}
}

static void chunks_fit_the_ring(void **state)
{
	(void)state;
	for (uint64_t ring = 1; ring <= 64; ring++)
		for (uint64_t stream = 0; stream <= 80; stream++)
			for (uint32_t wanted = 1; wanted <= 80; wanted++) {
				uint32_t chunk = flow_chunk(wanted, ring, stream);

				assert_in_range(chunk, 1, smaller(wanted, ring));
				if (stream > ring && ring > 1)
					assert_true((uint64_t)2 * chunk <= ring);
				else
					assert_true(chunk == smaller(wanted, ring));
			}
	assert_int_equal(flow_chunk(65536, 2 << 20, UINT64_MAX), 65536);
	assert_int_equal(flow_chunk(UINT32_MAX, 16 * GIB, UINT64_MAX), UINT32_MAX);
	assert_int_equal(flow_chunk(UINT32_MAX, 2 << 20, UINT64_MAX), 1 << 20);
}

/* Every small state of the sender with every credit: credit that decreases or exceeds the announced
 * data is refused. */
static void refuses_impossible_credit(void **state)
{
	static const uint64_t bases[] = {0, 4 * GIB - 2, 1ULL << 63};

	(void)state;
	for (size_t i = 0; i < COUNT(bases); i++)
		for (unsigned int bits = 0; bits < 1 << 12; bits++) {
			uint64_t base = bases[i];
			uint64_t credited = bits & 3, announced = credited + (bits >> 2 & 1);
			uint64_t credited_pieces = bits >> 3 & 3;
			uint64_t pieces = credited_pieces + (bits >> 5 & 1);
			uint64_t position = bits >> 6 & 7, credit = bits >> 9 & 7;
			struct flow_sender sender = {.announced = base + announced,
				.credited = base + credited,
				.pieces = pieces,
				.pieces_credited = credited_pieces};
			bool good = position >= credited && position <= announced &&
				    credit >= credited_pieces && credit <= pieces;

			assert_int_equal(
				flow_receive_credit(&sender, base + position, credit), good);
			assert_int_equal(sender.announced, base + announced);
			assert_int_equal(sender.pieces, pieces);
			assert_int_equal(sender.credited, base + (good ? position : credited));
			assert_int_equal(sender.pieces_credited, good ? credit : credited_pieces);
		}
}

static void refuses_out_of_range_credit(void **state)
{
	static const uint64_t far[] = {0, 1, 4 * GIB, UINT64_MAX, 1ULL << 63, UINT64_MAX - 99};
	struct flow_sender sender = {
		.announced = 5 * GIB, .credited = 5 * GIB - 10, .pieces = 7, .pieces_credited = 5};

	(void)state;
	for (size_t i = 0; i < COUNT(far); i++) {
		assert_false(flow_receive_credit(&sender, far[i], 6));
		assert_false(flow_receive_credit(&sender, 5 * GIB - 5, far[i]));
	}
	assert_true(flow_receive_credit(&sender, 5 * GIB - 10, 5));
	assert_true(flow_receive_credit(&sender, 5 * GIB, 7));
}

/* Every small state of the receiver with every position. */
static void refuses_impossible_pieces(void **state)
{
	static const uint64_t bases[] = {0, 4 * GIB - 2, 1ULL << 63};

	(void)state;
	for (size_t i = 0; i < COUNT(bases); i++)
		for (unsigned int bits = 0; bits < 1 << 12; bits++) {
			uint64_t base = bases[i], credited = bits & 3;
			uint64_t announced = credited + (bits >> 2 & 3), position = bits >> 4 & 15;
			uint64_t pieces = bits >> 8 & 3;
			struct flow flow = {
				.exposed = 4, .local = 4, .depth = 2, .fetched = bits >> 10 & 1};
			struct flow_receiver receiver = {.announced = base + announced,
				.arrived = base + credited,
				.credited = base + credited,
				.pieces = 10 + pieces,
				.pieces_credited = 10};
			bool good = position > announced && position - credited <= 4 && pieces < 2;
			uint64_t arrived = good && !flow.fetched ? position : credited;

			assert_int_equal(
				flow_receive_announcement(&flow, &receiver, base + position), good);
			assert_int_equal(receiver.announced, base + (good ? position : announced));
			assert_int_equal(receiver.pieces, 10 + pieces + good);
			assert_int_equal(receiver.arrived, base + arrived);
		}
}

static void refuses_out_of_range_pieces(void **state)
{
	static const uint64_t far[] = {0, 1, 1 * GIB, 4 * GIB, 5 * GIB, 5 * GIB + 4097, 9 * GIB,
		1ULL << 63, UINT64_MAX, UINT64_MAX - 4096};
	const struct flow flow = {.exposed = 4096, .local = 4096, .chunk = 64, .depth = 8};
	struct flow_receiver receiver = {.announced = 5 * GIB,
		.arrived = 5 * GIB,
		.credited = 5 * GIB,
		.requested = 5 * GIB};

	(void)state;
	for (size_t i = 0; i < COUNT(far); i++)
		assert_false(flow_receive_announcement(&flow, &receiver, far[i]));
	assert_int_equal(receiver.announced, 5 * GIB);
	assert_int_equal(receiver.pieces, 0);
	assert_true(flow_receive_announcement(&flow, &receiver, 5 * GIB + 4096));
}

/* However large the peer's announced ring is, no empty credit is sent. */
static void sends_no_empty_credit(void **state)
{
	(void)state;
	for (uint64_t less = 0; less < 8; less++) {
		const struct flow flow = {.exposed = UINT64_MAX - less,
			.local = 4096,
			.chunk = 64,
			.depth = 8,
			.fetched = true};
		struct flow_receiver receiver = {.announced = 3, .arrived = 3, .pieces_freed = 1};

		assert_false(flow_give_credit(&flow, &receiver, 0));
		receiver.pieces_freed = 2;
		assert_true(flow_give_credit(&flow, &receiver, 0));
		assert_false(flow_give_credit(&flow, &receiver, 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_fit_the_ring),
		cmocka_unit_test(announces_several_chunks_together),
		cmocka_unit_test(refuses_impossible_credit),
		cmocka_unit_test(refuses_out_of_range_credit),
		cmocka_unit_test(refuses_impossible_pieces),
		cmocka_unit_test(refuses_out_of_range_pieces),
		cmocka_unit_test(sends_no_empty_credit),
		cmocka_unit_test(arrives_in_every_order_of_events),
		cmocka_unit_test(arrives_in_random_orders),
		cmocka_unit_test(arrives_in_common_sizes),
	};

	return cmocka_run_group_tests_name("flow-control", tests, NULL, NULL);
}

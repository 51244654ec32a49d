/* The memory that a connection registers and the size of its queues, on the fake device. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exchange/internal.h"
#include "exchange/movers.h"
#include "tests/unit/exchange/pair.h"

#define KIB 1024UL

/* Of the port. */
static struct {
	uint8_t width, speed;
} rate;

/* Returns the queue limits for this device, these settings and this mode. */
static struct queue_limits choose_for(const struct ibv_device_attr *attributes,
	const struct exchange_settings *settings, bool streams, enum mode_number number)
{
	struct device device = {.attributes = *attributes};
	struct queue_limits limits;

	fake_start(IBV_TRANSPORT_IB);
	fake_set_rate(rate.width, rate.speed);
	device.verbs = fake_context();
	device.traits = device_traits(device.verbs, attributes);
	queue_limits_choose(&limits, settings, &device, 1,
		mover_find(mode_by_number(number), false), streams, false);
	return limits;
}

static struct queue_limits choose(const struct ibv_device_attr *attributes,
	const struct exchange_settings *settings, bool streams)
{
	return choose_for(attributes, settings, streams, MODE_WRITE);
}

/* Defaults depend on the device. The user's values are used unless they exceed the device's
 * limits. */
static void chunk_and_depth_depend_on_the_device(void **state)
{
	static const struct {
		uint32_t vendor;
		int work_requests;
		uint64_t buffer;
		uint32_t chunk, depth;               /* requested by the user */
		uint32_t chosen_chunk, chosen_depth; /* expected result */
	} cases[] = {
		{FAKE_SOFT_VENDOR, 16384, 7168 * KIB, 0, 0, 256 * KIB, 16},
		{0x2c9, 16384, 7168 * KIB, 0, 0, 512 * KIB, 16},
		{0x2c9, 16384, 65536 * KIB, 0, 0, 512 * KIB, 64},
		{FAKE_SOFT_VENDOR, 16384, 16 * KIB, 0, 0, 256 * KIB, 16},
		{FAKE_SOFT_VENDOR, 16384, 4096 * KIB, 1000, 0, 1000, 64},
		{FAKE_SOFT_VENDOR, 16384, 4096 * KIB, 0, 7, 256 * KIB, 7},
		{FAKE_SOFT_VENDOR, 16384, 4096 * KIB, 0, 5000, 256 * KIB, 5000},
		/* Limited by the device's maximum message size and queue size. */
		{0x2c9, 16384, 4096 * KIB, 64U << 20, 0, FAKE_MESSAGE_MAX, 16},
		{FAKE_SOFT_VENDOR, 16384, 4096 * KIB, 0, 65535, 256 * KIB, 8183},
		{FAKE_SOFT_VENDOR, 40, 4096 * KIB, 0, 0, 256 * KIB, 11},
		{FAKE_SOFT_VENDOR, 20, 4096 * KIB, 0, 0, 256 * KIB, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct ibv_device_attr attributes = {
			.vendor_id = cases[i].vendor,
			.max_qp_wr = cases[i].work_requests,
		};
		const struct exchange_settings settings = {
			.buffer = cases[i].buffer,
			.chunk = cases[i].chunk,
			.depth = cases[i].depth,
		};
		struct queue_limits limits = choose(&attributes, &settings, true);

		assert_int_equal(limits.chunk, cases[i].chosen_chunk);
		assert_int_equal(limits.depth, cases[i].chosen_depth);
		assert_true(limits.sends <= (uint32_t)cases[i].work_requests);
		assert_true(limits.receives <= (uint32_t)cases[i].work_requests);
		assert_true(limits.receives > limits.depth);
		assert_true(limits.sends >= 2 * limits.depth);
	}
}

/* Without --buffer, an adapter with a fast link or many workers has more than 7 MiB. */
static void a_fast_link_has_a_larger_buffer(void **state)
{
	static const struct {
		uint32_t vendor;
		uint8_t width, speed; /* 2: 4 lanes; 32: EDR, 64: HDR, 128: NDR */
		unsigned int workers;
		bool chosen;
		uint64_t buffer;
	} cases[] = {
		{0x2c9, 2, 32, 0, false, 7168 * KIB},
		{0x2c9, 2, 64, 0, false, 7168 * KIB},
		{0x2c9, 2, 128, 0, false, 4096 * KIB + 5000000},
		{0x2c9, 2, 128, 0, true, 7168 * KIB},
		{0x2c9, 2, 32, 8, false, 8192 * KIB + 1289000},
		{0x2c9, 2, 128, 64, false, 65536 * KIB},
		{0x2c9, 0, 0, 0, false, 7168 * KIB},
		{0x2c9, 64, 64, 16, false, 16384 * KIB},
		{FAKE_SOFT_VENDOR, 2, 128, 64, false, 7168 * KIB},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct ibv_device_attr attributes = {
			.vendor_id = cases[i].vendor, .max_qp_wr = 16384};
		const struct exchange_settings settings = {
			.buffer = 7168 * KIB,
			.buffer_grows = !cases[i].chosen,
			.workers = cases[i].workers,
		};
		struct queue_limits limits;

		rate.width = cases[i].width;
		rate.speed = cases[i].speed;
		limits = choose(&attributes, &settings, true);
		assert_int_equal(limits.buffer, cases[i].buffer);
		assert_in_range(limits.depth, 13, 128);
	}
	rate.width = rate.speed = 0;
}

/* A file that is read directly has blocks of whole disk blocks, in each lap of the ring. */
static void direct_blocks_are_aligned(void **state)
{
	static const struct {
		enum mode_number mode;
		bool direct;
		uint32_t wanted, chunk;
	} cases[] = {
		{MODE_SEND, false, 0, 430080 - 56},
		{MODE_SEND, true, 0, 425984},
		{MODE_SEND, true, 70000, 69632},
		{MODE_WRITE, true, 0, 512 * KIB},
		{MODE_WRITE, true, 70000, 69632},
		{MODE_WRITE, false, 70000, 70000},
		{MODE_WRITE, true, 1000, 1000},
	};
	const struct ibv_device_attr attributes = {.vendor_id = 0x2c9, .max_qp_wr = 16384};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct exchange_settings settings = {
			.buffer = 7168 * KIB, .chunk = cases[i].wanted, .direct = cases[i].direct};

		assert_int_equal(choose_for(&attributes, &settings, true, cases[i].mode).chunk,
			cases[i].chunk);
	}
}

/* Without --workers: one for each four processors of the device's node, up to four. */
static void workers_depend_on_device_and_processors(void **state)
{
	static const struct {
		const char *name;
		unsigned int wanted, processors;
		uint32_t vendor;
		uint64_t size;
		bool tree;
		unsigned int workers;
	} cases[] = {
		{"an adapter on a large host", 0, 64, 0x2c9, 64 * KIB * KIB, false, 4},
		{"a smaller file", 0, 64, 0x2c9, 64 * KIB * KIB - 1, false, 1},
		{"twelve processors", 0, 12, 0x2c9, 64 * KIB * KIB, false, 3},
		{"two processors", 0, 2, 0x2c9, 64 * KIB * KIB, false, 1},
		{"a pipe", 0, 64, 0x2c9, STREAM_SIZE_UNKNOWN, false, 1},
		{"a tree", 0, 64, 0x2c9, STREAM_SIZE_UNKNOWN, true, 4},
		{"a software device", 0, 64, FAKE_SOFT_VENDOR, 64 * KIB * KIB, false, 1},
		{"--workers", 17, 2, FAKE_SOFT_VENDOR, 1000, false, 17},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct ibv_device_attr attributes = {.vendor_id = cases[i].vendor};
		const struct exchange_settings settings = {.workers = cases[i].wanted};
		struct device device = {.attributes = attributes, .locality = {.restricted = true}};

		for (unsigned int p = 0; p < cases[i].processors; p++)
			CPU_SET(p, &device.locality.processors);
		fake_start(IBV_TRANSPORT_IB);
		device.verbs = fake_context();
		device.traits = device_traits(device.verbs, &attributes);
		check_case(cases[i].name, workers_choose(&settings, &device, cases[i].size,
						  cases[i].tree) == cases[i].workers);
	}
}

/* Two texts need two pages: one that is remotely accessible and one for everything else. */
static void messages_take_two_pages(void **state)
{
	static const struct ibv_device_attr attributes = {.vendor_id = 1, .max_qp_wr = 100};
	static const struct exchange_settings settings = {
		.buffer = 4096 * KIB, .chunk = 5000, .depth = 77};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct queue_limits limits = choose(&attributes, &settings, false);

	(void)state;
	assert_true(control_size(&limits) + SINK_TEXT_SIZE <= page);
	for (unsigned int mode = 0; mode < ONE_SIDED_MODES; mode++) {
		struct fixture fixture = {.mode = mode};

		fixture_start(&fixture);
		assert_int_equal(fake_registered(), 2 * page);
		fixture_end(&fixture);
	}
}

/* Each message has its own slot while it may be in use. */
static void messages_do_not_overlap(void **state)
{
	static uint8_t taken[65536];
	static const struct ibv_device_attr attributes = {.max_qp_wr = 100};
	static const struct exchange_settings settings = {.buffer = 64 * KIB, .depth = 5};

	(void)state;
	for (unsigned int streams = 0; streams < 2; streams++) {
		struct queue_pair pair = {0};
		struct connection connection = {
			.endpoint.pairs = &pair,
			.limits = choose(&attributes, &settings, streams),
			.control.start = taken,
		};
		size_t size = control_size(&connection.limits);
		uint8_t *place;

		memset(taken, 0, sizeof(taken));
		for (uint64_t slot = 0; slot < connection.limits.receives; slot++) {
			place = control_receives(&connection) + slot * LONG_SLOT;
			assert_true(place + LONG_SLOT <= taken + size);
			for (unsigned int i = 0; i < LONG_SLOT; i++)
				assert_int_equal(place[i]++, 0);
		}
		for (; pair.sends_posted < connection.limits.sends; pair.sends_posted++) {
			place = control_send(&connection, OPERATION_DATA);
			assert_true(place + MESSAGE_SIZE <= taken + size);
			for (unsigned int i = 0; i < MESSAGE_SIZE; i++)
				assert_int_equal(place[i]++, 0);
		}
		/* MSG_MR carries a file name only in streams. */
		for (unsigned int long_one = 0; long_one < 1 + streams; long_one++) {
			place = control_send(
				&connection, long_one ? OPERATION_MR : OPERATION_ABORT);
			for (unsigned int i = 0; i < MESSAGE_MAX; i++)
				assert_int_equal(place[i]++, 0);
		}
	}
}

/* --buffer limits both directions. A shorter stream uses less. */
static void memory_is_bounded_by_the_buffer(void **state)
{
	static const struct {
		uint64_t peer_size;
		const char *input;
		uint64_t most;
	} cases[] = {
		{STREAM_SIZE_UNKNOWN, "/dev/zero", 128 * KIB},
		{(uint64_t)5 << 30, "/dev/zero", 128 * KIB},
		{5000, "/dev/zero", 128 * KIB},
		{5000, NULL, 12 * KIB},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) * 4; i++) {
		struct fixture fixture = {
			.mode = i & 1,
			.active = i & 2,
			.buffer = 128 * KIB,
			.peer_size = cases[i / 4].peer_size,
			.input = cases[i / 4].input,
		};
		int access;
		uint64_t control;

		fixture_start(&fixture);
		fixture_establish(&fixture);
		if (!fixture.active)
			fixture_receive(&fixture,
				&(struct message){.type = MSG_MR, .length = 1, .depth = 1});
		control = fake_region(fake_send(fixture.id, 0).piece.lkey, &access)->length;
		assert_true(fake_registered() <= cases[i / 4].most + control + 8 * KIB);
		fixture_end(&fixture);
	}
}

/* If the memory limit is lower, smaller rings are used, and --verbose reports that. */
static void a_lower_limit_shrinks_the_rings(void **state)
{
	static const size_t limits[] = {256, 128, 96, 64, 44};

	(void)state;
	for (size_t i = 0; i < COUNT(limits) * 2; i++) {
		struct pair pair = {.chance = (unsigned int)i, .active = {.mode = i & 1}};
		struct fixture *ends[] = {&pair.active, &pair.passive};
		struct digest digests[2];
		char paths[2][32];
		int files[2];

		for (unsigned int end = 0; end < 2; end++) {
			ends[end]->buffer = 256 * KIB;
			ends[end]->output.verbose = true;
			ends[end]->chunk = 8000;
			files[end] = pair_file(300000, end, paths[end], &digests[end]);
			ends[end]->input = paths[end];
		}
		pair.limit = limits[i / 2] * KIB;
		pair_start(&pair);
		assert_true(fake_registered() <= 2 * pair.limit);
		pair_run(&pair);
		pair_close(&pair);
		pair_stop(&pair);
		close(files[0]);
		close(files[1]);
		assert_false(failure_is_set(&pair.active.outcome));
		assert_false(failure_is_set(&pair.passive.outcome));
		assert_non_null(strstr(pair.active.detailed,
			"cannot register 125 KiB of memory (Cannot allocate memory; needed 128 KiB "
			"more"));
		assert_non_null(strstr(pair.active.detailed, "trying half\n"));
	}
}

/* A connection uses only part of the memory limit, so that later connections fit. */
static void a_limit_is_shared(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {
			.mode = i & 1,
			.active = i & 2,
			.buffer = 4096 * KIB,
			.chunk = 1000,
			.peer_size = STREAM_SIZE_UNKNOWN,
			.input = "/dev/zero",
		};
		size_t share = fixture.active ? 512 * KIB : 256 * KIB, locked;

		fixture_start_device(&fixture);
		fake_announce_limit(1024 * KIB);
		fixture_start_connection(&fixture);
		fixture_establish(&fixture);
		/* The messages need some more pages. */
		locked = fake_registered();
		assert_in_range(locked, share / 2, share + 24 * KIB);
		fixture_end(&fixture);
	}
}

/* The kernel counts locked memory for the process, so memory on any device uses up the limit. */
static void a_limit_is_shared_by_devices(void **state)
{
	(void)state;
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct fixture fixture = {
			.mode = mode,
			.buffer = 4096 * KIB,
			.chunk = 1000,
			.peer_size = STREAM_SIZE_UNKNOWN,
			.input = "/dev/zero",
		};
		const struct device other = {.verbs = fake_context()};
		struct failure failure = {0};
		struct region region;

		fixture_start_device(&fixture);
		fake_announce_limit(1024 * KIB);
		assert_int_equal(region_map(&region, &other, 512 * KIB, 0, &failure), 0);
		fixture_start_connection(&fixture);
		assert_in_range(fake_registered(), 64 * KIB, (128 + 24) * KIB);
		region_free(&region);
		fixture_end(&fixture);
	}
}

/* If the limit is already used up, a small ring is tried. */
static void an_exhausted_limit_leaves_a_small_ring(void **state)
{
	struct fixture fixture = {
		.mode = MODE_WRITE,
		.peer_size = STREAM_SIZE_UNKNOWN,
		.input = "/dev/zero",
	};

	(void)state;
	fixture_start_device(&fixture);
	fake_announce_limit(4096);
	fixture_start_connection(&fixture);
	assert_in_range(fake_registered(), 12 * KIB, 32 * KIB);
	fixture_end(&fixture);
}

/* A process with CAP_IPC_LOCK may exceed the limit. */
static void the_limit_does_not_bind_privileged_processes(void **state)
{
	struct fixture fixture = {
		.mode = MODE_WRITE,
		.buffer = 4096 * KIB,
		.peer_size = STREAM_SIZE_UNKNOWN,
		.input = "/dev/zero",
	};

	(void)state;
	fixture_start_device(&fixture);
	fake_announce_limit(4096);
	fake_grant_locking();
	fixture_start_connection(&fixture);
	assert_in_range(fake_registered(), 3584 * KIB, 4224 * KIB);
	fixture_end(&fixture);
}

/* A ring is never smaller than a page. */
static void lack_of_memory_is_reported(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .peer_size = STREAM_SIZE_UNKNOWN};
	struct request request = fixture_request(&fixture);
	struct failure failure = {0};
	struct connection *connection;
	struct rdma_cm_id *id;

	(void)state;
	fixture_start_device(&fixture);
	id = fake_id();
	fake_limit_memory(16 * KIB);
	assert_int_equal(connection_create(&fixture.settings, mode_by_number(MODE_WRITE), id,
				 fixture.device, &request, &connection, &failure),
		-1);
	assert_int_equal(failure.phase, PHASE_MEMORY);
	/* Depends on the locked-memory limit of this process: verbs/memory.c. */
	assert_true(failure.code == ENOMEM || failure.code == CODE_NO_MEMORY);
	rdma_destroy_id(id);
	fixture_stop(&fixture);
}

/* Short queues suffice for any stream. */
static void short_queues_suffice(void **state)
{
	struct ibv_device_attr attributes = {
		.vendor_id = FAKE_SOFT_VENDOR,
		.max_qp_rd_atom = 1,
		.max_qp_init_rd_atom = 1,
	};

	(void)state;
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct pair pair = {.active = {.mode = mode, .attributes = &attributes}};
		struct digest digest;
		char path[32];
		int file = pair_file(100000, mode, path, &digest);

		attributes.max_qp_wr = mode == MODE_SEND ? 28 : 20;
		pair.active.input = path;
		pair.active.chunk = 1000;
		pair_start(&pair);
		pair_run(&pair);
		pair_close(&pair);
		pair_stop(&pair);
		close(file);
		assert_false(failure_is_set(&pair.active.outcome));
		assert_false(failure_is_set(&pair.passive.outcome));
	}
}

/* A request that rdmacm has dropped is not mistaken for a queue that is too long. */
static void a_lost_request_is_not_blamed_on_the_queue(void **state)
{
	static const struct ibv_device_attr attributes = {
		.vendor_id = FAKE_SOFT_VENDOR, .max_qp_wr = 64, .max_qp_rd_atom = 1};
	struct fixture fixture = {
		.mode = MODE_WRITE,
		.attributes = &attributes,
		.peer_size = STREAM_SIZE_UNKNOWN,
	};
	struct request request = fixture_request(&fixture);
	struct failure failure = {0};
	struct connection *connection;
	struct rdma_cm_id *id;

	(void)state;
	fixture_start_device(&fixture);
	id = fake_id();
	fake_fail("rdma_create_qp", 0, EINVAL);
	assert_int_equal(connection_create(&fixture.settings, mode_by_number(MODE_WRITE), id,
				 fixture.device, &request, &connection, &failure),
		-1);
	assert_int_equal(failure.kind, FAILURE_GONE);
	rdma_destroy_id(id);
	fixture_stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(chunk_and_depth_depend_on_the_device),
		with_fixture(a_fast_link_has_a_larger_buffer),
		with_fixture(direct_blocks_are_aligned),
		with_fixture(workers_depend_on_device_and_processors),
		with_fixture(messages_take_two_pages),
		with_fixture(messages_do_not_overlap),
		with_fixture(memory_is_bounded_by_the_buffer),
		with_fixture(a_lower_limit_shrinks_the_rings),
		with_fixture(a_limit_is_shared),
		with_fixture(a_limit_is_shared_by_devices),
		with_fixture(an_exhausted_limit_leaves_a_small_ring),
		with_fixture(the_limit_does_not_bind_privileged_processes),
		with_fixture(lack_of_memory_is_reported),
		with_fixture(short_queues_suffice),
		with_fixture(a_lost_request_is_not_blamed_on_the_queue),
	};

	return cmocka_run_group_tests_name("buffers", tests, NULL, NULL);
}

/* The table of transport and driver properties, and opening a device. */
#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "tests/unit/verbs/fake-verbs.h"
#include "verbs/device.h"

#define SOME_VENDOR 0x15b3

/* The entry of a driver precedes that of its transport. */
static void the_first_matching_entry_describes_a_device(void **state)
{
	static const struct {
		enum ibv_transport_type transport;
		uint32_t vendor;
		const char *driver;
		bool immediate, own_queue_pairs, read_needs_remote_write, peer_wakes_late;
		bool completes_out_of_order, flushes_as_local_error;
	} cases[] = {
		{IBV_TRANSPORT_IB, FAKE_SOFT_VENDOR, "rdma_rxe", .immediate = true,
			.own_queue_pairs = true},
		{IBV_TRANSPORT_IB, SOME_VENDOR, .immediate = true, .own_queue_pairs = true},
		{IBV_TRANSPORT_IWARP, SOME_VENDOR, .read_needs_remote_write = true,
			.peer_wakes_late = true},
		{IBV_TRANSPORT_IWARP, FAKE_SOFT_VENDOR, .read_needs_remote_write = true,
			.peer_wakes_late = true},
		{IBV_TRANSPORT_IWARP, FAKE_SIW_VENDOR, "siw", .read_needs_remote_write = true,
			.peer_wakes_late = true, .completes_out_of_order = true,
			.flushes_as_local_error = true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct device device = {0};
		struct failure failure = {0};

		fake_start(cases[i].transport);
		fake_attributes()->vendor_id = cases[i].vendor;
		assert_int_equal(device_open(&device, fake_context(), &failure), 0);
		assert_int_equal(device.traits->transport, cases[i].transport);
		if (cases[i].driver)
			assert_string_equal(device.traits->driver, cases[i].driver);
		else
			assert_null(device.traits->driver);
		assert_int_equal(device.traits->immediate, cases[i].immediate);
		assert_int_equal(device.traits->own_queue_pairs, cases[i].own_queue_pairs);
		assert_int_equal(
			device.traits->read_needs_remote_write, cases[i].read_needs_remote_write);
		assert_int_equal(device.traits->peer_wakes_late, cases[i].peer_wakes_late);
		assert_int_equal(device.traits->limits_reads, cases[i].peer_wakes_late);
		assert_int_equal(
			device.traits->completes_out_of_order, cases[i].completes_out_of_order);
		assert_int_equal(
			device.traits->flushes_as_local_error, cases[i].flushes_as_local_error);
		assert_int_equal(device.traits->invalid_mmap_key, cases[i].flushes_as_local_error);
		assert_int_equal(device.attributes.vendor_id, cases[i].vendor);
		assert_string_equal(device_name(&device), "fake0");
		device_close(&device);
		device_close(&device);
		assert_int_equal(fake_objects(), 0);
	}
}

/* The kernel assigns mmap keys in order, one per page; libsiw rejects 0x90000. */
static void the_invalid_mmap_key_is_covered_once(void **state)
{
	static const uint32_t vendors[] = {SOME_VENDOR, FAKE_SIW_VENDOR, FAKE_SIW_VENDOR};
	unsigned int entries = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(vendors); i++) {
		struct device device = {0};
		struct failure failure = {0};

		fake_start(IBV_TRANSPORT_IWARP);
		fake_attributes()->vendor_id = vendors[i];
		assert_int_equal(device_open(&device, fake_context(), &failure), 0);
		if (i == 1)
			entries = fake_unused_entries();
		assert_int_equal(fake_unused_entries(), entries);
		device_close(&device);
	}
	/* An entry takes 32 bytes. */
	assert_true(entries * 32 > 0x90000);
}

static void a_device_without_a_channel_cannot_be_opened(void **state)
{
	struct device device = {0};
	struct failure failure = {0};

	(void)state;
	fake_start(IBV_TRANSPORT_IB);
	fake_fail("ibv_create_comp_channel", 0, EMFILE);
	assert_int_equal(device_open(&device, fake_context(), &failure), -1);
	assert_int_equal(failure.kind, FAILURE_ERRNO);
	assert_int_equal(failure.code, EMFILE);
	assert_string_equal(failure.call, "ibv_create_comp_channel");
	device_close(&device);
	assert_int_equal(fake_objects(), 0);
}

/* Software devices write with the CPU, so there is nothing to relax. */
static void data_is_written_in_relaxed_order_on_adapters(void **state)
{
	static const struct {
		uint32_t vendor;
		enum ordering ordering;
		int access;
	} cases[] = {
		{SOME_VENDOR, ORDERING_AUTO, IBV_ACCESS_RELAXED_ORDERING},
		{SOME_VENDOR, ORDERING_RELAXED, IBV_ACCESS_RELAXED_ORDERING},
		{SOME_VENDOR, ORDERING_STRICT, 0},
		{FAKE_SOFT_VENDOR, ORDERING_AUTO, 0},
		{FAKE_SOFT_VENDOR, ORDERING_RELAXED, IBV_ACCESS_RELAXED_ORDERING},
		{FAKE_SOFT_VENDOR, ORDERING_STRICT, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct device device = {0};
		struct failure failure = {0};

		fake_start(IBV_TRANSPORT_IB);
		fake_attributes()->vendor_id = cases[i].vendor;
		assert_int_equal(device_open(&device, fake_context(), &failure), 0);
		assert_int_equal(device_data_access(&device, cases[i].ordering), cases[i].access);
		device_close(&device);
	}
}

/* No vector is used again before the others; a second opening begins with another one. */
static void completion_vectors_take_turns(void **state)
{
	struct failure failure = {0};
	struct device devices[2];
	int first[2];

	(void)state;
	fake_start(IBV_TRANSPORT_IB);
	for (size_t i = 0; i < COUNT(devices); i++) {
		devices[i] = (struct device){0};
		assert_int_equal(device_open(&devices[i], fake_context(), &failure), 0);
		first[i] = device_next_vector(&devices[i]);
		for (int j = 1; j <= 2 * FAKE_VECTORS; j++)
			assert_int_equal(
				device_next_vector(&devices[i]), (first[i] + j) % FAKE_VECTORS);
	}
	assert_int_equal(first[1], (first[0] + 1) % FAKE_VECTORS);
	fake_context()->num_comp_vectors = 0;
	assert_int_equal(device_next_vector(&devices[0]), 0);
	for (size_t i = 0; i < COUNT(devices); i++)
		device_close(&devices[i]);
	assert_int_equal(fake_objects(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_invalid_mmap_key_is_covered_once), /* before others */
		cmocka_unit_test(the_first_matching_entry_describes_a_device),
		cmocka_unit_test(data_is_written_in_relaxed_order_on_adapters),
		cmocka_unit_test(completion_vectors_take_turns),
		cmocka_unit_test(a_device_without_a_channel_cannot_be_opened),
	};

	return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}

/* The threads and the memory of an exchange are on the device's NUMA node, on the fake device. */
#include <unistd.h>

#include "exchange/internal.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/exchange/pair.h"
#include "tests/unit/verbs/locality-fixture.h"

/* The stream, and the ring that is large enough for it. A thread registers the ring. */
#define LARGE ((uint64_t)2 << 20)

static int stop_locality(void **state)
{
	locality_fixture_stop();
	return fixture_forget(state);
}

/* Runs an exchange from one end to the other until it has all of its threads. */
static void check_threads(enum mode_number mode)
{
	struct secret *secret = make_secret('a');
	struct pair pair = {.active = {.mode = mode, .secret = secret}, .passive.secret = secret};
	static const char *const threads[] = {"cq-fake0", "source", "sink", "register"};
	struct digest digest;
	char path[32];
	int file = pair_file(LARGE, mode, path, &digest);

	(mode == MODE_WRITE ? &pair.active : &pair.passive)->input = path;
	pair.active.buffer = pair.passive.buffer = 4 * LARGE;
	locality_fixture_start();
	pair_start(&pair);
	fake_hold_registrations(LARGE);
	pair_run(&pair);
	for (size_t i = 0; i < COUNT(threads); i++)
		check_case(threads[i], locality_fixture_binds(threads[i]));
	fake_hold_registrations(0);
	pair_run(&pair);
	pair_close(&pair);
	pair_stop(&pair);
	close(file);
	secret_free(secret);
	assert_false(failure_is_set(&pair.active.outcome));
	assert_false(failure_is_set(&pair.passive.outcome));
}

static void threads_run_on_the_node(void **state)
{
	(void)state;
	for (unsigned int mode = 0; mode < ONE_SIDED_MODES; mode++)
		check_threads(mode);
}

static void check_memory(struct fixture *fixture)
{
	const struct region *regions[FIXTURE_REGIONS];

	fixture->input = "/dev/zero";
	fixture->peer_size = STREAM_SIZE_UNKNOWN;
	locality_fixture_start();
	fixture_start_regions(fixture, regions);
	for (size_t i = 0; i < COUNT(regions); i++)
		assert_true(locality_fixture_places(regions[i]->start, regions[i]->mapped));
	fixture_end(fixture);
}

static void memory_is_on_the_node(void **state)
{
	(void)state;
	for_each_fixture(false, check_memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(threads_run_on_the_node, stop_locality),
		cmocka_unit_test_teardown(memory_is_on_the_node, stop_locality),
	};

	return cmocka_run_group_tests_name("locality of an exchange", tests, NULL, NULL);
}

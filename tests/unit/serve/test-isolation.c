/*
 * The memory that a peer can access on a fake device: which regions, with which rights, and until
 * when.
 */
#include <errno.h>
#include <string.h>

#include "exchange/internal.h"
#include "tests/unit/exchange/fixture.h"
#include "tests/unit/readable.h"
#include "tests/unit/serve/admission-fixture.h"

static void check_guards(struct fixture *fixture)
{
	const struct connection *connection;
	const struct region *regions[FIXTURE_REGIONS];

	fixture_start_regions(fixture, regions);
	connection = fixture->connection;
	for (size_t i = 0; i < COUNT(regions); i++) {
		const struct region *region = regions[i];

		if (region->mapped == 0)
			continue;
		assert_true(region->size > 0 && region->size <= region->mapped);
		assert_false(is_there(region->start - 1));
		assert_true(is_there(region->start));
		assert_true(is_there(region->start + region->mapped - 1));
		assert_false(is_there(region->start + region->mapped));
	}
	/*
	 * The ring for the peer's data, and the padding of our data up to the end of the page, are
	 * zero.
	 */
	for (size_t i = 0; i < connection->incoming.mapped; i++)
		assert_int_equal(connection->incoming.start[i], 0);
	for (size_t i = source_size(connection->source); i < connection->outgoing.mapped; i++)
		assert_int_equal(connection->outgoing.start[i], 0);
	fixture_end(fixture);
}

static void memory_lies_between_guard_pages_and_is_zero(void **state)
{
	(void)state;
	for_each_fixture(true, check_guards);
}

/* The remote access rights that this rkey grants; 0 if the rkey is invalid. */
static int opens(uint32_t key)
{
	int access = 0;

	return fake_region(key, &access)
		       ? access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)
		       : 0;
}

/* The right that the peer gets. */
static int right_of(const struct fixture *fixture)
{
	static const int rights[MODE_COUNT] = {
		[MODE_WRITE] = IBV_ACCESS_REMOTE_WRITE, [MODE_READ] = IBV_ACCESS_REMOTE_READ};

	return rights[fixture->mode];
}

static void check_rights(struct fixture *fixture)
{
	const struct connection *connection;
	bool writes = fixture->mode == MODE_WRITE, reads = fixture->mode == MODE_READ;

	fixture_exchange_regions(fixture, 1024);
	connection = fixture->connection;
	assert_int_equal(opens(fixture_last(fixture, MSG_MR).rkey), right_of(fixture));
	assert_int_equal(
		opens(connection->incoming.mr->rkey), writes ? IBV_ACCESS_REMOTE_WRITE : 0);
	assert_int_equal(opens(connection->outgoing.mr->rkey), reads ? IBV_ACCESS_REMOTE_READ : 0);
	assert_int_equal(opens(connection->control.mr->rkey), 0);
	fixture_end(fixture);
}

static void one_region_at_most_has_the_only_right_of_the_mode(void **state)
{
	(void)state;
	for_each_fixture(true, check_rights);
}

/* Once data and MSG_DONE have arrived, only the local process can write into the memory. */
static void check_revoked_after_done(struct fixture *fixture)
{
	struct message done = fixture_peer_done(fixture, PEER_TEXT, sizeof(PEER_TEXT));
	uint32_t key;

	fixture_start_data(fixture, 1024);
	key = fixture_last(fixture, MSG_MR).rkey;
	fixture_receive_data(fixture, PEER_TEXT, sizeof(PEER_TEXT));
	fixture_complete_all(fixture);
	assert_int_equal(opens(key), right_of(fixture));
	fixture_receive(fixture, &done);
	assert_int_equal(opens(key), fixture->mode == MODE_WRITE ? 0 : right_of(fixture));
	fixture_complete_all(fixture);
	fixture_receive(fixture, &(struct message){.type = MSG_VERDICT});
	assert_int_equal(opens(key), 0);
	fixture_complete_all(fixture);
	fixture_close(fixture, NULL);
	assert_false(failure_is_set(&fixture->outcome));
	fixture_stop(fixture);
}

static void memory_is_deregistered_when_the_peer_is_done(void **state)
{
	(void)state;
	for_each_fixture(false, check_revoked_after_done);
}

/*
 * Each READ request over iWARP contains the key of the memory that the data goes to, which allows
 * remote WRITE. The peer must not change that memory while it is verified.
 */
static void a_ring_for_reads_is_deregistered_before_it_is_verified(void **state)
{
	(void)state;
	for (unsigned int active = 0; active < 2; active++) {
		struct fixture fixture = {
			.mode = MODE_READ, .active = active, .transport = IBV_TRANSPORT_IWARP};
		struct message done = fixture_peer_done(&fixture, PEER_TEXT, sizeof(PEER_TEXT));

		fixture_start_data(&fixture, 1024);
		fixture_receive_data(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
		fixture_complete_all(&fixture);
		assert_true(region_is_reachable(&fixture.connection->incoming));
		fixture_receive(&fixture, &done);
		assert_null(fixture.connection->incoming.mr);
		fixture_end(&fixture);
	}
}

/* A tutorial peer's READ may still be in flight when its MSG_DONE arrives. */
static void a_tutorial_peer_keeps_its_region(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2, .tutorial = true};
		uint32_t key;

		fixture_start_data(&fixture, 1024);
		key = fixture_last(&fixture, MSG_MR).rkey;
		fixture_exchange_data(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
		assert_int_equal(opens(key), right_of(&fixture));
		fixture_close(&fixture, NULL);
		assert_false(failure_is_set(&fixture.outcome));
		fixture_stop(&fixture);
	}
}

/* Data that the peer can still change must not be reported as verified. */
static void a_failed_deregistration_ends_the_exchange(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};
	struct message done = fixture_peer_done(&fixture, PEER_TEXT, sizeof(PEER_TEXT));

	(void)state;
	fixture_start_data(&fixture, 1024);
	fixture_receive_data(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
	fake_fail("ibv_dereg_mr", 0, EBUSY);
	fixture_receive(&fixture, &done);
	fixture_complete_all(&fixture);
	assert_int_equal(fixture_count(&fixture, MSG_VERDICT), 0);
	assert_int_equal(fixture_count(&fixture, MSG_ABORT), 1);
	fixture_expect_failure(&fixture, FAILURE_ERRNO, STATUS_FAILED);
	assert_null(strstr(fixture.printed, "remote buffer"));
}

/*
 * On iWARP the sink of a READ needs remote write access, so it too is registered only after the
 * proof.
 */
static void a_ring_for_reads_waits_for_the_proof(void **state)
{
	struct secret *secret = make_secret('a');
	struct message message;

	(void)state;
	for (unsigned int active = 0; active < 2; active++) {
		struct fixture fixture = {
			.mode = MODE_READ, .secret = secret, .transport = IBV_TRANSPORT_IWARP};
		struct failure failure = {0};
		struct handshake peer;

		if (active)
			assert_int_equal(
				fixture_start_active(&fixture, &peer, secret, UINT8_MAX, &failure),
				0);
		else
			fixture_start_passive(&fixture, &peer, secret);
		assert_null(fixture.connection->incoming.mr);
		assert_false(fixture_is_reachable(&fixture));
		message = fixture_proof(&peer);
		fixture_receive(&fixture, &message);
		fixture_complete_all(&fixture);
		message = fixture_peer_region(&fixture, 1024);
		fixture_receive(&fixture, &message);
		assert_true(region_is_reachable(&fixture.connection->incoming));
		assert_true(region_is_reachable(&fixture.connection->outgoing));
		fixture_end(&fixture);
	}
	secret_free(secret);
}

/*
 * The memory exists but cannot be registered: both the local outcome and the peer's MSG_ABORT name
 * the cause.
 */
static void a_late_registration_failure_is_reported(void **state)
{
	struct secret *secret = make_secret('a');
	struct message message;

	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i & 1, .secret = secret};
		struct failure failure = {0};
		struct handshake peer;

		if (i & 2)
			assert_int_equal(
				fixture_start_active(&fixture, &peer, secret, UINT8_MAX, &failure),
				0);
		else
			fixture_start_passive(&fixture, &peer, secret);
		fake_fail("ibv_reg_mr", 0, ENOMEM);
		message = fixture_proof(&peer);
		fixture_receive(&fixture, &message);
		fixture_complete_all(&fixture);
		if (!fixture.active) {
			message = fixture_peer_region(&fixture, 1024);
			fixture_receive(&fixture, &message);
			fixture_complete_all(&fixture);
		}
		assert_int_equal(fixture_count(&fixture, MSG_MR), 0);
		assert_int_equal(fixture_count(&fixture, MSG_ABORT), 1);
		message = fixture_last(&fixture, MSG_ABORT);
		assert_non_null(memmem(message.text, message.text_size, "memory", 6));
		fixture_expect_failure(&fixture, FAILURE_ERRNO, STATUS_FAILED);
		assert_int_equal(fixture.outcome.phase, PHASE_MEMORY);
		assert_non_null(strstr(fixture.outcome.evidence, "KiB more"));
	}
	secret_free(secret);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(memory_lies_between_guard_pages_and_is_zero),
		with_fixture(one_region_at_most_has_the_only_right_of_the_mode),
		with_fixture(memory_is_deregistered_when_the_peer_is_done),
		with_fixture(a_ring_for_reads_is_deregistered_before_it_is_verified),
		with_fixture(a_tutorial_peer_keeps_its_region),
		with_fixture(a_ring_for_reads_waits_for_the_proof),
		with_fixture(a_late_registration_failure_is_reported),
		with_fixture(a_failed_deregistration_ends_the_exchange),
	};

	return cmocka_run_group_tests_name("isolation", tests, NULL, NULL);
}

/* What a peer may touch, in which way, and for how long, on a made-up device. */
#include <errno.h>
#include <string.h>

#include "admission-rig.h"
#include "rdma-internal.h"
#include "readable.h"
#include "rig.h"

static void check_guards(struct rig *rig)
{
	const struct connection *connection;
	const struct region *regions[3];

	rig_start(rig);
	rig_establish(rig);
	connection = rig->connection;
	regions[0] = &connection->control;
	regions[1] = &connection->outgoing;
	regions[2] = &connection->incoming;
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
	/* Where the peer's data will be, and behind ours up to the end of the page, is nothing. */
	for (size_t i = 0; i < connection->incoming.mapped; i++)
		assert_int_equal(connection->incoming.start[i], 0);
	for (size_t i = source_size(connection->source); i < connection->outgoing.mapped; i++)
		assert_int_equal(connection->outgoing.start[i], 0);
	rig_close(rig, NULL);
	rig_stop(rig);
}

static void memory_lies_between_guards_and_is_zero(void **state)
{
	(void)state;
	for_each_rig(true, check_guards);
}

/* What that key allows a peer; 0 if the key opens nothing. */
static int opens(uint32_t key)
{
	int access = 0;

	return fake_region(key, &access)
		       ? access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)
		       : 0;
}

static int right_of(const struct rig *rig)
{
	return rig->mode == MODE_WRITE ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;
}

static void check_rights(struct rig *rig)
{
	const struct connection *connection;
	bool writes = rig->mode == MODE_WRITE;

	rig_exchange_regions(rig, 1024);
	connection = rig->connection;
	assert_int_equal(opens(rig_last(rig, MSG_MR).rkey), right_of(rig));
	assert_int_equal(
		opens(connection->incoming.mr->rkey), writes ? IBV_ACCESS_REMOTE_WRITE : 0);
	assert_int_equal(opens(connection->outgoing.mr->rkey), writes ? 0 : IBV_ACCESS_REMOTE_READ);
	assert_int_equal(opens(connection->control.mr->rkey), 0);
	rig_close(rig, NULL);
	rig_stop(rig);
}

static void one_region_has_the_one_right_that_the_mode_needs(void **state)
{
	(void)state;
	for_each_rig(true, check_rights);
}

/* Data that is here, and MSG_DONE: from then on only we can write into our memory. */
static void check_revoked_after_done(struct rig *rig)
{
	struct message done = rig_peer_done(rig, PEER_TEXT, sizeof(PEER_TEXT));
	uint32_t key;

	rig_start_data(rig, 1024);
	key = rig_last(rig, MSG_MR).rkey;
	rig_hear_data(rig, PEER_TEXT, sizeof(PEER_TEXT));
	rig_complete_all(rig);
	assert_int_equal(opens(key), right_of(rig));
	rig_hear(rig, &done);
	assert_int_equal(opens(key), rig->mode == MODE_WRITE ? 0 : right_of(rig));
	rig_complete_all(rig);
	rig_hear(rig, &(struct message){.type = MSG_VERDICT});
	assert_int_equal(opens(key), 0);
	rig_complete_all(rig);
	rig_close(rig, NULL);
	assert_false(failure_is_set(&rig->outcome));
	rig_stop(rig);
}

static void what_the_peer_is_done_with_is_taken_back(void **state)
{
	(void)state;
	for_each_rig(false, check_revoked_after_done);
}

/* A tutorial peer's READ may still run when its MSG_DONE is here. */
static void a_tutorial_peer_keeps_what_it_has(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct rig rig = {.mode = i & 1, .active = i & 2, .tutorial = true};
		uint32_t key;

		rig_start_data(&rig, 1024);
		key = rig_last(&rig, MSG_MR).rkey;
		rig_exchange_data(&rig, PEER_TEXT, sizeof(PEER_TEXT));
		assert_int_equal(opens(key), right_of(&rig));
		rig_close(&rig, NULL);
		assert_false(failure_is_set(&rig.outcome));
		rig_stop(&rig);
	}
}

/* What could be changed still is not called verified. */
static void memory_that_stays_open_ends_the_exchange(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};
	struct message done = rig_peer_done(&rig, PEER_TEXT, sizeof(PEER_TEXT));

	(void)state;
	rig_start_data(&rig, 1024);
	rig_hear_data(&rig, PEER_TEXT, sizeof(PEER_TEXT));
	fake_fail("ibv_dereg_mr", 0, EBUSY);
	rig_hear(&rig, &done);
	rig_complete_all(&rig);
	assert_int_equal(rig_count(&rig, MSG_VERDICT), 0);
	assert_int_equal(rig_count(&rig, MSG_ABORT), 1);
	rig_expect_failure(&rig, FAILURE_ERRNO, STATUS_FAILED);
	assert_null(strstr(rig.printed, "remote buffer"));
}

/* On iWARP a READ writes into memory that the peer could write into, too: it gets it no sooner. */
static void a_ring_for_reads_waits_for_the_proof(void **state)
{
	struct secret *secret = make_secret('a');
	struct message message;

	(void)state;
	for (unsigned int active = 0; active < 2; active++) {
		struct rig rig = {
			.mode = MODE_READ, .secret = secret, .transport = IBV_TRANSPORT_IWARP};
		struct failure failure = {0};
		struct handshake peer;

		if (active)
			assert_int_equal(
				rig_start_active(&rig, &peer, secret, UINT8_MAX, &failure), 0);
		else
			rig_start_passive(&rig, &peer, secret);
		assert_null(rig.connection->incoming.mr);
		assert_false(rig_is_reachable(&rig));
		message = rig_proof(&peer);
		rig_hear(&rig, &message);
		rig_complete_all(&rig);
		message = rig_peer_region(&rig, 1024);
		rig_hear(&rig, &message);
		assert_true(region_is_reachable(&rig.connection->incoming));
		assert_true(region_is_reachable(&rig.connection->outgoing));
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
	secret_free(secret);
}

/*
 * The memory is there, but the device does not take it: whose fault that is is said as ever, and the
 * peer hears it, too.
 */
static void memory_that_cannot_be_registered_then_is_said(void **state)
{
	struct secret *secret = make_secret('a');
	struct message message;

	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct rig rig = {.mode = i & 1, .secret = secret};
		struct failure failure = {0};
		struct handshake peer;

		if (i & 2)
			assert_int_equal(
				rig_start_active(&rig, &peer, secret, UINT8_MAX, &failure), 0);
		else
			rig_start_passive(&rig, &peer, secret);
		fake_fail("ibv_reg_mr", 0, ENOMEM);
		message = rig_proof(&peer);
		rig_hear(&rig, &message);
		rig_complete_all(&rig);
		if (!rig.active) {
			message = rig_peer_region(&rig, 1024);
			rig_hear(&rig, &message);
			rig_complete_all(&rig);
		}
		assert_int_equal(rig_count(&rig, MSG_MR), 0);
		assert_int_equal(rig_count(&rig, MSG_ABORT), 1);
		message = rig_last(&rig, MSG_ABORT);
		assert_non_null(memmem(message.text, message.text_size, "memory", 6));
		rig_expect_failure(&rig, FAILURE_ERRNO, STATUS_FAILED);
		assert_int_equal(rig.outcome.phase, PHASE_MEMORY);
		assert_non_null(strstr(rig.outcome.evidence, "more, the limit is"));
	}
	secret_free(secret);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_rig(memory_lies_between_guards_and_is_zero),
		with_rig(one_region_has_the_one_right_that_the_mode_needs),
		with_rig(what_the_peer_is_done_with_is_taken_back),
		with_rig(a_tutorial_peer_keeps_what_it_has),
		with_rig(a_ring_for_reads_waits_for_the_proof),
		with_rig(memory_that_cannot_be_registered_then_is_said),
		with_rig(memory_that_stays_open_ends_the_exchange),
	};

	return cmocka_run_group_tests_name("isolation", tests, NULL, NULL);
}

/* Connecting, on a made-up device: what the peer may touch, and what rdmacm is asked for. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "rig.h"

static bool overlap(const struct ibv_mr *a, const struct ibv_mr *b)
{
	const char *a_start = a->addr, *b_start = b->addr;

	return a_start < b_start + b->length && b_start < a_start + a->length;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/* The peer gets the one right that the mode needs, to exactly one region, and zeros to read. */
static void the_peer_may_touch_only_what_the_mode_needs(void **state)
{
	static const int access[MODE_COUNT] = {
		[MODE_WRITE] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		[MODE_READ] = IBV_ACCESS_REMOTE_READ,
	};

	(void)state;
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct rig rig = {.mode = mode, .active = true, .message = "0123456789"};
		size_t offered = mode == MODE_READ ? sizeof("0123456789") : 0;
		const struct ibv_mr *exposed, *control;
		int exposed_access, control_access;

		rig_start(&rig);
		rig_establish(&rig);
		exposed = fake_region(rig_sent(&rig, 0).rkey, &exposed_access);
		control = fake_region(fake_send(rig.id, 0).piece.lkey, &control_access);
		assert_int_equal(exposed_access, access[mode]);
		assert_int_equal(control_access, IBV_ACCESS_LOCAL_WRITE);
		assert_int_equal(exposed->length, SINK_TEXT_SIZE);
		assert_false(overlap(exposed, control));
		assert_memory_equal(exposed->addr, "0123456789", offered);
		assert_true(is_zero((uint8_t *)exposed->addr + offered, exposed->length - offered));
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

/* On iWARP what a READ fills must allow REMOTE_WRITE, so it may not hold anything else. */
static void iwarp_reads_into_a_region_apart(void **state)
{
	struct rig rig = {.mode = MODE_READ, .active = true, .transport = IBV_TRANSPORT_IWARP};
	const struct ibv_mr *sink, *control;
	int access, read;

	(void)state;
	rig_exchange_regions(&rig, PEER_MEMORY);
	rig_hear_data(&rig, PEER_TEXT, sizeof(PEER_TEXT));
	read = rig_find_rdma(&rig, IBV_WR_RDMA_READ);
	assert_true(read > 0);
	sink = fake_region(fake_send(rig.id, (unsigned int)read).piece.lkey, &access);
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(sink->length, SINK_TEXT_SIZE);
	assert_int_not_equal(sink->rkey, rig_last(&rig, MSG_MR).rkey);
	control = fake_region(fake_send(rig.id, 0).piece.lkey, &access);
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE);
	assert_ptr_not_equal(sink, control);
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

/* Elsewhere it does not. */
static void what_a_read_fills_is_nobody_elses(void **state)
{
	struct rig rig = {.mode = MODE_READ};
	struct fake_send read;
	int access;

	(void)state;
	rig_exchange_regions(&rig, PEER_MEMORY);
	rig_hear_data(&rig, PEER_TEXT, sizeof(PEER_TEXT));
	read = fake_send(rig.id, (unsigned int)rig_find_rdma(&rig, IBV_WR_RDMA_READ));
	assert_non_null(fake_region(read.piece.lkey, &access));
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE);
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

/* One client's key must open nothing of another's. */
static void each_connection_has_a_protection_domain_of_its_own(void **state)
{
	struct rig rig = {.mode = MODE_WRITE}, other = {.mode = MODE_WRITE};
	struct request request = rig_request(&rig);
	struct failure failure = {0};

	(void)state;
	rig_start(&rig);
	other.id = fake_id();
	assert_int_equal(connection_create(&rig.session, mode_by_number(MODE_WRITE), other.id,
				 rig.device, &request, &other.connection, &failure),
		0);
	assert_ptr_not_equal(other.id->qp->pd, rig.id->qp->pd);
	connection_close(other.connection, NULL);
	rig_close(&rig, NULL);
	connection_destroy(other.connection);
	rig_stop(&rig);
}

static void assert_is_our_introduction(
	const struct fake_requests *requests, const struct rig *rig, uint64_t size)
{
	struct introduction ours;

	assert_int_equal(requests->connect.private_data_len, INTRODUCTION_SIZE);
	assert_int_equal(introduction_decode(&ours, requests->private_data, INTRODUCTION_SIZE), 0);
	assert_int_equal(ours.version, INTRODUCTION_VERSION);
	assert_int_equal(ours.mode, rig->mode);
	assert_int_equal(ours.session, SESSION_EXCHANGE);
	assert_int_equal(ours.refusal, REFUSAL_NONE);
	assert_int_equal(ours.size, size);
	assert_int_equal(ours.timeout, rig->session.timeout);
}

/* A retry count that is left at 0 means none, 7 with soft-RoCE for ever; an RNR timer of 0, 655 ms. */
static void assert_tries_hard(const struct fake_requests *requests)
{
	assert_int_equal(requests->connect.retry_count, 7);
	assert_int_equal(requests->connect.rnr_retry_count, 7);
	assert_int_not_equal(requests->ack_timeout, 0);
}

static void connects_with_retries_and_an_introduction(void **state)
{
	(void)state;
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct rig rig = {.mode = mode, .active = true};
		struct fake_requests requests;

		rig_start(&rig);
		assert_int_equal(connection_connect(rig.connection), 0);
		requests = fake_requests(rig.id);
		assert_tries_hard(&requests);
		assert_is_our_introduction(&requests, &rig, sizeof("ours"));
		assert_int_equal(requests.connect.initiator_depth, 16);
		assert_int_equal(requests.connect.responder_resources, 16);
		rig_establish(&rig);
		assert_int_not_equal(fake_requests(rig.id).rnr_timer, 0);
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

/* A file has a size that is known; what only its end will tell is said to be of unknown size. */
static void the_introduction_says_how_much_will_come(void **state)
{
	static const struct {
		const char *input;
		uint64_t size;
	} cases[] = {
		{"/dev/zero", STREAM_SIZE_UNKNOWN},
		{"/proc/self/status", STREAM_SIZE_UNKNOWN},
		{"/etc/hostname", 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rig rig = {.mode = MODE_WRITE, .active = true, .input = cases[i].input};
		struct fake_requests requests;
		struct stat file;

		if (stat(cases[i].input, &file))
			continue;
		rig_start(&rig);
		assert_int_equal(connection_connect(rig.connection), 0);
		requests = fake_requests(rig.id);
		assert_is_our_introduction(
			&requests, &rig, cases[i].size ? cases[i].size : (uint64_t)file.st_size);
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

static void accepts_with_what_both_ends_have(void **state)
{
	static const struct {
		uint8_t initiator_depth, responder_resources, granted_depth, granted_resources;
	} cases[] = {
		{0, 0, 0, 0}, {1, 1, 1, 1}, {16, 0, 16, 0}, {0, 16, 0, 12}, {255, 255, 16, 12}};
	static const struct ibv_device_attr attributes = {
		.vendor_id = FAKE_SOFT_VENDOR,
		.max_qp_wr = 1000,
		.max_qp_rd_atom = 12,
		.max_qp_init_rd_atom = 16,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rig rig = {
			.mode = MODE_WRITE,
			.tutorial = i & 1,
			.attributes = &attributes,
		};
		struct request request = rig_request(&rig);
		struct fake_requests requests;
		struct failure failure = {0};

		request.initiator_depth = cases[i].initiator_depth;
		request.responder_resources = cases[i].responder_resources;
		rig_start_device(&rig);
		rig.id = fake_id();
		assert_int_equal(connection_create(&rig.session, mode_by_number(MODE_WRITE), rig.id,
					 rig.device, &request, &rig.connection, &failure),
			0);
		assert_int_equal(connection_accept(rig.connection), 0);
		requests = fake_requests(rig.id);
		assert_tries_hard(&requests);
		assert_int_not_equal(requests.rnr_timer, 0);
		assert_int_equal(requests.connect.initiator_depth, cases[i].granted_depth);
		assert_int_equal(requests.connect.responder_resources, cases[i].granted_resources);
		/* The tutorial's program does not look at private data; it gets none. */
		if (rig.tutorial)
			assert_int_equal(requests.connect.private_data_len, 0);
		else
			assert_is_our_introduction(&requests, &rig, sizeof("ours"));
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

static void reports_what_rdmacm_refuses(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true};

	(void)state;
	rig_start(&rig);
	fake_fail("rdma_connect", 0, EADDRNOTAVAIL);
	assert_int_equal(connection_connect(rig.connection), -EADDRNOTAVAIL);
	fake_fail("rdma_accept", 0, EINVAL);
	assert_int_equal(connection_accept(rig.connection), -EINVAL);
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

/* An acceptance that does not fit is not handed to the CQ thread. */
static void refuses_an_answer_that_does_not_fit(void **state)
{
	static const struct {
		enum mode_number mode;
		struct introduction answer;
		uint8_t length, depth;
		const char *input, *says;
	} cases[] = {
		{MODE_WRITE, {1, MODE_WRITE, 0, 0, 7, 0}, INTRODUCTION_SIZE, 1, NULL,
			"it accepted with version 1 and mode 0, not ours"},
		{MODE_WRITE, {3, MODE_WRITE, 0, 0, 7, 0}, INTRODUCTION_SIZE, 1, NULL, "version 3"},
		{MODE_WRITE, {0, MODE_WRITE, 0, 0, 7, 0}, INTRODUCTION_SIZE, 1, NULL, "version 0"},
		{MODE_WRITE, {2, MODE_READ, 0, 0, 7, 0}, INTRODUCTION_SIZE, 1, NULL, "mode 1"},
		{MODE_WRITE, {2, MODE_WRITE, 0, 0, 7, 0}, INTRODUCTION_SIZE - 1, 1, NULL,
			"not ours"},
		{MODE_READ, {2, MODE_READ, 0, 0, 7, 0}, INTRODUCTION_SIZE, 0, NULL,
			"it allows no RDMA READ"},
		{MODE_READ, {0}, 0, 0, NULL, "it allows no RDMA READ"},
		/* The tutorial's programs know texts only. */
		{MODE_WRITE, {0}, 0, 1, "/dev/zero", "which knows no files"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rig rig = {
			.mode = cases[i].mode,
			.active = true,
			.input = cases[i].input,
		};
		uint8_t introduction[INTRODUCTION_SIZE];
		struct rdma_conn_param answer = {
			.private_data = introduction,
			.private_data_len = cases[i].length,
			.initiator_depth = cases[i].depth,
		};
		struct failure failure = {0};

		rig_start(&rig);
		introduction_encode(&cases[i].answer, introduction);
		assert_int_equal(connection_established(rig.connection, &answer, &failure), -1);
		assert_int_equal(failure_status(&failure), STATUS_PEER);
		if (!strstr(failure.evidence, cases[i].says))
			fail_msg("'%s' is not '%s'", failure.evidence, cases[i].says);
		fake_settle();
		assert_int_equal(fake_sends(rig.id), 0);
		rig_close(&rig, &failure);
		rig_stop(&rig);
		assert_int_equal(rig.outcome.kind, FAILURE_PROTOCOL);
	}
}

static void a_closed_connection_is_not_established(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true};

	(void)state;
	rig_start(&rig);
	rig_close(&rig, NULL);
	rig_establish(&rig);
	assert_int_equal(fake_sends(rig.id), 0);
	rig_stop(&rig);
}

static void keeps_what_main_needs_to_know(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};

	(void)state;
	rig_start(&rig);
	assert_string_equal(connection_peer(rig.connection), "192.0.2.9:7471");
	assert_string_equal(device_name(rig.device), "fake0");
	assert_null(connection_owner(rig.connection));
	connection_set_owner(rig.connection, &rig);
	assert_ptr_equal(connection_owner(rig.connection), &rig);
	rig_close(&rig, NULL);
	connection_close(rig.connection, NULL);
	assert_int_equal(fake_requests(rig.id).disconnects, 1);
	rig_stop(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_rig(the_peer_may_touch_only_what_the_mode_needs),
		with_rig(iwarp_reads_into_a_region_apart),
		with_rig(what_a_read_fills_is_nobody_elses),
		with_rig(each_connection_has_a_protection_domain_of_its_own),
		with_rig(connects_with_retries_and_an_introduction),
		with_rig(the_introduction_says_how_much_will_come),
		with_rig(accepts_with_what_both_ends_have),
		with_rig(reports_what_rdmacm_refuses),
		with_rig(refuses_an_answer_that_does_not_fit),
		with_rig(a_closed_connection_is_not_established),
		with_rig(keeps_what_main_needs_to_know),
	};

	return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}

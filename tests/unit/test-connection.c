/*
 * Making, connecting and freeing a connection, on a made-up device: what the peer may touch, what
 * rdmacm is asked for, and that whatever fails half-way leaves nothing behind.
 */
#include <errno.h>
#include <string.h>

#include "rig.h"

/* A connection of this mode and role that is not made yet; nothing must be left of it. */
static void expect_no_connection(struct rig *rig, const char *function, unsigned int after,
	int error, struct failure *failure)
{
	unsigned int objects;
	struct rdma_cm_id *id = fake_id();
	struct connection *connection;

	objects = fake_objects();
	fake_fail(function, after, error);
	assert_int_equal(connection_create(&rig->session, mode_by_number(rig->mode), id,
				 rig->device, false, &connection, failure),
		-1);
	check_case(function, fake_objects() == objects);
	/* The id stays the caller's. */
	assert_null(id->qp);
	rdma_destroy_id(id);
}

static void what_fails_half_way_leaves_nothing(void **state)
{
	static const struct {
		const char *function;
		unsigned int after;
		int error;
		enum failure_kind kind;
		enum phase phase;
	} cases[] = {
		{"ibv_alloc_pd", 0, ENOMEM, FAILURE_ERRNO, PHASE_QUEUE_PAIR},
		{"ibv_create_cq", 0, ENOMEM, FAILURE_ERRNO, PHASE_QUEUE_PAIR},
		{"ibv_req_notify_cq", 0, EIO, FAILURE_ERRNO, PHASE_QUEUE_PAIR},
		{"rdma_create_qp", 0, ENOMEM, FAILURE_ERRNO, PHASE_QUEUE_PAIR},
		/* The size is not at fault: rdmacm has given the request up. */
		{"rdma_create_qp", 0, EINVAL, FAILURE_GONE, PHASE_CONNECT},
		{"ibv_reg_mr", 0, ENOMEM, FAILURE_ERRNO, PHASE_MEMORY},
		{"ibv_reg_mr", 1, ENOMEM, FAILURE_ERRNO, PHASE_MEMORY},
		{"ibv_reg_mr", 2, ENOMEM, FAILURE_ERRNO, PHASE_MEMORY},
		{"ibv_post_recv", 0, ENOMEM, FAILURE_ERRNO, PHASE_QUEUE_PAIR},
		{"ibv_post_recv", 3, ENOMEM, FAILURE_ERRNO, PHASE_QUEUE_PAIR},
	};
	struct rig rig = {.mode = MODE_READ, .transport = IBV_TRANSPORT_IWARP};

	(void)state;
	rig_start(&rig);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct failure failure = {0};

		expect_no_connection(
			&rig, cases[i].function, cases[i].after, cases[i].error, &failure);
		check_case(cases[i].function, failure.kind == cases[i].kind);
		check_case(cases[i].function, failure.phase == cases[i].phase);
		assert_int_equal(failure.code, cases[i].error);
		assert_string_equal(failure.call, cases[i].function);
		check_case(cases[i].function, *failure.evidence != '\0');
	}
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

static void a_device_that_gives_no_channel_is_not_started(void **state)
{
	struct failure failure = {0};
	struct device *device = NULL;

	(void)state;
	fake_start(IBV_TRANSPORT_IB);
	fake_fail("ibv_create_comp_channel", 0, EMFILE);
	assert_int_equal(device_start(fake_context(), &device, &failure), -1);
	assert_null(device);
	assert_int_equal(failure.code, EMFILE);
	assert_string_equal(failure.call, "ibv_create_comp_channel");
	assert_int_equal(fake_objects(), 0);
	device_stop(NULL);
}

/* Options and timers that older kernels or iWARP do not know are no reason to fail. */
static void what_a_device_may_lack_is_not_needed(void **state)
{
	static const char *const functions[] = {"rdma_set_option", "ibv_modify_qp"};

	(void)state;
	for (size_t i = 0; i < COUNT(functions); i++) {
		struct rig rig = {.mode = MODE_WRITE};
		struct rdma_conn_param request = {.initiator_depth = 1, .responder_resources = 1};
		struct rdma_cm_id *id;
		struct connection *connection;
		struct failure failure = {0};

		rig_start(&rig);
		id = fake_id();
		fake_fail(functions[i], 0, ENOSYS);
		assert_int_equal(connection_create(&rig.session, mode_by_number(MODE_WRITE), id,
					 rig.device, false, &connection, &failure),
			0);
		assert_int_equal(connection_accept(connection, &request), 0);
		connection_destroy(connection);
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

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
		assert_int_equal(exposed->length, REGION_SIZE);
		assert_false(overlap(exposed, control));
		assert_memory_equal(exposed->addr, "0123456789", offered);
		assert_true(is_zero((uint8_t *)exposed->addr + offered, REGION_SIZE - offered));
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

/* On iWARP what a READ fills must allow REMOTE_WRITE, so it may not hold anything else. */
static void iwarp_reads_into_a_region_apart(void **state)
{
	struct rig rig = {.mode = MODE_READ, .active = true, .transport = IBV_TRANSPORT_IWARP};
	const struct ibv_mr *sink, *control;
	int access;

	(void)state;
	rig_exchange_regions(&rig, REGION_SIZE);
	sink = fake_region(fake_send(rig.id, 1).piece.lkey, &access);
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(sink->length, REGION_SIZE);
	control = fake_region(fake_send(rig.id, 0).piece.lkey, &access);
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE);
	assert_ptr_not_equal(sink, control);
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

/* One client's key must open nothing of another's. */
static void each_connection_has_a_protection_domain_of_its_own(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};
	struct rdma_cm_id *id;
	struct connection *other;
	struct failure failure = {0};

	(void)state;
	rig_start(&rig);
	id = fake_id();
	assert_int_equal(connection_create(&rig.session, mode_by_number(MODE_WRITE), id, rig.device,
				 false, &other, &failure),
		0);
	assert_ptr_not_equal(id->qp->pd, rig.id->qp->pd);
	connection_destroy(other);
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

static void assert_is_our_introduction(const struct fake_requests *requests, enum mode_number mode)
{
	struct introduction ours;

	assert_int_equal(requests->connect.private_data_len, INTRODUCTION_SIZE);
	assert_int_equal(introduction_decode(&ours, requests->private_data, INTRODUCTION_SIZE), 0);
	assert_int_equal(ours.version, INTRODUCTION_VERSION);
	assert_int_equal(ours.mode, mode);
	assert_int_equal(ours.session, SESSION_EXCHANGE);
	assert_int_equal(ours.refusal, REFUSAL_NONE);
	assert_int_equal(ours.region_length, REGION_SIZE);
}

/* A retry count that is left at 0 means none, 7 with soft-RoCE for ever; an RNR timer of 0, 655 ms. */
static void assert_tries_hard(const struct fake_requests *requests)
{
	assert_int_equal(requests->connect.retry_count, 6);
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
		assert_is_our_introduction(&requests, mode);
		assert_int_equal(requests.connect.initiator_depth, 1);
		assert_int_equal(requests.connect.responder_resources, 1);
		rig_establish(&rig);
		assert_int_not_equal(fake_requests(rig.id).rnr_timer, 0);
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

static void accepts_with_what_both_ends_have(void **state)
{
	static const struct {
		uint8_t initiator_depth, responder_resources, granted_depth, granted_resources;
	} cases[] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {16, 0, 1, 0}, {0, 16, 0, 1}, {255, 255, 1, 1}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rig rig = {.mode = MODE_WRITE, .tutorial = i & 1};
		struct rdma_conn_param request = {
			.initiator_depth = cases[i].initiator_depth,
			.responder_resources = cases[i].responder_resources,
		};
		struct fake_requests requests;

		rig_start(&rig);
		assert_int_equal(connection_accept(rig.connection, &request), 0);
		requests = fake_requests(rig.id);
		assert_tries_hard(&requests);
		assert_int_not_equal(requests.rnr_timer, 0);
		assert_int_equal(requests.connect.initiator_depth, cases[i].granted_depth);
		assert_int_equal(requests.connect.responder_resources, cases[i].granted_resources);
		/* The tutorial's program does not look at private data; it gets none. */
		if (rig.tutorial)
			assert_int_equal(requests.connect.private_data_len, 0);
		else
			assert_is_our_introduction(&requests, MODE_WRITE);
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

static void reports_what_rdmacm_refuses(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true};
	struct rdma_conn_param request = {0};

	(void)state;
	rig_start(&rig);
	fake_fail("rdma_connect", 0, EADDRNOTAVAIL);
	assert_int_equal(connection_connect(rig.connection), -EADDRNOTAVAIL);
	fake_fail("rdma_accept", 0, EINVAL);
	assert_int_equal(connection_accept(rig.connection, &request), -EINVAL);
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
	} cases[] = {
		{MODE_WRITE, {2, MODE_WRITE, 0, 0, REGION_SIZE}, INTRODUCTION_SIZE, 1},
		{MODE_WRITE, {0, MODE_WRITE, 0, 0, REGION_SIZE}, INTRODUCTION_SIZE, 1},
		{MODE_WRITE, {1, MODE_READ, 0, 0, REGION_SIZE}, INTRODUCTION_SIZE, 1},
		{MODE_WRITE, {1, MODE_WRITE, 0, 0, REGION_SIZE - 1}, INTRODUCTION_SIZE, 1},
		{MODE_WRITE, {1, MODE_WRITE, 0, 0, REGION_SIZE}, INTRODUCTION_SIZE - 1, 1},
		{MODE_READ, {1, MODE_READ, 0, 0, REGION_SIZE}, INTRODUCTION_SIZE, 0},
		{MODE_READ, {0}, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rig rig = {.mode = cases[i].mode, .active = true};
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
		with_rig(what_fails_half_way_leaves_nothing),
		with_rig(a_device_that_gives_no_channel_is_not_started),
		with_rig(what_a_device_may_lack_is_not_needed),
		with_rig(the_peer_may_touch_only_what_the_mode_needs),
		with_rig(iwarp_reads_into_a_region_apart),
		with_rig(each_connection_has_a_protection_domain_of_its_own),
		with_rig(connects_with_retries_and_an_introduction),
		with_rig(accepts_with_what_both_ends_have),
		with_rig(reports_what_rdmacm_refuses),
		with_rig(refuses_an_answer_that_does_not_fit),
		with_rig(a_closed_connection_is_not_established),
		with_rig(keeps_what_main_needs_to_know),
	};

	return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}

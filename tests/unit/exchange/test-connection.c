/* Connection setup on the fake device: remote access rights and the parameters passed to rdmacm. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/explain.h"
#include "tests/unit/exchange/fixture.h"

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

/* The peer has the one access right that the mode needs, to exactly one region, whose unused bytes
 * are zero. */
static void the_peer_has_only_the_access_rights_of_the_mode(void **state)
{
	static const int access[ONE_SIDED_MODES] = {
		[MODE_WRITE] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		[MODE_READ] = IBV_ACCESS_REMOTE_READ,
	};

	(void)state;
	for (unsigned int mode = 0; mode < ONE_SIDED_MODES; mode++) {
		struct fixture fixture = {.mode = mode, .active = true, .message = "0123456789"};
		size_t offered = mode == MODE_READ ? sizeof("0123456789") : 0;
		const struct ibv_mr *exposed, *control;
		int exposed_access, control_access;

		fixture_start(&fixture);
		fixture_establish(&fixture);
		exposed = fake_region(fixture_sent(&fixture, 0).rkey, &exposed_access);
		control = fake_region(fake_send(fixture.id, 0).piece.lkey, &control_access);
		assert_int_equal(exposed_access, access[mode]);
		assert_int_equal(control_access, IBV_ACCESS_LOCAL_WRITE);
		assert_int_equal(exposed->length, SINK_TEXT_SIZE);
		assert_false(overlap(exposed, control));
		assert_memory_equal(exposed->addr, "0123456789", offered);
		assert_true(is_zero((uint8_t *)exposed->addr + offered, exposed->length - offered));
		fixture_end(&fixture);
	}
}

/* Completions order the data of both rings. The messages need no relaxed ordering. */
static void only_the_rings_may_be_written_in_relaxed_order(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2 * ONE_SIDED_MODES; i++) {
		struct fixture fixture = {
			.mode = i / 2,
			.active = true,
			.ordering = i % 2 ? ORDERING_RELAXED : ORDERING_STRICT,
		};
		int wanted = i % 2 ? IBV_ACCESS_RELAXED_ORDERING : 0, access;
		unsigned int relaxed = 0;

		fixture_start(&fixture);
		fixture_establish(&fixture);
		assert_non_null(fake_region(fixture_sent(&fixture, 0).rkey, &access));
		assert_int_equal(access & IBV_ACCESS_RELAXED_ORDERING, wanted);
		assert_non_null(fake_region(fake_send(fixture.id, 0).piece.lkey, &access));
		assert_int_equal(access & IBV_ACCESS_RELAXED_ORDERING, 0);
		for (uint32_t key = FAKE_LKEY; fake_region(key, &access); key++)
			relaxed += (access & IBV_ACCESS_RELAXED_ORDERING) != 0;
		assert_int_equal(relaxed, wanted ? 2 : 0);
		fixture_end(&fixture);
	}
}

/* On iWARP the target of a READ must allow REMOTE_WRITE, so its region must contain nothing
 * else. */
static void iwarp_reads_into_its_own_region(void **state)
{
	struct fixture fixture = {
		.mode = MODE_READ,
		.active = true,
		.ordering = ORDERING_STRICT,
		.transport = IBV_TRANSPORT_IWARP,
	};
	const struct ibv_mr *sink, *control;
	int access, read;

	(void)state;
	fixture_exchange_regions(&fixture, PEER_MEMORY);
	fixture_receive_data(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
	read = fixture_find_rdma(&fixture, IBV_WR_RDMA_READ);
	assert_true(read > 0);
	sink = fake_region(fake_send(fixture.id, (unsigned int)read).piece.lkey, &access);
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(sink->length, SINK_TEXT_SIZE);
	assert_int_not_equal(sink->rkey, fixture_last(&fixture, MSG_MR).rkey);
	control = fake_region(fake_send(fixture.id, 0).piece.lkey, &access);
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE);
	assert_ptr_not_equal(sink, control);
	fixture_end(&fixture);
}

/* On other transports it must not. */
static void a_ring_for_reads_is_not_remote_accessible(void **state)
{
	struct fixture fixture = {.mode = MODE_READ};
	struct fake_send read;
	int access;

	(void)state;
	fixture_exchange_regions(&fixture, PEER_MEMORY);
	fixture_receive_data(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
	read = fake_send(fixture.id, (unsigned int)fixture_find_rdma(&fixture, IBV_WR_RDMA_READ));
	assert_non_null(fake_region(read.piece.lkey, &access));
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE);
	fixture_end(&fixture);
}

/* The rkey of one client must not grant access to another client's memory. */
static void each_connection_has_its_own_protection_domain(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE}, other = {.mode = MODE_WRITE};
	struct request request = fixture_request(&fixture);
	struct failure failure = {0};

	(void)state;
	fixture_start(&fixture);
	other.id = fake_id();
	assert_int_equal(connection_create(&fixture.settings, mode_by_number(MODE_WRITE), other.id,
				 fixture.device, &request, &other.connection, &failure),
		0);
	assert_ptr_not_equal(other.id->qp->pd, fixture.id->qp->pd);
	connection_close(other.connection, NULL);
	fixture_close(&fixture, NULL);
	connection_destroy(other.connection);
	fixture_stop(&fixture);
}

static void assert_is_our_hello(
	const struct fake_requests *requests, const struct fixture *fixture, uint64_t size)
{
	struct hello ours;

	assert_int_equal(requests->connect.private_data_len, HELLO_SIZE);
	assert_int_equal(hello_decode(&ours, requests->private_data, HELLO_SIZE), 0);
	assert_int_equal(ours.version, HELLO_VERSION);
	assert_int_equal(ours.mode, fixture->mode);
	assert_int_equal(ours.kind, HELLO_EXCHANGE);
	assert_int_equal(ours.refusal, REFUSAL_NONE);
	assert_int_equal(ours.size, size);
	assert_int_equal(ours.timeout, fixture->settings.timeout);
}

/* Who takes trees says that it understands holes; a server only to a client that says so, too. */
static void new_entries_are_agreed_on(void **state)
{
	static const struct {
		struct fixture fixture;
		bool said;
	} cases[] = {
		{{.active = true, .plans = HELLO_TAKES_TREE}, true},
		{{.active = true}, false},
		{{.plans = HELLO_TAKES_TREE, .peer_extends = true}, true},
		{{.plans = HELLO_TAKES_TREE}, false},
		{{.peer_extends = true}, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture fixture = cases[i].fixture;
		struct rdma_conn_param parameters;
		struct hello ours;

		fixture_start(&fixture);
		parameters = connection_parameters(fixture.connection);
		assert_int_equal(hello_decode(&ours, parameters.private_data, HELLO_SIZE), 0);
		assert_int_equal(ours.extended, cases[i].said);
		fixture_end(&fixture);
	}
}

/*
 * A retry_count of 0 means no retries. An rnr_retry_count of 7 means no limit. An RNR timer value
 * of 0 means 655 ms.
 */
static void assert_retries(const struct fake_requests *requests)
{
	assert_int_equal(requests->connect.retry_count, 7);
	assert_int_equal(requests->connect.rnr_retry_count, 7);
	assert_int_not_equal(requests->ack_timeout, 0);
}

static void connects_with_retries_and_a_hello(void **state)
{
	(void)state;
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct fixture fixture = {.mode = mode, .active = true};
		struct fake_requests requests;

		fixture_start(&fixture);
		assert_int_equal(fixture_connect(&fixture), 0);
		requests = fake_requests(fixture.id);
		assert_retries(&requests);
		assert_is_our_hello(&requests, &fixture, sizeof("ours"));
		assert_int_equal(requests.connect.initiator_depth, 16);
		assert_int_equal(requests.connect.responder_resources, 16);
		fixture_establish(&fixture);
		assert_int_not_equal(fake_requests(fixture.id).rnr_timer, 0);
		fixture_end(&fixture);
	}
}

/* The size of a regular file is known. Any other input announces an unknown size. */
static void the_hello_has_the_size_of_the_stream(void **state)
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
		struct fixture fixture = {
			.mode = MODE_WRITE, .active = true, .input = cases[i].input};
		struct fake_requests requests;
		struct stat file;

		if (stat(cases[i].input, &file))
			continue;
		fixture_start(&fixture);
		assert_int_equal(fixture_connect(&fixture), 0);
		requests = fake_requests(fixture.id);
		assert_is_our_hello(&requests, &fixture,
			cases[i].size ? cases[i].size : (uint64_t)file.st_size);
		fixture_end(&fixture);
	}
}

static void accepts_with_the_limits_of_both_ends(void **state)
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
		struct fixture fixture = {
			.mode = MODE_WRITE,
			.tutorial = i & 1,
			.attributes = &attributes,
		};
		struct request request = fixture_request(&fixture);
		struct fake_requests requests;
		struct failure failure = {0};

		request.initiator_depth = cases[i].initiator_depth;
		request.responder_resources = cases[i].responder_resources;
		fixture_start_device(&fixture);
		fixture.id = fake_id();
		assert_int_equal(
			connection_create(&fixture.settings, mode_by_number(MODE_WRITE), fixture.id,
				fixture.device, &request, &fixture.connection, &failure),
			0);
		assert_int_equal(connection_accept(fixture.connection, &failure), 0);
		requests = fake_requests(fixture.id);
		assert_retries(&requests);
		assert_int_not_equal(requests.rnr_timer, 0);
		assert_int_equal(requests.connect.initiator_depth, cases[i].granted_depth);
		assert_int_equal(requests.connect.responder_resources, cases[i].granted_resources);
		/* The tutorial's programs ignore private data, so none is sent. */
		if (fixture.tutorial)
			assert_int_equal(requests.connect.private_data_len, 0);
		else
			assert_is_our_hello(&requests, &fixture, sizeof("ours"));
		fixture_end(&fixture);
	}
}

static void reports_what_rdmacm_refuses(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};
	struct failure failure = {0};

	(void)state;
	fixture_start(&fixture);
	fake_fail("rdma_connect", 0, EADDRNOTAVAIL);
	assert_int_equal(fixture_connect(&fixture), -EADDRNOTAVAIL);
	fake_fail("rdma_accept", 0, ENOMEM);
	assert_int_equal(connection_accept(fixture.connection, &failure), -1);
	assert_int_equal(failure.kind, FAILURE_ERRNO);
	assert_int_equal(failure.code, ENOMEM);
	/* The client has given up. */
	failure = (struct failure){0};
	fake_fail("rdma_accept", 0, EINVAL);
	assert_int_equal(connection_accept(fixture.connection, &failure), -1);
	assert_int_equal(failure.kind, FAILURE_GONE);
	fixture_end(&fixture);
}

/* A reply that does not match is not passed to the CQ thread. */
static void refuses_a_reply_that_does_not_match(void **state)
{
	static const struct {
		enum mode_number mode;
		struct hello reply;
		uint8_t length, depth;
		const char *input, *says;
	} cases[] = {
		{MODE_WRITE, {1, MODE_WRITE, 0, 0, 7, 0, false, 0, 0, false, false, false, false},
			HELLO_SIZE, 1, NULL,
			"the server's hello does not match ours (version 1, mode 0)"},
		{MODE_WRITE, {3, MODE_WRITE, 0, 0, 7, 0, false, 0, 0, false, false, false, false},
			HELLO_SIZE, 1, NULL, "version 3"},
		{MODE_WRITE, {0, MODE_WRITE, 0, 0, 7, 0, false, 0, 0, false, false, false, false},
			HELLO_SIZE, 1, NULL, "version 0"},
		{MODE_WRITE, {2, MODE_READ, 0, 0, 7, 0, false, 0, 0, false, false, false, false},
			HELLO_SIZE, 1, NULL, "mode 1"},
		{MODE_WRITE, {2, MODE_WRITE, 0, 0, 7, 0, false, 0, 0, false, false, false, false},
			HELLO_SIZE - 1, 1, NULL, "does not match ours"},
		{MODE_READ, {2, MODE_READ, 0, 0, 7, 0, false, 0, 0, false, false, false, false},
			HELLO_SIZE, 0, NULL, "the server does not allow RDMA READ"},
		{MODE_READ, {0}, 0, 0, NULL, "the server does not allow RDMA READ"},
		/* The tutorial's programs exchange only texts. */
		{MODE_WRITE, {0}, 0, 1, "/dev/zero", "which cannot exchange files"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture fixture = {
			.mode = cases[i].mode,
			.active = true,
			.input = cases[i].input,
		};
		uint8_t hello[HELLO_SIZE];
		struct rdma_conn_param reply = {
			.private_data = hello,
			.private_data_len = cases[i].length,
			.initiator_depth = cases[i].depth,
		};
		struct failure failure = {0};

		fixture_start(&fixture);
		hello_encode(&cases[i].reply, hello);
		assert_int_equal(connection_established(fixture.connection, &reply, &failure), -1);
		assert_int_equal(explain_status(&failure), STATUS_PEER);
		if (!strstr(failure.evidence, cases[i].says))
			fail_msg("'%s' does not contain '%s'", failure.evidence, cases[i].says);
		fake_settle();
		assert_int_equal(fake_sends(fixture.id), 0);
		fixture_close(&fixture, &failure);
		fixture_stop(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_PROTOCOL);
	}
}

/* A server of version 0.1 would store a tree stream as a file. */
static void a_tree_needs_a_server_that_takes_it(void **state)
{
	static const uint8_t plans[] = {0, HELLO_PLANS | HELLO_TAKES_FILE | HELLO_WANTS_DATA};

	(void)state;
	for (size_t i = 0; i < COUNT(plans); i++) {
		struct fixture fixture = {.mode = MODE_WRITE,
			.active = true,
			.input = "/proc/self/task",
			.plans = HELLO_PLANS | HELLO_SENDS_DATA | HELLO_SENDS_FILE |
				 HELLO_SENDS_TREE};
		const struct hello theirs = {
			.version = HELLO_VERSION, .mode = MODE_WRITE, .size = 7, .flags = plans[i]};
		uint8_t hello[HELLO_SIZE];
		struct rdma_conn_param reply = {.private_data = hello,
			.private_data_len = HELLO_SIZE,
			.initiator_depth = 1};
		struct failure failure = {0};

		fixture_start(&fixture);
		hello_encode(&theirs, hello);
		assert_int_equal(connection_established(fixture.connection, &reply, &failure), -1);
		assert_int_equal(failure.kind, FAILURE_REFUSED);
		assert_int_equal(failure.code, REFUSAL_NO_FOLDER);
		fixture_close(&fixture, &failure);
		fixture_stop(&fixture);
	}
}

/* On RoCE, a server takes the traffic class from the client's request. */
static void an_ineffective_dscp_is_reported(void **state)
{
	static const struct {
		enum ibv_transport_type transport;
		int asked;
		uint8_t traffic_class;
		bool reported;
	} cases[] = {
		{IBV_TRANSPORT_IB, 0, 0, false},
		{IBV_TRANSPORT_IB, 0, 26 << 2, false},
		{IBV_TRANSPORT_IB, 26, 26 << 2, false},
		{IBV_TRANSPORT_IB, 26, 10 << 2, true},
		{IBV_TRANSPORT_IWARP, 26, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture fixture = {
			.mode = MODE_WRITE,
			.transport = cases[i].transport,
			.dscp = cases[i].asked,
		};

		fixture_start(&fixture);
		fake_set_traffic_class(cases[i].traffic_class);
		fixture_establish(&fixture);
		fixture_end(&fixture);
		assert_int_equal(strstr(fixture.printed, "packets carry DSCP 10, not 26") != NULL,
			cases[i].reported);
	}
}

static void a_closed_connection_is_not_established(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};

	(void)state;
	fixture_start(&fixture);
	fixture_close(&fixture, NULL);
	fixture_establish(&fixture);
	assert_int_equal(fake_sends(fixture.id), 0);
	fixture_stop(&fixture);
}

static void keeps_events_for_the_main_thread(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};

	(void)state;
	fixture_start(&fixture);
	assert_string_equal(connection_peer(fixture.connection), "192.0.2.9:7471");
	assert_string_equal(device_name(fixture.device), "fake0");
	assert_null(connection_owner(fixture.connection));
	connection_set_owner(fixture.connection, &fixture);
	assert_ptr_equal(connection_owner(fixture.connection), &fixture);
	fixture_close(&fixture, NULL);
	connection_close(fixture.connection, NULL);
	assert_int_equal(fake_requests(fixture.id).disconnects, 1);
	fixture_stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(the_peer_has_only_the_access_rights_of_the_mode),
		with_fixture(only_the_rings_may_be_written_in_relaxed_order),
		with_fixture(iwarp_reads_into_its_own_region),
		with_fixture(a_ring_for_reads_is_not_remote_accessible),
		with_fixture(each_connection_has_its_own_protection_domain),
		with_fixture(new_entries_are_agreed_on),
		with_fixture(connects_with_retries_and_a_hello),
		with_fixture(the_hello_has_the_size_of_the_stream),
		with_fixture(accepts_with_the_limits_of_both_ends),
		with_fixture(reports_what_rdmacm_refuses),
		with_fixture(refuses_a_reply_that_does_not_match),
		with_fixture(a_tree_needs_a_server_that_takes_it),
		with_fixture(an_ineffective_dscp_is_reported),
		with_fixture(a_closed_connection_is_not_established),
		with_fixture(keeps_events_for_the_main_thread),
	};

	return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}

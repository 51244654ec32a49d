/* Failures while a connection is created and established, on the fake device. Each is reported and
 * leaks nothing. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/explain.h"
#include "tests/unit/exchange/fixture.h"

/* Fails one call and checks that connection_create() fails and frees everything. */
static void expect_no_connection(struct fixture *fixture, const struct request *request,
	const char *function, unsigned int after, int error, struct failure *failure)
{
	struct rdma_cm_id *id = fake_id();
	unsigned int objects = fake_objects();
	struct connection *connection;

	fake_fail(function, after, error);
	assert_int_equal(connection_create(&fixture->settings, mode_by_number(fixture->mode), id,
				 fixture->device, request, &connection, failure),
		-1);
	check_case(function, fake_objects() == objects);
	/* Otherwise the CQ thread might poll a connection that is being freed. */
	check_case(function, fake_destroyed_armed() == 0);
	/* The caller still owns the id. */
	assert_null(id->qp);
	rdma_destroy_id(id);
}

static bool is_open(int descriptor)
{
	return fcntl(descriptor, F_GETFD) >= 0;
}

static int lowest_free_descriptor(void)
{
	int lowest = 0;

	while (is_open(lowest))
		lowest++;
	return lowest;
}

/* Closing it may wait for its file system. */
static void a_failed_set_up_does_not_close_the_source(void **state)
{
	static const struct {
		const char *function;
		unsigned int after;
	} cases[] = {{"rdma_create_qp", 0}, {"ibv_reg_mr", 0}, {"ibv_post_recv", 0}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) * 2; i++) {
		struct fixture fixture = {.mode = i & 1, .output_path = "/dev/null"};
		struct failure failure = {0};
		struct request request = fixture_request(&fixture);
		char why[WORKER_WHY_SIZE];
		int descriptor;

		fixture_start_device(&fixture);
		descriptor = lowest_free_descriptor();
		assert_int_equal(source_open(&request.source, "/dev/zero", NULL, 0, why), 0);
		expect_no_connection(&fixture, &request, cases[i / 2].function, cases[i / 2].after,
			ENOMEM, &failure);
		assert_false(source_is_running(request.source));
		assert_true(is_open(descriptor));
		source_close(request.source);
		assert_false(is_open(descriptor));
		fixture.connection = NULL;
		fixture_stop(&fixture);
	}
}

static void a_failed_set_up_leaves_nothing(void **state)
{
	static const struct {
		const char *function;
		unsigned int after;
		int error;
		enum failure_kind kind;
		enum phase phase;
		bool passive; /* passive side only */
	} cases[] = {
		{"ibv_alloc_pd", 0, ENOMEM, FAILURE_ERRNO, PHASE_QUEUE_PAIR, false},
		{"ibv_create_cq", 0, ENOMEM, FAILURE_ERRNO, PHASE_QUEUE_PAIR, false},
		{"ibv_req_notify_cq", 0, EIO, FAILURE_ERRNO, PHASE_QUEUE_PAIR, false},
		{"rdma_create_qp", 0, ENOMEM, FAILURE_ERRNO, PHASE_QUEUE_PAIR, false},
		/* Not caused by the size: rdmacm has dropped the connection request. */
		{"rdma_create_qp", 0, EINVAL, FAILURE_GONE, PHASE_CONNECT, false},
		{"ibv_reg_mr", 0, EINVAL, FAILURE_ERRNO, PHASE_MEMORY, false},
		{"ibv_reg_mr", 1, EINVAL, FAILURE_ERRNO, PHASE_MEMORY, false},
		{"ibv_reg_mr", 2, EINVAL, FAILURE_ERRNO, PHASE_MEMORY, true},
		{"ibv_post_recv", 0, ENOMEM, FAILURE_ERRNO, PHASE_QUEUE_PAIR, false},
		{"ibv_post_recv", 3, ENOMEM, FAILURE_ERRNO, PHASE_QUEUE_PAIR, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) * 2; i++) {
		struct fixture fixture = {.mode = i & 1, .transport = IBV_TRANSPORT_IWARP};
		struct failure failure = {0};
		struct request request = fixture_request(&fixture);
		const char *function = cases[i / 2].function;

		fixture.active = !cases[i / 2].passive && i & 2;
		if (cases[i / 2].passive) /* separate regions per purpose */
			fixture.mode = MODE_READ;
		fixture_start_device(&fixture);
		expect_no_connection(&fixture, fixture.active ? NULL : &request, function,
			cases[i / 2].after, cases[i / 2].error, &failure);
		check_case(function, failure.kind == cases[i / 2].kind);
		check_case(function, failure.phase == cases[i / 2].phase);
		assert_int_equal(failure.code, cases[i / 2].error);
		assert_string_equal(failure.call, function);
		check_case(function, *failure.evidence != '\0');
		fixture_stop(&fixture);
	}
}

/* With an input and an output file, the source and the sink are running when the last call
 * fails. */
static void a_failed_start_leaves_no_thread(void **state)
{
	(void)state;
	for (unsigned int after = 0; after < 100; after++) {
		struct fixture fixture = {
			.mode = after & 1, .input = "/dev/zero", .output_path = "/dev/null"};
		struct failure failure = {0};
		struct request request = fixture_request(&fixture);

		fixture_start_device(&fixture);
		expect_no_connection(
			&fixture, &request, "ibv_post_recv", after % 10, ENOMEM, &failure);
		fixture_stop(&fixture);
	}
}

/* Returns the RLIMIT_NOFILE that leaves `left` descriptors free. Some above them may be open. */
static rlim_t limit_that_leaves(unsigned int left)
{
	int next = dup(STDERR_FILENO);
	rlim_t limit = left == 0 ? (rlim_t)next : limit_that_leaves(left - 1);

	close(next);
	return limit;
}

/* Without descriptors neither the source nor the sink can start. */
static void a_lack_of_descriptors_leaves_nothing(void **state)
{
	struct rlimit before, few;
	unsigned int failed = 0;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	for (unsigned int left = 0; left < 6; left++) {
		struct fixture fixture = {
			.mode = MODE_WRITE, .input = "/dev/zero", .output_path = "/dev/null"};
		struct request request = fixture_request(&fixture);
		struct failure failure = {0};
		struct connection *connection = NULL;
		struct rdma_cm_id *id;

		fixture_start_device(&fixture);
		id = fake_id();
		few.rlim_cur = limit_that_leaves(left);
		setrlimit(RLIMIT_NOFILE, &few);
		fixture.connection = NULL;
		if (connection_create(&fixture.settings, mode_by_number(MODE_WRITE), id,
			    fixture.device, &request, &connection, &failure)) {
			setrlimit(RLIMIT_NOFILE, &before);
			assert_int_equal(failure.code, EMFILE);
			rdma_destroy_id(id);
			failed++;
		} else {
			setrlimit(RLIMIT_NOFILE, &before);
			fixture.connection = connection;
			fixture_close(&fixture, NULL);
		}
		fixture_stop(&fixture);
	}
	/* One for the input file and one eventfd for each thread. */
	assert_int_equal(failed, 3);
}

static void an_unreadable_input_is_reported(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .input = "/nonexistent/name"};
	struct request request = fixture_request(&fixture);
	struct failure failure = {0};
	struct rdma_cm_id *id;
	struct connection *connection;

	(void)state;
	fixture_start_device(&fixture);
	id = fake_id();
	assert_int_equal(connection_create(&fixture.settings, mode_by_number(MODE_WRITE), id,
				 fixture.device, &request, &connection, &failure),
		-1);
	assert_int_equal(failure.kind, FAILURE_FILE);
	assert_int_equal(failure.code, ENOENT);
	assert_string_equal(failure.evidence, "cannot read name: No such file or directory");
	rdma_destroy_id(id);
	fixture_stop(&fixture);
}

static void a_device_without_a_channel_is_not_started(void **state)
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

/* Options and timers that older kernels or iWARP lack are optional. */
static void optional_device_attributes_are_not_needed(void **state)
{
	static const char *const functions[] = {
		"rdma_set_option", "ibv_modify_qp", "ibv_query_port"};

	(void)state;
	for (size_t i = 0; i < COUNT(functions); i++) {
		struct fixture fixture = {.mode = MODE_WRITE, .peer_size = STREAM_SIZE_UNKNOWN};
		struct request request = fixture_request(&fixture);
		struct failure failure = {0};

		fixture_start_device(&fixture);
		fixture.id = fake_id();
		fake_fail(functions[i], 0, ENOSYS);
		assert_int_equal(
			connection_create(&fixture.settings, mode_by_number(MODE_WRITE), fixture.id,
				fixture.device, &request, &fixture.connection, &failure),
			0);
		assert_int_equal(connection_accept(fixture.connection, &failure), 0);
		assert_false(fake_fail_is_due());
		fixture_end(&fixture);
	}
}

/* The active end creates the ring for the peer's data once it knows the size. */
static void lack_of_memory_at_establishment_is_reported(void **state)
{
	static const struct hello theirs = {HELLO_VERSION, MODE_READ, 0, 0, 1 << 20, 0, false, 0, 0,
		false, false, false, false};
	uint8_t hello[HELLO_SIZE];
	const struct rdma_conn_param reply = {
		.private_data = hello,
		.private_data_len = sizeof(hello),
		.initiator_depth = 1,
	};

	(void)state;
	hello_encode(&theirs, hello);
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {
			.mode = MODE_READ,
			.active = true,
			.input = i & 1 ? "/dev/zero" : NULL,
			.output_path = i & 2 ? "/dev/null" : NULL,
		};
		struct failure failure = {0};

		fixture_start(&fixture);
		fake_limit_memory(fake_registered());
		assert_int_equal(connection_established(fixture.connection, &reply, &failure), -1);
		assert_string_equal(failure.call, "ibv_reg_mr");
		assert_int_equal(explain_status(&failure), STATUS_FAILED);
		fixture_close(&fixture, &failure);
		fixture_stop(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_ERRNO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(a_failed_set_up_leaves_nothing),
		with_fixture(a_failed_set_up_does_not_close_the_source),
		with_fixture(a_failed_start_leaves_no_thread),
		with_fixture(a_lack_of_descriptors_leaves_nothing),
		with_fixture(an_unreadable_input_is_reported),
		with_fixture(a_device_without_a_channel_is_not_started),
		with_fixture(optional_device_attributes_are_not_needed),
		with_fixture(lack_of_memory_at_establishment_is_reported),
	};

	return cmocka_run_group_tests_name("connection-failures", tests, NULL, NULL);
}

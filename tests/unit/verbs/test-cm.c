/* Decoding of failed rdmacm events, and retrieval of events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/explain.h"
#include "protocol/hello.h"
#include "protocol/mode.h"
#include "tests/unit/unit.h"
#include "verbs/channel.h"

/* REJECTED carries a positive InfiniBand reason. All other events, and REJECTED on iWARP, carry
 * -errno. */
static void statuses_are_decoded_by_event(void **state)
{
	static const struct {
		enum rdma_cm_event_type event;
		int status;
		enum failure_kind kind;
		int code;
		enum exit_status exit;
	} cases[] = {
		{RDMA_CM_EVENT_REJECTED, 8, FAILURE_REJECTED, 8, STATUS_CONNECT},
		{RDMA_CM_EVENT_REJECTED, 28, FAILURE_REJECTED, 28, STATUS_CONNECT},
		{RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, FAILURE_ERRNO, ECONNREFUSED,
			STATUS_CONNECT},
		{RDMA_CM_EVENT_REJECTED, -ECONNRESET, FAILURE_ERRNO, ECONNRESET, STATUS_CONNECT},
		{RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, FAILURE_ERRNO, ETIMEDOUT, STATUS_CONNECT},
		{RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL, FAILURE_ERRNO, EINVAL, STATUS_CONNECT},
		{RDMA_CM_EVENT_CONNECT_ERROR, 0, FAILURE_GONE, 0, STATUS_CONNECT},
		{RDMA_CM_EVENT_DEVICE_REMOVAL, 0, FAILURE_REMOVED, 0, STATUS_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rdma_cm_event event = {.event = cases[i].event, .status = cases[i].status};
		struct failure failure = {0};

		failure_from_event(&failure, &event, PHASE_CONNECT);
		assert_int_equal(failure.kind, cases[i].kind);
		assert_int_equal(failure.code, cases[i].code);
		assert_string_equal(failure.call, rdma_event_str(cases[i].event));
		assert_int_equal(explain_status(&failure), cases[i].exit);
	}
}

/* Each refusal by our server and the message that the client prints for it. */
static const struct {
	struct hello theirs;
	const char *says;
} refusals[] = {
	{{2, MODE_READ, 0, REFUSAL_MODE, 0, 0, false, 0, 0, false, false, false, false},
		"cannot connect to h:7: the server runs in read mode; "},
	{{2, MODE_WRITE, 0, REFUSAL_MODE, 0, 0, false, 0, 0, false, false, false, false},
		"the server runs in write mode; "},
	{{2, 200, 0, REFUSAL_MODE, 0, 0, false, 0, 0, false, false, false, false},
		"the server runs in another mode; "},
	{{9, 0, 0, REFUSAL_VERSION, 0, 0, false, 0, 0, false, false, false, false},
		"speaks protocol version 9, this client speaks 2; "},
	{{2, 0, 0, REFUSAL_SESSION, 0, 0, false, 0, 0, false, false, false, false},
		"does not support this kind of session; "},
	{{2, 0, 0, REFUSAL_RESOURCES, 0, 0, false, 0, 0, false, false, false, false},
		"could not allocate memory"},
	{{2, 0, 0, REFUSAL_BUSY, 0, 0, false, 0, 0, false, false, false, false},
		"input or output serves one client at a time"},
	{{2, 0, 0, REFUSAL_DEPTH, 0, 0, false, 0, 0, false, false, false, false},
		"does not accept RDMA READs"},
	{{2, 0, 0, REFUSAL_DEVICE, 0, 0, false, 0, 0, false, false, false, false},
		"does not use the RDMA device"},
	{{2, 0, 0, REFUSAL_MALFORMED, 0, 0, false, 0, 0, false, false, false, false},
		"could not parse the client"},
	{{2, 0, 0, REFUSAL_STOPPING, 0, 0, false, 0, 0, false, false, false, false},
		"is shutting down"},
	{{2, 0, 0, REFUSAL_CLIENTS, 0, 0, false, 0, 0, false, false, false, false},
		"the server is full"},
	{{2, 0, 0, REFUSAL_ADDRESS, 0, 0, false, 0, 0, false, false, false, false},
		"too many clients from this address"},
	{{2, 0, 0, REFUSAL_SIZE, UINT64_MAX - 1, 0, false, 0, 0, false, false, false, false},
		"the server accepts at most 18,446,744,073,709,551,614 bytes from a client; "},
	{{2, 0, 0, REFUSAL_SECRET, 0, 0, true, 0, 0, false, false, false, false},
		"do not have the same secret"},
	{{2, 0, 0, REFUSAL_SECRET, 0, 0, false, 0, 0, false, false, false, false},
		"the server is of release 0.1, and requires a secret of that release; "},
	{{2, 0, 0, REFUSAL_NONE, 0, 0, false, 0, 0, false, false, false, false},
		"a reason unknown to this version"},
	{{2, 0, 0, UINT32_MAX, 0, 0, false, 0, 0, false, false, false, false},
		"a reason unknown to this version"},
};

static void refusals_are_explained(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(refusals); i++) {
		uint8_t bytes[148] = {0};
		struct rdma_cm_event event = {
			.event = RDMA_CM_EVENT_REJECTED,
			.status = 28,
			.param.conn = {.private_data = bytes, .private_data_len = sizeof(bytes)},
		};
		struct failure failure = {0};
		char text[1024];

		hello_encode(&refusals[i].theirs, bytes);
		failure_from_event(&failure, &event, PHASE_CONNECT);
		explain_failure(&failure, "h:7", false, text, sizeof(text));
		if (!strstr(text, refusals[i].says))
			fail_msg("'%s' does not contain '%s'", text, refusals[i].says);
		assert_int_equal(explain_status(&failure), STATUS_CONNECT);
	}
}

/* Foreign private data in a rejection is not one of our refusals. */
static void unknown_refusals_are_rejections(void **state)
{
	static const uint8_t foreign[148] = "not rdmapair";
	struct rdma_cm_event event = {
		.event = RDMA_CM_EVENT_REJECTED,
		.status = 28,
		.param.conn = {.private_data = foreign, .private_data_len = sizeof(foreign)},
	};

	(void)state;
	for (unsigned int length = 0; length <= sizeof(foreign); length++) {
		struct failure failure = {0};

		event.param.conn.private_data_len = (uint8_t)length;
		failure_from_event(&failure, &event, PHASE_CONNECT);
		assert_int_equal(failure.kind, FAILURE_REJECTED);
	}
}

/* The fake librdmacm: a pending event or NULL. The library owns its private data. */
static struct rdma_cm_event *waiting;
static uint8_t library_bytes[UINT8_MAX];
static int broken;

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	(void)channel;
	if (broken || !waiting) {
		errno = broken ? broken : EAGAIN;
		return -1;
	}
	*event = waiting;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	assert_ptr_equal(event, waiting);
	waiting = NULL;
	memset(event, 0x5a, sizeof(*event));
	memset(library_bytes, 0x5a, sizeof(library_bytes));
	return 0;
}

static void a_taken_event_outlives_its_acknowledgement(void **state)
{
	struct rdma_event_channel library = {.fd = -1};
	struct cm_channel channel = {.fd = -1, .rdmacm = &library};
	struct event_copy copy;

	(void)state;
	for (unsigned int length = 0; length <= UINT8_MAX; length++) {
		struct rdma_cm_event event = {
			.event = RDMA_CM_EVENT_CONNECT_REQUEST,
			.status = 7,
			.param.conn = {.initiator_depth = 3,
				.private_data = length ? library_bytes : NULL,
				.private_data_len = (uint8_t)length},
		};

		memset(library_bytes, (int)length, sizeof(library_bytes));
		waiting = &event;
		assert_int_equal(channel_take(&channel, &copy), 1);
		assert_null(waiting);
		assert_int_equal(copy.event.event, RDMA_CM_EVENT_CONNECT_REQUEST);
		assert_int_equal(copy.event.status, 7);
		assert_int_equal(copy.event.param.conn.initiator_depth, 3);
		assert_int_equal(copy.event.param.conn.private_data_len, length);
		assert_ptr_equal(
			copy.event.param.conn.private_data, length ? copy.private_data : NULL);
		for (unsigned int i = 0; i < length; i++)
			assert_int_equal(copy.private_data[i], length);
	}
	assert_int_equal(channel_take(&channel, &copy), 0);
	broken = EINTR;
	assert_int_equal(channel_take(&channel, &copy), 0);
	broken = EBADF;
	assert_int_equal(channel_take(&channel, &copy), -EBADF);
	broken = 0;
}

/* Depending on the host, the result is a channel or a failure. */
static void opening_a_channel_fails_with_a_reason(void **state)
{
	struct failure failure = {0};
	struct cm_channel *channel = channel_open(CHANNEL_RDMACM, &failure);

	(void)state;
	if (!channel) {
		assert_true(failure_is_set(&failure));
		assert_int_equal(failure.phase, PHASE_OPEN);
		assert_string_equal(failure.call, "rdma_create_event_channel");
		return;
	}
	assert_false(failure_is_set(&failure));
	channel_destroy(channel);
}

/* A server whose client does not confirm the connection: rdmacm's timeouts of either side. */
static void a_timeout_after_the_reply_means_that_it_was_lost(void **state)
{
	static const struct {
		enum rdma_cm_event_type event;
		int status;
		int64_t waited;
		bool lost;
	} cases[] = {
		{RDMA_CM_EVENT_REJECTED, REJECTED_TIMEOUT, 5200, true},
		{RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, 5200, true},
		{RDMA_CM_EVENT_REJECTED, REJECTED_TIMEOUT, 10, false},
		{RDMA_CM_EVENT_REJECTED, 28, 5200, false},
		{RDMA_CM_EVENT_DISCONNECTED, 0, 5200, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rdma_cm_event event = {.event = cases[i].event, .status = cases[i].status};
		struct failure failure = {0};

		failure_from_event(&failure, &event, PHASE_EXCHANGE);
		assert_int_equal(failure_reply_lost(&failure, cases[i].waited), cases[i].lost);
		assert_int_equal(failure.code == CODE_REPLY_LOST, cases[i].lost);
		if (cases[i].lost)
			assert_string_equal(failure.evidence, "no confirmation for 5.2 s");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses_are_decoded_by_event),
		cmocka_unit_test(a_timeout_after_the_reply_means_that_it_was_lost),
		cmocka_unit_test(refusals_are_explained),
		cmocka_unit_test(unknown_refusals_are_rejections),
		cmocka_unit_test(a_taken_event_outlives_its_acknowledgement),
		cmocka_unit_test(opening_a_channel_fails_with_a_reason),
	};

	return cmocka_run_group_tests_name("cm", tests, NULL, NULL);
}

/*
 * Tests that the end of a control connection does not hide the message before it, on a fake device:
 * rdmacm's event and the failed send are noticed before the message that says why.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "control/client.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/unit.h"
#include "tests/unit/verbs/fake-verbs.h"

#define TIMEOUT_MS 60000

static const struct control_request request = {.kind = HELLO_DIAGNOSIS, .stop_fd = -1};

/* A client of a server with a secret, and what its event channel returns. */
static struct {
	struct rdma_event_channel channel;
	struct secret *secret;
	struct control control;
	enum rdma_cm_event_type event;
	unsigned int arrives; /* replies that arrive just before the event is read */
} client;

/* A reply of the server to this command. */
static void arrive(uint32_t number, enum command_status status)
{
	const struct command reply = {
		.type = COMMAND_PROOF, .reply = true, .number = number, .status = status};
	uint8_t bytes[COMMAND_MAX];

	fake_arrive(client.control.id, bytes, command_encode(&reply, bytes));
}

/* Returns the event once. The client has polled its completion queue before, and found nothing. */
int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	eventfd_t one;

	if (eventfd_read(channel->fd, &one))
		return -1;
	for (unsigned int i = 0; i < client.arrives; i++)
		arrive(i + 1, COMMAND_REFUSED);
	*event = calloc(1, sizeof(**event));
	assert_non_null(*event);
	(*event)->event = client.event;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	free(event);
	return 0;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
}

/* Connects the client, but for the server's acceptance. */
static void start(void)
{
	struct rdma_conn_param parameters;
	struct failure failure = {0};

	fake_start(IBV_TRANSPORT_IB);
	client.secret = make_secret('a');
	client.channel.fd = eventfd(0, EFD_NONBLOCK);
	client.event = RDMA_CM_EVENT_DISCONNECTED;
	client.arrives = 0;
	client.control.request = &(struct control_request){.kind = HELLO_DIAGNOSIS,
		.queue_pairs = 1,
		.depth = 1,
		.secret = client.secret,
		.stop_fd = -1};
	assert_int_equal(control_client_prepare(&client.control, &client.channel, fake_id(),
				 &parameters, &failure),
		0);
	client.control.request = &request;
}

static void stop(void)
{
	control_close(&client.control);
	secret_free(client.secret);
	assert_int_equal(fake_objects(), 0);
}

/* The server's acceptance, which demands a proof. */
static int admit(void)
{
	const struct hello hello = {.version = HELLO_VERSION, .kind = HELLO_DIAGNOSIS};
	struct event_copy reply = {0};
	struct rdma_conn_param *said = &reply.event.param.conn;
	struct control server;

	control_init(&server, NULL, NULL, rdma_get_peer_addr(client.control.id), client.secret,
		SECRET_SERVER);
	said->private_data = handshake_hello(&server.handshake, &hello, &said->private_data_len);
	return control_client_admission(&client.control, &reply, deadline_in(TIMEOUT_MS));
}

static void expect_failure(enum failure_kind kind, int code)
{
	assert_int_equal(client.control.failure.kind, kind);
	assert_int_equal(client.control.failure.code, code);
}

/* The client wakes up to both the disconnect and the refusal, and takes the disconnect first. */
static void a_disconnect_does_not_hide_the_refusal(void **state)
{
	(void)state;
	start();
	client.arrives = 1;
	eventfd_write(client.channel.fd, 1);
	assert_int_equal(admit(), -1);
	assert_true(client.control.disconnected);
	expect_failure(FAILURE_REFUSED, REFUSAL_SECRET);
	stop();
}

/* Without a message, the disconnect is the reason. */
static void a_mere_disconnect_is_reported(void **state)
{
	(void)state;
	start();
	eventfd_write(client.channel.fd, 1);
	assert_int_equal(admit(), -1);
	expect_failure(FAILURE_GONE, CODE_DIAGNOSIS);
	stop();
}

/* The refusal arrived, but not the acknowledgement of the proof. */
static void a_failed_send_does_not_hide_the_refusal(void **state)
{
	static const enum ibv_wc_status statuses[] = {IBV_WC_WR_FLUSH_ERR, IBV_WC_RETRY_EXC_ERR};
	const struct command proof = {.type = COMMAND_PROOF, .number = 1};
	struct command reply;

	(void)state;
	for (unsigned int i = 0; i < 2 * COUNT(statuses); i++) {
		start();
		assert_int_equal(
			control_send_message(&client.control, &proof, deadline_in(TIMEOUT_MS)), 0);
		if (i < COUNT(statuses))
			fake_complete(client.control.id, statuses[i % COUNT(statuses)]);
		arrive(1, COMMAND_REFUSED);
		if (i >= COUNT(statuses))
			fake_complete(client.control.id, statuses[i % COUNT(statuses)]);
		assert_int_equal(
			control_receive_message(&client.control, &reply, deadline_in(TIMEOUT_MS)),
			0);
		assert_int_equal(reply.status, COMMAND_REFUSED);
		assert_int_equal(
			control_receive_message(&client.control, &reply, deadline_in(TIMEOUT_MS)),
			-1);
		expect_failure(FAILURE_COMPLETION, (int)statuses[i % COUNT(statuses)]);
		stop();
	}
}

/* All messages are received in order, then the failure is due. */
static void the_failure_follows_the_last_message(void **state)
{
	struct command reply;

	(void)state;
	start();
	client.arrives = 2;
	eventfd_write(client.channel.fd, 1);
	for (uint32_t i = 1; i <= 2; i++) {
		assert_int_equal(
			control_receive_message(&client.control, &reply, deadline_in(TIMEOUT_MS)),
			0);
		assert_int_equal(reply.number, i);
	}
	assert_int_equal(
		control_receive_message(&client.control, &reply, deadline_in(TIMEOUT_MS)), -1);
	expect_failure(FAILURE_GONE, CODE_DIAGNOSIS);
	stop();
}

/* The device rejects a send on the broken queue pair; the refusal has arrived before. */
static void a_rejected_send_does_not_hide_the_refusal(void **state)
{
	const struct command command = {.type = COMMAND_FACTS, .number = 1};
	struct command reply;

	(void)state;
	start();
	client.arrives = 1;
	eventfd_write(client.channel.fd, 1);
	fake_fail("ibv_post_send", 0, ENOTCONN);
	assert_int_equal(
		control_send_message(&client.control, &command, deadline_in(TIMEOUT_MS)), 0);
	assert_int_equal(
		control_receive_message(&client.control, &reply, deadline_in(TIMEOUT_MS)), 0);
	assert_int_equal(reply.status, COMMAND_REFUSED);
	assert_int_equal(
		control_receive_message(&client.control, &reply, deadline_in(TIMEOUT_MS)), -1);
	expect_failure(FAILURE_GONE, CODE_DIAGNOSIS);
	stop();
}

/* On a connection that has not ended, a rejected send is the failure. */
static void a_rejected_send_is_reported(void **state)
{
	const struct command command = {.type = COMMAND_FACTS, .number = 1};

	(void)state;
	start();
	fake_fail("ibv_post_send", 0, EINVAL);
	assert_int_equal(
		control_send_message(&client.control, &command, deadline_in(TIMEOUT_MS)), -1);
	expect_failure(FAILURE_ERRNO, EINVAL);
	stop();
}

/* A test polls between two checks: the second one reports the end. */
static void a_test_polls_before_the_end_is_reported(void **state)
{
	(void)state;
	start();
	eventfd_write(client.channel.fd, 1);
	assert_int_equal(control_check(&client.control), 0);
	assert_int_equal(control_check(&client.control), -1);
	expect_failure(FAILURE_GONE, CODE_DIAGNOSIS);
	stop();
}

/* The sender of a refusal waits for the client to disconnect, whatever else it sends. */
static void the_sender_of_a_refusal_waits_for_the_disconnect(void **state)
{
	(void)state;
	start();
	client.arrives = 1;
	arrive(9, COMMAND_DONE);
	eventfd_write(client.channel.fd, 1);
	control_await_disconnect(&client.control);
	assert_true(client.control.disconnected);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disconnect_does_not_hide_the_refusal),
		cmocka_unit_test(a_mere_disconnect_is_reported),
		cmocka_unit_test(a_failed_send_does_not_hide_the_refusal),
		cmocka_unit_test(the_failure_follows_the_last_message),
		cmocka_unit_test(a_rejected_send_does_not_hide_the_refusal),
		cmocka_unit_test(a_rejected_send_is_reported),
		cmocka_unit_test(a_test_polls_before_the_end_is_reported),
		cmocka_unit_test(the_sender_of_a_refusal_waits_for_the_disconnect),
	};

	return cmocka_run_group_tests_name("last message", tests, NULL, NULL);
}

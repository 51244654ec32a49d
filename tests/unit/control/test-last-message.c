/*
 * Tests that the end of a control connection does not hide the message before it, on a fake device:
 * rdmacm's event and the failed send are noticed before the message that says why.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "control/client.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/unit.h"
#include "tests/unit/verbs/fake-verbs.h"
#include "verbs/channel.h"

#define TIMEOUT_MS 60000

static const struct control_request request = {.kind = HELLO_DIAGNOSIS, .stop_fd = -1};

/* A client of a server with a secret, and what its event channel returns. */
static struct {
	struct rdma_event_channel library;
	struct cm_channel *channel;
	struct secret *secret;
	struct control control;
	enum rdma_cm_event_type event;
	unsigned int arrives; /* replies that arrive just before the event is read */
	const char *reason;   /* arrives after them, unless NULL */
	bool acknowledges; /* completes the last send and reports an event of no meaning before */
} client;

static void arrive_message(const struct command *message)
{
	uint8_t bytes[COMMAND_MAX];

	fake_arrive(client.control.id, bytes, command_encode(message, bytes));
}

/* A reply of the server to this command. */
static void arrive(uint32_t number, enum command_status status)
{
	arrive_message(&(struct command){
		.type = COMMAND_PROOF, .reply = true, .number = number, .status = status});
}

/* The server's reason for ending the session. */
static void arrive_abort(const char *text)
{
	arrive_message(&(struct command){.type = COMMAND_ABORT,
		.reply = true,
		.text = text,
		.text_size = (uint16_t)strlen(text)});
}

/* Returns the event once. The client has polled its completion queue before, and found nothing. */
int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	eventfd_t one;

	if (eventfd_read(channel->fd, &one))
		return -1;
	*event = calloc(1, sizeof(**event));
	assert_non_null(*event);
	if (client.acknowledges) {
		client.acknowledges = false;
		fake_complete(client.control.id, IBV_WC_SUCCESS);
		(*event)->event = RDMA_CM_EVENT_TIMEWAIT_EXIT;
		eventfd_write(channel->fd, 1);
		return 0;
	}
	for (unsigned int i = 0; i < client.arrives; i++)
		arrive(i + 1, COMMAND_REFUSED);
	if (client.reason)
		arrive_abort(client.reason);
	(*event)->event = client.event;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	free(event);
	return 0;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	return &client.library;
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
	client.library.fd = eventfd(0, EFD_NONBLOCK);
	assert_int_equal(channel_create(CHANNEL_RDMACM, &client.channel), 0);
	client.event = RDMA_CM_EVENT_DISCONNECTED;
	client.arrives = 0;
	client.reason = NULL;
	client.acknowledges = false;
	client.control.request = &(struct control_request){.kind = HELLO_DIAGNOSIS,
		.queue_pairs = 1,
		.depth = 1,
		.secret = client.secret,
		.stop_fd = -1};
	assert_int_equal(control_client_prepare(
				 &client.control, client.channel, fake_id(), &parameters, &failure),
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
	eventfd_write(client.library.fd, 1);
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
	eventfd_write(client.library.fd, 1);
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
	eventfd_write(client.library.fd, 1);
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
	eventfd_write(client.library.fd, 1);
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
	struct command reply;

	(void)state;
	start();
	fake_fail("ibv_post_send", 0, EINVAL);
	assert_int_equal(
		control_send_message(&client.control, &command, deadline_in(TIMEOUT_MS)), 0);
	assert_int_equal(
		control_receive_message(&client.control, &reply, deadline_in(TIMEOUT_MS)), -1);
	expect_failure(FAILURE_ERRNO, EINVAL);
	stop();
}

static void expect_reason(const char *text)
{
	expect_failure(FAILURE_ABORTED, 0);
	assert_string_equal(client.control.failure.evidence, text);
}

/* The server sends its reason, then disconnects: whatever the client does, it gets the reason. */
static void the_reason_precedes_the_disconnect(void **state)
{
	static const struct command command = {.type = COMMAND_FACTS, .number = 1};
	struct command reply;

	(void)state;
	for (unsigned int i = 0; i < 5; i++) {
		start();
		client.reason = "because";
		eventfd_write(client.library.fd, 1);
		if (i == 0)
			assert_int_equal(control_check(&client.control), -1);
		if (i == 1)
			while (control_sleep(&client.control, deadline_in(TIMEOUT_MS)) == 0)
				;
		if (i == 2)
			assert_int_equal(control_receive_message(
						 &client.control, &reply, deadline_in(TIMEOUT_MS)),
				-1);
		if (i == 3)
			assert_int_equal(control_post_failed(&client.control, -ENOTCONN), -1);
		/* The previous message is never acknowledged, so the next one waits. */
		if (i == 4)
			for (unsigned int j = 0; j < 2; j++)
				assert_int_equal(control_send_message(&client.control, &command,
							 deadline_in(TIMEOUT_MS)),
					-(int)j);
		expect_reason("the peer aborted: because");
		stop();
	}
}

/* Several sends fail, the reason arrives, and only then is the next command sent. */
static void the_reason_follows_failed_sends(void **state)
{
	static const struct command proof = {.type = COMMAND_PROOF, .number = 1};
	struct command reply;
	struct ibv_send_wr nothing = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};

	(void)state;
	start();
	assert_int_equal(control_send_message(&client.control, &proof, deadline_in(TIMEOUT_MS)), 0);
	for (unsigned int i = 0; i < CONTROL_KEEPALIVES; i++)
		assert_int_equal(
			queue_pair_post(client.control.endpoint.pairs, CONTROL_KEEPALIVE, &nothing),
			0);
	for (unsigned int i = 0; i < 1 + CONTROL_KEEPALIVES; i++)
		fake_complete(client.control.id, IBV_WC_RETRY_EXC_ERR);
	arrive_abort("full of holes\n");
	assert_int_equal(control_send_message(&client.control, &proof, deadline_in(TIMEOUT_MS)), 0);
	assert_int_equal(
		control_receive_message(&client.control, &reply, deadline_in(TIMEOUT_MS)), -1);
	expect_reason("the peer aborted: full of holes\\x0a");
	stop();
}

/* An abort without text, and the server's view: a client does not send one. */
static void an_abort_is_the_servers(void **state)
{
	struct command message;

	(void)state;
	start();
	arrive_abort("");
	assert_int_equal(
		control_receive_message(&client.control, &message, deadline_in(TIMEOUT_MS)), -1);
	expect_reason("the peer aborted: no reason given");
	stop();
	start();
	client.control.request = NULL;
	arrive_abort("");
	assert_int_equal(
		control_receive_message(&client.control, &message, deadline_in(TIMEOUT_MS)), 0);
	assert_int_equal(message.type, COMMAND_ABORT);
	stop();
}

/* A flush is only a consequence: the event that rdmacm reports is the cause. */
static void an_event_explains_a_flush(void **state)
{
	static const struct command proof = {.type = COMMAND_PROOF, .number = 1};
	struct command reply;

	(void)state;
	start();
	assert_int_equal(control_send_message(&client.control, &proof, deadline_in(TIMEOUT_MS)), 0);
	fake_complete(client.control.id, IBV_WC_WR_FLUSH_ERR);
	eventfd_write(client.library.fd, 1);
	assert_int_equal(
		control_receive_message(&client.control, &reply, deadline_in(TIMEOUT_MS)), -1);
	expect_failure(FAILURE_GONE, CODE_DIAGNOSIS);
	stop();
}

/*
 * The sender of the last message waits for the peer to disconnect, whatever else it sends, and
 * whether or not this program has been asked to stop. Its failure stays.
 */
static void the_last_sender_waits_for_the_disconnect(void **state)
{
	const struct command last = {.type = COMMAND_ABORT, .reply = true};
	int asked = eventfd(1, 0);

	(void)state;
	start();
	client.control.stop_fd = asked;
	failure_set(&client.control.failure, FAILURE_DEADLINE, PHASE_EXCHANGE, 7, "test", "");
	client.arrives = 1;
	arrive(9, COMMAND_DONE);
	client.acknowledges = true;
	eventfd_write(client.library.fd, 1);
	control_send_last(&client.control, &last);
	assert_false(client.acknowledges);
	assert_true(client.control.disconnected);
	assert_int_equal(client.control.stop_fd, asked);
	expect_failure(FAILURE_DEADLINE, 7);
	client.control.stop_fd = -1;
	close(asked);
	stop();
}

/*
 * A peer that disconnects after nothing was acknowledged for seconds gave up because packets were
 * lost. Not if this program was stopped meanwhile, or if the acknowledgement has arrived.
 */
static void a_disconnect_after_silence_names_the_loss(void **state)
{
	static const struct command command = {.type = COMMAND_FACTS, .number = 1};
	static const struct {
		unsigned int looks;
		int64_t milliseconds; /* before each */
		bool acknowledged;
		int code;
		bool late; /* the first look follows the message */
	} cases[] = {
		{4, 1000, false, CODE_UNACKNOWLEDGED, false},
		{5, 1000, false, CODE_UNACKNOWLEDGED, true},
		{2, 1000, false, CODE_DIAGNOSIS, true},
		{40, 100, false, CODE_UNACKNOWLEDGED, false},
		{2, 1000, false, CODE_DIAGNOSIS, false},
		{1, 60000, false, CODE_DIAGNOSIS, false},
		{4, 1000, true, CODE_DIAGNOSIS, false},
		{0, 0, false, CODE_DIAGNOSIS, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		start();
		fake_advance(60000);
		if (!cases[i].late)
			assert_int_equal(control_check(&client.control), 0);
		assert_int_equal(
			control_send_message(&client.control, &command, deadline_in(TIMEOUT_MS)),
			0);
		for (unsigned int j = 0; j < cases[i].looks; j++) {
			fake_advance(cases[i].milliseconds);
			if (j + 1 < cases[i].looks)
				assert_int_equal(control_check(&client.control), 0);
		}
		if (cases[i].acknowledged)
			fake_complete(client.control.id, IBV_WC_SUCCESS);
		eventfd_write(client.library.fd, 1);
		assert_int_equal(control_check(&client.control), -1);
		expect_failure(FAILURE_GONE, cases[i].code);
		stop();
	}
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
		cmocka_unit_test(the_reason_precedes_the_disconnect),
		cmocka_unit_test(the_reason_follows_failed_sends),
		cmocka_unit_test(an_abort_is_the_servers),
		cmocka_unit_test(an_event_explains_a_flush),
		cmocka_unit_test(the_last_sender_waits_for_the_disconnect),
		cmocka_unit_test(a_disconnect_after_silence_names_the_loss),
	};

	return cmocka_run_group_tests_name("last message", tests, NULL, NULL);
}

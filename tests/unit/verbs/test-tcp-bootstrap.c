/*
 * Connections without rdmacm, over the real TCP of the loopback interface, between two channels of
 * one thread. The devices and their queue pairs are made up.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/hello.h"
#include "protocol/tcp-frames.h"
#include "tests/unit/unit.h"
#include "verbs/opened-devices.h"
#include "verbs/path-choice.h"
#include "verbs/tcp-bootstrap.h"
#include "verbs/tcp-id.h"

/* A test that waits longer has failed, in milliseconds. */
#define WAIT_MS 10000

/* The made-up host. */

static struct path_candidates here;
static struct ibv_device device = {.name = "fake0", .dev_name = "fake0"};
static struct ibv_context context = {.device = &device};
static struct ibv_qp_attr moves[8]; /* transitions, in order */
static unsigned int move_count, queue_pairs;
static int fails_at; /* a state; -1: none */
static int fails_with;

int path_candidates_find(const struct path_settings *settings, const struct sockaddr *local,
	struct path_candidates *candidates, struct failure *failure)
{
	assert_true(settings && local->sa_family == AF_INET);
	*candidates = here;
	return here.count > 0 ? 0
			      : failure_set(failure, FAILURE_PATH, PHASE_ADDRESS, PATH_NO_PORT,
					"ibv_query_port", "");
}

bool path_reaches(const struct path_candidate *from, const struct tcp_gid *to, bool same_host)
{
	(void)from, (void)to, (void)same_host;
	return true;
}

static int uses; /* of the device */

struct ibv_context *opened_device_use(const char *name)
{
	assert_string_equal(name, "fake0");
	uses++;
	return &context;
}

void opened_device_keep(const struct ibv_context *kept)
{
	assert_ptr_equal(kept, &context);
	uses++;
}

void opened_device_release(const struct ibv_context *released)
{
	assert_ptr_equal(released, &context);
	uses--;
}

bool opened_devices_close_unused(void)
{
	return uses > 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
	struct ibv_qp *qp = calloc(1, sizeof(*qp));

	(void)pd, (void)attributes;
	assert_non_null(qp);
	qp->qp_num = 100 + ++queue_pairs;
	return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	free(qp);
	queue_pairs--;
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
	(void)qp;
	assert_true(mask & IBV_QP_STATE);
	if ((int)attributes->qp_state == fails_at)
		return fails_with;
	assert_true(move_count < COUNT(moves));
	moves[move_count++] = *attributes;
	return 0;
}

/* The ends. */

static const struct path_settings settings = {.gid_index = -1, .traffic_class = 104};
static const struct output output = {.program = "test", .quiet = true};
static struct cm_channel server, client;
static struct rdma_cm_id *listener, *at_server, *at_client;
static struct sockaddr_in address;
static struct event_copy event;

static int start(void **state)
{
	struct tcp_gid gid = {.type = TCP_GID_ROCE_V2,
		.mtu = IBV_MTU_4096,
		.port = 2,
		.index = 3,
		.pkey = 0xffff};

	(void)state;
	gid.gid[15] = 9;
	here = (struct path_candidates){.count = 1, .all = {{.gid = gid, .device = "fake0"}}};
	move_count = queue_pairs = 0;
	fails_at = -1;
	server = client = (struct cm_channel){0};
	at_server = at_client = NULL;
	assert_int_equal(tcp_channel_create(&server.tcp), 0);
	assert_int_equal(tcp_channel_create(&client.tcp), 0);
	address = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	assert_int_equal(
		tcp_listen(server.tcp, (struct sockaddr *)&address, &settings, &output, &listener),
		0);
	address.sin_port = rdma_get_src_port(listener);
	return 0;
}

static void destroy(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		bootstrap_of(id)->destroy_queue_pair(id);
	bootstrap_of(id)->destroy(id);
}

static int end(void **state)
{
	(void)state;
	destroy(at_server);
	destroy(at_client);
	destroy(listener);
	tcp_channel_destroy(server.tcp);
	tcp_channel_destroy(client.tcp);
	assert_int_equal(queue_pairs, 0);
	return 0;
}

/* poll(2), which the other tests replace. */
static int ready(struct pollfd *waiting, nfds_t count, int milliseconds)
{
	const struct timespec time = {
		.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};

	return ppoll(waiting, count, &time, NULL);
}

/* Waits for an event on one channel, while the other may work. */
static void await(struct cm_channel *channel, enum rdma_cm_event_type type)
{
	struct cm_channel *other = channel == &server ? &client : &server;
	struct pollfd waiting[] = {{.fd = tcp_channel_fd(channel->tcp), .events = POLLIN},
		{.fd = tcp_channel_fd(other->tcp), .events = POLLIN}};
	struct event_copy ignored;

	while (tcp_channel_take(channel->tcp, &event) == 0) {
		if (ready(waiting, 2, WAIT_MS) <= 0)
			fail_msg("no %s", rdma_event_str(type));
		if (!(waiting[0].revents) && tcp_channel_take(other->tcp, &ignored) > 0)
			fail_msg("unexpected %s", rdma_event_str(ignored.event.event));
	}
	if (event.event.event != type)
		fail_msg("%s instead of %s", rdma_event_str(event.event.event),
			rdma_event_str(type));
}

/* Lets the server work; it must report nothing. */
static void serve_in_silence(int milliseconds)
{
	struct pollfd waiting = {.fd = tcp_channel_fd(server.tcp), .events = POLLIN};
	struct event_copy none;

	while (ready(&waiting, 1, milliseconds) > 0)
		assert_int_equal(tcp_channel_take(server.tcp, &none), 0);
}

static void make_queue_pair(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attributes = {.qp_type = IBV_QPT_RC};

	assert_int_equal(bootstrap_of(id)->create_queue_pair(id, NULL, &attributes), 0);
}

static void resolve(void)
{
	struct failure failure = {0};

	assert_int_equal(tcp_start(client.tcp, (struct sockaddr *)&address, NULL, &settings,
				 &output, &at_client),
		0);
	tcp_look(at_client);
	await(&client, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(tcp_offer(at_client, &failure), 0);
}

static void send_request(void)
{
	assert_ptr_equal(at_client->verbs, &context);
	assert_int_equal(at_client->port_num, 2);
	make_queue_pair(at_client);
	assert_int_equal(tcp_request(at_client, &(struct rdma_conn_param){.initiator_depth = 4,
							.responder_resources = 16,
							.private_data = "hello",
							.private_data_len = 5}),
		0);
}

static void request(void)
{
	resolve();
	await(&client, RDMA_CM_EVENT_ROUTE_RESOLVED);
	send_request();
	await(&server, RDMA_CM_EVENT_CONNECT_REQUEST);
	at_server = event.event.id;
}

static struct rdma_conn_param reply = {.initiator_depth = 8,
	.responder_resources = 2,
	.private_data = "welcome",
	.private_data_len = 7};

static void establish(void)
{
	request();
	make_queue_pair(at_server);
	assert_int_equal(bootstrap_of(at_server)->accept(at_server, &reply), 0);
	await(&client, RDMA_CM_EVENT_ESTABLISHED);
}

static void assert_parameters(const char *private, uint8_t initiates, uint8_t responds)
{
	const struct rdma_conn_param *said = &event.event.param.conn;

	assert_int_equal(said->private_data_len, strlen(private));
	assert_memory_equal(said->private_data, private, strlen(private));
	assert_int_equal(said->initiator_depth, initiates);
	assert_int_equal(said->responder_resources, responds);
}

static void both_ends_learn_what_the_other_said(void **state)
{
	(void)state;
	request();
	assert_parameters("hello", 16, 4);
	assert_ptr_equal(at_server->verbs, &context);
	assert_ptr_equal(bootstrap_of(at_server), &bootstrap_tcp);
	make_queue_pair(at_server);
	assert_int_equal(bootstrap_of(at_server)->accept(at_server, &reply), 0);
	await(&client, RDMA_CM_EVENT_ESTABLISHED);
	assert_parameters("welcome", 2, 8);
	await(&server, RDMA_CM_EVENT_ESTABLISHED);
	assert_memory_equal(&at_client->route.addr.dst_addr, &at_server->route.addr.src_addr,
		sizeof(struct sockaddr_in));
}

/* Each end's queue pair expects what the other one sends. */
static void queue_pairs_match(void **state)
{
	const struct ibv_qp_attr *sends, *receives;

	(void)state;
	establish();
	/* INIT of the client, INIT, RTR and RTS of the server, RTR and RTS of the client. */
	assert_int_equal(move_count, 6);
	assert_int_equal(moves[0].port_num, 2);
	receives = &moves[2];
	sends = &moves[3];
	assert_int_equal(receives->qp_state, IBV_QPS_RTR);
	assert_int_equal(sends->qp_state, IBV_QPS_RTS);
	assert_int_equal(receives->dest_qp_num, at_client->qp->qp_num);
	assert_int_equal(moves[4].dest_qp_num, at_server->qp->qp_num);
	assert_int_equal(receives->rq_psn, moves[5].sq_psn);
	assert_int_equal(moves[4].rq_psn, sends->sq_psn);
	assert_int_equal(receives->path_mtu, IBV_MTU_4096);
	assert_int_equal(receives->ah_attr.is_global, 1);
	assert_int_equal(receives->ah_attr.grh.sgid_index, 3);
	assert_int_equal(receives->ah_attr.grh.traffic_class, 104);
	assert_int_equal(receives->ah_attr.grh.dgid.raw[15], 9);
	assert_int_equal(receives->max_dest_rd_atomic, 2); /* of 2 and 4 */
	assert_int_equal(sends->max_rd_atomic, 8);         /* of 8 and 16 */
	assert_int_equal(moves[4].max_dest_rd_atomic, 8);
	assert_int_equal(moves[5].max_rd_atomic, 2);
}

static void one_port_is_known_before_the_server_chooses(void **state)
{
	int before = uses;

	(void)state;
	resolve();
	assert_true(tcp_awaits_path(at_client));
	assert_ptr_equal(at_client->verbs, &context);
	assert_int_equal(at_client->port_num, 2);
	make_queue_pair(at_client);
	await(&client, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_false(tcp_awaits_path(at_client));
	assert_int_equal(uses, before + 2); /* each end's, once */
}

/* The server answers both before the client looks. */
static void a_request_may_follow_the_offer_at_once(void **state)
{
	struct pollfd waiting = {.fd = tcp_channel_fd(server.tcp), .events = POLLIN};

	(void)state;
	resolve();
	send_request();
	assert_true(tcp_awaits_path(at_client));
	while (tcp_channel_take(server.tcp, &event) == 0)
		assert_int_equal(ready(&waiting, 1, WAIT_MS), 1);
	assert_int_equal(event.event.event, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_parameters("hello", 16, 4);
	at_server = event.event.id;
	make_queue_pair(at_server);
	assert_int_equal(bootstrap_of(at_server)->accept(at_server, &reply), 0);
	while (tcp_id_of(at_server)->state != TCP_AWAITS_READY)
		serve_in_silence(10);
	await(&client, RDMA_CM_EVENT_ROUTE_RESOLVED);
	await(&client, RDMA_CM_EVENT_ESTABLISHED);
	assert_parameters("welcome", 2, 8);
	await(&server, RDMA_CM_EVENT_ESTABLISHED);
}

static void an_early_request_without_a_path_is_refused(void **state)
{
	(void)state;
	resolve();
	send_request();
	here.all[0].gid.type = TCP_GID_ROCE_V1;
	await(&client, RDMA_CM_EVENT_ROUTE_ERROR);
	assert_int_equal(bootstrap_of(at_client)->failure(at_client)->code, PATH_OTHER_VERSION);
}

/* What the path would have been does not matter. */
static void a_server_that_goes_before_an_early_request_is_named(void **state)
{
	(void)state;
	resolve();
	destroy(listener);
	listener = NULL;
	tcp_channel_destroy(server.tcp);
	assert_int_equal(tcp_channel_create(&server.tcp), 0);
	send_request();
	await(&client, RDMA_CM_EVENT_ROUTE_ERROR);
	assert_int_equal(bootstrap_of(at_client)->failure(at_client)->code, PATH_NO_ANSWER);
}

static void of_two_ports_the_server_chooses(void **state)
{
	(void)state;
	here.all[1] = here.all[0];
	here.all[1].gid.port = 1;
	here.count = 2;
	resolve();
	assert_true(tcp_awaits_path(at_client));
	assert_null(at_client->verbs);
	await(&client, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_ptr_equal(at_client->verbs, &context);
	assert_int_equal(at_client->port_num, 2);
}

static void a_disconnect_reaches_both_ends(void **state)
{
	struct event_copy more;

	(void)state;
	establish();
	await(&server, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(bootstrap_of(at_client)->disconnect(at_client), 0);
	await(&server, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(bootstrap_of(at_server)->disconnect(at_server), 0);
	await(&client, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(moves[6].qp_state, IBV_QPS_ERR);
	assert_int_equal(tcp_channel_take(client.tcp, &more), 0);
	assert_int_equal(tcp_channel_take(server.tcp, &more), 0);
}

static void the_end_of_a_process_is_a_disconnect(void **state)
{
	(void)state;
	establish();
	await(&server, RDMA_CM_EVENT_ESTABLISHED);
	destroy(at_client);
	at_client = NULL;
	await(&server, RDMA_CM_EVENT_DISCONNECTED);
}

static void a_rejection_carries_its_reason(void **state)
{
	(void)state;
	request();
	assert_int_equal(bootstrap_of(at_server)->reject(at_server, "no", 2), 0);
	destroy(at_server);
	at_server = NULL;
	await(&client, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event.event.param.conn.private_data_len, 2);
	assert_memory_equal(event.event.param.conn.private_data, "no", 2);
}

static void without_a_path_both_gids_are_shown(void **state)
{
	const struct failure *failure;

	(void)state;
	resolve();
	here.all[0].gid.type = TCP_GID_ROCE_V1;
	await(&client, RDMA_CM_EVENT_ROUTE_ERROR);
	failure = bootstrap_of(at_client)->failure(at_client);
	assert_int_equal(failure->code, PATH_OTHER_VERSION);
	assert_string_equal(
		failure->evidence, "here ::9 (RoCE v2, index 3), there ::9 (RoCE v1, index 3)");
}

static void nothing_listens(void **state)
{
	const uint16_t port = address.sin_port;

	(void)state;
	destroy(listener);
	listener = NULL;
	address.sin_port = port;
	if (tcp_start(client.tcp, (struct sockaddr *)&address, NULL, &settings, &output,
		    &at_client) == 0) {
		await(&client, RDMA_CM_EVENT_ADDR_ERROR);
		assert_int_equal(bootstrap_of(at_client)->failure(at_client)->code, PATH_NO_TCP);
	}
}

static void a_port_in_use_is_reported(void **state)
{
	struct rdma_cm_id *second;

	(void)state;
	assert_int_equal(
		tcp_listen(server.tcp, (struct sockaddr *)&address, &settings, &output, &second),
		-EADDRINUSE);
}

/* The cause is the transition, not the TCP connection, and the client learns of it. */
static void a_transition_that_fails_at_the_server_is_named(void **state)
{
	const struct failure *failure;
	struct hello hello;

	(void)state;
	request();
	make_queue_pair(at_server);
	fails_at = IBV_QPS_RTR;
	fails_with = ETIMEDOUT;
	assert_int_equal(bootstrap_of(at_server)->accept(at_server, &reply), 0);
	await(&server, RDMA_CM_EVENT_CONNECT_ERROR);
	failure = bootstrap_of(at_server)->failure(at_server);
	assert_int_equal(failure->code, PATH_UNRESOLVED);
	assert_non_null(strstr(failure->evidence,
		"Connection timed out, to RTR: from ::9 (RoCE v2, index 3), LID 0, to ::9"));
	await(&client, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(hello_decode(&hello, event.event.param.conn.private_data,
				 event.event.param.conn.private_data_len),
		0);
	assert_int_equal(hello.refusal, REFUSAL_PATH);
}

static void a_transition_that_fails_at_the_client_is_named(void **state)
{
	(void)state;
	request();
	make_queue_pair(at_server);
	assert_int_equal(bootstrap_of(at_server)->accept(at_server, &reply), 0);
	/* The server's transitions are over when it has replied. */
	while (recv(tcp_id_of(at_client)->fd, &(char){0}, 1, MSG_PEEK) < 0)
		serve_in_silence(10);
	fails_at = IBV_QPS_RTS;
	fails_with = EINVAL;
	await(&client, RDMA_CM_EVENT_CONNECT_ERROR);
	assert_int_equal(bootstrap_of(at_client)->failure(at_client)->code, PATH_ATTRIBUTES);
}

/* The server can be ended while a thread of it moves a queue pair. */
static void a_request_that_is_being_accepted_may_end(void **state)
{
	(void)state;
	request();
	make_queue_pair(at_server);
	assert_int_equal(bootstrap_of(at_server)->accept(at_server, &reply), 0);
	destroy(at_server);
	at_server = NULL;
	await(&client, RDMA_CM_EVENT_CONNECT_ERROR);
}

/* A control session has a channel of its own. */
static void a_request_moves_to_another_channel(void **state)
{
	struct cm_channel mine = server;

	(void)state;
	request();
	assert_int_equal(tcp_channel_create(&server.tcp), 0);
	assert_int_equal(bootstrap_of(at_server)->migrate(at_server, &server), 0);
	make_queue_pair(at_server);
	assert_int_equal(bootstrap_of(at_server)->accept(at_server, &reply), 0);
	await(&client, RDMA_CM_EVENT_ESTABLISHED);
	await(&server, RDMA_CM_EVENT_ESTABLISHED);
	destroy(listener);
	listener = NULL;
	tcp_channel_destroy(mine.tcp);
}

/* Strangers. */

static int dial_raw(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static size_t offer_frame(uint8_t frame[TCP_FRAME_MAX])
{
	struct tcp_offer offer;

	path_offer(&here, &offer);
	return tcp_offer_encode(&offer, frame);
}

static void send_all(int fd, const void *bytes, size_t size)
{
	assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

/* The server closes the connection, and sent nothing else before. */
static void assert_closed(int fd)
{
	char byte;

	serve_in_silence(50);
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
}

static void strangers_are_sent_away(void **state)
{
	static const struct tcp_queue_pair pair = {.mtu = IBV_MTU_256};
	uint8_t frame[2 * TCP_FRAME_MAX];
	size_t size;
	int fd;

	(void)state;
	fd = dial_raw();
	send_all(fd, "GET / HTTP/1.0\r\n", 16);
	assert_closed(fd);
	fd = dial_raw();
	size = offer_frame(frame);
	frame[TCP_HEADER_SIZE] ^= 1;
	send_all(fd, frame, size);
	assert_closed(fd);
	/* A request without an offer, and a frame that only a server sends. */
	fd = dial_raw();
	send_all(fd, frame, tcp_queue_pair_encode(TCP_REQUEST, &pair, frame));
	assert_closed(fd);
	fd = dial_raw();
	send_all(fd, frame, tcp_queue_pair_encode(TCP_REPLY, &pair, frame));
	assert_closed(fd);
	/* A second offer. */
	fd = dial_raw();
	size = offer_frame(frame);
	size += offer_frame(frame + size);
	send_all(fd, frame, size);
	serve_in_silence(50);
	assert_true(recv(fd, frame, sizeof(frame), 0) > 0);
	assert_int_equal(tcp_frame_type(frame), TCP_PATH);
	assert_closed(fd);
	establish();
}

/* After a refusal, there is nothing to request. */
static void a_request_without_a_path_is_sent_away(void **state)
{
	static const struct tcp_queue_pair pair = {.mtu = IBV_MTU_256};
	uint8_t frame[TCP_FRAME_MAX];
	size_t size = offer_frame(frame);
	int fd = dial_raw();

	(void)state;
	here.all[0].gid.type = TCP_GID_INFINIBAND;
	send_all(fd, frame, size);
	serve_in_silence(50);
	assert_true(recv(fd, frame, sizeof(frame), 0) > 0);
	assert_int_equal(tcp_frame_type(frame), TCP_PATH);
	send_all(fd, frame, tcp_queue_pair_encode(TCP_REQUEST, &pair, frame));
	assert_closed(fd);
}

/* Each prefix of an offer, byte by byte, and then the end. */
static void a_slow_client_is_served(void **state)
{
	uint8_t frame[TCP_FRAME_MAX];
	size_t size = offer_frame(frame);
	int fd = dial_raw();

	(void)state;
	for (size_t i = 0; i < size; i++) {
		send_all(fd, frame + i, 1);
		serve_in_silence(i + 1 < size ? 1 : 50);
	}
	assert_true(recv(fd, frame, sizeof(frame), 0) > 0);
	assert_int_equal(tcp_frame_type(frame), TCP_PATH);
	shutdown(fd, SHUT_WR);
	assert_closed(fd);
}

static void silent_clients_make_room(void **state)
{
	static int fds[TCP_HALF_OPEN + 10];
	struct rlimit limit;
	char byte;

	(void)state;
	/* Both ends are in this process. */
	assert_int_equal(prlimit(0, RLIMIT_NOFILE, NULL, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(prlimit(0, RLIMIT_NOFILE, &limit, NULL), 0);
	for (size_t i = 0; i < COUNT(fds); i++) {
		fds[i] = dial_raw();
		serve_in_silence(0);
	}
	serve_in_silence(50);
	establish();
	for (size_t i = 0; i < COUNT(fds); i++) {
		ssize_t got = recv(fds[i], &byte, 1, MSG_DONTWAIT);

		assert_true(i < 10 ? got == 0 : i == 10 || (got < 0 && errno == EAGAIN));
		close(fds[i]);
	}
}

/* A client that says anything after the handshake, or nothing of it. */
static void a_client_that_is_not_ready_is_reported(void **state)
{
	(void)state;
	request();
	make_queue_pair(at_server);
	assert_int_equal(bootstrap_of(at_server)->accept(at_server, &reply), 0);
	destroy(at_client);
	at_client = NULL;
	await(&server, RDMA_CM_EVENT_CONNECT_ERROR);
}

/* What a server that is none sends after the offer. */
static void a_stranger_that_listens_is_recognized(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		enum path_fault fault;
	} answers[] = {{"HTTP/1.1 400 Bad Request\r\n", 26, PATH_STRANGER}, {"", 0, PATH_NO_ANSWER},
		{"\2\0\0\0", 4, PATH_STRANGER}};
	struct sockaddr_in own = address;
	socklen_t size = sizeof(own);
	int raw = socket(AF_INET, SOCK_STREAM, 0), fd;

	(void)state;
	own.sin_port = 0;
	assert_int_equal(bind(raw, (struct sockaddr *)&own, size), 0);
	assert_int_equal(listen(raw, 4), 0);
	getsockname(raw, (struct sockaddr *)&address, &size);
	for (size_t i = 0; i < COUNT(answers); i++) {
		resolve();
		fd = accept(raw, NULL, NULL);
		if (answers[i].size > 0)
			send_all(fd, answers[i].bytes, answers[i].size);
		shutdown(fd, SHUT_WR);
		await(&client, RDMA_CM_EVENT_ROUTE_ERROR);
		assert_int_equal(
			bootstrap_of(at_client)->failure(at_client)->code, answers[i].fault);
		close(fd);
		destroy(at_client);
		at_client = NULL;
	}
	close(raw);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(both_ends_learn_what_the_other_said),
		TEST(queue_pairs_match),
		TEST(one_port_is_known_before_the_server_chooses),
		TEST(a_request_may_follow_the_offer_at_once),
		TEST(an_early_request_without_a_path_is_refused),
		TEST(a_server_that_goes_before_an_early_request_is_named),
		TEST(of_two_ports_the_server_chooses),
		TEST(a_disconnect_reaches_both_ends),
		TEST(the_end_of_a_process_is_a_disconnect),
		TEST(a_rejection_carries_its_reason),
		TEST(without_a_path_both_gids_are_shown),
		TEST(nothing_listens),
		TEST(a_port_in_use_is_reported),
		TEST(a_transition_that_fails_at_the_server_is_named),
		TEST(a_transition_that_fails_at_the_client_is_named),
		TEST(a_request_that_is_being_accepted_may_end),
		TEST(a_request_moves_to_another_channel),
		TEST(strangers_are_sent_away),
		TEST(a_request_without_a_path_is_sent_away),
		TEST(a_slow_client_is_served),
		TEST(silent_clients_make_room),
		TEST(a_client_that_is_not_ready_is_reported),
		TEST(a_stranger_that_listens_is_recognized),
	};

	return cmocka_run_group_tests_name("tcp-bootstrap", tests, NULL, NULL);
}

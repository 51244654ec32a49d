/* Sends valid and faulty test parameters, notices and WRITEs of a measurement. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/little-endian.h"
#include "protocol/test-parameters.h"
#include "tests/one-host/misbehaving-commands.h"
#include "tests/one-host/misbehaving-measure.h"

#define NOTICE_SIZE 8

/* The first of the nonexistent queue pair numbers. */
#define NOBODYS 0xf00001

/* The Q_Key of a test's datagrams: docs/protocol.md. */
#define OUR_QKEY 0x72646d61

/* Bytes of a datagram that is longer than a receive of a verified test. */
#define MISBEHAVING_LONG 1000

/* How often to check the connection while waiting for a WRITE. */
#define LOOK_MS 20

/* By then the server has noticed a WRITE; it waits up to a second for the rest of it. */
#define SEEN_MS 200

/* Offsets and widths of the test parameters: docs/protocol.md. */
static const struct field {
	const char *name;
	size_t offset, width;
} fields[] = {
	{"latency", 0, 2},
	{"spin", 2, 2},
	{"read", 4, 1},
	{"both", 5, 1},
	{"direction", 5, 1},
	{"verify", 6, 1},
	{"transport", 7, 1},
	{"size", 8, 4},
	{"qps", 12, 4},
	{"depth", 16, 4},
	{"slots", 20, 4},
	{"ms", 24, 4},
	{"ops", 32, 8},
	{"inline", 48, 2},
	{"signal", 50, 2},
	{"sge", 52, 2},
};

static const struct field *field_named(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (misbehaving_is(name, length, fields[i].name))
			return &fields[i];
	die("unknown test parameter '%.*s'", (int)length, name);
}

/* Sets the named test parameter to 1, or to N if the word is NAME=N. */
static void set_field(uint8_t *parameters, const char *word, size_t length)
{
	const char *equals = memchr(word, '=', length);
	const struct field *field = field_named(word, equals ? (size_t)(equals - word) : length);
	uint64_t number = equals ? strtoull(equals + 1, NULL, 10) : 1;

	for (size_t i = 0; i < field->width; i++)
		parameters[field->offset + i] = (uint8_t)(number >> 8 * i);
}

void misbehaving_begin(struct peer *peer, const char *how)
{
	/* Fits our memory and the queue limits that we request by default. */
	static const struct test_parameters usual = {.operation = &test_operations[TEST_WRITE],
		.size = 64,
		.queue_pairs = 1,
		.depth = 32,
		.slots = 4,
		.milliseconds = 60000};
	uint8_t parameters[TEST_PARAMETERS_SIZE];
	const char *word;
	size_t length;

	test_parameters_encode(&usual, parameters);
	while (*how) {
		word = misbehaving_word(&how, &length);
		set_field(parameters, word, length);
	}
	peer->operation_size = le_get32(parameters + 8);
	misbehaving_command_text(peer, COMMAND_BEGIN, parameters, TEST_PARAMETERS_SIZE);
}

void misbehaving_queue_pairs(struct peer *peer, const char *how)
{
	size_t size = strtoul(how, NULL, 10);
	uint8_t text[COMMAND_TEXT_MAX] = {0};

	for (uint32_t i = 0; i < size / 4; i++)
		le_put32(text + (size_t)4 * i, NOBODYS + i);
	misbehaving_command_text(peer, COMMAND_QUEUE_PAIRS, text, size);
}

/* Moves our queue pair to this state, with the attributes of the connection. */
static void advance(struct peer *peer, enum ibv_qp_state state, uint32_t number_of_peer)
{
	struct ibv_qp_attr attributes = {.qp_state = state};
	int mask;

	endpoint_attributes(&peer->end, &attributes, &mask);
	attributes.dest_qp_num = number_of_peer;
	attributes.rq_psn = number_of_peer;
	attributes.sq_psn = peer->own->qp_num;
	attributes.retry_cnt = 1; /* the server's queue pair will soon be gone */
	if (ibv_modify_qp(peer->own, &attributes, mask))
		die("ibv_modify_qp failed");
}

void misbehaving_own_queue_pair(struct peer *peer, const char *how)
{
	size_t count = *how ? strtoul(how, NULL, 10) : 1, length;
	struct ibv_qp_init_attr wanted = {.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.send_cq = peer->end.cq,
		.recv_cq = peer->end.cq,
		.cap = {.max_send_wr = ENDPOINT_SLOTS, .max_recv_wr = 1, .max_send_sge = 1}};
	uint8_t text[COMMAND_TEXT_MAX] = {0};
	struct command reply;
	const uint8_t *bytes;

	peer->own = ibv_create_qp(peer->end.pd, &wanted);
	if (!peer->own)
		die("ibv_create_qp failed");
	advance(peer, IBV_QPS_INIT, 0);
	for (uint32_t i = 0; i < count; i++)
		le_put32(text + (size_t)4 * i, i ? NOBODYS + i : peer->own->qp_num);
	misbehaving_command_text(peer, COMMAND_QUEUE_PAIRS, text, 4 * count);
	if (!misbehaving_next(peer, &bytes, &length))
		return;
	if (command_decode(&reply, bytes, length) || reply.text_size < 4)
		die("no numbers of queue pairs");
	advance(peer, IBV_QPS_RTR, le_get32((const uint8_t *)reply.text));
	advance(peer, IBV_QPS_RTS, le_get32((const uint8_t *)reply.text));
}

/* As many as the queue holds, and another one for each that completes. */
void misbehaving_drain(struct peer *peer, const char *how)
{
	struct ibv_sge piece = {(uintptr_t)peer->end.local, (uint32_t)strtoul(how, NULL, 10),
		peer->end.local_mr->lkey};
	struct ibv_send_wr *bad,
		request = {.sg_list = &piece, .num_sge = piece.length > 0, .opcode = IBV_WR_SEND};

	while (!peer->failed) {
		if (ibv_post_send(peer->own, &request, &bad))
			die("ibv_post_send failed");
		if (++peer->sends == ENDPOINT_SLOTS)
			misbehaving_await(peer);
	}
}

/* Creates a queue pair for datagrams, of which we receive none. */
static struct ibv_qp *datagram_pair(const struct peer *peer)
{
	struct ibv_qp_init_attr wanted = {.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
		.send_cq = peer->end.cq,
		.recv_cq = peer->end.cq,
		.cap = {.max_send_wr = ENDPOINT_SLOTS, .max_recv_wr = 1, .max_send_sge = 1}};
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .qkey = OUR_QKEY};
	struct ibv_qp *pair = ibv_create_qp(peer->end.pd, &wanted);
	int error;

	if (!pair)
		die("ibv_create_qp failed");
	attributes.port_num = peer->end.id->port_num;
	error = ibv_modify_qp(
		pair, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attributes.qp_state = IBV_QPS_RTR;
	error = error || ibv_modify_qp(pair, &attributes, IBV_QP_STATE);
	attributes.qp_state = IBV_QPS_RTS;
	if (error || ibv_modify_qp(pair, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("ibv_modify_qp failed");
	return pair;
}

void misbehaving_datagram_pair(struct peer *peer, const char *how)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTR};
	uint8_t text[8];
	struct command reply;
	const uint8_t *bytes;
	size_t length;
	int mask;

	peer->own = datagram_pair(peer);
	peer->other = datagram_pair(peer);
	endpoint_attributes(&peer->end, &attributes, &mask);
	peer->address = ibv_create_ah(peer->end.pd, &attributes.ah_attr);
	if (!peer->address)
		die("ibv_create_ah failed");
	le_put32(text, peer->own->qp_num);
	le_put32(text + 4, *how ? (uint32_t)strtoul(how, NULL, 10) : TEST_UD);
	misbehaving_command_text(peer, COMMAND_QUEUE_PAIRS, text, sizeof(text));
	if (*how || !misbehaving_next(peer, &bytes, &length))
		return;
	if (command_decode(&reply, bytes, length))
		die("no reply");
	if (reply.text_size >= 4)
		peer->to = le_get32((const uint8_t *)reply.text);
}

void misbehaving_datagram(struct peer *peer, const char *how)
{
	char *rest;
	uint32_t number = (uint32_t)strtoul(how, &rest, 10);
	const char *kind = *rest ? rest + 1 : "";
	uint32_t size = strcmp(kind, "too-long") == 0
				? MISBEHAVING_LONG
				: peer->operation_size + (strcmp(kind, "longer") == 0);
	struct ibv_sge piece = {(uintptr_t)peer->end.local, size, peer->end.local_mr->lkey};
	struct ibv_send_wr *bad,
		request = {.sg_list = &piece,
			.num_sge = 1,
			.opcode = strcmp(kind, "plain") == 0 ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM,
			.imm_data = htonl(number),
			.wr.ud = {.ah = peer->address,
				.remote_qpn = strcmp(kind, "nobody") == 0 ? NOBODYS : peer->to,
				.remote_qkey = strcmp(kind, "key") == 0 ? 1 : OUR_QKEY}};

	if (ibv_post_send(strcmp(kind, "stranger") == 0 ? peer->other : peer->own, &request, &bad))
		die("ibv_post_send failed");
	peer->sends++;
	misbehaving_finish(peer);
}

void misbehaving_notice(struct peer *peer, const char *how)
{
	char *rest;
	uint64_t number = strtoull(how, &rest, 10);
	uint8_t bytes[NOTICE_SIZE];

	le_put64(bytes,
		number << 2 | (strstr(rest, ":mover") ? 2 : 0) | (strstr(rest, ":last") ? 1 : 0));
	misbehaving_send(peer, bytes, sizeof(bytes));
}

void misbehaving_receive_notice(struct peer *peer, const char *how)
{
	const uint8_t *bytes;
	uint64_t notice;
	size_t length;

	(void)how;
	if (!misbehaving_next(peer, &bytes, &length))
		return;
	if (length != NOTICE_SIZE)
		die("received %zu bytes, not a notice", length);
	notice = le_get64(bytes);
	printf("notice %llu%s%s\n", (unsigned long long)(notice >> 2), notice & 2 ? " mover" : "",
		notice & 1 ? " last" : "");
}

/* Checks the connection with zero-length WRITEs, which consume no receives. */
static void await_mark(struct peer *peer, const uint8_t *place, uint8_t mark)
{
	while (__atomic_load_n(place, __ATOMIC_ACQUIRE) != mark && !peer->failed) {
		poll(NULL, 0, LOOK_MS);
		endpoint_rdma(&peer->end, IBV_WR_RDMA_WRITE, peer->theirs.address,
			peer->theirs.rkey, 0, 0);
		peer->sends++;
		misbehaving_finish(peer);
	}
}

static void write_mark(struct peer *peer, uint8_t mark)
{
	peer->end.local[0] = mark;
	endpoint_rdma(&peer->end, IBV_WR_RDMA_WRITE,
		peer->theirs.address + peer->operation_size - 1, peer->theirs.rkey, 1, 0);
	peer->sends++;
	misbehaving_finish(peer);
	poll(NULL, 0, SEEN_MS);
}

/* Each WRITE arrives while the server still checks the previous one, so that it never waits. */
void misbehaving_pings(struct peer *peer, const char *how)
{
	(void)how;
	write_mark(peer, 1);
	for (uint8_t mark = 2; !peer->failed; mark++) {
		write_mark(peer, mark);
		await_mark(peer, peer->end.exposed + peer->operation_size - 1, (uint8_t)(mark - 1));
		if (mark == 2)
			puts("answered");
		poll(NULL, 0, SEEN_MS);
	}
}

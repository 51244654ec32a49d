/*
 * Sends and receives valid and invalid messages of an exchange, and performs the RDMA operations.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/one-host/misbehaving-commands.h"
#include "tests/one-host/misbehaving-measure.h"
#include "tests/one-host/misbehaving-steps.h"

#define DEPTH   8
#define BEAT_MS 100

static const char text[] = MISBEHAVING_TEXT;

/* Stores a message for `get`, except keepalives and receives of immediate data. */
static void keep(struct peer *peer, const struct ibv_wc *completion)
{
	unsigned int place = peer->came % MISBEHAVING_INBOX;

	if (completion->opcode == IBV_WC_RECV && completion->byte_len > 0) {
		if (peer->came - peer->taken == MISBEHAVING_INBOX)
			die("too many unread messages");
		peer->inbox[place].length = completion->byte_len;
		memcpy(peer->inbox[place].bytes, endpoint_received(&peer->end, completion),
			completion->byte_len);
		peer->came++;
	}
	if (peer->reposts)
		endpoint_post_receive(&peer->end);
}

void misbehaving_await(struct peer *peer)
{
	struct ibv_wc completion = endpoint_completion(&peer->end);

	if (completion.status != IBV_WC_SUCCESS) {
		if (!peer->failed)
			printf("completion %s\n", ibv_wc_status_str(completion.status));
		peer->failed = true;
		peer->sends = 0;
	} else if (completion.opcode & IBV_WC_RECV) {
		keep(peer, &completion);
	} else {
		peer->sends--;
	}
}

void misbehaving_finish(struct peer *peer)
{
	while (peer->sends > 0 && !peer->failed)
		misbehaving_await(peer);
}

static void finish_sends(struct peer *peer, const char *how)
{
	(void)how;
	misbehaving_finish(peer);
}

bool misbehaving_next(struct peer *peer, const uint8_t **bytes, size_t *length)
{
	unsigned int place = peer->taken % MISBEHAVING_INBOX;

	while (peer->came == peer->taken && !peer->failed)
		misbehaving_await(peer);
	if (peer->came == peer->taken)
		return false;
	peer->taken++;
	*bytes = peer->inbox[place].bytes;
	*length = peer->inbox[place].length;
	return true;
}

/* Decodes the next message. Returns false if the connection has failed. */
static bool next_message(struct peer *peer, struct message *message)
{
	const uint8_t *bytes;
	size_t length;

	if (!misbehaving_next(peer, &bytes, &length))
		return false;
	if (message_decode(message, bytes, length))
		die("received an invalid message");
	if (message->type == MSG_MR)
		peer->theirs = *message;
	if (message->type == MSG_PROOF)
		peer->proof = *message;
	return true;
}

static void get(struct peer *peer, const char *name)
{
	struct message message;
	bool wanted;

	do {
		if (!next_message(peer, &message))
			return;
		wanted = *name ? strcmp(name, message_name(message.type)) == 0
			       : message.type != MSG_DATA && message.type != MSG_CREDIT;
	} while (!wanted);
	printf("got %s%s%.*s\n", message_name(message.type), message.type == MSG_ABORT ? ": " : "",
		message.type == MSG_ABORT ? message.text_size : 0, message.text);
}

void misbehaving_send(struct peer *peer, const void *bytes, size_t length)
{
	endpoint_send(&peer->end, bytes, (uint32_t)length);
	peer->sends++;
}

static void send_message(struct peer *peer, const struct message *message)
{
	uint8_t bytes[MESSAGE_MAX];

	misbehaving_send(peer, bytes, message_encode(message, bytes));
}

void misbehaving_other_nonce(struct handshake *handshake, bool ours)
{
	enum secret_role role = ours ? handshake->role : handshake_peer(handshake);

	secret_nonce(handshake->hello_bytes[role] + HELLO_SIZE);
}

static void send_proof(struct peer *peer, const char *how)
{
	struct message message = {.type = MSG_PROOF};
	struct handshake before = peer->handshake;

	if (strcmp(how, "replay") == 0 || strcmp(how, "recorded") == 0)
		misbehaving_other_nonce(&before, strcmp(how, "replay") == 0);
	handshake_prove(&before, message.proof);
	if (strcmp(how, "wrong") == 0)
		message.proof[SECRET_PROOF_SIZE - 1] ^= 1;
	else if (strcmp(how, "reflect") == 0)
		message = peer->proof;
	send_message(peer, &message);
}

static void send_mr(struct peer *peer, const char *how)
{
	struct message message = {
		.type = MSG_MR,
		.address = (uintptr_t)peer->end.exposed,
		.length = ENDPOINT_REGION,
		.rkey = peer->end.exposed_mr->rkey,
		.depth = peer->tutorial ? 0 : DEPTH,
	};

	if (strcmp(how, "wrap") == 0)
		message.address = UINT64_MAX - 10;
	else if (strcmp(how, "empty") == 0)
		message.length = 0;
	else if (strcmp(how, "key") == 0)
		message.rkey ^= 0xffff00;
	else if (strcmp(how, "all") == 0)
		message.address = 0, message.length = UINT64_MAX;
	else if (strcmp(how, "small") == 0)
		message.length = 4;
	else if (strcmp(how, "depth") == 0)
		message.depth = 0;
	else if (strcmp(how, "send") == 0)
		message.address = 0, message.rkey = 0;
	message_set_text(&message, peer->name);
	send_message(peer, &message);
}

static void send_done(struct peer *peer, const char *how)
{
	struct message message = {
		.type = MSG_DONE,
		.length = peer->position,
		.digest = digester_result(peer->digester, DIGEST_STREAM),
	};

	if (strcmp(how, "digest") == 0)
		message.digest.bytes[3] ^= 1;
	else if (strcmp(how, "empty") == 0)
		message.length = 0;
	else if (strcmp(how, "large") == 0)
		message.length++;
	send_message(peer, &message);
}

static void send_verdict(struct peer *peer, const char *how)
{
	struct message message = {
		.type = MSG_VERDICT,
		.verdict = *how == 'd' ? VERDICT_DAMAGED : (uint32_t)atoi(how),
	};

	send_message(peer, &message);
}

static void send_data(struct peer *peer, const char *how)
{
	struct message message = {.type = MSG_DATA};

	if (!*how) {
		digester_add(peer->digester, text, sizeof(text));
		peer->position += sizeof(text);
	}
	message.length = *how ? strtoull(how, NULL, 10) : peer->position;
	send_message(peer, &message);
}

static void send_keepalive(struct peer *peer, const char *how)
{
	(void)how;
	misbehaving_send(peer, "", 0);
}

/* Sends MSG_DATA, followed by the data. Every message before it used up a receive. */
static void send_piece(struct peer *peer, const char *how)
{
	bool early = strcmp(how, "early") == 0, empty = strcmp(how, "empty") == 0;
	uint8_t bytes[ENDPOINT_SLOT] = {0};
	struct message message = {.type = MSG_DATA};
	size_t size = empty ? 0 : sizeof(text), head;

	for (; !early && peer->end.sent < peer->theirs.address; misbehaving_finish(peer))
		send_keepalive(peer, "");
	digester_add(peer->digester, text, size);
	peer->position += size;
	message.length = peer->position + (strcmp(how, "wrong") == 0);
	head = message_encode(&message, bytes);
	memcpy(bytes + head, text, size);
	if (strcmp(how, "long") == 0)
		size = peer->theirs.length + 1;
	misbehaving_send(peer, bytes, head + size);
}

static void send_pieces(struct peer *peer, const char *how)
{
	while (!peer->failed) {
		send_piece(peer, how);
		misbehaving_finish(peer);
	}
}

static void send_credit(struct peer *peer, const char *how)
{
	struct message message = {.type = MSG_CREDIT};
	char *end;

	message.length = strtoull(how, &end, 10);
	message.pieces = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
	send_message(peer, &message);
}

static void send_abort(struct peer *peer, const char *why)
{
	struct message message = {.type = MSG_ABORT};

	message_set_text(&message, why);
	send_message(peer, &message);
}

static void send_type(struct peer *peer, const char *type)
{
	struct message message = {.type = (enum message_type)atoi(type)};

	send_message(peer, &message);
}

static void send_length(struct peer *peer, const char *how)
{
	uint8_t bytes[ENDPOINT_SLOT] = {0};
	char *end;
	size_t length = strtoul(how, &end, 10);

	if (*end == ':')
		bytes[0] = (uint8_t)atoi(end + 1);
	misbehaving_send(peer, bytes, length);
}

static void send_keepalives(struct peer *peer, const char *how)
{
	while (!peer->failed) {
		send_keepalive(peer, how);
		misbehaving_finish(peer);
		poll(NULL, 0, BEAT_MS);
	}
}

/* Sends keepalives as fast as the device accepts them. */
static void flood(struct peer *peer, const char *how)
{
	while (!peer->failed) {
		while (peer->sends < ENDPOINT_SLOTS / 2)
			send_keepalive(peer, how);
		misbehaving_await(peer);
	}
}

/* Fills in the data of a WRITE. Returns its size. */
static size_t fill(uint8_t *bytes, const char *how)
{
	static const char attack[] = "%s%n\x1b[2J\r\n\x07\xff\x9b";
	size_t length = sizeof(text);

	if (strcmp(how, "wild") == 0)
		length = ENDPOINT_REGION;
	else if (*how >= '0' && *how <= '9')
		length = strtoul(how, NULL, 10);
	memset(bytes, 0, length);
	memcpy(bytes, text, length < sizeof(text) ? length : sizeof(text));
	for (size_t i = 0; *how == 'w' && i < length; i++)
		bytes[i] = (uint8_t)attack[i % (sizeof(attack) - 1)];
	return length;
}

static void rdma_write(struct peer *peer, const char *how)
{
	uint64_t address = peer->theirs.address + peer->position % peer->theirs.length;
	uint32_t rkey = peer->theirs.rkey, immediate;
	bool announce = !peer->tutorial && strcmp(how, "silent") != 0;
	bool immediates = peer->end.id->verbs->device->transport_type == IBV_TRANSPORT_IB;
	struct message notice = {.type = MSG_DATA};
	size_t length = fill(peer->end.local, how);

	digester_add(peer->digester, peer->end.local, length);
	peer->position += length;
	immediate = (uint32_t)peer->position;
	if (strcmp(how, "beyond") == 0)
		address = peer->theirs.address + peer->theirs.length - 1;
	else if (strcmp(how, "key") == 0)
		rkey ^= 0x1;
	else if (strcmp(how, "immediate") == 0)
		immediate += 7;
	endpoint_rdma(&peer->end,
		announce && immediates ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, address,
		rkey, (uint32_t)length, immediate);
	peer->sends++;
	notice.length = immediate;
	if (announce && !immediates)
		send_message(peer, &notice);
	misbehaving_finish(peer);
}

static void rdma_read(struct peer *peer, const char *how)
{
	uint64_t address = peer->theirs.address;

	if (strcmp(how, "beyond") == 0)
		address += peer->theirs.length - 1;
	endpoint_rdma(&peer->end, IBV_WR_RDMA_READ, address, peer->theirs.rkey, ENDPOINT_REGION, 0);
	peer->sends++;
	misbehaving_finish(peer);
	if (!peer->failed)
		printf("read: %s\n", (const char *)peer->end.local);
}

static void rdma_reads(struct peer *peer, const char *how)
{
	while (!peer->failed)
		rdma_read(peer, how);
}

static void tell_region(struct peer *peer, const char *how)
{
	(void)how;
	printf("region %#llx:%#llx:%#x\n", (unsigned long long)peer->theirs.address,
		(unsigned long long)peer->theirs.length, peer->theirs.rkey);
}

static void use_region(struct peer *peer, const char *region)
{
	char *end;

	peer->theirs.address = strtoull(region, &end, 16);
	peer->theirs.length = strtoull(end + 1, &end, 16);
	peer->theirs.rkey = (uint32_t)strtoul(end + 1, NULL, 16);
}

static void deny(struct peer *peer, const char *how)
{
	struct ibv_qp_attr none = {.qp_access_flags = 0};

	(void)how;
	if (ibv_modify_qp(peer->end.id->qp, &none, IBV_QP_ACCESS_FLAGS))
		die("ibv_modify_qp: %s", strerror(errno));
}

static void overwrite(struct peer *peer, const char *how)
{
	(void)how;
	memset(peer->end.exposed, 0xee, ENDPOINT_REGION);
}

static void say(struct peer *peer, const char *words)
{
	(void)peer;
	puts(words);
}

static void wait_for_signal(struct peer *peer, const char *how)
{
	(void)peer, (void)how;
	pause();
}

static void await_file(struct peer *peer, const char *path)
{
	(void)peer;
	while (access(path, F_OK))
		poll(NULL, 0, BEAT_MS);
}

static void await_end(struct peer *peer, const char *how)
{
	(void)how;
	endpoint_event(&peer->end, RDMA_CM_EVENT_DISCONNECTED);
}

static void disconnect(struct peer *peer, const char *how)
{
	endpoint_disconnect(&peer->end);
	await_end(peer, how);
}

static void exit_at_once(struct peer *peer, const char *how)
{
	(void)peer, (void)how;
	_exit(EXIT_SUCCESS);
}

static const struct {
	const char *name;
	void (*run)(struct peer *peer, const char *how);
} steps[] = {
	{"proof", send_proof},
	{"mr", send_mr},
	{"write", rdma_write},
	{"data", send_data},
	{"piece", send_piece},
	{"pieces", send_pieces},
	{"credit", send_credit},
	{"done", send_done},
	{"verdict", send_verdict},
	{"abort", send_abort},
	{"type", send_type},
	{"bytes", send_length},
	{"keepalive", send_keepalive},
	{"keepalives", send_keepalives},
	{"flood", flood},
	{"get", get},
	{"read", rdma_read},
	{"reads", rdma_reads},
	{"region", tell_region},
	{"use", use_region},
	{"await", await_file},
	{"sent", finish_sends},
	{"deny", deny},
	{"overwrite", overwrite},
	{"say", say},
	{"pause", wait_for_signal},
	{"closed", await_end},
	{"disconnect", disconnect},
	{"exit", exit_at_once},
	{"command", misbehaving_command},
	{"reply", misbehaving_reply},
	{"receive", misbehaving_receive},
	{"queue-pairs", misbehaving_queue_pairs},
	{"own-queue-pair", misbehaving_own_queue_pair},
	{"datagram-pair", misbehaving_datagram_pair},
	{"datagram", misbehaving_datagram},
	{"drain", misbehaving_drain},
	{"begin", misbehaving_begin},
	{"notice", misbehaving_notice},
	{"receive-notice", misbehaving_receive_notice},
	{"pings", misbehaving_pings},
};

void misbehaving_step(struct peer *peer, const char *word)
{
	const char *colon = strchr(word, ':');
	size_t length = colon ? (size_t)(colon - word) : strlen(word);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (strlen(steps[i].name) == length && strncmp(word, steps[i].name, length) == 0) {
			steps[i].run(peer, colon ? colon + 1 : "");
			return;
		}
	}
	die("unknown step '%s'", word);
}

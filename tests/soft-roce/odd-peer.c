/*
 * A peer that does what it is told, step by step, however wrong that is: for provoking every way in
 * which a peer can fail or break the protocol.
 *
 *     odd-peer [--intro KIND] [--receives N] [--rnr N] [--depth N] HOST PORT STEP...
 *     odd-peer [...] --listen ADDRESS PORT-FILE STEP...
 *     odd-peer --refuse REASON ADDRESS PORT-FILE
 * refuses one request with that reason of lib/introduction.h; 0: without a word.
 *
 * KIND: ours (default), read (ours in read mode), none, none-read (without a word, but allowing
 * READs), version, mode, session, region, garbage. Steps:
 *   mr mr:wrap mr:empty mr:key mr:small    send MSG_MR: true, or wrong in the way named
 *   done done:digest done:empty done:large send MSG_DONE likewise
 *   write:wild done:wild                   the same with a message of 1,024 bytes that has no end and
 *                                          is full of control characters
 *   verdict verdict:damaged verdict:9      send MSG_VERDICT likewise
 *   type:N bytes:N                         send a message of type N, of N bytes
 *   get                                    wait for a message, print its name
 *   write write:beyond write:key           RDMA WRITE our text into the region we were offered,
 *                                          beyond it, with another key; wait for the completion
 *   read read:beyond                       RDMA READ likewise; print the text
 *   sent                                   wait until everything sent is acknowledged
 *   scribble                               overwrite what the other side has written
 *   say:TEXT                               print TEXT
 *   pause                                  wait for a signal for ever
 *   closed                                 wait until the other side has disconnected
 *   disconnect                             disconnect and wait for the other side's event
 *   vanish                                 end the process as it is
 *
 * A completion that fails is printed ("completion NAME") and is not an error of this program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "endpoint.h"
#include "lib/introduction.h"
#include "lib/message.h"
#include "lib/mode.h"

static const char text[] = "message from an odd peer";
static char wild[ENDPOINT_REGION];

static void make_wild(void)
{
	static const char attack[] = "%s%n\x1b[2J\r\n\x07\xff\x9b";

	for (size_t i = 0; i < sizeof(wild); i++)
		wild[i] = attack[i % (sizeof(attack) - 1)];
}

struct peer {
	struct endpoint end;
	struct message theirs;
	unsigned int sends;    /* posted and not completed */
	bool failed;           /* a completion has failed */
	const uint8_t *unread; /* a message that came while waiting for something else */
	uint32_t unread_length;
};

static void introduce(struct peer *peer, const char *kind, uint8_t buffer[255])
{
	struct introduction ours = {
		.version = INTRODUCTION_VERSION,
		.mode = MODE_WRITE,
		.session = SESSION_EXCHANGE,
		.region_length = ENDPOINT_REGION,
	};
	uint8_t length = INTRODUCTION_SIZE;

	if (strcmp(kind, "read") == 0 || strcmp(kind, "none-read") == 0)
		ours.mode = MODE_READ;
	else if (strcmp(kind, "version") == 0)
		ours.version = 99;
	else if (strcmp(kind, "mode") == 0)
		ours.mode = 77;
	else if (strcmp(kind, "session") == 0)
		ours.session = 55;
	else if (strcmp(kind, "region") == 0)
		ours.region_length = 16;
	else if (strcmp(kind, "ours") != 0 && strncmp(kind, "none", 4) != 0 &&
		 strcmp(kind, "garbage") != 0)
		die("no introduction '%s'", kind);
	introduction_encode(&ours, buffer);
	if (strcmp(kind, "garbage") == 0)
		memset(buffer + 8, 0xff, INTRODUCTION_SIZE - 8);
	if (strncmp(kind, "none", 4) == 0)
		length = 0;
	peer->end.parameters.private_data = buffer;
	peer->end.parameters.private_data_len = length;
	peer->end.exposed_access =
		ours.mode == MODE_READ ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
}

/* Takes one completion; a message is kept for `get`. */
static void take(struct peer *peer)
{
	struct ibv_wc completion = endpoint_completion(&peer->end);

	if (completion.status != IBV_WC_SUCCESS) {
		if (!peer->failed)
			printf("completion %s\n", ibv_wc_status_str(completion.status));
		peer->failed = true;
		peer->sends = 0;
	} else if (completion.opcode & IBV_WC_RECV) {
		peer->unread = endpoint_received(&peer->end, &completion);
		peer->unread_length = completion.byte_len;
	} else {
		peer->sends--;
	}
}

static void finish_sends(struct peer *peer)
{
	while (peer->sends > 0 && !peer->failed)
		take(peer);
}

static void get(struct peer *peer)
{
	struct message message;

	while (!peer->unread && !peer->failed)
		take(peer);
	if (!peer->unread)
		return;
	if (message_decode(&message, peer->unread, peer->unread_length))
		die("it sent a message that cannot be decoded");
	printf("got %s\n", message_name(message.type));
	if (message.type == MSG_MR)
		peer->theirs = message;
	peer->unread = NULL;
}

static void send_bytes(struct peer *peer, const void *bytes, uint32_t length)
{
	endpoint_send(&peer->end, bytes, length);
	peer->sends++;
}

static void send_message(struct peer *peer, const struct message *message)
{
	uint8_t bytes[MESSAGE_SIZE];

	message_encode(message, bytes);
	send_bytes(peer, bytes, sizeof(bytes));
}

static void send_mr(struct peer *peer, const char *how)
{
	struct message message = {
		.type = MSG_MR,
		.address = (uintptr_t)peer->end.exposed,
		.length = ENDPOINT_REGION,
		.rkey = peer->end.exposed_mr->rkey,
	};

	if (strcmp(how, "wrap") == 0)
		message.address = UINT64_MAX - 10;
	else if (strcmp(how, "empty") == 0)
		message.length = 0;
	else if (strcmp(how, "key") == 0)
		message.rkey ^= 0xffff00;
	else if (strcmp(how, "small") == 0)
		message.length = 4;
	send_message(peer, &message);
}

static void send_done(struct peer *peer, const char *how)
{
	struct message message = {
		.type = MSG_DONE,
		.length = sizeof(text),
		.digest = digest_of(text, sizeof(text)),
	};

	if (strcmp(how, "digest") == 0)
		message.digest.bytes[3] ^= 1;
	else if (strcmp(how, "empty") == 0)
		message.length = 0;
	else if (strcmp(how, "large") == 0)
		message.length = ENDPOINT_REGION + 1;
	else if (strcmp(how, "wild") == 0) {
		message.length = sizeof(wild);
		message.digest = digest_of(wild, sizeof(wild));
	}
	send_message(peer, &message);
}

static void rdma(struct peer *peer, enum ibv_wr_opcode opcode, const char *how)
{
	uint64_t address = peer->theirs.address;
	uint32_t rkey = peer->theirs.rkey, length = sizeof(text);

	if (opcode == IBV_WR_RDMA_WRITE)
		memcpy(peer->end.local, text, sizeof(text));
	else
		length = ENDPOINT_REGION;
	if (strcmp(how, "wild") == 0) {
		memcpy(peer->end.local, wild, sizeof(wild));
		length = sizeof(wild);
	}
	if (strcmp(how, "beyond") == 0)
		address += peer->theirs.length - 1;
	else if (strcmp(how, "key") == 0)
		rkey ^= 0x1;
	endpoint_rdma(&peer->end, opcode, address, rkey, length);
	peer->sends++;
	finish_sends(peer);
	if (opcode == IBV_WR_RDMA_READ && !peer->failed)
		printf("read: %s\n", (const char *)peer->end.local);
}

/* Does the step that `word` names; what follows a colon says how. */
static void step(struct peer *peer, const char *word)
{
	const char *colon = strchr(word, ':');
	const char *how = colon ? colon + 1 : "";
	size_t length = colon ? (size_t)(colon - word) : strlen(word);
	char name[16], bytes[128] = {0};

	snprintf(name, sizeof(name), "%.*s", (int)length, word);
	if (strcmp(name, "mr") == 0)
		send_mr(peer, how);
	else if (strcmp(name, "done") == 0)
		send_done(peer, how);
	else if (strcmp(name, "verdict") == 0)
		send_message(peer,
			&(struct message){.type = MSG_VERDICT,
				.verdict = *how == 'd' ? VERDICT_DAMAGED : (uint32_t)atoi(how)});
	else if (strcmp(name, "type") == 0)
		send_message(peer, &(struct message){.type = (enum message_type)atoi(how)});
	else if (strcmp(name, "bytes") == 0)
		send_bytes(peer, bytes, (uint32_t)atoi(how));
	else if (strcmp(name, "get") == 0)
		get(peer);
	else if (strcmp(name, "write") == 0)
		rdma(peer, IBV_WR_RDMA_WRITE, how);
	else if (strcmp(name, "read") == 0)
		rdma(peer, IBV_WR_RDMA_READ, how);
	else if (strcmp(name, "sent") == 0)
		finish_sends(peer);
	else if (strcmp(name, "scribble") == 0)
		memset(peer->end.exposed, 0xee, ENDPOINT_REGION);
	else if (strcmp(name, "say") == 0)
		puts(how);
	else if (strcmp(name, "pause") == 0)
		pause();
	else if (strcmp(name, "closed") == 0)
		endpoint_event(&peer->end, RDMA_CM_EVENT_DISCONNECTED);
	else if (strcmp(name, "disconnect") == 0) {
		rdma_disconnect(peer->end.id);
		endpoint_event(&peer->end, RDMA_CM_EVENT_DISCONNECTED);
	} else if (strcmp(name, "vanish") == 0)
		_exit(EXIT_SUCCESS);
	else
		die("no step '%s'", word);
}

static void refuse(struct peer *peer, uint32_t reason, const char *address, const char *port_file)
{
	const struct introduction ours = {.version = 99, .mode = MODE_READ, .refusal = reason};
	uint8_t introduction[INTRODUCTION_SIZE];

	introduction_encode(&ours, introduction);
	endpoint_refuse(
		&peer->end, address, port_file, introduction, reason ? INTRODUCTION_SIZE : 0);
}

int main(int argc, char *argv[])
{
	struct peer peer = {
		.end.parameters = {.initiator_depth = 1,
			.responder_resources = 1,
			.retry_count = 6,
			.rnr_retry_count = 7},
	};
	const char *kind = "ours";
	unsigned int receives = 8;
	uint8_t introduction[255];
	int word = 1;

	for (; word + 2 < argc && strncmp(argv[word], "--", 2) == 0; word += 2) {
		if (strcmp(argv[word], "--intro") == 0)
			kind = argv[word + 1];
		else if (strcmp(argv[word], "--receives") == 0)
			receives = (unsigned int)atoi(argv[word + 1]);
		else if (strcmp(argv[word], "--rnr") == 0)
			peer.end.parameters.rnr_retry_count = (uint8_t)atoi(argv[word + 1]);
		else if (strcmp(argv[word], "--depth") == 0)
			peer.end.parameters.initiator_depth =
				peer.end.parameters.responder_resources =
					(uint8_t)atoi(argv[word + 1]);
		else
			break;
	}
	make_wild();
	introduce(&peer, kind, introduction);
	if (word + 2 > argc)
		die("usage: see the head of odd-peer.c");
	if (strcmp(argv[word], "--refuse") == 0 && word + 3 < argc) {
		refuse(&peer, (uint32_t)atoi(argv[word + 1]), argv[word + 2], argv[word + 3]);
		return EXIT_SUCCESS;
	}
	if (strcmp(argv[word], "--listen") == 0) {
		endpoint_accept(&peer.end, argv[word + 1], argv[word + 2], receives);
		word += 3;
	} else {
		endpoint_connect(&peer.end, argv[word], argv[word + 1], receives);
		word += 2;
	}
	if (peer.end.exposed_access == IBV_ACCESS_REMOTE_READ)
		memcpy(peer.end.exposed, text, sizeof(text));
	for (; word < argc; word++)
		step(&peer, argv[word]);
	endpoint_free(&peer.end);
	return EXIT_SUCCESS;
}

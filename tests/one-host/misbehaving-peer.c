/*
 * A peer that executes a list of steps, valid or not, to provoke every kind of peer failure and
 * protocol violation.
 *
 *     misbehaving-peer [OPTION VALUE]... HOST PORT STEP...
 *     misbehaving-peer [OPTION VALUE]... --listen ADDRESS PORT-FILE STEP...
 *     misbehaving-peer --refuse REASON ADDRESS PORT-FILE
 * refuses one request with this reason of protocol/hello.h; 0: without private data.
 *     misbehaving-peer --half-open HOST PORT
 * prints "here" when its request is accepted, but does not confirm the connection.
 *     misbehaving-peer --hello version --flood-requests HOST PORT N
 * keeps N requests outstanding forever, replacing each that is refused; prints "here" after the
 * first.
 *
 * Options:
 *   --hello KIND   ours (default), read or send (ours in that mode), none, none-read (no hello, but
 *                  permits READs), version, mode, session, garbage, diagnosis, measurement,
 *                  measurement-receives, measurement-shares
 *   --shape Q:D    of a measurement: queue pairs and depth to request (default 1:64)
 *   --secret FILE  authenticate with this secret
 *   --size N       bytes to announce (default: our text), or `unknown`
 *   --name NAME    send this as the name of the data
 *   --receives N   post N receives once (default: repost each used one)
 *   --fault N      XOR N into the lkey of its receives
 *   --rnr N        set the RNR retry count
 *   --depth N      permit N concurrent READs
 *
 * Steps of a control session (--hello diagnosis, measurement):
 *   command:NAME command:NAME:HOW
 *                    send a command: region, facts, counters, queue-pairs, begin, end, or a number.
 *                    HOW: wrap, empty, long, large (larger than its memory), larger (larger than a
 *                    diagnosis may use), key: a region with that fault; answer (marked as a reply);
 *                    number (a wrong sequence number); status (an undefined status)
 *   receive          wait for the next command or reply, and print it
 *   reply reply:HOW  reply to the last command received: done, or with HOW as above; refused;
 *                    garbage (a text); zeros or ones (64 bytes of them: an empty or an impossible
 *                    result); wrong (a result with one wrong operation)
 *   command:proof command:proof:HOW
 *                    send our proof: valid; with a flipped bit (flip); for another nonce of ours
 *                    (replay) or theirs (recorded); a byte too short (cut)
 *
 * Steps of a test:
 *   queue-pairs queue-pairs:N
 *                    COMMAND_QUEUE_PAIRS with N bytes of nonexistent queue pair numbers
 *   own-queue-pair own-queue-pair:N
 *                    COMMAND_QUEUE_PAIRS with N numbers, of which the first is that of a queue pair
 *                    of ours, and wait for the reply, to connect it; the others do not exist
 *   drain:N          send messages of N bytes on that queue pair until it fails
 *   datagram-pair datagram-pair:N
 *                    COMMAND_QUEUE_PAIRS with the number of a UD queue pair of ours and its
 *                    transport, and wait for the reply; or with the transport N
 *   datagram:N datagram:N:KIND
 *                    send operation N as a datagram; KIND: from a stranger, to nobody, with another
 *                    key (Q_Key), plain (without immediate data), one byte longer, or too-long for
 *                    the receive
 *   begin begin:NAME:NAME=N...
 *                    COMMAND_BEGIN with these parameters: WRITEs of 64 bytes, 4 slots, depth 32,
 *                    one queue pair, 60 s. Each NAME becomes 1 or N: latency, spin, read, both,
 *                    direction, verify, size, qps, depth, slots, ms, ops
 *   notice:N:mover:last
 *                    send a notice: as the initiator (`mover`), as the last notice (`last`), or
 *                    neither
 *   receive-notice   wait for the next notice, and print it
 *   pings            send WRITEs of a spinning latency test forever, with only the last byte right
 *
 * Steps of an exchange, which count the bytes of our stream from 0:
 *   proof proof:wrong proof:replay proof:recorded proof:reflect
 *                    send MSG_PROOF: valid; with a flipped bit; for another nonce of ours; for
 *                    another nonce of theirs, as in a recorded handshake; their own proof
 *   mr mr:wrap mr:empty mr:all mr:key mr:small mr:depth mr:send
 *                    send MSG_MR: valid, or with that fault; all: the whole address space; send:
 *                    that of send mode
 *   write write:N write:beyond write:key write:immediate write:wild write:silent
 *                    RDMA WRITE our text, or N bytes, into the offered region, with the position
 *                    as immediate data, or in MSG_DATA on iWARP (none without a hello); beyond
 *                    that region; with another rkey; with another position; 1,024 unterminated
 *                    bytes full of control characters; without a position. Wait for the completion
 *   data data:N      send MSG_DATA: our text, or up to byte N, may be READ
 *   piece piece:early piece:empty piece:wrong piece:long pieces
 *                    send our text in send mode, after empty messages that use up the first
 *                    receives; without these; without data; with another position; one byte longer
 *                    than the receive; without end, whatever the credit
 *   credit:N credit:N:P
 *                    send MSG_CREDIT up to byte N and for P pieces
 *   done done:digest done:empty done:large
 *                    send MSG_DONE: for the data sent, or with that fault
 *   verdict verdict:damaged verdict:9
 *                    send MSG_VERDICT: verified, damaged, or an undefined value
 *   abort abort:TEXT
 *                    send MSG_ABORT
 *   type:N bytes:N bytes:N:T
 *                    send a message of type N; of N bytes, the first being T
 *   keepalive keepalives flood
 *                    send a keepalive; ten per second forever; as fast as possible forever
 *   get get:NAME     wait for the next message except MSG_DATA and MSG_CREDIT, or for the next
 *                    one of that name, and print its name
 *   read read:beyond reads
 *                    RDMA READ the offered region, and print the text; repeat until it fails
 *   region           print the offered region in the form that `use` accepts
 *   use:ADDRESS:LENGTH:RKEY
 *                    treat this as the offered region, whichever connection owns it
 *   sent             wait until everything sent is acknowledged
 *   deny             withdraw the right to WRITE and READ from our queue pair
 *   overwrite        overwrite the data that the other side has written
 *   say:TEXT         print TEXT
 *   pause            wait for a signal forever
 *   await:FILE       wait until this file exists
 *   closed           wait until the other side has disconnected
 *   disconnect       disconnect, and wait for the event of the other side
 *   exit             exit at once, without disconnecting
 *
 * A failed completion is printed ("completion NAME") and is not an error of this program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/hello.h"
#include "protocol/mode.h"
#include "tests/one-host/misbehaving-steps.h"

#define RECEIVES   32
#define TIMEOUT_MS 60000
#define DEPTH      64 /* of a measurement: sufficient for latency tests */

static void make_hello(struct peer *peer, const char *kind, uint8_t buffer[255])
{
	struct hello ours = {
		.version = HELLO_VERSION,
		.mode = MODE_WRITE,
		.kind = HELLO_EXCHANGE,
		.size = peer->size,
		.timeout = TIMEOUT_MS,
	};
	const uint8_t *words;
	uint8_t length;

	if (strcmp(kind, "read") == 0 || strcmp(kind, "none-read") == 0)
		ours.mode = MODE_READ;
	else if (strcmp(kind, "send") == 0)
		ours.mode = MODE_SEND;
	else if (strcmp(kind, "diagnosis") == 0)
		ours.kind = HELLO_DIAGNOSIS;
	else if (strcmp(kind, "measurement") == 0)
		ours.kind = HELLO_MEASUREMENT, ours.size = peer->shape;
	else if (strcmp(kind, "measurement-receives") == 0)
		ours.kind = HELLO_MEASUREMENT, ours.size = peer->shape, ours.flags = HELLO_RECEIVES;
	else if (strcmp(kind, "measurement-shares") == 0)
		ours.kind = HELLO_MEASUREMENT, ours.size = peer->shape,
		ours.flags = HELLO_RECEIVES | HELLO_SHARES;
	else if (strcmp(kind, "version") == 0)
		ours.version = 99;
	else if (strcmp(kind, "mode") == 0)
		ours.mode = 77;
	else if (strcmp(kind, "session") == 0)
		ours.kind = 55;
	else if (strcmp(kind, "ours") != 0 && strncmp(kind, "none", 4) != 0 &&
		 strcmp(kind, "garbage") != 0)
		die("unknown hello '%s'", kind);
	words = handshake_hello(&peer->handshake, &ours, &length);
	memcpy(buffer, words, length);
	if (strcmp(kind, "garbage") == 0)
		memset(buffer + 8, 0xff, HELLO_SIZE - 8);
	peer->tutorial = strncmp(kind, "none", 4) == 0;
	if (peer->tutorial)
		length = 0;
	peer->end.parameters.private_data = buffer;
	peer->end.parameters.private_data_len = length;
	peer->end.exposed_access =
		ours.mode == MODE_READ ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
	if (hello_is_control(&ours))
		peer->end.exposed_access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
}

static void refuse(struct peer *peer, uint32_t reason, const char *address, const char *port_file)
{
	const struct hello ours = {.version = 99, .mode = MODE_READ, .refusal = reason};
	uint8_t hello[HELLO_SIZE];

	hello_encode(&ours, hello);
	endpoint_refuse(&peer->end, address, port_file, hello, reason ? HELLO_SIZE : 0);
}

static uint64_t shape(const char *text)
{
	char *end;
	uint32_t queue_pairs = (uint32_t)strtoul(text, &end, 10);

	if (*end != ':')
		die("invalid shape '%s'", text);
	return hello_shape(queue_pairs, (uint32_t)strtoul(end + 1, NULL, 10));
}

static void load_secret(struct peer *peer, const char *path)
{
	char why[SECRET_WHY_SIZE];

	if (secret_load(&peer->secret, path, why))
		die("%s", why);
}

/* Parses the options; returns the index of the first argument after them. */
static int take_options(
	struct peer *peer, int argc, char **argv, const char **kind, unsigned int *receives)
{
	struct rdma_conn_param *parameters = &peer->end.parameters;
	int word = 1;

	for (; word + 2 < argc; word += 2) {
		const char *option = argv[word], *value = argv[word + 1];

		if (strcmp(option, "--hello") == 0) {
			*kind = value;
		} else if (strcmp(option, "--size") == 0) {
			peer->size = *value == 'u' ? UINT64_MAX : strtoull(value, NULL, 10);
		} else if (strcmp(option, "--shape") == 0) {
			peer->shape = shape(value);
		} else if (strcmp(option, "--secret") == 0) {
			load_secret(peer, value);
		} else if (strcmp(option, "--name") == 0) {
			peer->name = value;
		} else if (strcmp(option, "--receives") == 0) {
			*receives = (unsigned int)atoi(value);
			peer->reposts = false;
		} else if (strcmp(option, "--fault") == 0) {
			peer->end.receive_fault = (uint32_t)atoi(value);
		} else if (strcmp(option, "--rnr") == 0) {
			parameters->rnr_retry_count = (uint8_t)atoi(value);
		} else if (strcmp(option, "--depth") == 0) {
			parameters->initiator_depth = (uint8_t)atoi(value);
			parameters->responder_resources = (uint8_t)atoi(value);
		} else {
			break;
		}
	}
	return word;
}

int main(int argc, char *argv[])
{
	struct peer peer = {
		.end.parameters = {.initiator_depth = 1,
			.responder_resources = 1,
			.retry_count = 6,
			.rnr_retry_count = 7},
		.reposts = true,
		.size = sizeof(MISBEHAVING_TEXT),
		.shape = hello_shape(1, DEPTH),
		.name = "",
		.digester = digester_new(),
	};
	const char *kind = "ours";
	unsigned int receives = RECEIVES;
	uint8_t hello[255];
	int word = take_options(&peer, argc, argv, &kind, &receives);

	handshake_init(&peer.handshake, peer.secret,
		word < argc && strcmp(argv[word], "--listen") == 0 ? SECRET_SERVER : SECRET_CLIENT);
	make_hello(&peer, kind, hello);
	if (word + 2 > argc)
		die("usage: see the top of misbehaving-peer.c");
	if (strcmp(argv[word], "--refuse") == 0 && word + 3 < argc) {
		refuse(&peer, (uint32_t)atoi(argv[word + 1]), argv[word + 2], argv[word + 3]);
		digester_free(peer.digester);
		secret_free(peer.secret);
		return EXIT_SUCCESS;
	}
	if (strcmp(argv[word], "--half-open") == 0 && word + 2 < argc) {
		endpoint_half_open(&peer.end, argv[word + 1], argv[word + 2]);
		puts("here");
		pause();
	}
	if (strcmp(argv[word], "--flood-requests") == 0 && word + 3 < argc)
		endpoint_knock(&peer.end, argv[word + 1], argv[word + 2],
			(unsigned int)atoi(argv[word + 3]));
	if (strcmp(argv[word], "--listen") == 0) {
		endpoint_accept(&peer.end, argv[word + 1], argv[word + 2], receives);
		word += 3;
	} else {
		endpoint_connect(&peer.end, argv[word], argv[word + 1], receives);
		word += 2;
	}
	handshake_receive_hello(&peer.handshake, peer.end.words);
	if (peer.end.exposed_access == IBV_ACCESS_REMOTE_READ)
		memcpy(peer.end.exposed, MISBEHAVING_TEXT, sizeof(MISBEHAVING_TEXT));
	for (; word < argc; word++)
		misbehaving_step(&peer, argv[word]);
	if (peer.address)
		ibv_destroy_ah(peer.address);
	if (peer.other)
		ibv_destroy_qp(peer.other);
	if (peer.own)
		ibv_destroy_qp(peer.own);
	endpoint_free(&peer.end);
	digester_free(peer.digester);
	secret_free(peer.secret);
	return EXIT_SUCCESS;
}

/*
 * A connection of the verbs module on the made-up device, with a peer, a network and a main thread
 * that do anything: messages in any order and of any contents, immediate data, memory that is written
 * to at the wrong time, completions and their failures, silence, disconnects. The first bytes of the
 * input choose what the two ends are, each of the others is a step.
 *
 * Whatever happens, the made-up device's rules hold, what this end posts is allowed (witness.h), it
 * gives up a silent peer, and in the end nothing is left of it.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "lib/sink.h"
#include "lib/source.h"
#include "rdma-common.h"
#include "threads.h"
#include "witness.h"

#define PEER_RKEY   0xbeef
#define PEER_MEMORY 4096
#define FILE_SIZE   5000
#define TIMEOUT     1000

/* After so long a silence all has been given up: the timeout, the farewell, and looking for both. */
#define LONG_SILENCE (TIMEOUT + 3000)

static uint8_t peer_memory[PEER_MEMORY], file_bytes[FILE_SIZE];
static char file_path[32];

static const char text[] = "ours";

struct end {
	struct fuzz_input input;
	struct output output;
	struct mailbox mailbox;
	struct session session;
	struct device *device;
	struct connection *connection;
	struct rdma_cm_id *id;
	struct introduction theirs;
	struct witness witness;
	bool established, failing;
	unsigned int notes;
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int file = memfd_create("input", MFD_CLOEXEC);

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < sizeof(file_bytes); i++)
		file_bytes[i] = (uint8_t)(i * 7 + i / 256);
	fuzz_check(file >= 0 && write(file, file_bytes, FILE_SIZE) == FILE_SIZE);
	snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d", file);
	return 0;
}

static void take_notes(struct end *end)
{
	unsigned int notes;

	while (mailbox_take(&end->mailbox, &notes))
		end->notes |= notes;
}

/* All that could be heard is heard; what was posted because of that is looked at. */
static void settle(struct end *end)
{
	threads_settle(0);
	witness_look(&end->witness);
	take_notes(end);
}

/* What the peer says when it connects or accepts. */
static struct introduction introduction_of_peer(struct end *end, const struct mode *mode)
{
	static const uint64_t sizes[] = {0, 7, SINK_TEXT_SIZE, SINK_TEXT_SIZE + 1, 3000,
		WITNESS_STREAM_MAX, STREAM_SIZE_UNKNOWN, (uint64_t)1 << 40};

	return (struct introduction){
		.version = INTRODUCTION_VERSION,
		.mode = (uint8_t)mode->number,
		.size = sizes[fuzz_byte(&end->input) % FUZZ_COUNT(sizes)],
		.timeout = fuzz_byte(&end->input) * 10U,
	};
}

static void make_session(struct end *end, uint8_t kind)
{
	static const uint64_t buffers[] = {16384, 65536};
	static const uint32_t chunks[] = {0, 1024, 1500, 100};

	end->output.quiet = true;
	end->session = (struct session){
		.output = &end->output,
		.mailbox = &end->mailbox,
		.message = text,
		.message_size = sizeof(text),
		.input = kind & 4 ? file_path : NULL,
		.buffer = buffers[kind >> 3 & 1],
		.chunk = chunks[kind >> 4 & 3],
		.depth = kind >> 6 & 3,
		.timeout = TIMEOUT,
		.active = kind & 1,
	};
	end->witness.active = kind & 1;
	end->witness.ours = end->session.input ? file_bytes : (const uint8_t *)text;
	end->witness.ours_size = end->session.input ? FILE_SIZE : sizeof(text);
	end->witness.memory = peer_memory;
	end->witness.memory_size = PEER_MEMORY;
}

/* Makes some call of the libraries fail, once, after some that do not. */
static void fail_some_call(struct end *end)
{
	static const char *const functions[] = {"ibv_post_send", "ibv_post_recv", "ibv_poll_cq",
		"ibv_req_notify_cq", "ibv_modify_qp", "ibv_reg_mr", "rdma_disconnect",
		"ibv_create_cq", "rdma_create_qp", "ibv_alloc_pd", "rdma_accept", "rdma_connect",
		"ibv_query_port", "rdma_set_option", "ibv_get_cq_event"};
	uint8_t which = fuzz_byte(&end->input);

	fake_fail(functions[which % FUZZ_COUNT(functions)], fuzz_byte(&end->input) % 8, EIO);
	end->failing = true;
}

/* Makes the connection and connects or accepts. Returns false if that cannot be. */
static bool connect_or_accept(struct end *end, const struct mode *mode)
{
	bool active = end->session.active;
	struct request request = {
		.tutorial = end->witness.tutorial,
		.theirs = end->theirs,
		.initiator_depth = 4,
		.responder_resources = 4,
	};
	struct failure failure = {0};

	/* Such a peer cannot deal with files: the server refuses it before. */
	if (request.tutorial)
		request.theirs = (struct introduction){.size = SINK_TEXT_SIZE};
	if (connection_create(&end->session, mode, end->id, end->device, active ? NULL : &request,
		    &end->connection, &failure)) {
		fuzz_check(end->failing && failure_is_set(&failure));
		rdma_destroy_id(end->id);
		return false;
	}
	if (active ? connection_connect(end->connection) : connection_accept(end->connection)) {
		fuzz_check(end->failing);
		connection_destroy(end->connection);
		return false;
	}
	return true;
}

static bool start(struct end *end)
{
	uint8_t kind = fuzz_byte(&end->input), other = fuzz_byte(&end->input);
	const struct mode *mode = mode_by_number(kind & 2 ? MODE_READ : MODE_WRITE);
	struct failure failure = {0};

	fake_start(other & 1 ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB);
	memset(peer_memory, 0, sizeof(peer_memory));
	fake_expose(peer_memory, sizeof(peer_memory), PEER_RKEY);
	make_session(end, kind);
	end->witness.writes = mode->number == MODE_WRITE;
	end->witness.tutorial = other & 2 && !end->session.input;
	end->theirs = introduction_of_peer(end, mode);
	fuzz_check(mailbox_open(&end->mailbox) == 0);
	fuzz_check(device_start(fake_context(), &end->device, &failure) == 0);
	if (other & 4)
		fail_some_call(end);
	end->id = end->witness.id = fake_id();
	fake_agree(end->id, 4);
	return connect_or_accept(end, mode);
}

/* Steps of rdmacm and the main thread. */

static void establish(struct end *end)
{
	uint8_t introduction[INTRODUCTION_SIZE];
	struct rdma_conn_param answer = {.initiator_depth = 4, .responder_resources = 4};
	struct failure failure = {0};

	if (end->established)
		return;
	end->established = true;
	introduction_encode(&end->theirs, introduction);
	if (!end->witness.tutorial) {
		answer.private_data = introduction;
		answer.private_data_len = sizeof(introduction);
	}
	if (connection_established(end->connection, &answer, &failure)) {
		fuzz_check(end->failing && failure_is_set(&failure));
		connection_close(end->connection, &failure);
	}
}

static void disconnect(struct end *end)
{
	fake_break(end->id);
	connection_disconnected(end->connection);
}

static void cancel(struct end *end)
{
	struct failure failure = {0};

	failure_set(&failure, FAILURE_INTERRUPTED, PHASE_EXCHANGE, 0, "signal", "");
	connection_cancel(end->connection, &failure);
}

static void leave(struct end *end)
{
	connection_close(end->connection, NULL);
}

static void abandon(struct end *end)
{
	struct failure failure = {0};

	failure_set(
		&failure, FAILURE_REMOVED, PHASE_EXCHANGE, 0, "RDMA_CM_EVENT_DEVICE_REMOVAL", "");
	connection_abandon(end->connection, &failure);
}

static void pass_time(struct end *end)
{
	static const int64_t times[] = {1, 20, TIMEOUT / 4, TIMEOUT};

	threads_pass(times[fuzz_byte(&end->input) % FUZZ_COUNT(times)]);
}

/* Steps of the network and the device. */

/* The oldest sends complete; RDMA to where the peer has nothing fails there. */
static void complete(struct end *end)
{
	for (unsigned int count = fuzz_byte(&end->input) % 8 + 1U; count > 0; count--) {
		unsigned int waiting = fake_waiting(end->id), all = fake_sends(end->id);
		struct fake_send send;

		/* What is posted to a broken queue pair is flushed by itself. */
		if (waiting == 0 || waiting > all)
			return;
		send = fake_send(end->id, all - waiting);
		if (!witness_reaches(&end->witness, &send)) {
			fake_complete(end->id, IBV_WC_REM_ACCESS_ERR);
			fake_break(end->id);
			return;
		}
		fake_complete(end->id, IBV_WC_SUCCESS);
	}
}

static void fail_send(struct end *end)
{
	enum ibv_wc_status status = fuzz_byte(&end->input) % IBV_WC_GENERAL_ERR + 1U;

	if (fake_waiting(end->id) > 0)
		fake_complete(end->id, status);
	fake_break(end->id);
}

static void fail_receive(struct end *end)
{
	enum ibv_wc_status status = fuzz_byte(&end->input) % IBV_WC_GENERAL_ERR + 1U;

	if (fake_receives(end->id) > 0)
		fake_fail_receive(end->id, status);
	fake_break(end->id);
}

static void break_queue(struct end *end)
{
	fake_break(end->id);
}

/* Steps of the peer. What finds no receive waits in the network, and here is lost. */

static void hear_bytes(struct end *end, const void *bytes, size_t length)
{
	if (fake_receives(end->id) == 0)
		return;
	/* What went before may have to be looked at with what was known then. */
	settle(end);
	if (fake_receives(end->id) == 0)
		return;
	witness_hear(&end->witness, bytes, length);
	fake_arrive(end->id, bytes, length);
}

static void hear(struct end *end, const struct message *message)
{
	uint8_t bytes[MESSAGE_MAX];

	hear_bytes(end, bytes, message_encode(message, bytes));
}

static void say_region(struct end *end)
{
	uint8_t length = fuzz_byte(&end->input), depth = fuzz_byte(&end->input);
	struct message message = {
		.type = MSG_MR,
		.address = (uintptr_t)peer_memory,
		.length = length < 0x80 ? PEER_MEMORY : length,
		.rkey = PEER_RKEY,
		.depth = depth % 16 + 1U,
	};

	hear(end, &message);
}

static void say_any_region(struct end *end)
{
	struct message message = {
		.type = MSG_MR,
		.address = fuzz_number(&end->input, 8),
		.length = fuzz_number(&end->input, 8),
		.rkey = fuzz_byte(&end->input) & 1 ? PEER_RKEY : 0,
		.depth = (uint32_t)fuzz_number(&end->input, 4),
	};

	message.text_size = fuzz_byte(&end->input);
	fuzz_bytes(&end->input, message.text, message.text_size);
	hear(end, &message);
}

/* Tells of its stream up to a position, in the way of the mode. */
static void tell(struct end *end, uint64_t position, uint32_t length)
{
	struct message message = {.type = MSG_DATA, .length = position};

	if (!end->witness.writes) {
		hear(end, &message);
		return;
	}
	settle(end);
	if (fake_receives(end->id) > 0)
		fake_arrive_immediate(end->id, length, (uint32_t)position);
}

/* Writes the next bytes of its stream, or has them ready, and tells of them. */
static void send_data(struct end *end)
{
	struct witness *witness = &end->witness;
	const struct message *offered = &witness->offered;
	uint64_t ring = witness->writes ? offered->length : witness->region.length;
	uint8_t *start = witness->writes ? (uint8_t *)(uintptr_t)offered->address : peer_memory;
	size_t size = fuzz_byte(&end->input) * 8U;

	if (!witness->said[MSG_MR] || !witness->heard[MSG_MR] || end->notes ||
		witness->streamed + size > WITNESS_STREAM_MAX)
		return;
	if (!witness->writes && (ring > PEER_MEMORY || witness->region.rkey != PEER_RKEY))
		return;
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = (uint8_t)(witness->streamed * 3 + 1);

		start[witness->streamed % ring] = byte;
		witness->stream[witness->streamed++] = byte;
	}
	tell(end, witness->streamed, (uint32_t)size);
}

/* Tells of what it has not written. */
static void tell_anything(struct end *end)
{
	uint64_t position = fuzz_number(&end->input, fuzz_byte(&end->input) & 1 ? 8 : 2);

	end->witness.odd = true;
	tell(end, position, (uint32_t)position);
}

/* Writes into our memory when it should not; the hardware lets it. */
static void scribble(struct end *end)
{
	const struct message *offered = &end->witness.offered;

	if (!end->witness.writes || !end->witness.said[MSG_MR] || end->notes)
		return;
	end->witness.odd = true;
	((uint8_t *)(uintptr_t)offered->address)[fuzz_number(&end->input, 2) % offered->length] ^=
		0xff;
}

static void give_credit(struct end *end)
{
	const struct witness *witness = &end->witness;
	uint8_t how = fuzz_byte(&end->input);
	struct message message = {
		.type = MSG_CREDIT, .length = witness->told, .pieces = witness->pieces_told};

	if (how & 1)
		message.length = fuzz_number(&end->input, how & 2 ? 8 : 2);
	if (how & 4)
		message.pieces = fuzz_number(&end->input, how & 8 ? 8 : 1);
	hear(end, &message);
}

static void say_done(struct end *end)
{
	const struct witness *witness = &end->witness;
	uint8_t how = fuzz_byte(&end->input);
	struct message message = {
		.type = MSG_DONE,
		.length = witness->streamed + (how & 1),
		.digest = digest_of(witness->stream, witness->streamed),
	};

	message.digest.bytes[0] ^= how & 2;
	hear(end, &message);
}

static void say_verdict(struct end *end)
{
	struct message message = {.type = MSG_VERDICT};

	message.verdict = fuzz_byte(&end->input) % 4 / 2;
	hear(end, &message);
}

/* Any bytes, more than a receive holds among them. */
static void say_anything(struct end *end)
{
	uint8_t bytes[2 * UINT8_MAX] = {0};
	size_t size = fuzz_byte(&end->input) * 2U;

	end->witness.odd = true;
	fuzz_bytes(&end->input, bytes, size);
	hear_bytes(end, bytes, size);
}

/* A message of any type that there is, with nothing in it. */
static void say_type(struct end *end)
{
	struct message message = {.type = fuzz_byte(&end->input) % (MSG_TYPES + 1U)};

	end->witness.odd = true;
	hear(end, &message);
}

static void beat(struct end *end)
{
	hear_bytes(end, "", 0);
}

static void (*const steps[])(struct end *end) = {complete, say_region, send_data, say_done,
	say_verdict, give_credit, beat, pass_time, say_any_region, tell_anything, scribble,
	say_anything, say_type, establish, break_queue, disconnect, cancel, leave, abandon,
	fail_send, fail_receive, fail_some_call};

/* A step, after which the threads may come to rest or not: the highest bit. */
static void take_step(struct end *end)
{
	uint8_t step = fuzz_byte(&end->input);

	steps[(step & 0x7f) % FUZZ_COUNT(steps)](end);
	if (step < 0x80)
		settle(end);
}

/* A peer that says nothing any more is given up; then all comes back, and is freed. */
static void stop(struct end *end)
{
	settle(end);
	threads_pass(LONG_SILENCE);
	settle(end);
	if (end->established && !end->failing)
		fuzz_check(end->notes & (CONNECTION_FINISHED | CONNECTION_DRAINED));
	leave(end);
	settle(end);
	if (!connection_drained(end->connection, end->notes)) {
		fuzz_check(end->failing);
		abandon(end);
		settle(end);
		fuzz_check(connection_drained(end->connection, end->notes));
	}
	witness_judge(&end->witness, connection_outcome(end->connection));
	connection_destroy(end->connection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct end end;

	end = (struct end){.input = {data, size}};
	if (start(&end)) {
		if (fuzz_byte(&end.input) & 1)
			establish(&end);
		settle(&end);
		while (end.input.left > 0)
			take_step(&end);
		stop(&end);
	}
	device_stop(end.device);
	mailbox_close(&end.mailbox);
	fuzz_check(threads_alive() == 0);
	fuzz_check(fake_objects() == 0 && fake_registered() == 0);
	return 0;
}

/*
 * A connection on the fake device, with arbitrary actions of the peer, the network and the main
 * thread: messages in any order and with any contents, immediate data, writes to memory at the
 * wrong time, completions and failures, silence, disconnects. The first bytes of the input
 * configure the two ends; each further byte is a step.
 *
 * For every input, this end must follow the rules of the fake device, post only what is allowed
 * (tests/fuzz/oracle.h), time out on a silent peer, and leave no resources.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream/sink.h"
#include "stream/source.h"
#include "tests/fuzz/end.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/threads.h"
#include "tests/unit/common/secret-fixture.h"

#define FILE_SIZE 5000
#define TIMEOUT   1000

/*
 * After this silence a connection has failed: the idle timeout, the wait for the acknowledgement of
 * MSG_ABORT, and the intervals at which both are checked.
 */
#define LONG_PAUSE (TIMEOUT + 3000)

static uint8_t file_bytes[FILE_SIZE];
static char file_path[32];

static const char text[] = "ours";

static struct secret *secret;
static uint8_t nonces;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
void __wrap_secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE]);

/* Deterministic, so that runs are reproducible. */
void __wrap_secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE])
{
	memset(nonce, nonces++, SECRET_NONCE_SIZE);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* NOLINTNEXTLINE(readability-non-const-parameter): libFuzzer's prototype */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int file = memfd_create("input", MFD_CLOEXEC);

	(void)argc;
	(void)argv;
	for (size_t i = 0; i < sizeof(file_bytes); i++)
		file_bytes[i] = (uint8_t)(i * 7 + i / 256);
	fuzz_check(file >= 0 && write(file, file_bytes, FILE_SIZE) == FILE_SIZE);
	snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d", file);
	secret = make_secret('a');
	return 0;
}

/* Reads the hello of the peer. */
static struct hello hello_of_peer(struct end *end, const struct mode *mode)
{
	static const uint64_t sizes[] = {0, 7, SINK_TEXT_SIZE, SINK_TEXT_SIZE + 1, 3000,
		ORACLE_STREAM_MAX, STREAM_SIZE_UNKNOWN, (uint64_t)1 << 40};

	return (struct hello){
		.version = HELLO_VERSION,
		.mode = (uint8_t)mode->number,
		.size = sizes[fuzz_byte(&end->input) % FUZZ_COUNT(sizes)],
		.timeout = fuzz_byte(&end->input) * 10U,
	};
}

static void make_settings(struct end *end, uint8_t kind, bool with_secret)
{
	static const uint64_t buffers[] = {16384, 65536};
	static const uint32_t chunks[] = {0, 1024, 1500, 100};

	end->output.quiet = true;
	end->settings = (struct exchange_settings){
		.output = &end->output,
		.wakeups = &end->wakeups,
		.message = text,
		.message_size = sizeof(text),
		.input = kind & 4 ? file_path : NULL,
		.buffer = buffers[kind >> 3 & 1],
		.chunk = chunks[kind >> 4 & 3],
		.depth = kind >> 6 & 3,
		.timeout = TIMEOUT,
		.secret = with_secret ? secret : NULL,
		.active = kind & 1,
	};
	handshake_init(
		&end->oracle.peer, end->settings.secret, kind & 1 ? SECRET_SERVER : SECRET_CLIENT);
	end->oracle.proved = !with_secret;
	end->oracle.active = kind & 1;
	end->oracle.ours = end->settings.input ? file_bytes : (const uint8_t *)text;
	end->oracle.ours_size = end->settings.input ? FILE_SIZE : sizeof(text);
	end->oracle.memory = peer_memory;
	end->oracle.memory_size = PEER_MEMORY;
}

static int connect_end(struct end *end)
{
	struct rdma_conn_param parameters = connection_parameters(end->connection);

	return rdma_connect(end->id, &parameters);
}

/* Creates the connection, and connects or accepts. Returns false if a call failed. */
static bool connect_or_accept(struct end *end, const struct mode *mode)
{
	bool active = end->settings.active;
	struct request request = {
		.tutorial = end->oracle.tutorial,
		.theirs = end->theirs,
		.initiator_depth = 4,
		.responder_resources = 4,
	};
	struct failure failure = {0};

	/* A server with files would have refused a tutorial peer. */
	if (request.tutorial)
		request.theirs = (struct hello){.size = SINK_TEXT_SIZE};
	memcpy(request.hello_bytes, end->hello_bytes, end->hello_size);
	if (connection_create(&end->settings, mode, end->id, end->device, active ? NULL : &request,
		    &end->connection, &failure)) {
		fuzz_check(end->failing && failure_is_set(&failure));
		rdma_destroy_id(end->id);
		return false;
	}
	if (active ? connect_end(end) : connection_accept(end->connection, &failure)) {
		fuzz_check(end->failing);
		connection_destroy(end->connection);
		return false;
	}
	handshake_receive_hello(&end->oracle.peer, fake_requests(end->id).private_data);
	return true;
}

static bool start(struct end *end)
{
	uint8_t kind = fuzz_byte(&end->input), other = fuzz_byte(&end->input);
	bool sends = other & 32;
	const struct mode *mode = mode_by_number(sends      ? MODE_SEND
						 : kind & 2 ? MODE_READ
							    : MODE_WRITE);
	struct failure failure = {0};

	fake_start(other & 1 ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB);
	memset(peer_memory, 0, sizeof(peer_memory));
	fake_expose(peer_memory, sizeof(peer_memory), PEER_RKEY);
	make_settings(end, kind, other & 16);
	end->oracle.iwarp = other & 1;
	end->oracle.writes = !mode->reads && !sends;
	end->oracle.sends = sends;
	/* A server with a secret would have refused a tutorial peer, which has no send mode. */
	end->oracle.tutorial =
		other & 2 && !sends && !end->settings.input && (kind & 1 || !(other & 16));
	end->theirs = hello_of_peer(end, mode);
	end->hello_bytes = handshake_hello(&end->oracle.peer, &end->theirs, &end->hello_size);
	end->theirs.secret = end->settings.secret;
	fuzz_check(wakeup_queue_open(&end->wakeups) == 0);
	fuzz_check(device_start(fake_context(), &end->device, &failure) == 0);
	if (other & 4)
		end_fail_some_call(end);
	fake_flush_on_disconnect(!(other & 8));
	end->id = end->oracle.id = fake_id();
	fake_agree(end->id, 4);
	return connect_or_accept(end, mode);
}

/* Steps of rdmacm and the main thread. */

static void establish(struct end *end)
{
	bool unfit = end->settings.active && end->oracle.tutorial && end->settings.secret;
	struct rdma_conn_param reply = {.initiator_depth = 4, .responder_resources = 4};
	struct failure failure = {0};

	if (end->established)
		return;
	end->established = true;
	if (!end->oracle.tutorial) {
		reply.private_data = end->hello_bytes;
		reply.private_data_len = end->hello_size;
	}
	if (connection_established(end->connection, &reply, &failure)) {
		fuzz_check((end->failing || unfit) && failure_is_set(&failure));
		end->closed = true;
		connection_close(end->connection, &failure);
		return;
	}
	fuzz_check(!unfit || end->closed);
}

static void disconnect(struct end *end)
{
	end->closed = true;
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
	end->closed = true;
	connection_close(end->connection, NULL);
}

static void abandon(struct end *end)
{
	struct failure failure = {0};

	failure_set(
		&failure, FAILURE_REMOVED, PHASE_EXCHANGE, 0, "RDMA_CM_EVENT_DEVICE_REMOVAL", "");
	end->closed = end->abandoned = true;
	connection_abandon(end->connection, &failure);
}

static void pass_time(struct end *end)
{
	static const int64_t times[] = {1, 20, TIMEOUT / 4, TIMEOUT};

	threads_pass(times[fuzz_byte(&end->input) % FUZZ_COUNT(times)]);
}

static void (*const steps[])(struct end *end) = {end_complete, peer_sends_region, peer_sends_data,
	peer_sends_done, peer_sends_verdict, peer_gives_credit, peer_sends_keepalive, pass_time,
	peer_sends_any_region, peer_announces_anything, peer_writes_memory, peer_sends_any_message,
	peer_sends_type, establish, end_break, disconnect, cancel, leave, abandon, end_fail_send,
	end_fail_receive, end_fail_some_call, peer_sends_proof};

/* Executes a step, then runs the threads unless the highest bit of the step's byte is set. */
static void take_step(struct end *end)
{
	uint8_t step = fuzz_byte(&end->input);

	steps[(step & 0x7f) % FUZZ_COUNT(steps)](end);
	if (step < 0x80)
		end_settle(end);
}

/* With a silent peer, the connection must time out, drain, and free its resources. */
static void stop(struct end *end)
{
	end_settle(end);
	threads_pass(LONG_PAUSE);
	end_settle(end);
	if (end->established && !end->closed && !end->failing)
		fuzz_check(end->events & (CONNECTION_FINISHED | CONNECTION_DRAINED));
	leave(end);
	end_settle(end);
	/* Hardware flushes work requests later. */
	fake_break(end->id);
	end_settle(end);
	if (!connection_drained(end->connection, end->events)) {
		fuzz_check(end->failing);
		abandon(end);
		end_settle(end);
		fuzz_check(connection_drained(end->connection, end->events));
	}
	oracle_judge(&end->oracle, connection_outcome(end->connection));
	connection_destroy(end->connection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct end end;

	end = (struct end){.input = {data, size}};
	nonces = 0;
	if (start(&end)) {
		if (fuzz_byte(&end.input) & 1)
			establish(&end);
		end_settle(&end);
		while (end.input.left > 0)
			take_step(&end);
		stop(&end);
	}
	/* No timer may still refer to the connection. */
	threads_pass(LONG_PAUSE);
	device_stop(end.device);
	wakeup_queue_close(&end.wakeups);
	fuzz_check(threads_alive() == 0);
	fuzz_check(fake_objects() == 0 && fake_registered() == 0);
	return 0;
}

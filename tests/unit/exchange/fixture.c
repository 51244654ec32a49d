/* Runs one end of a connection on the fake device. The fixture owns the connection, its device and
 * the CQ thread. The test calls the functions that play the peer. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/explain.h"
#include "exchange/internal.h"
#include "host/memory-budget.h"
#include "tests/unit/exchange/fixture.h"

/* A standard stream, redirected to a file while the test captures it. */
struct captured {
	int descriptor; /* the stream's own descriptor */
	int real;       /* duplicate of the original while captured, otherwise -1 */
};

static struct captured out = {STDOUT_FILENO, -1}, error = {STDERR_FILENO, -1};

/* Counts of the process when the first test began. */
static unsigned int threads_before, descriptors_before;

static void capture(struct captured *stream)
{
	FILE *file;

	fflush(NULL);
	stream->real = fcntl(stream->descriptor, F_DUPFD_CLOEXEC, 0);
	assert_true(stream->real >= 0);
	file = tmpfile();
	assert_non_null(file);
	assert_true(dup2(fileno(file), stream->descriptor) >= 0);
	fclose(file);
}

/* Restores the stream and copies the captured output to text, truncated to size. */
static void release(struct captured *stream, char *text, size_t size)
{
	ssize_t got;

	if (stream->real < 0)
		return;
	fflush(NULL);
	/* The deadline of output_drain() is on the fake clock, which is behind the real one. */
	while (!output_drain())
		sched_yield();
	got = pread(stream->descriptor, text, size - 1, 0);
	text[got > 0 ? got : 0] = '\0';
	dup2(stream->real, stream->descriptor);
	close(stream->real);
	stream->real = -1;
}

int fixture_forget(void **state)
{
	char text[1];

	(void)state;
	release(&out, text, sizeof(text));
	release(&error, text, sizeof(text));
	return 0;
}

static unsigned int entries_of(const char *folder)
{
	DIR *entries = opendir(folder);
	unsigned int count = 0;

	assert_non_null(entries);
	while (readdir(entries))
		count++;
	closedir(entries);
	return count;
}

static void *do_nothing(void *argument)
{
	return argument;
}

/* Starts the threads that live as long as the process, so that they are not counted as leaks: a
 * sanitizer starts its background thread with the first thread, and the first printed line starts
 * the writer thread. */
static void start_first_threads(void)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, do_nothing, NULL), 0);
	pthread_join(thread, NULL);
	capture(&out);
	output_document("");
	fixture_forget(NULL);
}

/* Waits for the thread count to drop to count: /proc may list a joined thread for a moment. */
static void expect_threads(unsigned int count)
{
	for (unsigned int tries = 0; tries < 10000; tries++) {
		if (entries_of("/proc/self/task") == count)
			return;
		nanosleep(&(struct timespec){0, 100000}, NULL);
	}
	assert_int_equal(entries_of("/proc/self/task"), count);
}

static struct exchange_settings settings_of(struct fixture *fixture)
{
	struct exchange_settings settings = {
		.output = &fixture->output,
		.wakeups = &fixture->wakeups,
		.message = fixture->message ? fixture->message : "ours",
		.input = fixture->input,
		.inputs = (const char *const *)&fixture->input,
		.input_count = 1,
		.output_file = {.output = fixture->output_path},
		.plans = fixture->plans,
		.buffer = fixture->buffer ? fixture->buffer : 65536,
		.chunk = fixture->chunk,
		.depth = fixture->depth,
		.timeout = fixture->timeout ? fixture->timeout : 10000,
		.dscp = fixture->dscp ? fixture->dscp : -1,
		.ordering = fixture->ordering,
		.secret = fixture->secret,
		.max_size = fixture->max_size,
		.active = fixture->active,
	};

	settings.message_size = strlen(settings.message) + 1;
	return settings;
}

void fixture_start_settings(struct fixture *fixture)
{
	fixture->output.program = "fixture";
	assert_int_equal(wakeup_queue_open(&fixture->wakeups), 0);
	fixture->settings = settings_of(fixture);
}

void fixture_start_device(struct fixture *fixture)
{
	struct failure failure = {0};

	if (fixture->personality)
		fake_start_as(fixture->personality);
	else
		fake_start(fixture->transport ? fixture->transport : IBV_TRANSPORT_IB);
	if (fixture->attributes)
		*fake_attributes() = *fixture->attributes;
	fake_set_mtus(fixture->port_mtu, fixture->path_mtu);
	fake_expose(fixture->peer_memory, PEER_MEMORY, PEER_RKEY);
	if (threads_before == 0) {
		start_first_threads();
		threads_before = entries_of("/proc/self/task");
	}
	expect_threads(threads_before);
	descriptors_before = entries_of("/proc/self/fd");
	capture(&out);
	if (fixture->output.verbose)
		capture(&error);
	fixture_start_settings(fixture);
	assert_int_equal(device_start(fake_context(), &fixture->device, &failure), 0);
}

static uint8_t reads_of(const struct fixture *fixture)
{
	return fixture->reads ? fixture->reads : 4;
}

static struct hello hello_of_peer(const struct fixture *fixture)
{
	return (struct hello){
		.version = HELLO_VERSION,
		.mode = (uint8_t)fixture->mode,
		.size = fixture->peer_size ? fixture->peer_size : sizeof(PEER_TEXT),
		.timeout = fixture->peer_timeout ? fixture->peer_timeout : 10000,
		.flags = fixture->peer_plans,
		.mtu = fixture->peer_mtu,
		.extended = fixture->peer_extends,
	};
}

struct request fixture_request(const struct fixture *fixture)
{
	struct request request = {
		.tutorial = fixture->tutorial,
		.counted = fixture->counted,
		.initiator_depth = reads_of(fixture),
		.responder_resources = reads_of(fixture),
	};

	if (fixture->tutorial)
		request.theirs.size = SINK_TEXT_SIZE;
	else
		request.theirs = hello_of_peer(fixture);
	return request;
}

static const struct mode *mode_of(const struct fixture *fixture)
{
	return fixture->mode == MODE_ANY ? &mode_any : mode_by_number(fixture->mode);
}

void fixture_start_connection(struct fixture *fixture)
{
	struct request request = fixture_request(fixture);
	struct failure failure = {0};

	fixture->id = fake_id();
	fake_agree(fixture->id, reads_of(fixture));
	assert_int_equal(connection_create(&fixture->settings, mode_of(fixture), fixture->id,
				 fixture->device, fixture->active ? NULL : &request,
				 &fixture->connection, &failure),
		0);
}

void fixture_start(struct fixture *fixture)
{
	fixture_start_device(fixture);
	fixture_start_connection(fixture);
}

int fixture_connect(struct fixture *fixture)
{
	struct rdma_conn_param parameters = connection_parameters(fixture->connection);

	return rdma_connect(fixture->id, &parameters) ? -errno : 0;
}

void fixture_establish(struct fixture *fixture)
{
	const struct hello theirs = hello_of_peer(fixture);
	uint8_t hello[HELLO_SIZE];
	struct rdma_conn_param reply = {
		.initiator_depth = reads_of(fixture),
		.responder_resources = reads_of(fixture),
	};
	struct failure failure = {0};

	hello_encode(&theirs, hello);
	if (!fixture->tutorial) {
		reply.private_data = hello;
		reply.private_data_len = sizeof(hello);
	}
	assert_int_equal(connection_established(fixture->connection, &reply, &failure), 0);
	fake_settle();
}

void fixture_receive(struct fixture *fixture, const struct message *message)
{
	uint8_t bytes[MESSAGE_MAX];

	fixture->received++;
	fake_arrive(fixture->id, bytes, message_encode(message, bytes));
	fake_settle();
}

void fixture_use_first_receives(struct fixture *fixture)
{
	uint64_t first = fixture_last(fixture, MSG_MR).address;

	for (; fixture->received < first; fixture->received++)
		fake_arrive(fixture->id, "", 0);
	fake_settle();
}

/* Receives the next bytes in send mode, after the empty messages that take the first receives. */
static void receive_sent_data(struct fixture *fixture, const void *data, size_t size)
{
	struct message piece = {.type = MSG_DATA, .length = fixture->announced + size};
	uint8_t *bytes = malloc(MESSAGE_MAX + size);
	size_t head;

	assert_non_null(bytes);
	fixture_use_first_receives(fixture);
	head = message_encode(&piece, bytes);
	memcpy(bytes + head, data, size);
	fake_arrive(fixture->id, bytes, head + size);
	fake_settle();
	free(bytes);
	fixture->announced += size;
}

void fixture_receive_data(struct fixture *fixture, const void *data, size_t size)
{
	struct message region = fixture_last(fixture, MSG_MR);
	struct message announced = {.type = MSG_DATA};
	uint64_t ring = fixture->mode == MODE_WRITE ? region.length : fixture->peer_ring;
	uint8_t *start = fixture->mode == MODE_WRITE ? (uint8_t *)(uintptr_t)region.address
						     : fixture->peer_memory;

	if (fixture->mode == MODE_SEND) {
		receive_sent_data(fixture, data, size);
		return;
	}
	for (size_t i = 0; i < size; i++)
		start[(fixture->announced + i) % ring] = ((const uint8_t *)data)[i];
	fixture->announced += size;
	announced.length = fixture->announced;
	if (fixture->mode == MODE_READ || fixture->transport == IBV_TRANSPORT_IWARP)
		fixture_receive(fixture, &announced);
	else
		fake_arrive_immediate(fixture->id, (uint32_t)size, (uint32_t)fixture->announced);
	fake_settle();
}

void fixture_complete(struct fixture *fixture, enum ibv_wc_status status)
{
	fake_complete(fixture->id, status);
	fake_settle();
}

void fixture_complete_all(struct fixture *fixture)
{
	fake_settle();
	while (fake_waiting(fixture->id) > 0)
		fixture_complete(fixture, IBV_WC_SUCCESS);
}

static bool is_message(const struct fake_send *send, enum message_type type)
{
	struct message message;

	return send->opcode == IBV_WR_SEND && send->piece.length > 0 &&
	       message_decode(&message, send->bytes, send->piece.length) == 0 &&
	       message.type == type;
}

int fixture_find(struct fixture *fixture, enum message_type type)
{
	for (unsigned int i = 0; i < fake_sends(fixture->id); i++) {
		struct fake_send send = fake_send(fixture->id, i);

		if (is_message(&send, type))
			return (int)i;
	}
	return -1;
}

int fixture_find_rdma(struct fixture *fixture, enum ibv_wr_opcode opcode)
{
	for (unsigned int i = 0; i < fake_sends(fixture->id); i++)
		if (fake_send(fixture->id, i).opcode == opcode)
			return (int)i;
	return -1;
}

unsigned int fixture_count(struct fixture *fixture, enum message_type type)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < fake_sends(fixture->id); i++) {
		struct fake_send send = fake_send(fixture->id, i);

		count += is_message(&send, type);
	}
	return count;
}

struct message fixture_sent(struct fixture *fixture, unsigned int index)
{
	struct fake_send send = fake_send(fixture->id, index);
	struct message message;

	assert_int_equal(send.opcode, IBV_WR_SEND);
	assert_int_equal(message_decode(&message, send.bytes, send.piece.length), 0);
	return message;
}

struct message fixture_last(struct fixture *fixture, enum message_type type)
{
	unsigned int index = fake_sends(fixture->id);

	while (index-- > 0) {
		struct fake_send send = fake_send(fixture->id, index);

		if (is_message(&send, type))
			return fixture_sent(fixture, index);
	}
	fail_msg("no %s was sent", message_name(type));
	return (struct message){0};
}

struct message fixture_peer_region(struct fixture *fixture, uint64_t length)
{
	return (struct message){
		.type = MSG_MR,
		.address = fixture->mode == MODE_SEND ? 0 : (uintptr_t)fixture->peer_memory,
		.length = length,
		.rkey = PEER_RKEY,
		.depth = fixture->peer_depth ? fixture->peer_depth : 8,
	};
}

struct message fixture_peer_done(const struct fixture *fixture, const void *data, size_t size)
{
	struct message done = {.type = MSG_DONE};

	if (!fixture->tutorial) {
		done.length = size;
		done.digest = digest_of(data, size);
	}
	return done;
}

void fixture_start_regions(struct fixture *fixture, const struct region *regions[FIXTURE_REGIONS])
{
	const struct connection *connection;

	fixture_start(fixture);
	fixture_establish(fixture);
	connection = fixture->connection;
	regions[0] = &connection->control;
	regions[1] = &connection->outgoing;
	regions[2] = &connection->incoming;
}

struct message fixture_start_established(struct fixture *fixture, uint64_t peer_length)
{
	struct message region;

	fixture_start(fixture);
	region = fixture_peer_region(fixture, peer_length);
	fixture_establish(fixture);
	return region;
}

void fixture_exchange_regions(struct fixture *fixture, uint64_t peer_length)
{
	struct message region;

	fixture_start(fixture);
	fixture->peer_ring = peer_length;
	region = fixture_peer_region(fixture, peer_length);
	fixture_establish(fixture);
	if (fixture->active)
		fixture_complete(fixture, IBV_WC_SUCCESS);
	fixture_receive(fixture, &region);
	if (!fixture->active)
		fixture_complete(fixture, IBV_WC_SUCCESS);
}

void fixture_start_data(struct fixture *fixture, uint64_t peer_length)
{
	static const struct message tutorial_done = {.type = MSG_DONE};

	fixture_exchange_regions(fixture, peer_length);
	if (fixture->tutorial)
		fixture_receive(fixture, &tutorial_done);
}

void fixture_exchange_data(struct fixture *fixture, const void *data, size_t size)
{
	struct message done = fixture_peer_done(fixture, data, size);
	struct message region = fixture_last(fixture, MSG_MR);

	if (fixture->tutorial) {
		if (fixture->mode == MODE_WRITE)
			memcpy((void *)(uintptr_t)region.address, data, size);
		fixture_complete_all(fixture);
		return;
	}
	fixture_receive_data(fixture, data, size);
	while (fixture_find(fixture, MSG_VERDICT) < 0 && fake_waiting(fixture->id) > 0)
		fixture_complete(fixture, IBV_WC_SUCCESS);
	fixture_receive(fixture, &done);
}

unsigned int fixture_events(struct fixture *fixture)
{
	unsigned int events;

	/* Stored separately, because it arrives in every exchange. */
	while (wakeup_queue_take(&fixture->wakeups, &events)) {
		fixture->handshake_done |= (events & CONNECTION_HANDSHAKE_DONE) != 0;
		fixture->events |= events & ~(unsigned int)CONNECTION_HANDSHAKE_DONE;
	}
	return fixture->events;
}

void fixture_close(struct fixture *fixture, const struct failure *reason)
{
	connection_close(fixture->connection, reason);
	fake_settle();
	assert_true(connection_drained(fixture->connection, fixture_events(fixture)));
	fixture->outcome = *connection_outcome(fixture->connection);
}

void fixture_expect_failure(
	struct fixture *fixture, enum failure_kind kind, enum exit_status status)
{
	fixture_complete_all(fixture); /* including the abort to the peer */
	assert_int_equal(fixture_events(fixture) & (CONNECTION_FINISHED | CONNECTION_DRAINED),
		CONNECTION_FINISHED);
	fixture_close(fixture, NULL);
	assert_int_equal(fixture->outcome.kind, kind);
	assert_int_equal(explain_status(&fixture->outcome), status);
	fixture_stop(fixture);
}

void fixture_expect_violation(struct fixture *fixture, const char *says)
{
	struct message abort;

	fixture_complete_all(fixture);
	abort = fixture_last(fixture, MSG_ABORT);
	assert_int_equal(fixture_count(fixture, MSG_ABORT), 1);
	assert_true(abort.text_size > 0);
	assert_int_equal(abort.refusal, REFUSAL_MALFORMED);
	fixture_expect_failure(fixture, FAILURE_PROTOCOL, STATUS_PEER);
	if (!strstr(fixture->outcome.evidence, says))
		fail_msg("'%s' does not contain '%s'", fixture->outcome.evidence, says);
}

/* Bytes of the memory budget that are taken. */
static uint64_t memory_used(void)
{
	struct memory_budget budget;

	memory_budget_read(&budget);
	return budget.used;
}

void fixture_stop(struct fixture *fixture)
{
	if (fixture->connection)
		connection_destroy(fixture->connection);
	device_stop(fixture->device);
	wakeup_queue_close(&fixture->wakeups);
	release(&out, fixture->printed, sizeof(fixture->printed));
	release(&error, fixture->detailed, sizeof(fixture->detailed));
	assert_int_equal(fake_objects(), 0);
	assert_int_equal(fake_registered(), 0);
	assert_int_equal(memory_used(), 0);
	expect_threads(threads_before);
	/* The test may have closed descriptors that were open at the start. */
	assert_true(entries_of("/proc/self/fd") <= descriptors_before);
}

void fixture_end(struct fixture *fixture)
{
	fixture_close(fixture, NULL);
	fixture_stop(fixture);
}

void for_each_fixture(bool tutorial, void (*test)(struct fixture *fixture))
{
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i / 2, .active = i & 1};

		test(&fixture);
	}
	for (unsigned int i = 0; i < 2 * ONE_SIDED_MODES && tutorial; i++) {
		struct fixture fixture = {.mode = i / 2, .active = i & 1, .tutorial = true};

		test(&fixture);
	}
}

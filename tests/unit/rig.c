#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rig.h"

/* A standard stream that goes into a file while a test looks at it. */
struct captured {
	int descriptor; /* of the stream */
	int real;       /* what it is otherwise, while it is captured; else -1 */
};

static struct captured out = {STDOUT_FILENO, -1}, error = {STDERR_FILENO, -1};

/* What the process had when the test began. */
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

/* Gives the stream back, and into text what came meanwhile, as far as it fits. */
static void release(struct captured *stream, char *text, size_t size)
{
	ssize_t got;

	if (stream->real < 0)
		return;
	fflush(NULL);
	output_drain();
	got = pread(stream->descriptor, text, size - 1, 0);
	text[got > 0 ? got : 0] = '\0';
	dup2(stream->real, stream->descriptor);
	close(stream->real);
	stream->real = -1;
}

int rig_forget(void **state)
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

/*
 * A sanitizer that needs a thread of its own starts it with the first of the process, and the first
 * line starts the one that prints.
 */
static void start_first_threads(void)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, do_nothing, NULL), 0);
	pthread_join(thread, NULL);
	capture(&out);
	output_document("");
	rig_forget(NULL);
}

/* Waits until no more threads are there than before: one that was joined is shown for a moment. */
static void expect_threads(unsigned int count)
{
	for (unsigned int tries = 0; tries < 10000; tries++) {
		if (entries_of("/proc/self/task") == count)
			return;
		nanosleep(&(struct timespec){0, 100000}, NULL);
	}
	assert_int_equal(entries_of("/proc/self/task"), count);
}

static struct session session_of(struct rig *rig)
{
	struct session session = {
		.output = &rig->output,
		.mailbox = &rig->mailbox,
		.message = rig->message ? rig->message : "ours",
		.input = rig->input,
		.target = {.output = rig->target},
		.buffer = rig->buffer ? rig->buffer : 65536,
		.chunk = rig->chunk,
		.depth = rig->depth,
		.timeout = rig->timeout ? rig->timeout : 10000,
		.secret = rig->secret,
		.max_size = rig->max_size,
		.active = rig->active,
	};

	session.message_size = strlen(session.message) + 1;
	return session;
}

void rig_start_session(struct rig *rig)
{
	rig->output.program = "rig";
	assert_int_equal(mailbox_open(&rig->mailbox), 0);
	rig->session = session_of(rig);
}

void rig_start_device(struct rig *rig)
{
	struct failure failure = {0};

	fake_start(rig->transport ? rig->transport : IBV_TRANSPORT_IB);
	if (rig->attributes)
		*fake_attributes() = *rig->attributes;
	fake_expose(rig->peer_memory, PEER_MEMORY, PEER_RKEY);
	if (threads_before == 0) {
		start_first_threads();
		threads_before = entries_of("/proc/self/task");
	}
	expect_threads(threads_before);
	descriptors_before = entries_of("/proc/self/fd");
	capture(&out);
	if (rig->output.verbose)
		capture(&error);
	rig_start_session(rig);
	assert_int_equal(device_start(fake_context(), &rig->device, &failure), 0);
}

static uint8_t reads_of(const struct rig *rig)
{
	return rig->reads ? rig->reads : 4;
}

static struct introduction introduction_of_peer(const struct rig *rig)
{
	return (struct introduction){
		.version = INTRODUCTION_VERSION,
		.mode = (uint8_t)rig->mode,
		.size = rig->peer_size ? rig->peer_size : sizeof(PEER_TEXT),
		.timeout = rig->peer_timeout ? rig->peer_timeout : 10000,
	};
}

struct request rig_request(const struct rig *rig)
{
	struct request request = {
		.tutorial = rig->tutorial,
		.initiator_depth = reads_of(rig),
		.responder_resources = reads_of(rig),
	};

	if (rig->tutorial)
		request.theirs.size = SINK_TEXT_SIZE;
	else
		request.theirs = introduction_of_peer(rig);
	return request;
}

void rig_start_connection(struct rig *rig)
{
	struct request request = rig_request(rig);
	struct failure failure = {0};

	rig->id = fake_id();
	fake_agree(rig->id, reads_of(rig));
	assert_int_equal(
		connection_create(&rig->session, mode_by_number(rig->mode), rig->id, rig->device,
			rig->active ? NULL : &request, &rig->connection, &failure),
		0);
}

void rig_start(struct rig *rig)
{
	rig_start_device(rig);
	rig_start_connection(rig);
}

void rig_establish(struct rig *rig)
{
	const struct introduction theirs = introduction_of_peer(rig);
	uint8_t introduction[INTRODUCTION_SIZE];
	struct rdma_conn_param answer = {
		.initiator_depth = reads_of(rig),
		.responder_resources = reads_of(rig),
	};
	struct failure failure = {0};

	introduction_encode(&theirs, introduction);
	if (!rig->tutorial) {
		answer.private_data = introduction;
		answer.private_data_len = sizeof(introduction);
	}
	assert_int_equal(connection_established(rig->connection, &answer, &failure), 0);
	fake_settle();
}

void rig_hear(struct rig *rig, const struct message *message)
{
	uint8_t bytes[MESSAGE_MAX];

	fake_arrive(rig->id, bytes, message_encode(message, bytes));
	fake_settle();
}

void rig_hear_data(struct rig *rig, const void *data, size_t size)
{
	struct message region = rig_last(rig, MSG_MR);
	struct message told = {.type = MSG_DATA};
	uint64_t ring = rig->mode == MODE_WRITE ? region.length : rig->peer_ring;
	uint8_t *start =
		rig->mode == MODE_WRITE ? (uint8_t *)(uintptr_t)region.address : rig->peer_memory;

	for (size_t i = 0; i < size; i++)
		start[(rig->told + i) % ring] = ((const uint8_t *)data)[i];
	rig->told += size;
	told.length = rig->told;
	if (rig->mode == MODE_READ || rig->transport == IBV_TRANSPORT_IWARP)
		rig_hear(rig, &told);
	else
		fake_arrive_immediate(rig->id, (uint32_t)size, (uint32_t)rig->told);
	fake_settle();
}

void rig_complete(struct rig *rig, enum ibv_wc_status status)
{
	fake_complete(rig->id, status);
	fake_settle();
}

void rig_complete_all(struct rig *rig)
{
	fake_settle();
	while (fake_waiting(rig->id) > 0)
		rig_complete(rig, IBV_WC_SUCCESS);
}

static bool is_message(const struct fake_send *send, enum message_type type)
{
	struct message message;

	return send->opcode == IBV_WR_SEND && send->piece.length > 0 &&
	       message_decode(&message, send->bytes, send->piece.length) == 0 &&
	       message.type == type;
}

int rig_find(struct rig *rig, enum message_type type)
{
	for (unsigned int i = 0; i < fake_sends(rig->id); i++) {
		struct fake_send send = fake_send(rig->id, i);

		if (is_message(&send, type))
			return (int)i;
	}
	return -1;
}

int rig_find_rdma(struct rig *rig, enum ibv_wr_opcode opcode)
{
	for (unsigned int i = 0; i < fake_sends(rig->id); i++)
		if (fake_send(rig->id, i).opcode == opcode)
			return (int)i;
	return -1;
}

unsigned int rig_count(struct rig *rig, enum message_type type)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < fake_sends(rig->id); i++) {
		struct fake_send send = fake_send(rig->id, i);

		count += is_message(&send, type);
	}
	return count;
}

struct message rig_sent(struct rig *rig, unsigned int index)
{
	struct fake_send send = fake_send(rig->id, index);
	struct message message;

	assert_int_equal(send.opcode, IBV_WR_SEND);
	assert_int_equal(message_decode(&message, send.bytes, send.piece.length), 0);
	return message;
}

struct message rig_last(struct rig *rig, enum message_type type)
{
	unsigned int index = fake_sends(rig->id);

	while (index-- > 0) {
		struct fake_send send = fake_send(rig->id, index);

		if (is_message(&send, type))
			return rig_sent(rig, index);
	}
	fail_msg("no %s was sent", message_name(type));
	return (struct message){0};
}

struct message rig_peer_region(struct rig *rig, uint64_t length)
{
	return (struct message){
		.type = MSG_MR,
		.address = (uintptr_t)rig->peer_memory,
		.length = length,
		.rkey = PEER_RKEY,
		.depth = rig->peer_depth ? rig->peer_depth : 8,
	};
}

struct message rig_peer_done(const struct rig *rig, const void *data, size_t size)
{
	struct message done = {.type = MSG_DONE};

	if (!rig->tutorial) {
		done.length = size;
		done.digest = digest_of(data, size);
	}
	return done;
}

void rig_exchange_regions(struct rig *rig, uint64_t peer_length)
{
	struct message region;

	rig_start(rig);
	rig->peer_ring = peer_length;
	region = rig_peer_region(rig, peer_length);
	rig_establish(rig);
	if (rig->active)
		rig_complete(rig, IBV_WC_SUCCESS);
	rig_hear(rig, &region);
	if (!rig->active)
		rig_complete(rig, IBV_WC_SUCCESS);
}

void rig_start_data(struct rig *rig, uint64_t peer_length)
{
	static const struct message tutorial_done = {.type = MSG_DONE};

	rig_exchange_regions(rig, peer_length);
	if (rig->tutorial)
		rig_hear(rig, &tutorial_done);
}

void rig_exchange_data(struct rig *rig, const void *data, size_t size)
{
	struct message done = rig_peer_done(rig, data, size);
	struct message region = rig_last(rig, MSG_MR);

	if (rig->tutorial) {
		if (rig->mode == MODE_WRITE)
			memcpy((void *)(uintptr_t)region.address, data, size);
		rig_complete_all(rig);
		return;
	}
	rig_hear_data(rig, data, size);
	while (rig_find(rig, MSG_VERDICT) < 0 && fake_waiting(rig->id) > 0)
		rig_complete(rig, IBV_WC_SUCCESS);
	rig_hear(rig, &done);
}

unsigned int rig_notes(struct rig *rig)
{
	unsigned int notes;

	/* That the two have met comes with every exchange, sooner or later. */
	while (mailbox_take(&rig->mailbox, &notes)) {
		rig->met |= (notes & CONNECTION_MET) != 0;
		rig->notes |= notes & ~(unsigned int)CONNECTION_MET;
	}
	return rig->notes;
}

void rig_close(struct rig *rig, const struct failure *reason)
{
	connection_close(rig->connection, reason);
	fake_settle();
	assert_true(connection_drained(rig->connection, rig_notes(rig)));
	rig->outcome = *connection_outcome(rig->connection);
}

void rig_expect_failure(struct rig *rig, enum failure_kind kind, enum exit_status status)
{
	rig_complete_all(rig); /* the peer is told, if it can be */
	assert_int_equal(
		rig_notes(rig) & (CONNECTION_FINISHED | CONNECTION_DRAINED), CONNECTION_FINISHED);
	rig_close(rig, NULL);
	assert_int_equal(rig->outcome.kind, kind);
	assert_int_equal(failure_status(&rig->outcome), status);
	rig_stop(rig);
}

void rig_expect_violation(struct rig *rig, const char *says)
{
	struct message abort;

	rig_complete_all(rig);
	abort = rig_last(rig, MSG_ABORT);
	assert_int_equal(rig_count(rig, MSG_ABORT), 1);
	assert_true(abort.text_size > 0);
	rig_expect_failure(rig, FAILURE_PROTOCOL, STATUS_PEER);
	if (!strstr(rig->outcome.evidence, says))
		fail_msg("'%s' is not '%s'", rig->outcome.evidence, says);
}

void rig_stop(struct rig *rig)
{
	if (rig->connection)
		connection_destroy(rig->connection);
	device_stop(rig->device);
	mailbox_close(&rig->mailbox);
	release(&out, rig->printed, sizeof(rig->printed));
	release(&error, rig->detailed, sizeof(rig->detailed));
	assert_int_equal(fake_objects(), 0);
	assert_int_equal(fake_registered(), 0);
	expect_threads(threads_before);
	/* The test may have closed some of its own. */
	assert_true(entries_of("/proc/self/fd") <= descriptors_before);
}

void for_each_rig(bool tutorial, void (*test)(struct rig *rig))
{
	for (unsigned int i = 0; i < (tutorial ? 8 : 4); i++) {
		struct rig rig = {.mode = i & 1, .active = i & 2, .tutorial = i & 4};

		test(&rig);
	}
}

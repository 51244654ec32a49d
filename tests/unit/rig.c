#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

/* The real one, while standard output goes to memory: cmocka prints there too. */
static FILE *real_stdout;
static char *printed;
static size_t printed_size;

static void capture(void)
{
	real_stdout = stdout;
	stdout = open_memstream(&printed, &printed_size);
	assert_non_null(stdout);
}

int rig_forget(void **state)
{
	(void)state;
	if (!real_stdout)
		return 0;
	fclose(stdout);
	stdout = real_stdout;
	real_stdout = NULL;
	free(printed);
	return 0;
}

void rig_start(struct rig *rig)
{
	struct failure failure = {0};

	fake_start(rig->transport ? rig->transport : IBV_TRANSPORT_IB);
	fake_expose(rig->peer_memory, REGION_SIZE, PEER_RKEY);
	capture();
	rig->output.program = "rig";
	assert_int_equal(mailbox_open(&rig->mailbox), 0);
	rig->session = (struct session){
		.output = &rig->output,
		.mailbox = &rig->mailbox,
		.message = rig->message ? rig->message : "ours",
		.active = rig->active,
	};
	rig->session.message_size = strlen(rig->session.message) + 1;
	assert_int_equal(device_start(fake_context(), &rig->device, &failure), 0);
	rig->id = fake_id();
	assert_int_equal(
		connection_create(&rig->session, mode_by_number(rig->mode), rig->id, rig->device,
			rig->tutorial && !rig->active, &rig->connection, &failure),
		0);
}

void rig_establish(struct rig *rig)
{
	uint8_t introduction[INTRODUCTION_SIZE];
	const struct introduction theirs = {
		.version = INTRODUCTION_VERSION,
		.mode = (uint8_t)rig->mode,
		.region_length = REGION_SIZE,
	};
	struct rdma_conn_param answer = {.initiator_depth = 1, .responder_resources = 1};
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
	uint8_t bytes[MESSAGE_SIZE];

	message_encode(message, bytes);
	fake_arrive(rig->id, bytes, sizeof(bytes));
	fake_settle();
}

void rig_complete(struct rig *rig, enum ibv_wc_status status)
{
	fake_complete(rig->id, status);
	fake_settle();
}

struct message rig_sent(struct rig *rig, unsigned int index)
{
	struct fake_send send = fake_send(rig->id, index);
	struct message message;

	assert_int_equal(send.opcode, IBV_WR_SEND);
	assert_int_equal(message_decode(&message, send.bytes, MESSAGE_SIZE), 0);
	return message;
}

struct message rig_peer_region(struct rig *rig, uint64_t length)
{
	return (struct message){
		.type = MSG_MR,
		.address = (uintptr_t)rig->peer_memory,
		.length = length,
		.rkey = PEER_RKEY,
	};
}

struct message rig_peer_data(struct rig *rig, const void *data, size_t size)
{
	struct message ours = rig_sent(rig, 0);
	struct message done = {.type = MSG_DONE};

	/* In write mode the peer writes into our region, in read mode we have read its own. */
	if (rig->mode == MODE_WRITE)
		memcpy((void *)(uintptr_t)ours.address, data, size);
	else
		assert_memory_equal(rig->peer_memory, data, size);
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
	struct message done = rig_peer_data(rig, data, size);

	rig_complete(rig, IBV_WC_SUCCESS);
	rig_complete(rig, IBV_WC_SUCCESS);
	if (!rig->tutorial)
		rig_hear(rig, &done);
}

unsigned int rig_notes(struct rig *rig)
{
	unsigned int notes;

	while (mailbox_take(&rig->mailbox, &notes))
		rig->notes |= notes;
	return rig->notes;
}

void rig_close(struct rig *rig, const struct failure *reason)
{
	connection_close(rig->connection, reason);
	fake_settle();
	assert_true(connection_drained(rig->connection, rig_notes(rig)));
	rig->outcome = *connection_outcome(rig->connection);
}

void rig_stop(struct rig *rig)
{
	if (rig->connection)
		connection_destroy(rig->connection);
	device_stop(rig->device);
	mailbox_close(&rig->mailbox);
	fflush(stdout);
	snprintf(rig->printed, sizeof(rig->printed), "%s", printed);
	rig_forget(NULL);
	assert_int_equal(fake_objects(), 0);
}

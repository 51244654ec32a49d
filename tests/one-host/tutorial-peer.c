/*
 * A peer that speaks only the tutorial's protocol and behaves like its programs: no private data,
 * one posted receive at a time (the next one after MSG_MR), MSG_DONE posted after the RDMA
 * operation without a fence, and a disconnect once its own MSG_DONE is complete and the peer's has
 * been received. It is stricter than those programs: bytes of a message or region that the protocol
 * does not use must be zero, and rdma-client must request retries.
 *
 *     tutorial-peer write|read HOST PORT [RETRIES]
 *     tutorial-peer write|read --listen ADDRESS PORT-FILE
 *
 * Prints the received text. The tutorial's client sets retry_count to 0, which applies to both
 * directions, so one lost or late packet ends the connection. RETRIES (0 to 7, default 0) sets
 * retry_count, for paths that lose packets.
 */
#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/one-host/endpoint.h"

#define MESSAGE 56

enum { MR = 0, DONE = 1 };

/* The state of the exchange. */
struct dialogue {
	bool sent_mr, got_mr, sent_data, got_done;
	unsigned int sends_completed; /* MSG_MR, RDMA, MSG_DONE */
	uint64_t address;
	uint32_t rkey;
};

static void check_zero(const uint8_t *bytes, size_t from, size_t to, const char *what)
{
	for (size_t i = from; i < to; i++)
		if (bytes[i] != 0)
			die("%s: byte %zu is %#x, not zero", what, i, bytes[i]);
}

static void send_mr(struct endpoint *end, struct dialogue *talk)
{
	uint8_t message[MESSAGE] = {0};
	uint64_t address = htole64((uintptr_t)end->exposed), length = htole64(ENDPOINT_REGION);
	uint32_t rkey = htole32(end->exposed_mr->rkey);

	memcpy(message + 24, &address, 8);
	memcpy(message + 32, &length, 8);
	memcpy(message + 48, &rkey, 4);
	endpoint_send(end, message, MESSAGE);
	talk->sent_mr = true;
}

static void send_data(struct endpoint *end, struct dialogue *talk, bool reading)
{
	uint8_t message[MESSAGE] = {DONE};

	endpoint_rdma(end, reading ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, talk->address,
		talk->rkey, ENDPOINT_REGION, 0);
	endpoint_send(end, message, MESSAGE);
	talk->sent_data = true;
}

static void received(struct endpoint *end, struct dialogue *talk, const struct ibv_wc *completion)
{
	const uint8_t *message = endpoint_received(end, completion);
	uint64_t length;

	if (completion->byte_len != MESSAGE)
		die("received a message of %u bytes", completion->byte_len);
	if (message[0] == DONE) {
		check_zero(message, 1, MESSAGE, "MSG_DONE");
		talk->got_done = true;
		return;
	}
	check_zero(message, 0, 24, "MSG_MR");
	check_zero(message, 40, 48, "MSG_MR");
	check_zero(message, 52, MESSAGE, "MSG_MR");
	memcpy(&talk->address, message + 24, 8);
	memcpy(&length, message + 32, 8);
	memcpy(&talk->rkey, message + 48, 4);
	talk->address = le64toh(talk->address);
	talk->rkey = le32toh(talk->rkey);
	if (le64toh(length) != ENDPOINT_REGION)
		die("received a region of %llu bytes", (unsigned long long)le64toh(length));
	talk->got_mr = true;
	endpoint_post_receive(end);
	if (!talk->sent_mr)
		send_mr(end, talk);
}

/* Waits for a completion; exits with an error if the peer disconnects first. */
static struct ibv_wc await_completion(struct endpoint *end)
{
	struct pollfd event = {.fd = end->channel->fd, .events = POLLIN};
	struct ibv_wc completion;
	int count;

	while ((count = ibv_poll_cq(end->cq, 1, &completion)) == 0)
		if (poll(&event, 1, 1) > 0)
			die("the peer disconnected, or its connection failed, during the exchange");
	if (count < 0)
		die("ibv_poll_cq failed");
	return completion;
}

static void talk_through(struct endpoint *end, bool active, bool reading)
{
	struct dialogue talk = {0};
	const uint8_t *got = reading ? end->local : end->exposed;

	if (active)
		send_mr(end, &talk);
	while (talk.sends_completed < 3 || !talk.got_done) {
		struct ibv_wc completion = await_completion(end);

		if (completion.status != IBV_WC_SUCCESS)
			die("completion %s", ibv_wc_status_str(completion.status));
		if (completion.opcode & IBV_WC_RECV)
			received(end, &talk, &completion);
		else
			talk.sends_completed++;
		if (talk.sends_completed >= 1 && talk.got_mr && !talk.sent_data)
			send_data(end, &talk, reading);
	}
	/* A server that accepts any mode sets the last byte, to see whether we write to it. */
	check_zero(got, strnlen((const char *)got, ENDPOINT_REGION), ENDPOINT_REGION - reading,
		"the region");
	printf("remote buffer: %s\n", (const char *)got);
}

static void check_parameters(const struct endpoint *end, bool active)
{
	for (size_t i = 0; i < end->heard.private_data_len; i++)
		if (active && end->words[i] != 0)
			die("private data in the reply to a tutorial peer");
	/* Only the passive side receives the active side's parameters. iWARP has no such counts. */
	if (!active && end->id->verbs->device->transport_type == IBV_TRANSPORT_IB &&
		(end->heard.retry_count == 0 || end->heard.rnr_retry_count == 0))
		die("no retries requested: retry_count %u, rnr_retry_count %u",
			end->heard.retry_count, end->heard.rnr_retry_count);
}

int main(int argc, char *argv[])
{
	struct endpoint end = {
		.parameters = {.initiator_depth = 1,
			.responder_resources = 1,
			.rnr_retry_count = 7},
		.exposed_access = IBV_ACCESS_REMOTE_WRITE,
	};
	bool active, reading;

	if (argc < 4)
		die("usage: tutorial-peer write|read HOST PORT [RETRIES] | --listen ADDRESS PORT-FILE");
	active = strcmp(argv[2], "--listen") != 0;
	reading = strcmp(argv[1], "read") == 0;
	if (reading)
		end.exposed_access = IBV_ACCESS_REMOTE_READ;
	if (active) {
		if (argc > 4)
			end.parameters.retry_count = (uint8_t)atoi(argv[4]);
		endpoint_connect(&end, argv[2], argv[3], 1);
	} else {
		endpoint_accept(&end, argv[3], argv[4], 1);
	}
	check_parameters(&end, active);
	snprintf((char *)(reading ? end.exposed : end.local), ENDPOINT_REGION,
		"message from a tutorial peer with pid %d", (int)getpid());
	talk_through(&end, active, reading);
	endpoint_disconnect(&end);
	endpoint_event(&end, RDMA_CM_EVENT_DISCONNECTED);
	endpoint_free(&end);
	return EXIT_SUCCESS;
}

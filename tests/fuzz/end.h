/*
 * One end of a connection on the fake device, and the steps of the device and of the peer, which
 * read their parameters from the input.
 */
#ifndef TESTS_FUZZ_END_H
#define TESTS_FUZZ_END_H

#include "rdma-common.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/oracle.h"

#define PEER_RKEY   0xbeef
#define PEER_MEMORY 4096

extern uint8_t peer_memory[PEER_MEMORY];

struct end {
	struct fuzz_input input;
	struct output output;
	struct wakeup_queue wakeups;
	struct exchange_settings settings;
	struct device *device;
	struct connection *connection;
	struct rdma_cm_id *id;
	struct hello theirs;
	const uint8_t *hello_bytes; /* the peer's encoded hello */
	uint8_t hello_size;
	struct oracle oracle;
	bool established, closed, abandoned;
	bool failing; /* a library call is set to fail */
	unsigned int events;
};

/* Runs all threads until each waits, and checks what they posted. */
void end_settle(struct end *end);

/* Steps of the device: complete or fail the oldest work request, or break the queue pair. */
void end_complete(struct end *end);
void end_fail_send(struct end *end);
void end_fail_receive(struct end *end);
void end_break(struct end *end);

/* Makes some library call fail once. */
void end_fail_some_call(struct end *end);

/* Steps of a peer that follows the protocol, or nearly does. */
void peer_sends_proof(struct end *end);
void peer_sends_region(struct end *end);
void peer_sends_data(struct end *end);
void peer_sends_done(struct end *end);
void peer_sends_verdict(struct end *end);
void peer_gives_credit(struct end *end);
void peer_sends_keepalive(struct end *end);

/* Steps of a peer that violates the protocol. */
void peer_sends_any_region(struct end *end);
void peer_announces_anything(struct end *end);
void peer_writes_memory(struct end *end);
void peer_sends_any_message(struct end *end);
void peer_sends_type(struct end *end);

#endif

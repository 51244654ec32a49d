/*
 * One end of a connection on the made-up device, with the CQ thread that runs it, and the peer that
 * the test plays.
 */
#ifndef RIG_H
#define RIG_H

#include "fake-verbs.h"
#include "lib/message.h"
#include "rdma-common.h"
#include "unit.h"

#define PEER_RKEY 0xbeef

struct rig {
	/* set by the test, before rig_start() */
	enum mode_number mode;
	bool active, tutorial;
	const char *message;               /* NULL: "ours" */
	enum ibv_transport_type transport; /* 0: InfiniBand */
	struct output output;

	struct mailbox mailbox;
	struct session session;
	struct device *device;
	struct rdma_cm_id *id;
	struct connection *connection;
	char printed[8192];     /* after rig_stop(): what went to standard output */
	unsigned int notes;     /* enum connection_note */
	struct failure outcome; /* after rig_close() */
	/* the peer's region, where our RDMA goes */
	uint8_t peer_memory[REGION_SIZE];
};

/* Where each work request stands in the send queue. */
enum { SEND_MR, SEND_RDMA, SEND_DONE, SEND_VERDICT, SENDS_ALL };

/* Starts the device and makes the connection. */
void rig_start(struct rig *rig);

/* The connection stands; the peer has introduced itself unless it is a tutorial program. */
void rig_establish(struct rig *rig);

/* The peer's message arrives; waits until the CQ thread has taken it. */
void rig_hear(struct rig *rig, const struct message *message);

/* The oldest send completes; waits too. */
void rig_complete(struct rig *rig, enum ibv_wc_status status);

/* The message that was sent as that work request. */
struct message rig_sent(struct rig *rig, unsigned int index);

/* The peer's MSG_MR, for a region of that many bytes, of which REGION_SIZE are there. */
struct message rig_peer_region(struct rig *rig, uint64_t length);

/* The peer's MSG_DONE for data that it has put where the mode wants it. */
struct message rig_peer_data(struct rig *rig, const void *data, size_t size);

/* From the start until both MSG_MR are exchanged and ours is acknowledged. */
void rig_exchange_regions(struct rig *rig, uint64_t peer_length);

/* On from there until our RDMA operation and MSG_DONE are posted. */
void rig_start_data(struct rig *rig, uint64_t peer_length);

/* On from there until both sides' data is in place and our verdict posted; the peer's is such. */
void rig_exchange_data(struct rig *rig, const void *data, size_t size);

/* Disconnects unless that was done, and waits until the CQ thread has let go of the connection. */
void rig_close(struct rig *rig, const struct failure *reason);

/* What the CQ thread has told the main thread so far. */
unsigned int rig_notes(struct rig *rig);

/* Frees everything, and checks that nothing is left. */
void rig_stop(struct rig *rig);

/* Gives cmocka its standard output back after a test that failed on its way. */
int rig_forget(void **state);

#define with_rig(test) cmocka_unit_test_teardown(test, rig_forget)

#endif

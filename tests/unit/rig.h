/*
 * One end of a connection on the made-up device, with the CQ thread that runs it, and the peer that
 * the test plays. Both ends of one: pair.h.
 */
#ifndef RIG_H
#define RIG_H

#include "fake-verbs.h"
#include "lib/message.h"
#include "lib/sink.h"
#include "lib/source.h"
#include "rdma-common.h"
#include "unit.h"

#define PEER_RKEY   0xbeef
#define PEER_MEMORY 4096UL

/* What the peer sends unless the test says otherwise. */
#define PEER_TEXT "theirs"

struct rig {
	/* set by the test, before rig_start(); what is 0 gets a usual value */
	enum mode_number mode;
	bool active, tutorial;
	const char *message;               /* NULL: "ours" */
	const char *input, *target;        /* of the session */
	uint64_t buffer;                   /* 64 KiB */
	uint32_t chunk, depth;             /* 0: the device's */
	int64_t timeout;                   /* ten seconds */
	uint64_t max_size;                 /* that the peer may send; 0: any */
	uint64_t peer_size;                /* what it announces: PEER_TEXT's */
	uint32_t peer_timeout;             /* ten seconds */
	uint32_t peer_depth;               /* of its MSG_MR: 8 */
	uint8_t reads;                     /* in flight, both ways, as far as the peer goes: 4 */
	enum ibv_transport_type transport; /* InfiniBand */
	const struct ibv_device_attr *attributes; /* soft-RoCE's */
	struct secret *secret;                    /* of the session; NULL: none */
	struct output output;

	struct mailbox mailbox;
	struct session session;
	struct device *device;
	struct rdma_cm_id *id;
	struct connection *connection;
	char printed[16384];    /* after rig_stop(): what went to standard output */
	char detailed[16384];   /* and, if verbose, to standard error */
	unsigned int notes;     /* enum connection_note, but for CONNECTION_MET */
	bool met;               /* that one came */
	struct failure outcome; /* after rig_close() */
	uint64_t peer_ring;     /* bytes of the region that the peer said that it has */
	uint64_t told;          /* bytes of its stream that the peer told of */
	/* the peer's region, where our RDMA goes */
	uint8_t peer_memory[PEER_MEMORY];
};

/* Opens the mailbox and fills in the session; part of the next. */
void rig_start_session(struct rig *rig);

/* Starts the device, without a connection. */
void rig_start_device(struct rig *rig);

/* What the passive side knows of the peer. */
struct request rig_request(const struct rig *rig);

/* Makes the connection. */
void rig_start_connection(struct rig *rig);

/* Both. */
void rig_start(struct rig *rig);

/* The connection stands; the peer has introduced itself unless it is a tutorial program. */
void rig_establish(struct rig *rig);

/* The peer's message arrives; waits until the CQ thread has taken it. */
void rig_hear(struct rig *rig, const struct message *message);

/* The peer has written or offers the next bytes of its stream, and tells of them. */
void rig_hear_data(struct rig *rig, const void *data, size_t size);

/* The oldest send completes; waits too. */
void rig_complete(struct rig *rig, enum ibv_wc_status status);

/* All sends complete well, also those that are posted because of that. */
void rig_complete_all(struct rig *rig);

/* Which work request is the first message of that type, or the first with that opcode; -1: none. */
int rig_find(struct rig *rig, enum message_type type);
int rig_find_rdma(struct rig *rig, enum ibv_wr_opcode opcode);

/* How many messages of that type were sent. */
unsigned int rig_count(struct rig *rig, enum message_type type);

/* The message that was sent as that work request. */
struct message rig_sent(struct rig *rig, unsigned int index);

/* The last message of that type that was sent: there is one. */
struct message rig_last(struct rig *rig, enum message_type type);

/* The peer's MSG_MR, for a region of that many bytes, of which PEER_MEMORY are there. */
struct message rig_peer_region(struct rig *rig, uint64_t length);

/* The peer's MSG_DONE for all of this data. */
struct message rig_peer_done(const struct rig *rig, const void *data, size_t size);

/* From the start until both MSG_MR are exchanged and ours is acknowledged. */
void rig_exchange_regions(struct rig *rig, uint64_t peer_length);

/* On from there until our text and MSG_DONE are posted. */
void rig_start_data(struct rig *rig, uint64_t peer_length);

/* On from there until both sides' data is in place and our verdict posted; the peer's is such. */
void rig_exchange_data(struct rig *rig, const void *data, size_t size);

/* Disconnects unless that was done, and waits until nothing uses the connection any more. */
void rig_close(struct rig *rig, const struct failure *reason);

/* What the CQ thread and the connection's other threads have told the main thread so far. */
unsigned int rig_notes(struct rig *rig);

/* Frees everything, and checks that nothing is left: objects, threads, descriptors. */
void rig_stop(struct rig *rig);

/*
 * Ends and stops a rig whose exchange the CQ thread has given up, after the peer was told if it can
 * be, and compares how.
 */
void rig_expect_failure(struct rig *rig, enum failure_kind kind, enum exit_status status);

/* The same for a peer that broke the protocol: it is told, and `says` is part of what is recorded. */
void rig_expect_violation(struct rig *rig, const char *says);

/* Gives cmocka its standard output and standard error back after a test that failed on its way. */
int rig_forget(void **state);

#define with_rig(test) cmocka_unit_test_teardown(test, rig_forget)

/* Runs the test for each mode and role, and, if tutorial, also with such a peer. */
void for_each_rig(bool tutorial, void (*test)(struct rig *rig));

#endif

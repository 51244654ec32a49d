/*
 * One end of a connection on the made-up device, with the CQ thread that runs it, and the peer that
 * the test plays. Both ends of one: tests/unit/exchange/pair.h.
 */
#ifndef TESTS_UNIT_EXCHANGE_FIXTURE_H
#define TESTS_UNIT_EXCHANGE_FIXTURE_H

#include "protocol/message.h"
#include "rdma-common.h"
#include "stream/sink.h"
#include "stream/source.h"
#include "tests/unit/unit.h"
#include "tests/unit/verbs/fake-verbs.h"

#define PEER_RKEY   0xbeef
#define PEER_MEMORY 4096UL

/* What the peer sends unless the test says otherwise. */
#define PEER_TEXT "theirs"

struct fixture {
	/* set by the test, before fixture_start(); what is 0 gets a usual value */
	enum mode_number mode;
	bool active, tutorial;
	const char *message;               /* NULL: "ours" */
	const char *input, *output_path;   /* of the session */
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

	struct wakeup_queue wakeups;
	struct exchange_settings settings;
	struct device *device;
	struct rdma_cm_id *id;
	struct connection *connection;
	char printed[16384];    /* after fixture_stop(): what went to standard output */
	char detailed[16384];   /* and, if verbose, to standard error */
	unsigned int events;    /* enum connection_event, but for CONNECTION_HANDSHAKE_DONE */
	bool handshake_done;    /* that one came */
	struct failure outcome; /* after fixture_close() */
	uint64_t peer_ring;     /* bytes of the region that the peer said that it has */
	uint64_t announced;     /* bytes of its stream that the peer announced */
	/* the peer's region, where our RDMA goes */
	uint8_t peer_memory[PEER_MEMORY];
};

/* Opens the wakeup queue and fills in the settings; part of the next. */
void fixture_start_settings(struct fixture *fixture);

/* Starts the device, without a connection. */
void fixture_start_device(struct fixture *fixture);

/* What the passive side knows of the peer. */
struct request fixture_request(const struct fixture *fixture);

/* Makes the connection. */
void fixture_start_connection(struct fixture *fixture);

/* Both. */
void fixture_start(struct fixture *fixture);

/* Asks for the connection, as verbs/dial.c does. Returns 0 or -errno. */
int fixture_connect(struct fixture *fixture);

/* Establishes the connection; the peer has sent its hello unless it is a tutorial program. */
void fixture_establish(struct fixture *fixture);

/*
 * From the start until the connection stands. Returns the peer's MSG_MR, which has not arrived yet.
 */
struct message fixture_start_established(struct fixture *fixture, uint64_t peer_length);

/* The peer's message arrives; waits until the CQ thread has taken it. */
void fixture_receive(struct fixture *fixture, const struct message *message);

/* The peer has written or offers the next bytes of its stream, and tells of them. */
void fixture_receive_data(struct fixture *fixture, const void *data, size_t size);

/* The oldest send completes; waits too. */
void fixture_complete(struct fixture *fixture, enum ibv_wc_status status);

/* All sends complete well, also those that are posted because of that. */
void fixture_complete_all(struct fixture *fixture);

/* Which work request is the first message of that type, or the first with that opcode; -1: none. */
int fixture_find(struct fixture *fixture, enum message_type type);
int fixture_find_rdma(struct fixture *fixture, enum ibv_wr_opcode opcode);

/* How many messages of that type were sent. */
unsigned int fixture_count(struct fixture *fixture, enum message_type type);

/* The message that was sent as that work request. */
struct message fixture_sent(struct fixture *fixture, unsigned int index);

/* The last message of that type that was sent: there is one. */
struct message fixture_last(struct fixture *fixture, enum message_type type);

/* The peer's MSG_MR, for a region of that many bytes, of which PEER_MEMORY are there. */
struct message fixture_peer_region(struct fixture *fixture, uint64_t length);

/* The peer's MSG_DONE for all of this data. */
struct message fixture_peer_done(const struct fixture *fixture, const void *data, size_t size);

/* From the start until both MSG_MR are exchanged and ours is acknowledged. */
void fixture_exchange_regions(struct fixture *fixture, uint64_t peer_length);

/* On from there until our text and MSG_DONE are posted. */
void fixture_start_data(struct fixture *fixture, uint64_t peer_length);

/* On from there until both sides' data is in place and our verdict posted; the peer's is such. */
void fixture_exchange_data(struct fixture *fixture, const void *data, size_t size);

/* Disconnects unless that was done, and waits until nothing uses the connection any more. */
void fixture_close(struct fixture *fixture, const struct failure *reason);

/* The events that the main thread has received from the CQ thread, the source and the sink. */
unsigned int fixture_events(struct fixture *fixture);

/* Frees everything, and checks that nothing is left: objects, threads, descriptors. */
void fixture_stop(struct fixture *fixture);

/* Closes the connection, and frees everything. */
void fixture_end(struct fixture *fixture);

/*
 * Ends and stops a fixture whose exchange the CQ thread has given up, after the peer was told if it
 * can be, and compares how.
 */
void fixture_expect_failure(
	struct fixture *fixture, enum failure_kind kind, enum exit_status status);

/*
 * The same for a peer that broke the protocol: it gets an abort, and `says` is part of the failure.
 */
void fixture_expect_violation(struct fixture *fixture, const char *says);

/* Gives cmocka its standard output and standard error back after a test that failed on its way. */
int fixture_forget(void **state);

#define with_fixture(test) cmocka_unit_test_teardown(test, fixture_forget)

/* Runs the test for each mode and role, and, if tutorial, also with such a peer. */
void for_each_fixture(bool tutorial, void (*test)(struct fixture *fixture));

#endif

/* One end of a connection on the fake device, with the CQ thread that runs it. The test plays the
 * peer. For both ends of a connection see tests/unit/exchange/pair.h. */
#ifndef TESTS_UNIT_EXCHANGE_FIXTURE_H
#define TESTS_UNIT_EXCHANGE_FIXTURE_H

#include "protocol/message.h"
#include "rdma-common.h"
#include "stream/sink.h"
#include "stream/source.h"
#include "tests/unit/unit.h"
#include "tests/unit/verbs/fake-verbs.h"
#include "verbs/memory.h"

/* The modes before this one let the peer access memory; tutorial programs know only these. */
#define ONE_SIDED_MODES MODE_SEND

#define PEER_RKEY   0xbeef
#define PEER_MEMORY 4096UL

/* The peer's data unless the test sets other data. */
#define PEER_TEXT "theirs"

struct fixture {
	/* Set by the test before fixture_start(); 0 selects the default. */
	enum mode_number mode;
	bool active, tutorial, counted;
	const char *message;               /* default "ours" */
	const char *input, *output_path;   /* paths of --input and --output; NULL: none */
	uint8_t plans, peer_plans;         /* enum hello_flag */
	uint64_t buffer;                   /* ring size in bytes, default 64 KiB */
	uint32_t chunk, depth;             /* 0: chosen from the device's limits */
	int64_t timeout;                   /* ms, default 10 s */
	int dscp;                          /* of --tos; 0: none */
	enum ordering ordering;            /* of --relaxed-ordering */
	uint64_t max_size;                 /* limit for the peer's data, bytes; 0: none */
	uint64_t peer_size;                /* announced by the peer, default sizeof(PEER_TEXT) */
	uint32_t peer_timeout;             /* ms, default 10 s */
	enum ibv_mtu port_mtu, path_mtu;   /* 0: unknown, so that we offer no test data */
	uint16_t peer_mtu;                 /* bytes; 0: the peer offers no test data */
	bool peer_extends;                 /* it understands files with holes */
	uint32_t peer_depth;               /* in the peer's MSG_MR, default 8 */
	uint8_t reads;                     /* READs in flight per direction, default 4 */
	enum ibv_transport_type transport; /* default InfiniBand */
	const struct ibv_device_attr *attributes; /* default: those of soft-RoCE */
	const struct personality *personality;    /* instead of both; default: none */
	struct secret *secret;                    /* local secret; NULL: none */
	struct output output;

	struct wakeup_queue wakeups;
	struct exchange_settings settings;
	struct device *device;
	struct rdma_cm_id *id;
	struct connection *connection;
	char printed[16384];    /* standard output, valid after fixture_stop() */
	char detailed[16384];   /* standard error if verbose, valid after fixture_stop() */
	unsigned int events;    /* enum connection_event without CONNECTION_HANDSHAKE_DONE */
	bool handshake_done;    /* CONNECTION_HANDSHAKE_DONE was received */
	struct failure outcome; /* valid after fixture_close() */
	uint64_t peer_ring;     /* length in the peer's MSG_MR, bytes */
	uint64_t announced;     /* bytes of its stream that the peer has announced */
	uint64_t received;      /* messages of the peer, besides those of fake_arrive() */
	/* the peer's memory region, the target of our RDMA */
	uint8_t peer_memory[PEER_MEMORY];
};

/* Opens the wakeup queue and fills in the settings. fixture_start_device() calls this. */
void fixture_start_settings(struct fixture *fixture);

/* Starts the device without a connection. */
void fixture_start_device(struct fixture *fixture);

/* Returns what the passive side learns from the peer's connection request. */
struct request fixture_request(const struct fixture *fixture);

/* Creates the connection. */
void fixture_start_connection(struct fixture *fixture);

/* Starts the device and creates the connection. */
void fixture_start(struct fixture *fixture);

/* Calls rdma_connect() as verbs/dial.c does. Returns 0 or -errno. */
int fixture_connect(struct fixture *fixture);

/* Establishes the connection. The peer has sent its hello unless it is a tutorial program. */
void fixture_establish(struct fixture *fixture);

/* Starts and establishes, and sets *regions to all regions of the connection. */
#define FIXTURE_REGIONS 3
void fixture_start_regions(struct fixture *fixture, const struct region *regions[FIXTURE_REGIONS]);

/* Starts and establishes. Returns the peer's MSG_MR, which has not been received yet. */
struct message fixture_start_established(struct fixture *fixture, uint64_t peer_length);

/* Receives a message from the peer and waits until the CQ thread has processed it. */
void fixture_receive(struct fixture *fixture, const struct message *message);

/*
 * Receives as many empty messages in send mode as there are first receives left: exchange/send.c.
 */
void fixture_use_first_receives(struct fixture *fixture);

/* Receives the next bytes of the peer's stream, written or offered, and their announcement. */
void fixture_receive_data(struct fixture *fixture, const void *data, size_t size);

/* Completes the oldest send and waits until the CQ thread has processed the completion. */
void fixture_complete(struct fixture *fixture, enum ibv_wc_status status);

/* Completes all sends successfully, including those that are posted as a result. */
void fixture_complete_all(struct fixture *fixture);

/* Returns the index of the first send of this message type or opcode, -1 if there is none. */
int fixture_find(struct fixture *fixture, enum message_type type);
int fixture_find_rdma(struct fixture *fixture, enum ibv_wr_opcode opcode);

/* Returns the number of messages of this type that were sent. */
unsigned int fixture_count(struct fixture *fixture, enum message_type type);

/* Returns the message that this work request sent. */
struct message fixture_sent(struct fixture *fixture, unsigned int index);

/* Returns the last message of this type that was sent. Fails the test if there is none. */
struct message fixture_last(struct fixture *fixture, enum message_type type);

/* Returns the peer's MSG_MR for a region of length bytes, of which only PEER_MEMORY exist. */
struct message fixture_peer_region(struct fixture *fixture, uint64_t length);

/* Returns the peer's MSG_DONE for this data. */
struct message fixture_peer_done(const struct fixture *fixture, const void *data, size_t size);

/* Starts, exchanges both MSG_MR and completes the local one. */
void fixture_exchange_regions(struct fixture *fixture, uint64_t peer_length);

/* Runs fixture_exchange_regions() and goes on until the local text and MSG_DONE are posted. */
void fixture_start_data(struct fixture *fixture, uint64_t peer_length);

/* Continues until the data of both sides is delivered and the local verdict is posted. data and
 * size are the peer's stream. */
void fixture_exchange_data(struct fixture *fixture, const void *data, size_t size);

/* Disconnects unless already done, and waits until the connection is drained. */
void fixture_close(struct fixture *fixture, const struct failure *reason);

/* Returns the events that the main thread received from the CQ thread, the source and the sink. */
unsigned int fixture_events(struct fixture *fixture);

/* Frees everything and checks for leaked objects, threads and descriptors. */
void fixture_stop(struct fixture *fixture);

/* Closes the connection and frees everything. */
void fixture_end(struct fixture *fixture);

/* Ends a fixture whose exchange the CQ thread has aborted, after the abort is sent to the peer if
 * possible. Checks the outcome. */
void fixture_expect_failure(
	struct fixture *fixture, enum failure_kind kind, enum exit_status status);

/* The same for a protocol violation: the peer receives an abort, and the failure contains
 * `says`. */
void fixture_expect_violation(struct fixture *fixture, const char *says);

/* Teardown: restores standard output and standard error after a failed test. */
int fixture_forget(void **state);

#define with_fixture(test) cmocka_unit_test_teardown(test, fixture_forget)

/* Runs the test for each mode and role, and if tutorial is set also with a tutorial peer. */
void for_each_fixture(bool tutorial, void (*test)(struct fixture *fixture));

#endif

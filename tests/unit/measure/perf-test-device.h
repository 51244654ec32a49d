/* The fake device behind tests/unit/measure/perf-test-fixture.c: its queues and counters. */
#ifndef TESTS_UNIT_MEASURE_PERF_TEST_DEVICE_H
#define TESTS_UNIT_MEASURE_PERF_TEST_DEVICE_H

#include <pthread.h>

#include "tests/unit/measure/perf-test-fixture.h"

#define QUEUE_PAIRS_MAX (2 * TEST_QUEUE_PAIRS_MAX)
#define REQUESTS        256
#define COMPLETIONS     4096
#define INLINE_MAX      32

struct fixture_cq {
	struct ibv_cq cq;
	struct ibv_wc queue[COMPLETIONS];
	unsigned int added, polled, events; /* events: raised but not yet read */
	bool armed;
};

/* A completion channel with the only CQ at its end of the test. */
struct fixture_channel {
	struct ibv_comp_channel channel;
	struct fixture_cq queue;
};

struct fixture_send {
	struct ibv_send_wr request;
	struct ibv_sge piece;
	uint8_t bytes[COMMAND_MAX]; /* payload of a SEND or an inline WRITE */
};

struct fixture_qp {
	struct ibv_qp qp;
	struct fixture_qp *peer;
	uint32_t wanted_peer; /* its queue pair number */
	struct ibv_recv_wr receives[CONTROL_RECEIVES];
	struct ibv_sge pieces[CONTROL_RECEIVES];
	unsigned int receives_posted, received;
	struct fixture_send *sends; /* ring of REQUESTS entries */
	unsigned int posted, done, most;
	bool broken; /* in the error state */
};

/* The only device of a test. Both ends share it. */
extern struct perf_test_device {
	pthread_mutex_t lock;
	struct ibv_context context;
	struct ibv_device device;
	struct fixture_qp *queue_pairs[QUEUE_PAIRS_MAX];
	unsigned int queue_pair_count, keys;
	unsigned int resources; /* not yet freed, except queue pairs */
	unsigned int seed;      /* for the execution order */
	unsigned int operations, inlined, signaled;
	unsigned int lists, polls; /* calls that posted operations; calls to ibv_poll_cq() */
	unsigned int fault_after;
	enum fault fault;
	uint8_t *reply; /* where the peer's answer is written; NULL: no answer */
} perf_test_device;

/* Resets the counters and faults, and installs the device's operations. */
void perf_test_device_start(void);

#endif

/* The fake device behind tests/unit/measure/perf-test-fixture.c: its queues and counters. */
#ifndef TESTS_UNIT_MEASURE_PERF_TEST_DEVICE_H
#define TESTS_UNIT_MEASURE_PERF_TEST_DEVICE_H

#include <pthread.h>

#include "tests/unit/common/personality.h"
#include "tests/unit/measure/perf-test-fixture.h"

#define QUEUE_PAIRS_MAX (2 * TEST_QUEUE_PAIRS_MAX)
#define REQUESTS        256
#define RECEIVES        512
#define COMPLETIONS     4096
#define INLINE_MAX      32
#define MAX_SGE         8

/* Of the path that rdmacm resolved. */
#define TRAFFIC_CLASS 104

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
	bool done;
};

#define SHARED_RECEIVES 4096

struct fixture_srq {
	struct ibv_srq srq;
	struct ibv_recv_wr receives[SHARED_RECEIVES];
	struct ibv_sge pieces[SHARED_RECEIVES];
	unsigned int posted, taken, most;
	unsigned int limit, reached; /* armed if not 0; how often the limit was reached */
};

struct fixture_qp {
	struct ibv_qp qp;
	struct fixture_srq *shared; /* NULL: its receives are its own */
	struct fixture_qp *peer;
	uint8_t traffic_class; /* set by the program */
	struct ibv_recv_wr receives[RECEIVES];
	struct ibv_sge pieces[RECEIVES];
	unsigned int most_receives;
	unsigned int receives_posted, received;
	struct fixture_send *sends;      /* ring of REQUESTS entries */
	unsigned int posted, done, most; /* done: before the oldest that is outstanding */
	unsigned int most_pieces;        /* of a send */
	unsigned int reading;            /* outstanding READs */
	bool unread;                     /* the peer has not read the first message */
	bool broken;                     /* in the error state */
};

struct fixture_mr {
	struct ibv_mr mr;
	unsigned int access;
};

/* The only device of a test. Both ends share it. */
extern struct perf_test_device {
	pthread_mutex_t lock;
	struct ibv_context context;
	struct ibv_device device;
	struct fixture_qp *queue_pairs[QUEUE_PAIRS_MAX];
	unsigned int queue_pair_count, keys;
	unsigned int queue_pair_limit; /* most that can be created; 0: no limit */
	enum ibv_qp_type no_type;      /* of queue pairs; 0: it has all */
	bool no_memory;                /* registrations fail */
	unsigned int resources;        /* not yet freed, except queue pairs */
	_Atomic int reachable;         /* registered regions that the peer can access */
	unsigned int seed;             /* for the execution order */
	uint32_t send_size;            /* of the SENDs that are operations; 0: none is */
	unsigned int operations, inlined, signaled;
	unsigned int pieces;                /* of the operations */
	unsigned int starved;               /* requests that found no receive */
	unsigned int limits;                /* events of shared receive queues */
	unsigned int unreliable;            /* operations over UC and UD */
	unsigned int lose_every, lose_from; /* of them, from 1; 0: none */
	unsigned int repeat_every;          /* of them, from 1, which come twice */
	unsigned int hold_every;            /* which come after the next one */
	struct fixture_send *held;          /* one of these; NULL: none */
	unsigned int lost;                  /* of them, with those that found no receive */
	unsigned int lists, polls; /* calls that posted operations; calls to ibv_poll_cq() */
	unsigned int fault_after;
	enum fault fault;
	const struct personality *personality;
	unsigned int resets;          /* queue pairs whose connection was reset by modifying them */
	unsigned int timeouts;        /* calls to poll() that ended at their timeout */
	unsigned int reminders;       /* those after which a client writes 0 bytes */
	struct ibv_async_event event; /* of the port: raised but not yet read */
	uint8_t *reply;               /* where the peer's answer is written; NULL: no answer */
} perf_test_device;

/* Resets the counters and faults, and installs the device's operations with this personality. */
void perf_test_device_start(const struct personality *personality);

/* Moves a queue pair to the error state. Called with the lock. */
void perf_test_device_break(struct fixture_qp *qp);

/* Raises an asynchronous event of port 1. The previous one must have been read. */
void perf_test_device_raise(enum ibv_event_type type);

/*
 * The connection manager (perf-test-manager.c). Creates an id in the state after route resolution,
 * which uses the channel, if any.
 */
struct cm_channel *perf_test_manager_channel(void);
struct rdma_cm_id *perf_test_manager_id(struct cm_channel *channel);

/* Returns the request that the server receives after the client has called rdma_connect(). */
struct rdma_cm_event perf_test_manager_request(struct rdma_cm_id *client);

/* Waits until the server has accepted. Returns the event that the client receives. */
struct rdma_cm_event perf_test_manager_reply(struct rdma_cm_id *client);

#endif

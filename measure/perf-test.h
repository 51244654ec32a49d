/*
 * One end of a measurement: the queue pairs ("lanes") of a probe, and what they do for a plan
 * (protocol/test-parameters.h). The first lane is the probe's own queue pair, so that one needs nothing but rdmacm; the
 * others are made beside it and get its attributes. All share the probe's completion queues.
 *
 * WRITEs go from `private` into the peer's `offered`, READs from the peer's `offered` into `private`;
 * each lane has a part of its own of these, and in it the plan's slots, which it uses in turn.
 *
 * Where data is verified, or somebody has to be woken up, the ends tell each other how far they are in
 * notices: messages of 8 bytes. Every wait ends as those of the probe do. One thread at a time.
 */
#ifndef MEASURE_PERF_TEST_H
#define MEASURE_PERF_TEST_H

#include "control/endpoint.h"
#include "measure/histogram.h"
#include "measure/shared-state.h"
#include "protocol/test-parameters.h"

/* Operations that are posted with one call, at most. */
#define PERF_TEST_LIST 32

/* WRITEs of a latency that may not be complete, though their data has been seen. */
#define PERF_TEST_OUTSTANDING_MAX 32

/* Notices of a lane that may be under way. */
#define PERF_TEST_NOTICES 8

/* One queue pair, and how far it is. Numbers count operations of a run, from 0. */
struct test_queue_pair {
	struct ibv_qp *qp;
	uint64_t offset; /* of its slots in the memory */

	/* Of its own operations. */
	uint64_t posted, completed;
	uint64_t allowed; /* to verify: up to where the peer is ready */
	uint64_t told;    /* the same, the other way: up to where the peer was told */
	bool ended, over; /* it has told the peer of the end; the peer has confirmed it */

	/* Of the peer's, to verify. */
	uint64_t heard;  /* up to where the peer is */
	uint64_t served; /* checked, or made ready */
	uint64_t notices;
	bool last_heard, last_told;
};

struct perf_test {
	struct probe *probe;
	struct test_queue_pair queue_pairs[TEST_QUEUE_PAIRS_MAX];
	uint32_t queue_pair_count, depth;
	struct probe_memory notices; /* those that are sent, and those that are received */

	/* Of the run. */
	struct test_parameters parameters;
	bool initiates, serves, server;
	bool started;   /* both ends are ready */
	bool stopped;   /* no more operations are begun */
	bool told_end;  /* an order has come: the peer sees the run as over */
	uint32_t batch; /* operations that are posted together, if so many may be */
	uint64_t operations, wrong, wrong_offset;
	uint64_t last;      /* when the last of them was complete; 0: none is */
	uint64_t end;       /* when its time is up, in nanoseconds, as probe_now() has it */
	uint64_t keepalive; /* when the peer is to be told that we live, likewise */
	uint64_t glance;    /* when we look whether to stop, however busy we are */
	int64_t patience;   /* milliseconds of silence */
	struct test_shared *shared;
};

/*
 * Begins with a probe that is connected, and was prepared for queue pairs of that depth; it outlives the
 * bench. server: it is the server's end.
 */
void perf_test_init(struct perf_test *test, struct probe *probe, uint32_t depth, bool server);

/*
 * Makes so many lanes, of which the probe's own is one. Returns 0, or -1 with the probe's failure
 * recorded, like all functions below. ibv_create_qp(3).
 */
int perf_test_make_queue_pairs(struct perf_test *test, uint32_t count);

/* Writes the numbers of all lanes but the first. Returns their size in bytes. */
size_t perf_test_encode_numbers(const struct perf_test *test, uint8_t *text);

/* Connects them with those of the peer. ibv_modify_qp(3). */
int perf_test_connect_queue_pairs(struct perf_test *test, const void *text, size_t size);

/* Whether this end can carry the plan out. */
bool perf_test_can(const struct perf_test *test, const struct test_parameters *parameters);

/* Gets ready for a plan, before the peer may begin. No silence may be longer than `patience` ms. */
void perf_test_begin(
	struct perf_test *test, const struct test_parameters *parameters, int64_t patience);

/*
 * Carries the plan out at the client, and at the server its half of it, from which it returns when all is
 * done or the next order is here. The course has just begun; threads that measure together share it, each
 * with a bench of its own. *latency, which a server has not, gets how long the operations took.
 */
int perf_test_run(struct perf_test *test, struct test_shared *shared, struct test_result *result,
	struct histogram *latency);

/* Frees the lanes but the first, before the probe is closed. */
void perf_test_free(struct perf_test *test);

/* For measure/bandwidth.c and measure/latency.c, the two kinds of runs. */

/* Where a lane's operation or slot lies in `private` and `offered`. */
uint64_t perf_test_offset(
	const struct perf_test *test, const struct test_queue_pair *queue_pair, uint64_t number);

/* The pattern of an operation of that end's. */
uint64_t perf_test_seed(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, bool servers);

/* Completions that are taken at once. */
#define PERF_TEST_POLL 16

/*
 * Takes the completions of one queue. Returns how many there were, or -1, as `take` may for any of them.
 */
int perf_test_poll(struct perf_test *test, struct probe_queue *queue,
	int (*take)(struct perf_test *, const struct ibv_wc *));

/* Records that ibv_poll_cq(3) failed. */
int perf_test_poll_failed(struct perf_test *test);

/* Records that the peer has sent what means nothing now. */
int perf_test_unexpected(struct perf_test *test);

/* Sends a message of no bytes: the client's first one starts the server's half, others are signs of life. */
int perf_test_keepalive(struct perf_test *test);

/*
 * To be called now and then while all goes well, with the time: sees whether we are to stop or the peer
 * is gone, and tells a server that has nothing to do that we live. Returns 1 if that was due, 0, or -1.
 */
int perf_test_check_due(struct perf_test *test, uint64_t now);

/* Looks after everything else while it spins; `silence` is when the peer's has been too long. */
int perf_test_check_idle(struct perf_test *test, deadline_t silence);

/*
 * What a wr_id holds. That of an order or its answer is 0, and its completion may still be there when a
 * run begins: who sends one takes the next completion for it, which may be that of a notice before.
 */
enum perf_test_work {
	PERF_TEST_MESSAGE,
	PERF_TEST_OPERATION,
	PERF_TEST_NOTICE,
	PERF_TEST_KEEPALIVE,
};

uint64_t perf_test_wr_id(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	enum perf_test_work work, uint64_t number);
struct test_queue_pair *perf_test_queue_pair_of(struct perf_test *test, uint64_t wr_id);
enum perf_test_work perf_test_work_of(uint64_t wr_id);
uint64_t perf_test_number_of(uint64_t wr_id);

/*
 * Describes one operation of the run, on its piece of memory, which the request refers to; the caller
 * says whether it is signaled. ibv_post_send(3).
 */
void perf_test_describe(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, struct ibv_send_wr *request, struct ibv_sge *piece);

/* Posts a list of work requests. */
int perf_test_post(
	struct perf_test *test, struct test_queue_pair *queue_pair, struct ibv_send_wr *first);

/* A notice: a number, and two flags. */
struct notice {
	uint64_t number;
	bool of_initiator, last;
};

int perf_test_notify(
	struct perf_test *test, struct test_queue_pair *queue_pair, const struct notice *notice);

/*
 * Takes what a receive brought: a notice of that lane, and returns 1; or else keeps what is an order, and
 * forgets signs of life, and returns 0. -1 with the failure recorded.
 */
int perf_test_take_receive(struct perf_test *test, const struct ibv_wc *completion,
	struct notice *notice, struct test_queue_pair **queue_pair);

int perf_test_bandwidth(struct perf_test *test);
void perf_test_prepare_latency(struct perf_test *test);
int perf_test_latency(struct perf_test *test, struct histogram *latency);

#endif

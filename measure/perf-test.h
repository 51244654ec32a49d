/*
 * One end of a test of a diagnosis or a measurement (protocol/test-parameters.h), over a control
 * connection and its queue pairs. The first one is the connection's own, so that a test with one
 * queue pair needs nothing but rdmacm; the others are made beside it and get its attributes.
 *
 * WRITEs go from our `private` into the peer's `offered`, READs from the peer's `offered` into our
 * `private`. Each queue pair has a part of its own of these, divided into the slots of the
 * parameters, which its operations use in turn.
 *
 * Where data is verified, the ends say how far they are in notices, messages of 8 bytes. Every wait
 * ends as those of the control connection do. One thread at a time uses a test.
 */
#ifndef MEASURE_PERF_TEST_H
#define MEASURE_PERF_TEST_H

#include "control/control.h"
#include "measure/histogram.h"
#include "measure/shared-state.h"
#include "protocol/test-parameters.h"

/* The most operations that are posted with one call. */
#define PERF_TEST_LIST 32

/* WRITEs of a latency test that may be incomplete though their answers have come. */
#define PERF_TEST_OUTSTANDING_MAX 32

/*
 * How often a busy thread checks whether to stop, and a client that measures alone sends a
 * keepalive.
 */
#define PERF_TEST_CHECK_NS     UINT64_C(100000000)
#define PERF_TEST_KEEPALIVE_NS UINT64_C(1000000000)

/* One queue pair, and how far it is. Numbers count operations of a test, from 0. */
struct test_queue_pair {
	struct queue_pair *pair;
	uint64_t offset; /* of its slots in the memory */

	/* Of its own operations. */
	uint64_t posted, completed;
	uint64_t allowed;   /* to verify: how far the peer is ready */
	uint64_t announced; /* the other way: how far the peer knows that we are */
	bool ended, over;   /* it has announced the end; the peer has confirmed it */

	/* Of the peer's, to verify. */
	uint64_t received; /* how far the peer is; of a latency test the WRITEs that have come */
	uint64_t served;   /* compared, or made ready */
	bool peer_ended, confirmed;

	uint64_t notices; /* that were sent */
};

struct perf_test {
	struct control *control;
	struct test_queue_pair queue_pairs[TEST_QUEUE_PAIRS_MAX];
	uint32_t queue_pair_count, depth; /* none before perf_test_make_queue_pairs() */

	/* Of the test that runs. */
	struct test_parameters parameters;
	bool initiates, serves, server;
	bool started;      /* both ends are ready */
	bool stopped;      /* no more operations are begun */
	bool end_received; /* the client's next command has come */
	uint32_t batch;    /* operations that are posted together */
	uint64_t operations, wrong, wrong_offset;
	uint64_t last;       /* when the last operation completed; 0: none did */
	uint64_t end;        /* when its time is up, test_now() */
	uint64_t keepalive;  /* when the next one is due, likewise */
	uint64_t next_check; /* when to check whether to stop, however busy we are */
	int64_t timeout;     /* milliseconds that the peer may be silent */
	struct test_shared *shared;
	unsigned int kept;              /* receives that came before, and are not taken yet */
	struct completion_batch polled; /* completions, likewise */
};

/*
 * Begins with a connection that was prepared for queue pairs of that depth, and outlives the test.
 * server: this is the server's end.
 */
void perf_test_init(struct perf_test *test, struct control *control, uint32_t depth, bool server);

/*
 * Makes this number of queue pairs, the connection's own among them. Returns 0, or -1 with the
 * connection's failure recorded, like all functions below. ibv_create_qp(3).
 */
int perf_test_make_queue_pairs(struct perf_test *test, uint32_t count);

/* Writes the numbers of all queue pairs but the first. Returns their size in bytes. */
size_t perf_test_encode_numbers(const struct perf_test *test, uint8_t *text);

/* Connects them with those of the peer. ibv_modify_qp(3). */
int perf_test_connect_queue_pairs(struct perf_test *test, const void *text, size_t size);

/* Whether this end can carry the parameters out. */
bool perf_test_can(const struct perf_test *test, const struct test_parameters *parameters);

/* For the two kinds of tests. */

/* Where the data of an operation lies in `private` and `offered`. */
uint64_t perf_test_offset(
	const struct perf_test *test, const struct test_queue_pair *queue_pair, uint64_t number);

/* The seed of the pattern of an operation whose data the server, or the client, makes. */
uint64_t perf_test_seed(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, bool server);

/*
 * Polls the endpoint. Returns how many completions perf_test_next_completion() hands out now, or -1
 * with the failure recorded. The first are the receives that came before the test.
 */
int perf_test_poll(struct perf_test *test);

/* The next completion. Returns false after the last; to be called until then. */
bool perf_test_next_completion(struct perf_test *test, struct completion *completion);

/* Records that the peer has sent what means nothing now. */
int perf_test_unexpected(struct perf_test *test);

/*
 * Sends a message of no bytes: the client's first one starts the server's half, others are
 * keepalives.
 */
int perf_test_keepalive(struct perf_test *test);

/*
 * To be called with the time while all goes well: now and then checks whether to stop, and sends a
 * keepalive to a server that has nothing to do. Returns 1 if that was due, 0, or -1.
 */
int perf_test_check_due(struct perf_test *test, uint64_t now);

/*
 * Checks whether to stop while it spins. *deadline is when the peer has been silent for too long: 0
 * before the first check of a wait, which sets it.
 */
int perf_test_check_idle(struct perf_test *test, deadline_t *deadline);

/*
 * Describes one operation of the test, on its piece of memory, which the request refers to; the
 * caller says whether it is signaled. ibv_post_send(3).
 */
void perf_test_describe(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, struct ibv_send_wr *request, struct ibv_sge *sge);

/* Posts a list of work requests of one kind. */
int perf_test_post(struct perf_test *test, struct test_queue_pair *queue_pair,
	enum control_work kind, struct ibv_send_wr *first);

/* A notice: a number, and two flags. */
struct notice {
	uint64_t number;
	bool of_initiator, last;
};

int perf_test_notify(
	struct perf_test *test, struct test_queue_pair *queue_pair, const struct notice *notice);

/*
 * Takes a completed receive. Returns 1 for a notice; 0 for a command, which is kept, and for a
 * keepalive; or -1 with the failure recorded.
 */
int perf_test_take_receive(
	struct perf_test *test, const struct completion *completion, struct notice *notice);

/*
 * The two kinds: measure/bandwidth.c, measure/latency.c. *latency gets how long the operations
 * took.
 */
int bandwidth_run(struct perf_test *test);
void latency_prepare(struct perf_test *test);
int latency_run(struct perf_test *test, struct histogram *latency);

#endif

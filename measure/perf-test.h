/*
 * One end of a bandwidth or latency test (protocol/test-parameters.h) that a diagnosis or
 * measurement runs over a control connection and its queue pairs. The first queue pair is the
 * connection's own, so a test with one queue pair needs only rdmacm; the others are created with
 * its attributes.
 *
 * WRITEs copy the local region `private` to the remote region `offered`; READs copy the remote
 * `offered` to the local `private`, and atomic operations change the former and fetch into the
 * latter. Each queue pair uses its own part of these regions, divided into the number of slots in
 * the parameters; its operations use the slots in turn.
 *
 * If data is verified, the ends report their progress in notices, which are 8-byte messages. Waits
 * end under the same conditions as on the control connection. Only one thread at a time may use a
 * test.
 */
#ifndef MEASURE_PERF_TEST_H
#define MEASURE_PERF_TEST_H

#include "control/control.h"
#include "measure/histogram.h"
#include "measure/shared-counter.h"
#include "measure/shared-state.h"
#include "protocol/test-parameters.h"

/* Maximum number of operations posted with one call. */
#define PERF_TEST_LIST 32

/* WRITEs of a latency test that may be in flight although their replies have arrived. */
#define PERF_TEST_OUTSTANDING_MAX 32

/*
 * Intervals in nanoseconds at which a busy thread checks whether to stop, and at which the client
 * sends keepalives to an idle server.
 */
#define PERF_TEST_CHECK_NS     UINT64_C(100000000)
#define PERF_TEST_KEEPALIVE_NS UINT64_C(1000000000)

/* One queue pair and its progress, in operations since the start of the test. */
struct test_queue_pair {
	struct queue_pair *pair;
	uint64_t offset; /* of its slots in the regions */

	/* Operations that this end initiates. */
	uint64_t posted, completed;
	uint64_t allowed;   /* operations for which the peer is ready, if it says so */
	uint64_t announced; /* verifying: operations announced to the peer */
	bool ended, over;   /* end announced; end confirmed by the peer */

	/* Operations that the peer initiates, if they are verified or use up receives. */
	uint64_t received; /* announced by the peer, or arrived */
	uint64_t served;   /* checked, filled for the peer's READs, or permitted anew */
	bool peer_ended, confirmed;
	uint64_t seen; /* unreliable: a bit for each of the 64 before `served`, the last lowest */

	uint64_t next_ticket; /* of the shared counter: measure/atomics.h */
	uint64_t notices;     /* sent */

	/* First receives of either end that empty SENDs have used up (measure/receives.h). */
	unsigned int filled;  /* the peer's */
	unsigned int used_up; /* ours */
};

/* What both ends of an unreliable test know: measure/lossy.h. In operations of all queue pairs. */
struct lossy_state {
	struct test_queue_pair connection; /* for notices */
	uint64_t sent, arrived_there;      /* of this end */
	uint64_t peer_sent, arrived;       /* of the peer */
	bool told, confirmed;              /* the peer knows what was sent; what arrived is known */
	bool peer_told, replied;           /* the same, of the peer */
	uint64_t looked_at;                /* `arrived` at the last look for more */
	unsigned int looks;                /* in vain since then */
};

/* Numbers fetched from a counter: measure/atomics.h. */
struct tickets {
	uint64_t taken, sum, squares; /* how many; sums of them and of their squares, modulo 2^64 */
};

struct perf_test {
	struct control *control;
	struct test_queue_pair queue_pairs[TEST_QUEUE_PAIRS_MAX];
	uint32_t queue_pair_count, depth; /* 0 before perf_test_make_queue_pairs() */
	/*
	 * Endpoint index of the first of them: if they share receives or are unreliable, 1, because
	 * the connection's own queue pair is neither.
	 */
	unsigned int first;

	/* State of the running test. */
	struct test_parameters parameters;
	bool initiates, serves, server;
	bool started;      /* both ends are ready */
	bool stopped;      /* no more operations are posted */
	bool end_received; /* the client's next command has arrived */
	uint32_t batch;    /* operations posted as one list */
	uint64_t operations, wrong, wrong_offset;
	struct tickets tickets;
	uint64_t last;             /* time of the last completion; 0: none */
	uint64_t end;              /* end of the test, by test_now() */
	uint64_t keepalive_sent;   /* time when the last keepalive was sent; at first, the start */
	uint64_t keepalive_posted; /* sends posted on the first queue pair, including it */
	uint64_t next_check;       /* when a busy thread next checks whether to stop */
	int64_t timeout;           /* idle timeout of the peer, milliseconds */
	struct test_shared *shared;
	uint64_t answers[CONTROL_KEEPALIVES]; /* server: sends posted, after each of the last */
	uint64_t answered;                    /* number of answers */
	struct lossy_state lossy;
	struct counter_share share; /* server: the counter that it offers besides its region */
	uint64_t counter_address;   /* client: that counter, if the parameters name one */
	uint32_t counter_rkey;
	unsigned int kept; /* receives that completed before the test, unprocessed */
	void (*show)(
		void *context, uint64_t now); /* NULL, or called at each check and while idle */
	void *show_context;
	struct completion_batch polled; /* unprocessed completions */
};

/*
 * Initialises a test on a connection that was prepared for queue pairs of this depth and outlives
 * the test. `server` is true at the server's end.
 */
void perf_test_init(struct perf_test *test, struct control *control, uint32_t depth, bool server);

/*
 * Creates additional queue pairs up to this total, which includes the connection's own. Returns 0,
 * or -1 with the connection's failure recorded, like all functions below. ibv_create_qp(3).
 */
int perf_test_make_queue_pairs(struct perf_test *test, uint32_t count);

/* Encodes the numbers of all queue pairs except the first. Returns the size in bytes. */
size_t perf_test_encode_numbers(const struct perf_test *test, uint8_t *text);

/* Connects the queue pairs to the peer's, whose numbers are encoded in text. ibv_modify_qp(3). */
int perf_test_connect_queue_pairs(struct perf_test *test, const void *text, size_t size);

/* Functions for both kinds of tests. */

/* True if the test has no operations on this queue pair of the connection. */
static inline bool perf_test_is_other(const struct perf_test *test, const struct queue_pair *pair)
{
	return pair->index < test->first;
}

/* The test's queue pair of a completion. */
static inline struct test_queue_pair *perf_test_queue_pair(
	struct perf_test *test, const struct queue_pair *pair)
{
	return &test->queue_pairs[pair->index - test->first];
}

/* The offset of an operation's data in `private` and `offered`. */
uint64_t perf_test_offset(
	const struct perf_test *test, const struct test_queue_pair *queue_pair, uint64_t number);

/* The pattern seed of an operation's data, generated by the server or the client. */
uint64_t perf_test_seed(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, bool server);

/*
 * Polls the endpoint, and calls `take`, which returns 0 or -1 with the failure recorded, for each
 * completion until it fails. Receives that completed before the test come first. Returns the number
 * of completions, or -1.
 */
int perf_test_take_completed(
	struct perf_test *test, int (*take)(struct perf_test *, const struct completion *));

/* Records that the peer sent an unexpected message. */
int perf_test_unexpected(struct perf_test *test);

/*
 * Sends an empty message: the client's first message in a bandwidth test starts the server's half,
 * all others are keepalives, which the server answers with the same.
 */
int perf_test_send_empty(struct perf_test *test);

/* Takes an empty message at the server. Answers it if it is a keepalive. */
int perf_test_take_empty(struct perf_test *test);

/* Sends a keepalive, whose answer clears `unanswered` of the connection. At the client. */
int perf_test_ask(struct perf_test *test, uint64_t now);

/* Records that the peer does not answer in time. Returns -1. */
int perf_test_timed_out(struct perf_test *test);

/*
 * Call this regularly with the current time. Periodically checks whether to stop, and sends
 * keepalives to an idle server, which must answer within its timeout. Returns 1 if a check was due,
 * 0 if not, -1 on failure.
 */
int perf_test_check_due(struct perf_test *test, uint64_t now);

/*
 * Checks whether to stop while spinning. *deadline enforces the peer's idle timeout: the caller
 * sets it to 0 when a wait begins, and the first check initialises it.
 */
int perf_test_check_idle(struct perf_test *test, deadline_t *deadline);

/*
 * Fills in the work request of one operation and the pieces of its slot. The caller decides whether
 * it is signaled. ibv_post_send(3).
 */
void perf_test_describe(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, struct ibv_send_wr *request, struct ibv_sge pieces[TEST_SGE_MAX]);

/* Posts a list of work requests of one kind. */
int perf_test_post(struct perf_test *test, struct test_queue_pair *queue_pair,
	enum control_work kind, struct ibv_send_wr *first);

/* A notice: an operation count and two flags. */
struct notice {
	uint64_t number;
	bool of_initiator, last;
};

int perf_test_notify(
	struct perf_test *test, struct test_queue_pair *queue_pair, const struct notice *notice);

/*
 * Processes a completed receive. Returns 1 for a notice; 0 for a command, which is kept, and for a
 * keepalive; -1 with the failure recorded.
 */
int perf_test_take_receive(
	struct perf_test *test, const struct completion *completion, struct notice *notice);

/* The two kinds of tests: measure/{bandwidth,latency}.c. *latency receives the latencies. */
int bandwidth_run(struct perf_test *test);
void latency_prepare(struct perf_test *test);
int latency_run(struct perf_test *test, struct histogram *latency);

#endif

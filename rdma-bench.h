/*
 * One end of a measurement: the queue pairs ("lanes") of a probe, and what they do for a plan
 * (lib/plan.h). The first lane is the probe's own queue pair, so that one needs nothing but rdmacm; the
 * others are made beside it and get its attributes. All share the probe's completion queues.
 *
 * WRITEs go from `private` into the peer's `offered`, READs from the peer's `offered` into `private`;
 * each lane has a part of its own of these, and in it the plan's slots, which it uses in turn.
 *
 * Where data is verified, or somebody has to be woken up, the ends tell each other how far they are in
 * notices: messages of 8 bytes. Every wait ends as those of the probe do. One thread at a time.
 */
#ifndef RDMA_BENCH_H
#define RDMA_BENCH_H

#include "lib/course.h"
#include "lib/latency.h"
#include "lib/plan.h"
#include "rdma-probe.h"

/* Operations that are posted with one call, at most. */
#define BENCH_LIST 32

/* WRITEs of a latency that may not be complete, though their data has been seen. */
#define BENCH_UNDER_WAY 32

/* Notices of a lane that may be under way. */
#define BENCH_NOTICES 8

/* One queue pair, and how far it is. Numbers count operations of a run, from 0. */
struct lane {
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

struct bench {
	struct probe *probe;
	struct lane lanes[PLAN_QUEUE_PAIRS_MAX];
	uint32_t lane_count, depth;
	struct probe_memory notices; /* those that are sent, and those that are received */

	/* Of the run. */
	struct plan plan;
	bool initiates, serves, server;
	bool started;   /* both ends are ready */
	bool stopped;   /* no more operations are begun */
	bool told_end;  /* an order has come: the peer sees the run as over */
	uint32_t batch; /* operations that are posted together, if so many may be */
	uint64_t operations, wrong;
	uint64_t last;    /* when the last of them was complete; 0: none is */
	uint64_t end;     /* when its time is up, in nanoseconds, as probe_now() has it */
	uint64_t beat;    /* when the peer is to be told that we live, likewise */
	uint64_t glance;  /* when we look whether to stop, however busy we are */
	int64_t patience; /* milliseconds of silence */
	struct course *course;
};

/*
 * Begins with a probe that is connected, and was prepared for queue pairs of that depth; it outlives the
 * bench. server: it is the server's end.
 */
void bench_init(struct bench *bench, struct probe *probe, uint32_t depth, bool server);

/*
 * Makes so many lanes, of which the probe's own is one. Returns 0, or -1 with the probe's failure
 * recorded, like all functions below. ibv_create_qp(3).
 */
int bench_make_lanes(struct bench *bench, uint32_t count);

/* Writes the numbers of all lanes but the first. Returns their size in bytes. */
size_t bench_lanes_tell(const struct bench *bench, uint8_t *text);

/* Connects them with those of the peer. ibv_modify_qp(3). */
int bench_lanes_meet(struct bench *bench, const void *text, size_t size);

/* Whether this end can carry the plan out. */
bool bench_can(const struct bench *bench, const struct plan *plan);

/* Gets ready for a plan, before the peer may begin. No silence may be longer than `patience` ms. */
void bench_begin(struct bench *bench, const struct plan *plan, int64_t patience);

/*
 * Carries the plan out at the client, and at the server its half of it, from which it returns when all is
 * done or the next order is here. The course has just begun; threads that measure together share it, each
 * with a bench of its own. *latency, which a server has not, gets how long the operations took.
 */
int bench_run(
	struct bench *bench, struct course *course, struct tally *tally, struct latency *latency);

/* Frees the lanes but the first, before the probe is closed. */
void bench_free(struct bench *bench);

/* For rdma-run.c and rdma-pingpong.c, the two kinds of runs. */

/* Where a lane's operation or slot lies in `private` and `offered`. */
uint64_t bench_place(const struct bench *bench, const struct lane *lane, uint64_t number);

/* The pattern of an operation of that end's. */
uint64_t bench_seed(
	const struct bench *bench, const struct lane *lane, uint64_t number, bool servers);

/* Completions that are taken at once. */
#define BENCH_POLL 16

/*
 * Takes the completions of one queue. Returns how many there were, or -1, as `take` may for any of them.
 */
int bench_poll(struct bench *bench, struct probe_queue *queue,
	int (*take)(struct bench *, const struct ibv_wc *));

/* Records that ibv_poll_cq(3) failed. */
int bench_poll_failed(struct bench *bench);

/* Records that the peer has sent what means nothing now. */
int bench_misplaced(struct bench *bench);

/* Sends a message of no bytes: the client's first one starts the server's half, others are signs of life. */
int bench_beat(struct bench *bench);

/*
 * To be called now and then while all goes well, with the time: sees whether we are to stop or the peer
 * is gone, and tells a server that has nothing to do that we live. Returns 1 if that was due, 0, or -1.
 */
int bench_glance(struct bench *bench, uint64_t now);

/* Looks after everything else while it spins; `silence` is when the peer's has been too long. */
int bench_look(struct bench *bench, deadline_t silence);

/*
 * What a wr_id holds. That of an order or its answer is 0, and its completion may still be there when a
 * run begins: who sends one takes the next completion for it, which may be that of a notice before.
 */
enum bench_work {
	BENCH_MESSAGE,
	BENCH_OPERATION,
	BENCH_NOTICE,
	BENCH_BEAT,
};

uint64_t bench_wr_id(
	const struct bench *bench, const struct lane *lane, enum bench_work work, uint64_t number);
struct lane *bench_lane_of(struct bench *bench, uint64_t wr_id);
enum bench_work bench_work_of(uint64_t wr_id);
uint64_t bench_number_of(uint64_t wr_id);

/*
 * Describes one operation of the run, on its piece of memory, which the request refers to; the caller
 * says whether it is signaled. ibv_post_send(3).
 */
void bench_describe(const struct bench *bench, const struct lane *lane, uint64_t number,
	struct ibv_send_wr *request, struct ibv_sge *piece);

/* Posts a list of work requests. */
int bench_post(struct bench *bench, struct lane *lane, struct ibv_send_wr *first);

/* A notice: a number, and two flags. */
struct notice {
	uint64_t number;
	bool of_initiator, last;
};

int bench_notify(struct bench *bench, struct lane *lane, const struct notice *notice);

/*
 * Takes what a receive brought: a notice of that lane, and returns 1; or else keeps what is an order, and
 * forgets signs of life, and returns 0. -1 with the failure recorded.
 */
int bench_hear(struct bench *bench, const struct ibv_wc *completion, struct notice *notice,
	struct lane **lane);

int bench_bandwidth(struct bench *bench);
void bench_prepare_latency(struct bench *bench);
int bench_latency(struct bench *bench, struct latency *latency);

#endif

/*
 * Two ends of a measurement (rdma-bench.h) in one process, each on a thread of its own, on a made-up
 * device of the fewest verbs that they need. What is posted happens when somebody polls, now of the one
 * queue pair, now of another; a message waits for its receive.
 */
#ifndef BENCH_RIG_H
#define BENCH_RIG_H

#include "rdma-bench.h"
#include "unit.h"

/* What happens to one RDMA operation. */
enum mishap {
	NO_MISHAP,
	DAMAGED,   /* a bit of it is flipped */
	LOST,      /* it brings nothing, and is complete all the same */
	MISPLACED, /* its bytes are one byte off, round about */
	REFUSED,   /* it fails */
};

struct bench_end {
	struct probe probe;
	struct bench bench;
	struct tally tally; /* of the last run */
	int result;         /* of it */
	bool others_failed; /* other threads that have to do with it, of which there are none here */
};

struct bench_rig {
	struct bench_end client, server;
};

/* Makes both ends, with so many lanes of that depth, and bytes of memory. */
void bench_rig_start(struct bench_rig *rig, uint32_t queue_pairs, uint32_t depth, size_t memory);

/* The RDMA operation after so many others has that mishap. */
void bench_rig_mishap(unsigned int after, enum mishap mishap);

/* Whoever WRITEs gets the last byte of an answer there at once, and nothing else that was right. */
void bench_rig_answer(uint8_t *place);

/*
 * Carries the plan out at both ends, as the programs do: the client orders the end when its half is over,
 * and the server answers when its own is. Returns the client's result.
 */
int bench_rig_run(struct bench_rig *rig, const struct plan *plan, struct latency *latency);

/* One end alone: the other one never does anything. No silence is longer than 50 ms. */
int bench_rig_run_alone(struct bench_end *end, const struct plan *plan, struct latency *latency);

/* So many RDMA operations were posted, and so many work requests of any kind were inline. */
unsigned int bench_rig_operations(void);
unsigned int bench_rig_inline(void);

/* In so many calls, and so many of the RDMA operations were to tell of their completion. */
unsigned int bench_rig_lists(void);
unsigned int bench_rig_signaled(void);

/* So often was asked whether something was complete. */
unsigned int bench_rig_polls(void);

/* Frees all, and checks that nothing is left. */
void bench_rig_stop(struct bench_rig *rig);

#endif

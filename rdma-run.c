/*
 * A run that measures bandwidth: each lane has as many operations under way as the plan allows. The
 * server has to do something only if it is to do the same at the same time, or if data is verified:
 * then it makes what the client READs, or looks at what it has WRITTEN.
 */
#include <errno.h>
#include <string.h>

#include "lib/pattern.h"
#include "rdma-bench.h"

/* A spinning thread looks after everything else once in so many fruitless turns. */
#define SPINS 4096

/* Bytes that are posted together, at most, but for one operation that is larger. */
#define LIST_BYTES (256U << 10)

/* True if no more operations of this lane are to be posted. */
static bool is_posted(const struct bench *bench, const struct lane *lane)
{
	return bench->stopped || (bench->plan.operations && lane->posted == bench->plan.operations);
}

/* How many operations of this lane may be posted now. */
static uint64_t room(const struct bench *bench, const struct lane *lane)
{
	const struct plan *plan = &bench->plan;
	uint64_t may = plan->depth - (lane->posted - lane->completed);

	if (bench->stopped)
		return 0;
	if (plan->operations && may > plan->operations - lane->posted)
		may = plan->operations - lane->posted;
	if (plan->verify && may > lane->allowed - lane->posted)
		may = lane->allowed - lane->posted;
	return may;
}

/* Makes what an operation WRITEs, if somebody looks at it. */
static void fill(struct bench *bench, struct lane *lane, uint64_t number)
{
	const struct plan *plan = &bench->plan;

	if (plan->verify && !plan->reads)
		pattern_fill(bench->probe->private.start + bench_place(bench, lane, number),
			plan->size, bench_seed(bench, lane, number, bench->server));
}

/* Posts what may be posted, in one list of which the last is signaled. Returns how many, or -1. */
static int post_operations(struct bench *bench, struct lane *lane)
{
	struct ibv_send_wr requests[BENCH_LIST];
	struct ibv_sge pieces[BENCH_LIST];
	uint64_t may = room(bench, lane);
	unsigned int count = may < bench->batch ? (unsigned int)may : bench->batch;

	/* Few are not worth a call while others are under way. */
	if (count == 0 || (count < bench->batch && lane->posted > lane->completed &&
				  lane->posted + may != bench->plan.operations))
		return 0;
	for (unsigned int i = 0; i < count; i++) {
		fill(bench, lane, lane->posted + i);
		bench_describe(bench, lane, lane->posted + i, &requests[i], &pieces[i]);
		requests[i].next = &requests[i + 1];
	}
	requests[count - 1].next = NULL;
	requests[count - 1].send_flags |= IBV_SEND_SIGNALED;
	if (bench_post(bench, lane, requests))
		return -1;
	lane->posted += count;
	return (int)count;
}

/* Verified operations: how many of them are told together. */
static uint64_t half(const struct bench *bench)
{
	return bench->plan.slots > 1 ? bench->plan.slots / 2 : 1;
}

/*
 * To verify: tells the peer up to where we have WRITTEN, or have READ and looked at it, and at the end
 * that there is no more. Returns 1 if it did, 0, or -1.
 */
static int tell(struct bench *bench, struct lane *lane)
{
	uint64_t done = bench->plan.reads ? lane->completed : lane->posted;
	bool last = is_posted(bench, lane) && done == lane->posted;

	if (lane->ended || (done - lane->told < half(bench) && !last))
		return 0;
	lane->told = done;
	lane->ended = last;
	return bench_notify(bench, lane, &(struct notice){done, true, last}) ? -1 : 1;
}

/* Looks at one piece of the peer's data. */
static void check(struct bench *bench, struct lane *lane, const uint8_t *memory, uint64_t number,
	bool servers)
{
	uint32_t size = bench->plan.size;

	if (pattern_check(memory + bench_place(bench, lane, number), size,
		    bench_seed(bench, lane, number, servers)) < size)
		bench->wrong++;
}

/*
 * To verify: looks at what the peer has WRITTEN, or makes what it is to READ, and says so. Returns 1 if
 * there was something to do, 0, or -1.
 */
static int serve(struct bench *bench, struct lane *lane)
{
	const struct plan *plan = &bench->plan;
	uint8_t *memory = bench->probe->offered.start;
	uint64_t until = lane->heard + (plan->reads && !lane->last_heard ? plan->slots : 0);
	bool moved = lane->served < until;
	bool last = lane->last_heard && !lane->last_told;

	for (; lane->served < until; lane->served++)
		if (plan->reads)
			pattern_fill(memory + bench_place(bench, lane, lane->served), plan->size,
				bench_seed(bench, lane, lane->served, bench->server));
		else
			check(bench, lane, memory, lane->served, !bench->server);
	if (!moved && !last)
		return 0;
	lane->last_told = last;
	return bench_notify(bench, lane, &(struct notice){lane->served, false, last}) ? -1 : 1;
}

static int take_send(struct bench *bench, const struct ibv_wc *completion)
{
	struct lane *lane = bench_lane_of(bench, completion->wr_id);
	uint64_t before = lane->completed;

	if (completion->status != IBV_WC_SUCCESS)
		return probe_broke(bench->probe, &bench->probe->sends, completion);
	if (bench_work_of(completion->wr_id) != BENCH_OPERATION)
		return 0;
	lane->completed = bench_number_of(completion->wr_id) + 1;
	bench->operations += lane->completed - before;
	if (bench->plan.verify && bench->plan.reads)
		for (; before < lane->completed; before++)
			check(bench, lane, bench->probe->private.start, before, !bench->server);
	return 0;
}

/* Whether the peer can be as far as it says: not behind what it said before, nor ahead of what there is. */
static bool is_possible(
	const struct bench *bench, const struct lane *lane, const struct notice *notice)
{
	const struct plan *plan = &bench->plan;
	uint64_t before = notice->of_initiator ? lane->heard : lane->allowed, most;

	if (!plan->verify || lane >= bench->lanes + plan->queue_pairs)
		return false;
	if (!(notice->of_initiator ? bench->serves && !lane->last_heard
				   : bench->initiates && !lane->over))
		return false;
	/* An end is confirmed when it was told, and all before it has been looked at. */
	if (notice->last && !notice->of_initiator &&
		(!lane->ended || (!plan->reads && notice->number < lane->posted)))
		return false;
	if (notice->of_initiator)
		most = lane->served + (plan->reads ? 0 : plan->slots);
	else if (plan->reads)
		most = lane->completed + plan->slots;
	else {
		most = lane->posted;
		before -= plan->slots;
	}
	return notice->number <= most &&
	       (notice->number > before || (notice->last && notice->number == before));
}

static int take_receive(struct bench *bench, const struct ibv_wc *completion)
{
	struct notice notice;
	struct lane *lane;
	int heard = bench_hear(bench, completion, &notice, &lane);

	if (heard <= 0)
		return heard;
	if (!is_possible(bench, lane, &notice))
		return failure_set(&bench->probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE,
			-EPROTO, "notice", "it says that it is where it cannot be");
	if (notice.of_initiator) {
		lane->heard = notice.number;
		lane->last_heard |= notice.last;
	} else {
		lane->allowed = notice.number + (bench->plan.reads ? 0 : bench->plan.slots);
		lane->over |= notice.last;
	}
	return 0;
}

/* True if this lane has nothing more to do. */
static bool is_done(const struct bench *bench, const struct lane *lane)
{
	bool initiator =
		!bench->initiates || (lane->posted == lane->completed && is_posted(bench, lane) &&
					     (!bench->plan.verify || lane->over));

	return initiator && (!bench->serves || lane->last_told);
}

static bool all_done(const struct bench *bench)
{
	for (uint32_t i = 0; i < bench->plan.queue_pairs; i++)
		if (!is_done(bench, &bench->lanes[i]))
			return false;
	return true;
}

/* True if there is nothing more to do. Where the peer sees it so, nothing more is begun. */
static bool is_over(struct bench *bench)
{
	bench->stopped |= bench->told_end;
	return all_done(bench);
}

/* Does for each lane what can be done now. Returns how much that was, or -1. */
static int move(struct bench *bench)
{
	int moved = 0;

	for (uint32_t i = 0; i < bench->plan.queue_pairs; i++) {
		struct lane *lane = &bench->lanes[i];
		int posted = bench->initiates ? post_operations(bench, lane) : 0;
		int told = bench->initiates && bench->plan.verify ? tell(bench, lane) : 0;
		int served = bench->serves ? serve(bench, lane) : 0;

		if (posted < 0 || told < 0 || served < 0)
			return -1;
		moved += posted + told + served;
	}
	return moved;
}

/* Takes what has completed. Returns how much that was, or -1. */
static int take(struct bench *bench)
{
	struct course *course = bench->course;
	uint64_t before = bench->operations;
	int sent = bench_poll(bench, &bench->probe->sends, take_send);
	int received = sent < 0 ? -1 : bench_poll(bench, &bench->probe->receives, take_receive);
	uint64_t now;

	if (received < 0)
		return -1;
	if (sent + received == 0)
		return 0;
	now = probe_now();
	if (bench->operations > before) {
		course_note(course, now, (bench->operations - before) * bench->plan.size);
		bench->last = now;
	}
	bench->stopped |= now >= bench->end;
	if (atomic_load(&course->broken))
		return failure_set(&bench->probe->failure, FAILURE_INTERRUPTED, PHASE_EXCHANGE,
			ECANCELED, "thread", "another thread has failed");
	return bench_glance(bench, now) < 0 ? -1 : sent + received;
}

/* A quarter of the depth; but large operations need no company, and are to be told of soon. */
static uint32_t batch_of(const struct plan *plan)
{
	uint32_t batch = plan->depth / 4, fitting = LIST_BYTES / plan->size;

	if (batch > fitting)
		batch = fitting;
	if (batch > BENCH_LIST)
		batch = BENCH_LIST;
	return batch ? batch : 1;
}

int bench_bandwidth(struct bench *bench)
{
	deadline_t silence = 0; /* 0: something has just happened */
	unsigned int spins = 0;

	if (!bench->initiates && !bench->serves)
		return 0;
	bench->batch = batch_of(&bench->plan);
	if (!bench->server && bench_beat(bench))
		return -1;
	bench->started = !bench->server;
	while (!is_over(bench)) {
		int moved = bench->started ? move(bench) : 0, taken = moved < 0 ? -1 : take(bench);

		if (taken < 0)
			return -1;
		if (moved + taken > 0) {
			silence = 0;
			continue;
		}
		if (silence == 0)
			silence = deadline_in(bench->patience);
		if (bench->plan.wait == PLAN_EVENT
				? probe_idle(bench->probe, silence)
				: ++spins % SPINS == 0 && bench_look(bench, silence))
			return -1;
	}
	return 0;
}

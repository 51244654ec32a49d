/*
 * A run that measures latency: one operation, and the next when it is over. A READ is over when it is
 * complete. A WRITE is over when the peer, that has seen its data, has answered with one of its own: half
 * of that is the time of one way.
 *
 * Who spins sees data by its last byte, as adapters write in ascending order: the number of the operation
 * stands there. Who sleeps is woken by immediate data.
 */
#include <string.h>

#include "lib/pattern.h"
#include "rdma-bench.h"

/* Of how many WRITEs one is signaled, and how many may not be complete. */
#define SIGNALED  16
#define UNDER_WAY (2 * SIGNALED)

/* Who spins looks for an order once in so many turns, and after everything else once in so many. */
#define TURNS_ORDER 256
#define TURNS_LOOK  8192

/* The byte at the end of an operation's data, never that of the one before. */
static uint8_t mark_of(uint64_t number)
{
	return (uint8_t)(number + 1);
}

static uint32_t size_of_pattern(const struct bench *bench)
{
	return bench->plan.verify ? bench->plan.size - 1 : 0;
}

void bench_prepare_latency(struct bench *bench)
{
	struct probe *probe = bench->probe;

	/* What is READ has its pattern from the start. */
	if (bench->plan.reads)
		pattern_fill(probe->offered.start, bench->plan.size,
			bench_seed(bench, bench->lanes, 0, bench->server));
	else
		probe->offered.start[bench->plan.size - 1] = mark_of(UINT64_MAX);
}

static int take_send(struct bench *bench, const struct ibv_wc *completion)
{
	if (completion->status != IBV_WC_SUCCESS)
		return probe_broke(bench->probe, &bench->probe->sends, completion);
	if (bench_work_of(completion->wr_id) == BENCH_OPERATION)
		bench->lanes->completed = bench_number_of(completion->wr_id) + 1;
	return 0;
}

static int take_receive(struct bench *bench, const struct ibv_wc *completion)
{
	struct notice ignored;
	struct lane *lane;

	if (completion->status == IBV_WC_SUCCESS &&
		completion->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		bench->lanes->heard++;
		return probe_release(bench->probe, completion);
	}
	return bench_hear(bench, completion, &ignored, &lane) < 0 ? -1 : 0;
}

/* True if the peer's WRITE of that number is here. */
static bool is_here(const struct bench *bench, uint64_t number)
{
	const uint8_t *last = bench->probe->offered.start + bench->plan.size - 1;

	if (bench->plan.wait == PLAN_EVENT)
		return bench->lanes->heard > number;
	return __atomic_load_n(last, __ATOMIC_ACQUIRE) == mark_of(number);
}

static bool is_complete(const struct bench *bench, uint64_t number)
{
	return bench->lanes->completed > number;
}

/*
 * Waits until that is so for the operation of that number; or, at the server, until an order is here,
 * after which nothing comes.
 */
static int await(struct bench *bench, bool (*so)(const struct bench *, uint64_t), uint64_t number)
{
	bool spins = bench->plan.wait == PLAN_SPIN, sends = so == is_complete;
	deadline_t silence = 0;

	for (unsigned int turn = 1; !so(bench, number) && !bench->told_end; turn++) {
		int taken = 0;

		if ((sends || !spins) && bench_poll(bench, &bench->probe->sends, take_send) < 0)
			return -1;
		if (!spins || turn % TURNS_ORDER == 0)
			taken = bench_poll(bench, &bench->probe->receives, take_receive);
		if (taken < 0)
			return -1;
		if (so(bench, number))
			break;
		if (silence == 0 && (!spins || turn % TURNS_LOOK == 0))
			silence = deadline_in(bench->patience);
		if (!spins ? taken == 0 && probe_idle(bench->probe, silence)
			   : turn % TURNS_LOOK == 0 && bench_look(bench, silence))
			return -1;
	}
	return 0;
}

static int post(struct bench *bench, enum ibv_wr_opcode opcode, uint64_t number, bool signaled)
{
	const struct probe *probe = bench->probe;
	const struct plan *plan = &bench->plan;
	struct ibv_sge piece = {
		.addr = (uintptr_t)probe->private.start,
		.length = plan->size,
		.lkey = probe->private.mr->lkey,
	};
	struct ibv_send_wr request = {
		.wr_id = bench_wr_id(bench, bench->lanes, BENCH_OPERATION, number),
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags =
			(signaled ? IBV_SEND_SIGNALED : 0) |
			(!plan->reads && plan->size <= probe->inline_max ? IBV_SEND_INLINE : 0),
		.wr.rdma = {probe->peer_address, probe->peer_rkey},
	};

	bench->lanes->posted = number + 1;
	return bench_post(bench, bench->lanes, &request);
}

/* Makes the data of our WRITE. */
static void fill(struct bench *bench, uint64_t number)
{
	uint8_t *data = bench->probe->private.start;

	pattern_fill(data, size_of_pattern(bench),
		bench_seed(bench, bench->lanes, number, bench->server));
	data[bench->plan.size - 1] = mark_of(number);
}

static int write_once(struct bench *bench, uint64_t number)
{
	struct lane *lane = bench->lanes;
	bool wakes = bench->plan.wait == PLAN_EVENT;

	if (lane->posted - lane->completed >= UNDER_WAY &&
		await(bench, is_complete, lane->posted - UNDER_WAY))
		return -1;
	return post(bench, wakes ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, number,
		number % SIGNALED == SIGNALED - 1);
}

/* Looks at the data of the peer's WRITE. Its last byte may be here before the others. */
static int check_write(struct bench *bench, uint64_t number)
{
	uint64_t seed = bench_seed(bench, bench->lanes, number, !bench->server);
	uint32_t size = size_of_pattern(bench);
	deadline_t silence = 0;

	while (pattern_check(bench->probe->offered.start, size, seed) < size) {
		if (silence == 0)
			silence = deadline_in(bench->patience);
		if (bench_look(bench, silence))
			return -1;
	}
	return 0;
}

/* One WRITE there and one back. Its time, or 0 at the end, goes to *nanoseconds. */
static int ping(struct bench *bench, uint64_t number, uint64_t *nanoseconds)
{
	uint64_t start;

	fill(bench, number);
	start = bench_now();
	if (write_once(bench, number) || await(bench, is_here, number))
		return -1;
	*nanoseconds = (bench_now() - start) / 2;
	return bench->plan.verify ? check_write(bench, number) : 0;
}

/* One READ. */
static int read_once(struct bench *bench, uint64_t number, uint64_t *nanoseconds)
{
	uint64_t seed = bench_seed(bench, bench->lanes, 0, !bench->server), start;
	uint8_t *data = bench->probe->private.start;
	uint32_t size = bench->plan.size;

	if (bench->plan.verify)
		memset(data, 0, size);
	start = bench_now();
	if (post(bench, IBV_WR_RDMA_READ, number, true) || await(bench, is_complete, number))
		return -1;
	*nanoseconds = bench_now() - start;
	if (bench->plan.verify && pattern_check(data, size, seed) < size)
		bench->wrong++;
	return 0;
}

/* The server's half: answers each WRITE. */
static int echo(struct bench *bench)
{
	uint64_t number;

	for (number = 0;; number++) {
		if (await(bench, is_here, number))
			return -1;
		if (bench->told_end)
			return 0;
		if (bench->plan.verify && check_write(bench, number))
			return -1;
		fill(bench, number);
		if (write_once(bench, number))
			return -1;
		bench->operations++;
	}
}

int bench_latency(struct bench *bench, struct latency *latency)
{
	const struct plan *plan = &bench->plan;
	uint64_t nanoseconds;

	if (bench->server)
		return plan->reads ? 0 : echo(bench);
	while (!bench->stopped) {
		uint64_t number = bench->operations;

		if (plan->reads ? read_once(bench, number, &nanoseconds)
				: ping(bench, number, &nanoseconds))
			return -1;
		latency_add(latency, nanoseconds);
		bench->operations++;
		bench->stopped = bench->operations == plan->operations || bench_now() >= bench->end;
	}
	return 0;
}

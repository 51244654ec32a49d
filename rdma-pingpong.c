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

/* Of how many WRITEs one is signaled: of BENCH_UNDER_WAY one at least. */
#define SIGNALED UINT64_C(16)

/* Who spins looks for an order once in so many turns, and after everything else once in so many. */
#define TURNS_ORDER 256
#define TURNS_LOOK  8192

/* Answers between two looks at the clock. */
#define TURNS_GLANCE 64

/* When its last byte is here, the rest of a WRITE is within this time. */
#define SETTLED_NS UINT64_C(1000000000)

/* The byte at the end of an operation's data, never that of the one before. */
static uint8_t mark_of(uint64_t number)
{
	return (uint8_t)(number + 1);
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
	struct notice notice;
	struct lane *lane;
	int heard;

	if (completion->status == IBV_WC_SUCCESS && bench->plan.wait == PLAN_EVENT &&
		!bench->plan.reads && completion->opcode == IBV_WC_RECV_RDMA_WITH_IMM &&
		bench_lane_of(bench, completion->wr_id) == bench->lanes) {
		bench->lanes->heard++;
		return probe_release(bench->probe, completion);
	}
	heard = bench_hear(bench, completion, &notice, &lane);
	return heard > 0 ? bench_misplaced(bench) : heard;
}

/* True if the last byte is that of the peer's WRITE of that number. */
static bool is_marked(const struct bench *bench, uint64_t number)
{
	const uint8_t *last = bench->probe->offered.start + bench->plan.size - 1;

	return __atomic_load_n(last, __ATOMIC_ACQUIRE) == mark_of(number);
}

/* True if the peer's WRITE of that number is here. */
static bool is_here(const struct bench *bench, uint64_t number)
{
	if (bench->plan.wait == PLAN_EVENT)
		return bench->lanes->heard > number;
	return is_marked(bench, number);
}

static bool is_complete(const struct bench *bench, uint64_t number)
{
	return bench->lanes->completed > number;
}

/* Silence has lasted too long, or somebody wants us to stop; once in so many turns of who spins. */
static int look(struct bench *bench, deadline_t *silence)
{
	if (*silence == 0)
		*silence = deadline_in(bench->patience);
	return bench_look(bench, *silence);
}

/* Spins until the peer's WRITE of that number is here or, at the server, an order. */
static int spin_for_data(struct bench *bench, uint64_t number)
{
	deadline_t silence = 0;

	for (unsigned int turn = 1; !is_here(bench, number); turn++) {
		/* Why a WRITE failed is told by its own completion, not by the receives' flushing. */
		if (turn % TURNS_ORDER == 0 &&
			(bench_poll(bench, &bench->probe->sends, take_send) < 0 ||
				bench_poll(bench, &bench->probe->receives, take_receive) < 0))
			return -1;
		if (bench->told_end)
			return 0;
		if (turn % TURNS_LOOK == 0 && look(bench, &silence))
			return -1;
	}
	return 0;
}

/* Spins until the operation of that number is complete. */
static int spin_for_completion(struct bench *bench, uint64_t number)
{
	struct ibv_cq *cq = bench->probe->sends.cq;
	deadline_t silence = 0;
	struct ibv_wc completion;
	unsigned int turn = 0;

	while (!is_complete(bench, number)) {
		int count = ibv_poll_cq(cq, 1, &completion);

		if (count < 0)
			return bench_poll_failed(bench);
		if (count > 0 && take_send(bench, &completion))
			return -1;
		if (++turn % TURNS_LOOK == 0 && look(bench, &silence))
			return -1;
	}
	return 0;
}

/* Sleeps until either is so, or an order is here. */
static int sleep_for(
	struct bench *bench, bool (*so)(const struct bench *, uint64_t), uint64_t number)
{
	deadline_t silence = deadline_in(bench->patience);

	while (!so(bench, number) && !bench->told_end) {
		int sent = bench_poll(bench, &bench->probe->sends, take_send);
		int received =
			sent < 0 ? -1 : bench_poll(bench, &bench->probe->receives, take_receive);

		if (received < 0 || (sent + received == 0 && probe_idle(bench->probe, silence)))
			return -1;
	}
	return 0;
}

static int await_data(struct bench *bench, uint64_t number)
{
	return bench->plan.wait == PLAN_SPIN ? spin_for_data(bench, number)
					     : sleep_for(bench, is_here, number);
}

static int await_completion(struct bench *bench, uint64_t number)
{
	return bench->plan.wait == PLAN_SPIN ? spin_for_completion(bench, number)
					     : sleep_for(bench, is_complete, number);
}

/* The work request that all operations of a run are, but for number and signal. */
struct form {
	struct ibv_sge piece;
	struct ibv_send_wr request;
};

static int post(struct bench *bench, struct form *form, uint64_t number, bool signaled)
{
	form->request.wr_id = bench_wr_id(bench, bench->lanes, BENCH_OPERATION, number);
	form->request.send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	form->request.send_flags |= signaled ? IBV_SEND_SIGNALED : 0;
	bench->lanes->posted = number + 1;
	return bench_post(bench, bench->lanes, &form->request);
}

/* Makes the data of our WRITE. */
static void fill(struct bench *bench, uint64_t number)
{
	uint8_t *data = bench->probe->private.start;

	if (bench->plan.verify)
		pattern_fill(data, bench->plan.size - 1,
			bench_seed(bench, bench->lanes, number, bench->server));
	data[bench->plan.size - 1] = mark_of(number);
}

static int write_once(struct bench *bench, struct form *form, uint64_t number)
{
	const struct lane *lane = bench->lanes;

	if (lane->posted - lane->completed >= BENCH_UNDER_WAY &&
		await_completion(bench, lane->posted - BENCH_UNDER_WAY))
		return -1;
	return post(bench, form, number, number % SIGNALED == SIGNALED - 1);
}

/*
 * Looks at the data of the peer's WRITE. Its last byte may be here before the others, which then come
 * soon, or are damaged: of that we are sure so late that it is time for a look at everything else.
 */
static int check_write(struct bench *bench, uint64_t number)
{
	uint64_t seed = bench_seed(bench, bench->lanes, number, !bench->server);
	uint64_t end = probe_now() + (bench->plan.wait == PLAN_SPIN ? SETTLED_NS : 0);
	uint32_t size = bench->plan.size - 1;

	while (!is_marked(bench, number) ||
		pattern_check(bench->probe->offered.start, size, seed) < size)
		if (probe_now() >= end) {
			bench->wrong++;
			return bench_glance(bench, probe_now()) < 0 ? -1 : 0;
		}
	return 0;
}

/* One WRITE there and one back, which half of *end - start is then the time of one way. */
static int ping(struct bench *bench, struct form *form, uint64_t number, uint64_t *end)
{
	if (write_once(bench, form, number) || await_data(bench, number))
		return -1;
	*end = probe_now();
	return bench->plan.verify ? check_write(bench, number) : 0;
}

/* One READ. */
static int read_once(struct bench *bench, struct form *form, uint64_t number, uint64_t *end)
{
	const uint8_t *data = bench->probe->private.start;
	uint32_t size = bench->plan.size;

	if (post(bench, form, number, true) || await_completion(bench, number))
		return -1;
	*end = probe_now();
	if (bench->plan.verify &&
		pattern_check(data, size, bench_seed(bench, bench->lanes, 0, !bench->server)) <
			size)
		bench->wrong++;
	return 0;
}

/* What is READ is not to be what was there before. */
static void prepare(struct bench *bench, uint64_t number)
{
	if (!bench->plan.reads)
		fill(bench, number);
	else if (bench->plan.verify)
		memset(bench->probe->private.start, 0, bench->plan.size);
}

/* Waits for the last WRITE that is signaled: nothing of this run is to come back in another one. */
static int settle(struct bench *bench)
{
	uint64_t posted = bench->lanes->posted, signaled = posted - posted % SIGNALED;

	return signaled > 0 ? spin_for_completion(bench, signaled - 1) : 0;
}

/*
 * The server's half: answers each WRITE, also one that has come just before the order that ends the run.
 * That it comes shows that the one before has been read.
 */
static int echo(struct bench *bench, struct form *form)
{
	for (uint64_t number = 0;; number++) {
		if (await_data(bench, number))
			return -1;
		if (bench->told_end && !is_here(bench, number))
			return settle(bench);
		if (bench->plan.verify && check_write(bench, number))
			return -1;
		fill(bench, number);
		if (write_once(bench, form, number))
			return -1;
		bench->operations++;
		if (number % TURNS_GLANCE == 0 && bench_glance(bench, probe_now()) < 0)
			return -1;
	}
}

int bench_latency(struct bench *bench, struct latency *latency)
{
	const struct plan *plan = &bench->plan;
	uint64_t begin = bench->course->start, end;
	struct form form;
	int glanced;

	bench_describe(bench, bench->lanes, 0, &form.request, &form.piece);
	if (bench->server)
		return plan->reads ? 0 : echo(bench, &form);
	while (!bench->stopped) {
		uint64_t number = bench->operations;

		prepare(bench, number);
		/* What is done between two operations to verify them belongs to neither. */
		if (plan->verify || number == 0)
			begin = probe_now();
		if (plan->reads ? read_once(bench, &form, number, &end)
				: ping(bench, &form, number, &end))
			return -1;
		latency_add(latency, plan->reads ? end - begin : (end - begin) / 2);
		bench->operations++;
		glanced = bench_glance(bench, end);
		if (glanced < 0)
			return -1;
		begin = glanced ? probe_now() : end;
		bench->stopped = bench->operations == plan->operations || end >= bench->end;
	}
	return plan->reads ? 0 : settle(bench);
}

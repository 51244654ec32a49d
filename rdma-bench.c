#include <errno.h>
#include <string.h>
#include <time.h>

#include "lib/wire.h"
#include "rdma-bench.h"

/* Bytes of a notice, and where those of a lane lie: sent ones, then received ones. */
#define NOTICE_SIZE  8
#define LANE_NOTICES ((size_t)NOTICE_SIZE * (BENCH_NOTICES + PROBE_RECEIVES))

/* A queue pair number on the wire. */
#define NUMBER_SIZE 4

/* wr_id: the lane in the highest byte, what it is for in the next. */
#define LANE_SHIFT  56
#define WORK_SHIFT  48
#define NUMBER_MASK ((UINT64_C(1) << WORK_SHIFT) - 1)

/* How often who is busy looks after everything else, and who measures alone tells that it lives. */
#define GLANCE_NS UINT64_C(100000000)
#define BEAT_NS   UINT64_C(1000000000)

uint64_t bench_wr_id(
	const struct bench *bench, const struct lane *lane, enum bench_work work, uint64_t number)
{
	return (uint64_t)(lane - bench->lanes) << LANE_SHIFT | (uint64_t)work << WORK_SHIFT |
	       (number & NUMBER_MASK);
}

struct lane *bench_lane_of(struct bench *bench, uint64_t wr_id)
{
	return &bench->lanes[wr_id >> LANE_SHIFT];
}

enum bench_work bench_work_of(uint64_t wr_id)
{
	return (enum bench_work)(wr_id >> WORK_SHIFT & 0xff);
}

uint64_t bench_number_of(uint64_t wr_id)
{
	return wr_id & NUMBER_MASK;
}

static int call_failed(struct bench *bench, const char *call, int error)
{
	return failure_set(&bench->probe->failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, error, call,
		"%s", strerror(error));
}

void bench_init(struct bench *bench, struct probe *probe, uint32_t depth, bool server)
{
	*bench = (struct bench){.probe = probe, .server = server, .lane_count = 1, .depth = depth};
}

/* The memory of a lane's notices. */
static uint8_t *notices_of(const struct bench *bench, const struct lane *lane)
{
	return bench->notices.start + (size_t)(lane - bench->lanes) * LANE_NOTICES;
}

/* Posts a receive of a lane beyond the first, whose receives are the probe's. */
static int post_receive(struct bench *bench, struct lane *lane, uint64_t slot)
{
	struct ibv_sge piece = {
		.addr = (uintptr_t)notices_of(bench, lane) + NOTICE_SIZE * (BENCH_NOTICES + slot),
		.length = NOTICE_SIZE,
		.lkey = bench->notices.mr->lkey,
	};
	struct ibv_recv_wr *bad, request = {.wr_id = bench_wr_id(bench, lane, BENCH_NOTICE, slot),
					 .sg_list = &piece,
					 .num_sge = 1};
	int error = ibv_post_recv(lane->qp, &request, &bad);

	return error ? call_failed(bench, "ibv_post_recv", error) : 0;
}

/* Makes a queue pair like the probe's, and prepares it for a peer. */
static int make_lane(struct bench *bench, struct lane *lane)
{
	struct probe *probe = bench->probe;
	struct ibv_qp_attr attributes;
	struct ibv_qp_init_attr like;
	struct ibv_qp_init_attr wanted = probe_queue_pair(probe, bench->depth, probe->inline_max);
	int error = ibv_query_qp(probe->id->qp, &attributes,
		IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, &like);

	if (error)
		return call_failed(bench, "ibv_query_qp", error);
	lane->qp = ibv_create_qp(probe->pd, &wanted);
	if (!lane->qp)
		return call_failed(bench, "ibv_create_qp", errno);
	bench->lane_count++;
	attributes.qp_state = IBV_QPS_INIT;
	error = ibv_modify_qp(lane->qp, &attributes,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (error)
		return call_failed(bench, "ibv_modify_qp", error);
	for (uint64_t slot = 0; slot < PROBE_RECEIVES; slot++)
		if (post_receive(bench, lane, slot))
			return -1;
	return 0;
}

int bench_make_lanes(struct bench *bench, uint32_t count)
{
	if (probe_make_memory(
		    bench->probe, &bench->notices, count * LANE_NOTICES, IBV_ACCESS_LOCAL_WRITE))
		return -1;
	bench->lanes[0].qp = bench->probe->id->qp;
	while (bench->lane_count < count)
		if (make_lane(bench, &bench->lanes[bench->lane_count]))
			return -1;
	return 0;
}

size_t bench_lanes_tell(const struct bench *bench, uint8_t *text)
{
	for (uint32_t i = 1; i < bench->lane_count; i++)
		wire_put32(text + (size_t)NUMBER_SIZE * (i - 1), bench->lanes[i].qp->qp_num);
	return (size_t)NUMBER_SIZE * (bench->lane_count - 1);
}

/*
 * Takes a lane to work with that queue pair of the peer, by the way that the probe's has. Its own number
 * is the first packet sequence number, as good as any other. InfiniBand specification, volume 1, 10.3.1.
 */
static int connect_lane(struct bench *bench, struct lane *lane, uint32_t number)
{
	struct ibv_qp_attr attributes;
	struct ibv_qp_init_attr like;
	int error = ibv_query_qp(bench->probe->id->qp, &attributes,
		IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
			IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC,
		&like);

	if (error)
		return call_failed(bench, "ibv_query_qp", error);
	attributes.qp_state = IBV_QPS_RTR;
	attributes.dest_qp_num = number;
	attributes.rq_psn = number & 0xffffff;
	error = ibv_modify_qp(lane->qp, &attributes,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (error)
		return call_failed(bench, "ibv_modify_qp", error);
	attributes.qp_state = IBV_QPS_RTS;
	attributes.sq_psn = lane->qp->qp_num & 0xffffff;
	error = ibv_modify_qp(lane->qp, &attributes,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return error ? call_failed(bench, "ibv_modify_qp", error) : 0;
}

int bench_lanes_meet(struct bench *bench, const void *text, size_t size)
{
	const uint8_t *numbers = text;

	if (size != (size_t)NUMBER_SIZE * (bench->lane_count - 1))
		return failure_set(&bench->probe->failure, FAILURE_PROTOCOL, PHASE_QUEUE_PAIR,
			-EPROTO, "ORDER_LANES", "it has another number of queue pairs");
	for (uint32_t i = 1; i < bench->lane_count; i++)
		if (connect_lane(bench, &bench->lanes[i],
			    wire_get32(numbers + (size_t)NUMBER_SIZE * (i - 1))))
			return -1;
	return 0;
}

void bench_free(struct bench *bench)
{
	for (uint32_t i = 1; i < bench->lane_count; i++)
		ibv_destroy_qp(bench->lanes[i].qp);
	bench->lane_count = 1;
	probe_free_memory(&bench->notices);
}

bool bench_can(const struct bench *bench, const struct plan *plan)
{
	if (plan->kind == PLAN_LATENCY && !plan->reads && bench->depth < BENCH_UNDER_WAY)
		return false;
	return bench->notices.mr && plan->queue_pairs <= bench->lane_count &&
	       plan->depth <= bench->depth && plan_memory(plan) <= bench->probe->private.size &&
	       plan_memory(plan) <= bench->probe->peer_length;
}

uint64_t bench_place(const struct bench *bench, const struct lane *lane, uint64_t number)
{
	return lane->offset + number % bench->plan.slots * bench->plan.size;
}

uint64_t bench_seed(
	const struct bench *bench, const struct lane *lane, uint64_t number, bool servers)
{
	return (bench->plan.seed ^ (uint64_t)servers << 63) +
	       ((uint64_t)(lane - bench->lanes) << 40) + number;
}

/* Who sleeps until the peer's data is here is woken by immediate data. */
static enum ibv_wr_opcode opcode_of(const struct plan *plan)
{
	if (plan->reads)
		return IBV_WR_RDMA_READ;
	return plan->kind == PLAN_LATENCY && plan->wait == PLAN_EVENT ? IBV_WR_RDMA_WRITE_WITH_IMM
								      : IBV_WR_RDMA_WRITE;
}

void bench_describe(const struct bench *bench, const struct lane *lane, uint64_t number,
	struct ibv_send_wr *request, struct ibv_sge *piece)
{
	const struct plan *plan = &bench->plan;
	const struct probe *probe = bench->probe;
	uint64_t place = bench_place(bench, lane, number);

	*piece = (struct ibv_sge){
		.addr = (uintptr_t)probe->private.start + place,
		.length = plan->size,
		.lkey = probe->private.mr->lkey,
	};
	*request = (struct ibv_send_wr){
		.wr_id = bench_wr_id(bench, lane, BENCH_OPERATION, number),
		.sg_list = piece,
		.num_sge = 1,
		.opcode = opcode_of(plan),
		.send_flags = !plan->reads && plan->size <= probe->inline_max ? IBV_SEND_INLINE : 0,
		.wr.rdma = {probe->peer_address + place, probe->peer_rkey},
	};
}

int bench_post(struct bench *bench, struct lane *lane, struct ibv_send_wr *first)
{
	struct ibv_send_wr *bad;
	int error = ibv_post_send(lane->qp, first, &bad);

	return error ? failure_set(&bench->probe->failure, FAILURE_ERRNO, PHASE_EXCHANGE, error,
			       "ibv_post_send", "%s", strerror(error))
		     : 0;
}

int bench_notify(struct bench *bench, struct lane *lane, const struct notice *notice)
{
	uint8_t *place = notices_of(bench, lane) + NOTICE_SIZE * (lane->notices % BENCH_NOTICES);
	struct ibv_sge piece = {
		.addr = (uintptr_t)place, .length = NOTICE_SIZE, .lkey = bench->notices.mr->lkey};
	struct ibv_send_wr request = {
		.wr_id = bench_wr_id(bench, lane, BENCH_NOTICE, lane->notices),
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	lane->notices++;
	wire_put64(place, notice->number << 2 | (uint64_t)notice->of_initiator << 1 | notice->last);
	return bench_post(bench, lane, &request);
}

int bench_beat(struct bench *bench)
{
	struct ibv_send_wr sign = {
		.wr_id = bench_wr_id(bench, bench->lanes, BENCH_BEAT, 0),
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return bench_post(bench, bench->lanes, &sign);
}

/*
 * True if the server has nothing to do in this run, or may be done with its half before us: it would take
 * us for dead.
 */
static bool is_passive(const struct bench *bench)
{
	const struct plan *plan = &bench->plan;

	if (bench->server)
		return false;
	return plan->kind == PLAN_LATENCY ? plan->reads : !plan->verify;
}

int bench_glance(struct bench *bench, uint64_t now)
{
	if (now < bench->glance)
		return 0;
	bench->glance = now + GLANCE_NS;
	if (now >= bench->beat && is_passive(bench)) {
		bench->beat = now + BEAT_NS;
		if (bench_beat(bench))
			return -1;
	}
	return probe_look(bench->probe) ? -1 : 1;
}

static void read_notice(struct notice *notice, const void *message)
{
	uint64_t number = wire_get64(message);

	*notice = (struct notice){number >> 2, number >> 1 & 1, number & 1};
}

int bench_misplaced(struct bench *bench)
{
	return failure_set(&bench->probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
		"ibv_poll_cq", "it sent something that means nothing here");
}

/* The first lane takes the probe's messages, too: of the client orders, and signs of life. */
static int hear_on_first(
	struct bench *bench, const struct ibv_wc *completion, struct notice *notice)
{
	struct probe *probe = bench->probe;

	if (completion->byte_len == NOTICE_SIZE) {
		read_notice(notice, probe_message(probe, completion));
		return probe_release(probe, completion) ? -1 : 1;
	}
	if (!bench->server || probe->has_kept)
		return bench_misplaced(bench);
	if (completion->byte_len == 0) {
		bench->started = true;
		return probe_release(probe, completion) ? -1 : 0;
	}
	probe->kept = *completion;
	probe->has_kept = bench->told_end = true;
	return 0;
}

int bench_hear(struct bench *bench, const struct ibv_wc *completion, struct notice *notice,
	struct lane **lane)
{
	uint64_t slot = bench_number_of(completion->wr_id);

	*lane = bench_lane_of(bench, completion->wr_id);
	if (completion->status != IBV_WC_SUCCESS)
		return probe_broke(bench->probe, &bench->probe->receives, completion);
	/* The length of immediate data is that of its WRITE. */
	if (completion->opcode != IBV_WC_RECV)
		return bench_misplaced(bench);
	if (*lane == bench->lanes)
		return hear_on_first(bench, completion, notice);
	if (completion->byte_len != NOTICE_SIZE)
		return bench_misplaced(bench);
	read_notice(notice, notices_of(bench, *lane) + NOTICE_SIZE * (BENCH_NOTICES + slot));
	return post_receive(bench, *lane, slot) ? -1 : 1;
}

int bench_poll_failed(struct bench *bench)
{
	return failure_set(&bench->probe->failure, FAILURE_ERRNO, PHASE_EXCHANGE, EIO,
		"ibv_poll_cq", "%s", strerror(EIO));
}

int bench_poll(struct bench *bench, struct probe_queue *queue,
	int (*take)(struct bench *, const struct ibv_wc *))
{
	struct ibv_wc completions[BENCH_POLL];
	int count = ibv_poll_cq(queue->cq, BENCH_POLL, completions);

	if (count < 0)
		return bench_poll_failed(bench);
	for (int i = 0; i < count; i++)
		if (take(bench, &completions[i]))
			return -1;
	return count;
}

int bench_look(struct bench *bench, deadline_t silence)
{
	if (deadline_left(silence) == 0)
		return failure_set(&bench->probe->failure, FAILURE_DEADLINE, PHASE_EXCHANGE,
			CODE_DIAGNOSIS, "poll", "");
	return probe_look(bench->probe);
}

static void begin_lanes(struct bench *bench)
{
	const struct plan *plan = &bench->plan;

	for (uint32_t i = 0; i < plan->queue_pairs; i++) {
		struct lane *lane = &bench->lanes[i];

		*lane = (struct lane){
			.qp = lane->qp,
			.offset = (uint64_t)i * plan->slots * plan->size,
			.notices = lane->notices,
			/* What we WRITE into is free at first; what we READ has to be made. */
			.allowed = plan->reads ? 0 : plan->slots,
		};
	}
}

void bench_begin(struct bench *bench, const struct plan *plan, int64_t patience)
{
	bench->plan = *plan;
	bench->initiates = !bench->server || plan->both_ways;
	bench->serves = plan->verify && (bench->server || plan->both_ways);
	bench->started = bench->stopped = bench->told_end = false;
	bench->operations = bench->wrong = bench->last = 0;
	bench->patience = patience;
	begin_lanes(bench);
	if (plan->kind == PLAN_LATENCY)
		bench_prepare_latency(bench);
}

static uint64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int bench_run(
	struct bench *bench, struct course *course, struct tally *tally, struct latency *latency)
{
	uint64_t cpu = cpu_now();
	struct intervals intervals;
	int result;

	bench->course = course;
	bench->end = bench->plan.operations
			     ? UINT64_MAX
			     : course->start + (uint64_t)bench->plan.milliseconds * 1000000;
	bench->glance = course->start + GLANCE_NS;
	bench->beat = course->start + BEAT_NS;
	result = bench->plan.kind == PLAN_LATENCY ? bench_latency(bench, latency)
						  : bench_bandwidth(bench);
	intervals = course_intervals(course);
	*tally = (struct tally){
		.operations = bench->operations,
		.bytes = bench->operations * bench->plan.size,
		/* What the peer still has to do after the last one, to verify, is not our time. */
		.nanoseconds = (bench->plan.operations && bench->last ? bench->last : probe_now()) -
			       course->start,
		.cpu_nanoseconds = cpu_now() - cpu,
		.worst = intervals.worst,
		.best = intervals.best,
		.wrong = bench->wrong,
	};
	return result;
}

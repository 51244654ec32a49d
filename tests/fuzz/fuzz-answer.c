/*
 * The server's half of a diagnosis or a measurement (rdma-answer.c), with a client that orders anything.
 * In the place of the connection (rdma-probe.h) stands one that takes orders from the input and checks
 * what is done because of them, and in that of the runs (rdma-bench.h) one that checks what is run; the
 * linker lets the thread run at once (ld(1), --wrap).
 */
#include <errno.h>

#include "fuzz.h"
#include "lib/pattern.h"
#include "lib/worker.h"
#include "rdma-answer.h"
#include "rdma-bench.h"
#include "rdma-probe.h"

/* The longest run that may be ordered, in milliseconds. */
#define RUN_MAX 5000

/* So many orders are enough of one input: those of a MiB take their time. */
#define ORDERS_MAX 8

static struct fuzz_input input;
static struct order last; /* that was given */
static char last_text[ORDER_TEXT_MAX];
static bool unanswered, sensible, damaged;
static bool starved, broken; /* there is no more memory; what is tried now breaks the connection */
static uint32_t queue_pairs, depth; /* that were asked for */
static bool gone;                   /* by that */
static bool lanes, due;             /* there are more queue pairs; a run is to follow the answer */
static struct plan plan;            /* of the run */
static struct tally tally;          /* of the last one */
static bool measures;               /* else it is a diagnosis */
static bool with_secret, right, opened; /* there is one; the client's proof is; our memory is */
static uint32_t region;                 /* bytes that the client offers */
static uint32_t moved, moved_at;
static uint8_t offered[ORDER_REGION_MAX], private[ORDER_REGION_MAX];
static struct ibv_mr offered_mr = {.addr = offered, .length = sizeof(offered), .rkey = 7};

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __wrap_worker_start(struct worker *worker, const char *name, void (*run)(void *argument),
	void *argument, const struct worker_listener *listener);

int __wrap_worker_start(struct worker *worker, const char *name, void (*run)(void *argument),
	void *argument, const struct worker_listener *listener)
{
	(void)name;
	worker->listener = listener;
	run(argument);
	listener->ended(listener->about);
	return 0;
}

void __wrap_secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE]);

/* The same each time, so that a run can be repeated. */
void __wrap_secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE])
{
	memset(nonce, 'n', SECRET_NONCE_SIZE);
}

/* Nobody is complained of but a stranger. */
void __wrap_output_error(const struct output *output, const char *format, ...);

void __wrap_output_error(const struct output *output, const char *format, ...)
{
	fuzz_check(output && format && with_secret && !opened && last.number == 1);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* The connection. */

void probe_init(struct probe *probe, struct rdma_event_channel *events, struct rdma_cm_id *id,
	const struct sockaddr *peer, const struct secret *secret, enum secret_role role)
{
	fuzz_check(peer && role == SECRET_SERVER);
	*probe = (struct probe){.events = events, .id = id, .stop_fd = -1};
	handshake_init(&probe->handshake, secret, role);
}

static void give_memory(struct probe *probe, size_t size)
{
	probe->offered = (struct probe_memory){offered, size, &offered_mr};
	probe->private = (struct probe_memory){private, size, NULL};
}

int probe_prepare(struct probe *probe, uint32_t wanted, uint32_t deep)
{
	fuzz_check(wanted == queue_pairs && deep == depth);
	give_memory(probe, ORDER_REGION_MIN);
	return 0;
}

/* What ends the connection, and is nobody's fault. */
static int go_away(struct probe *probe)
{
	probe->disconnected = gone = true;
	return -1;
}

int probe_enlarge(struct probe *probe, size_t size)
{
	fuzz_check(sensible && last.type == ORDER_REGION && size == last.length);
	starved = broken && size > probe->private.size;
	if (starved)
		return go_away(probe);
	if (size > probe->private.size)
		give_memory(probe, size);
	return 0;
}

int probe_await_event(struct probe *probe, enum rdma_cm_event_type wanted, enum phase phase,
	deadline_t deadline, struct event_copy *copy)
{
	(void)phase;
	(void)copy;
	fuzz_check(wanted == RDMA_CM_EVENT_ESTABLISHED && probe->connected);
	fuzz_check(deadline > deadline_now());
	return 0;
}

/* A size that is at some limit, or any; few are large, as each byte of them is touched. */
static uint32_t read_size(void)
{
	static const uint32_t limits[] = {0, 1, 64, ORDER_REGION_MIN, ORDER_REGION_MIN + 1,
		ORDER_REGION_MAX, ORDER_REGION_MAX + 1, UINT32_MAX};
	uint8_t which = fuzz_byte(&input);

	return which < FUZZ_COUNT(limits) ? limits[which] : (uint32_t)fuzz_number(&input, 2);
}

/* Reads a plan that is possible by its text, or nearly so. */
static void read_plan(uint8_t text[PLAN_SIZE])
{
	uint8_t how = fuzz_byte(&input);
	struct plan some = {
		.kind = how & 1,
		.wait = how >> 1 & 1,
		.reads = how & 4,
		.both_ways = how & 8,
		.verify = how & 16,
		.size = read_size(),
		.queue_pairs = fuzz_byte(&input),
		.depth = (uint32_t)fuzz_number(&input, 2),
		.slots = fuzz_byte(&input),
		.operations = how & 32 ? fuzz_byte(&input) : 0,
		.milliseconds = how & 64 ? fuzz_byte(&input) : 0,
		.seed = how,
	};

	plan_encode(&some, text);
}

/* What comes with an order: nothing, a plan, numbers of queue pairs, or any bytes. */
static size_t read_text(enum order_type type, char text[ORDER_TEXT_MAX])
{
	uint8_t how = fuzz_byte(&input);
	size_t size = how;

	if (type == ORDER_BEGIN && how >= 128) {
		read_plan((uint8_t *)text);
		return PLAN_SIZE;
	}
	if (type == ORDER_LANES && how >= 128)
		size = (size_t)4 * (queue_pairs - 1);
	memset(text, 0, ORDER_TEXT_MAX);
	fuzz_bytes(&input, text, size);
	return size;
}

/* What may be asked of a server: rdma-answer.c says it in its own words. */
static bool is_sensible(const struct probe *probe, const struct order *order)
{
	if (with_secret && !opened)
		return order->type == ORDER_PROOF && !order->answer && right;
	if (order->answer || order->type == ORDER_PROOF || order->size > probe->private.size)
		return false;
	/* In a measurement: the memory first, and the queue pairs once. */
	if (order->type == ORDER_LANES)
		return measures && !lanes;
	if (order->type == ORDER_END)
		return measures;
	if (order->type == ORDER_REGION)
		return measures ? !lanes : order->length <= ORDER_REGION_MIN;
	/* What bench_can() says is what is found out. */
	if (order->type == ORDER_BEGIN)
		return plan_decode(&plan, order->text, order->text_size) == 0 && lanes && !broken &&
		       measures;
	if (order->type == ORDER_RUN && order->milliseconds > RUN_MAX)
		return false;
	if (order->type == ORDER_WRITE || order->type == ORDER_READ || order->type == ORDER_RUN)
		return order->size > 0 && order->size <= region;
	return true;
}

int probe_receive(struct probe *probe, struct order *message, deadline_t deadline)
{
	static uint8_t bytes[ORDER_MAX];
	struct order order = {.type = fuzz_byte(&input) % ORDER_TYPES, .text = last_text};
	uint8_t how = fuzz_byte(&input);

	/* What was to be run has been. */
	fuzz_check(!unanswered && !due && !gone && deadline > deadline_now());
	/* After a wrong proof nothing is heard. */
	fuzz_check(!with_secret || opened || last.number == 0);
	order.answer = (how & 7) == 7;
	order.status = how >> 3 & 3;
	order.number = last.number + 1;
	order.size = read_size();
	order.seed = fuzz_byte(&input);
	order.length = order.type == ORDER_REGION ? read_size() : 0;
	order.address = fuzz_number(&input, how & 0x20 ? 8 : 1);
	order.milliseconds = (uint32_t)fuzz_number(&input, 2);
	order.text_size = (uint16_t)read_text(order.type, last_text);
	damaged = broken = how & 0x40;
	right = how & 0x80;
	moved = 0;
	probe->disconnected = input.left == 0 || order.number > ORDERS_MAX ||
			      order_decode(message, bytes, order_encode(&order, bytes));
	if (probe->disconnected)
		return -1;
	last = *message;
	sensible = is_sensible(probe, &last);
	unanswered = true;
	return 0;
}

bool probe_is_proved(const struct probe *probe, const struct order *order)
{
	fuzz_check(probe->handshake.secret && !opened && order->number == 1);
	return order->type == ORDER_PROOF && right;
}

int probe_open(struct probe *probe)
{
	fuzz_check(probe->handshake.secret && sensible && !opened);
	opened = true;
	return 0;
}

void probe_prove(const struct probe *probe, struct order *order, uint8_t text[SECRET_PROOF_SIZE])
{
	fuzz_check(probe->handshake.secret && opened && order->type == ORDER_PROOF);
	memset(text, 'p', SECRET_PROOF_SIZE);
	order->text = (char *)text;
	order->text_size = SECRET_PROOF_SIZE;
}

void probe_meet(struct probe *probe, const struct order *order)
{
	fuzz_check(sensible && order->type == ORDER_REGION);
	probe->peer_length = region = order->length;
}

void probe_tell_region(const struct probe *probe, struct order *order)
{
	order->address = (uintptr_t)probe->offered.start;
	order->length = (uint32_t)probe->offered.size;
	order->rkey = probe->offered.mr->rkey;
}

/* The runs. */

void bench_init(struct bench *bench, struct probe *probe, uint32_t deep, bool server)
{
	fuzz_check(server && deep == depth);
	*bench = (struct bench){.probe = probe, .lane_count = 1, .depth = deep};
}

int bench_make_lanes(struct bench *bench, uint32_t count)
{
	fuzz_check(sensible && last.type == ORDER_LANES && !lanes && count == queue_pairs);
	if (broken)
		return go_away(bench->probe);
	lanes = true;
	bench->notices.start = private; /* of any kind */
	bench->lane_count = count;
	return 0;
}

int bench_lanes_meet(struct bench *bench, const void *text, size_t size)
{
	fuzz_check(sensible && last.type == ORDER_LANES && lanes);
	fuzz_check(size == last.text_size && memcmp(text, last_text, size) == 0);
	return size == (size_t)4 * (queue_pairs - 1) ? 0 : go_away(bench->probe);
}

size_t bench_lanes_tell(const struct bench *bench, uint8_t *text)
{
	fuzz_check(text == bench->probe->private.start && bench->lane_count == queue_pairs);
	memset(text, 'q', (size_t)4 * (queue_pairs - 1));
	return (size_t)4 * (queue_pairs - 1);
}

bool bench_can(const struct bench *bench, const struct plan *wanted)
{
	fuzz_check(unanswered && last.type == ORDER_BEGIN && bench->depth == depth);
	fuzz_check(wanted->size > 0 && wanted->slots > 0 && wanted->slots <= wanted->depth);
	fuzz_check(plan_shape_is_possible(wanted->queue_pairs, wanted->depth));
	fuzz_check(wanted->operations > 0 || wanted->milliseconds > 0);
	return lanes && !broken && measures;
}

/* Only what can be run, and before it is answered. */
void bench_begin(struct bench *bench, const struct plan *wanted, int64_t patience)
{
	fuzz_check(unanswered && sensible && last.type == ORDER_BEGIN && !due);
	fuzz_check(memcmp(&wanted->seed, &plan.seed, sizeof(plan.seed)) == 0);
	fuzz_check(wanted->size == plan.size && patience >= 5000 && patience <= 30000);
	bench->plan = *wanted;
	due = true;
}

uint64_t probe_now(void)
{
	return 1;
}

/* Only what was begun, and after it was answered. */
/* cppcheck-suppress constParameter ; it is the header's */
int bench_run(
	struct bench *bench, struct course *course, struct tally *told, struct latency *latency)
{
	fuzz_check(course->start == 1 && course->bytes == 0);
	fuzz_check(due && !unanswered && !latency && bench->plan.size == plan.size);
	due = false;
	memset(&tally, last.number & 0xff, sizeof(tally));
	*told = tally;
	return damaged ? go_away(bench->probe) : 0;
}

void bench_free(struct bench *bench)
{
	bench->lane_count = 1;
}

/* The one movement that an order asks for. */
static void note_move(uint32_t size)
{
	fuzz_check(unanswered && sensible && moved == 0);
	fuzz_check(size == last.size && size > 0 && size <= region && size <= sizeof(private));
	moved = size;
}

int probe_move(struct probe *probe, enum ibv_wr_opcode opcode, uint32_t size, deadline_t deadline)
{
	fuzz_check(probe->private.start == private && deadline > deadline_now());
	note_move(size);
	if (opcode == IBV_WR_RDMA_WRITE) {
		fuzz_check(last.type == ORDER_WRITE);
		fuzz_check(pattern_check(private, size, last.seed) == size);
		return 0;
	}
	fuzz_check(opcode == IBV_WR_RDMA_READ && last.type == ORDER_READ);
	pattern_fill(private, size, last.seed);
	moved_at = (uint32_t)(last.address % size);
	private[moved_at] ^= damaged;
	return 0;
}

int probe_run(struct probe *probe, uint32_t size, uint32_t milliseconds, deadline_t deadline,
	uint64_t *bytes, uint64_t *nanoseconds)
{
	(void)probe;
	fuzz_check(last.type == ORDER_RUN && milliseconds <= RUN_MAX);
	fuzz_check(deadline >= deadline_in(milliseconds));
	note_move(size);
	*bytes = size;
	*nanoseconds = 1;
	return 0;
}

void probe_facts(const struct probe *probe, struct facts *facts)
{
	(void)probe;
	facts_add(facts, "version", "%s", "1");
}

size_t probe_counters(const struct probe *probe, char *text, size_t size)
{
	fuzz_check(text == (char *)probe->private.start && size <= ORDER_TEXT_MAX);
	memset(text, 'x', size);
	return size;
}

/* Whether what became of an order is what must have. */
static void check_result(const struct order *message)
{
	uint8_t text[TALLY_SIZE];

	if (!sensible) {
		fuzz_check(message->status == ORDER_REFUSED && moved == 0 && !due);
		return;
	}
	/* The last that is heard of us. */
	fuzz_check((message->status == ORDER_FAILED) == starved);
	if (starved)
		return;
	fuzz_check(message->status == ORDER_DONE || message->status == ORDER_WRONG);
	fuzz_check(!with_secret || opened);
	if (last.type == ORDER_PROOF)
		fuzz_check(message->text_size == SECRET_PROOF_SIZE);
	if (last.type == ORDER_READ) {
		fuzz_check((message->status == ORDER_WRONG) == damaged && moved > 0);
		fuzz_check(message->offset == (damaged ? moved_at : last.size));
	}
	if (last.type == ORDER_FILL)
		fuzz_check(pattern_check(offered, last.size, last.seed) == last.size);
	if (last.type == ORDER_CHECK)
		fuzz_check(pattern_check(offered, last.size, last.seed) == message->offset);
	if (last.type == ORDER_REGION)
		fuzz_check(message->rkey == offered_mr.rkey && message->length >= last.length);
	if (last.type == ORDER_LANES)
		fuzz_check(lanes && message->text_size == 4 * (queue_pairs - 1));
	fuzz_check(due == (last.type == ORDER_BEGIN));
	if (last.type != ORDER_END)
		return;
	tally_encode(&tally, text);
	fuzz_check(message->text_size == TALLY_SIZE);
	fuzz_check(memcmp(message->text, text, TALLY_SIZE) == 0);
}

int probe_send(struct probe *probe, const struct order *message, deadline_t deadline)
{
	static uint8_t bytes[ORDER_MAX];
	struct order again;

	fuzz_check(unanswered && deadline > deadline_now() && probe->private.start == private);
	fuzz_check(message->answer && message->type == last.type);
	fuzz_check(message->number == last.number);
	/* Texts lie in our memory, but for a proof. */
	fuzz_check(message->text_size <= ORDER_TEXT_MAX);
	fuzz_check(message->text_size == 0 || last.type == ORDER_PROOF ||
		   message->text == (char *)private);
	fuzz_check(order_decode(&again, bytes, order_encode(message, bytes)) == 0);
	check_result(message);
	unanswered = false;
	return 0;
}

void probe_close(struct probe *probe)
{
	rdma_destroy_event_channel(probe->events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct output output = {.quiet = true};
	struct mailbox mailbox;
	struct session session = {
		.output = &output, .mailbox = &mailbox, .timeout = 1000, .handshake_timeout = 1000};
	struct rdma_cm_id id = {0};
	static const uint8_t words[SECRET_WORDS_SIZE];
	static const struct answer_server server = {.mode = "any", .clients = 1, .most = 2};
	struct rdma_cm_event request = {.id = &id, .param.conn.private_data = words};
	struct introduction theirs = {.session = SESSION_DIAGNOSIS};
	struct answers answers;
	unsigned int notes = 0;

	input = (struct fuzz_input){data, size};
	last = (struct order){0};
	region = 0;
	unanswered = opened = lanes = due = starved = gone = measures = false;
	tally = (struct tally){0};
	with_secret = fuzz_byte(&input) & 1;
	queue_pairs = 1;
	depth = PROBE_DEPTH;
	if (data && size > 0 && data[0] & 2) {
		theirs.session = SESSION_MEASUREMENT;
		measures = true;
		queue_pairs = fuzz_byte(&input);
		depth = (uint32_t)fuzz_number(&input, 2);
		theirs.size = introduction_shape(queue_pairs, depth);
	}
	/* Nothing here looks into it. */
	session.secret = with_secret ? (void *)&id : NULL;
	fuzz_check(mailbox_open(&mailbox) == 0);
	answers_init(&answers, 0);
	if (plan_shape_is_possible(queue_pairs, depth)) {
		fuzz_check(answers_take(&answers, &session, &server, &request, &theirs) ==
			   REFUSAL_NONE);
		fuzz_check(answers_note(&answers, mailbox_take(&mailbox, &notes), notes));
	} else {
		fuzz_check(answers_take(&answers, &session, &server, &request, &theirs) ==
			   REFUSAL_MALFORMED);
	}
	fuzz_check(TAILQ_EMPTY(&answers.all) && answers.places.taken == 0);
	fuzz_check(!unanswered || gone);
	mailbox_close(&mailbox);
	return 0;
}

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/options.h"
#include "lib/pattern.h"
#include "lib/worker.h"
#include "rdma-answer.h"
#include "rdma-bench.h"

/* The note to the main thread that a diagnosis is over: beyond those about connections. */
#define ANSWER_ENDED (1U << 16)

/* Bounds of the silence that --timeout allows, in milliseconds. */
#define SILENCE_MIN 5000
#define SILENCE_MAX 30000

/* The least time for a handshake: a short --timeout, which sets it, is meant for exchanges. */
#define HANDSHAKE_MIN 5000

/* The longest ORDER_RUN, in milliseconds. */
#define RUN_MS_MAX 5000

_Static_assert(OPTIONS_THREADS_MAX <= ANSWERS_MAX, "one client's threads find room");

struct answer {
	TAILQ_ENTRY(answer) next;
	const struct session *session;
	struct answer_server server;
	struct probe probe;
	enum session_kind kind;
	uint32_t queue_pairs, depth;                  /* that there is room for */
	struct bench bench;                           /* of a measurement */
	bool due;                                     /* its run */
	struct tally tally;                           /* of the last run */
	uint8_t initiator_depth, responder_resources; /* that the client asked for */
	bool stranger;                                /* it does not hold our secret */
	struct worker worker;
	struct worker_listener listener;
	struct slip to_main;
	struct place place;
	deadline_t handshake; /* until then there has to be an order */
	bool begun;           /* there was one */
};

/* How long nothing may happen: longer than the client moves data by itself, and not for ever. */
static int64_t patience(const struct answer *answer)
{
	int64_t timeout = answer->session->timeout;

	if (timeout < SILENCE_MIN)
		return SILENCE_MIN;
	return timeout > SILENCE_MAX ? SILENCE_MAX : timeout;
}

/* When what is waited for now has to be there: the first order, or whatever comes after it. */
static deadline_t silence(const struct answer *answer)
{
	return answer->begun ? deadline_in(patience(answer)) : answer->handshake;
}

static int accept_client(struct answer *answer)
{
	const struct introduction ours = {
		.version = INTRODUCTION_VERSION,
		.session = (uint8_t)answer->kind,
		.timeout = (uint32_t)answer->session->timeout,
	};
	struct ibv_device_attr device = {0};
	struct rdma_conn_param parameters = {
		.rnr_retry_count = TRANSPORT_RNR_RETRIES,
	};

	ibv_query_device(answer->probe.id->verbs, &device);
	parameters.responder_resources =
		probe_reads(answer->initiator_depth, device.max_qp_rd_atom);
	parameters.initiator_depth =
		probe_reads(answer->responder_resources, device.max_qp_init_rd_atom);
	parameters.private_data =
		handshake_introduce(&answer->probe.handshake, &ours, &parameters.private_data_len);
	if (rdma_accept(answer->probe.id, &parameters))
		return failure_set(&answer->probe.failure, FAILURE_ERRNO, PHASE_CONNECT, errno,
			"rdma_accept", "%s", strerror(errno));
	answer->probe.connected = true;
	return probe_await_event(
		&answer->probe, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT, silence(answer), NULL);
}

/* Without the memory for it there is no diagnosis: the client hears of it. */
static void refuse(struct answer *answer)
{
	const struct introduction ours = {
		.version = INTRODUCTION_VERSION,
		.session = (uint8_t)answer->kind,
		.refusal = REFUSAL_RESOURCES,
	};
	uint8_t introduction[INTRODUCTION_SIZE];

	introduction_encode(&ours, introduction);
	rdma_reject(answer->probe.id, introduction, INTRODUCTION_SIZE);
}

static enum order_status check(const void *data, const struct order *order, uint64_t *offset)
{
	*offset = pattern_check(data, order->size, order->seed);
	return *offset < order->size ? ORDER_WRONG : ORDER_DONE;
}

/* Whether the order can be carried out at all. */
static bool is_sensible(const struct answer *answer, const struct order *order)
{
	const struct probe *probe = &answer->probe;
	bool measures = answer->kind == SESSION_MEASUREMENT;
	bool moves =
		order->type == ORDER_WRITE || order->type == ORDER_READ || order->type == ORDER_RUN;

	/* A proof is due once, and before. */
	if (order->answer || order->type == ORDER_PROOF || order->size > probe->private.size)
		return false;
	if (moves && (order->size == 0 || order->size > probe->peer_length))
		return false;
	if (order->type == ORDER_BEGIN || order->type == ORDER_END)
		return measures;
	/* The queue pairs come once, and the memory before. */
	if (order->type == ORDER_LANES)
		return measures && !answer->bench.notices.start;
	if (order->type == ORDER_REGION)
		return measures ? !answer->bench.notices.start : order->length <= ORDER_REGION_MIN;
	return order->type != ORDER_RUN || order->milliseconds <= RUN_MS_MAX;
}

/* Texts are written into `private`, which nobody uses meanwhile, and sent from there. */
static void tell(struct order *message, const char *text, size_t size)
{
	message->text = text;
	message->text_size = (uint16_t)size;
}

/* What the server is beyond its end of the connection. */
static void add_server(struct facts *facts, const struct answer *answer)
{
	const struct answer_server *server = &answer->server;
	uint64_t max_size = answer->session->max_size;
	const char *room = "";

	if (server->room == REFUSAL_ADDRESS)
		room = ", full for this address";
	else if (server->room != REFUSAL_NONE)
		room = ", full";
	facts_add(facts, "mode", "%s", server->mode);
	facts_add(facts, "clients", "%u of %u%s", server->clients, server->most, room);
	if (max_size)
		facts_add(facts, "max size", "%" PRIu64, max_size);
}

static void tell_facts(struct answer *answer, struct order *message)
{
	char *text = (char *)answer->probe.private.start;
	struct facts facts = {0};

	probe_facts(&answer->probe, &facts);
	add_server(&facts, answer);
	tell(message, text, facts_encode(&facts, text, ORDER_TEXT_MAX));
}

/* There is not the memory: the client hears of it, and that is the end. */
static int refuse_memory(struct answer *answer, struct order *result)
{
	struct failure failure = answer->probe.failure;

	answer->probe.failure = (struct failure){0};
	result->status = ORDER_FAILED;
	probe_send(&answer->probe, result, silence(answer));
	answer->probe.failure = failure;
	return -1;
}

/* The client's memory, and ours, of which there is to be as much. */
static int meet(struct answer *answer, const struct order *order, struct order *result)
{
	if (probe_enlarge(&answer->probe, order->length))
		return refuse_memory(answer, result);
	probe_meet(&answer->probe, order);
	probe_tell_region(&answer->probe, result);
	return 0;
}

/* The queue pairs of a measurement beside its first one, as many as it had asked room for. */
static int make_lanes(struct answer *answer, const struct order *order, struct order *result)
{
	struct bench *bench = &answer->bench;
	uint8_t *text = answer->probe.private.start;

	if (bench_make_lanes(bench, answer->queue_pairs) ||
		bench_lanes_meet(bench, order->text, order->text_size))
		return -1;
	tell(result, (char *)text, bench_lanes_tell(bench, text));
	return 0;
}

/* Gets ready for a run, which begins when the client has heard that. */
static void begin(struct answer *answer, const struct order *order, struct order *result)
{
	struct plan plan;

	answer->due = plan_decode(&plan, order->text, order->text_size) == 0 &&
		      bench_can(&answer->bench, &plan);
	if (answer->due)
		bench_begin(&answer->bench, &plan, patience(answer));
	else
		result->status = ORDER_REFUSED;
}

static void tell_tally(struct answer *answer, struct order *result)
{
	tally_encode(&answer->tally, answer->probe.private.start);
	tell(result, (char *)answer->probe.private.start, TALLY_SIZE);
}

/* Carries out an order. Returns 0 with what became of it, or -1 if the connection is broken. */
static int carry_out(struct answer *answer, const struct order *order, struct order *result)
{
	struct probe *probe = &answer->probe;
	deadline_t deadline = silence(answer);
	void *offered = probe->offered.start, *private = probe->private.start;

	switch (order->type) {
	case ORDER_REGION:
		return meet(answer, order, result);
	case ORDER_FACTS:
		tell_facts(answer, result);
		return 0;
	case ORDER_COUNTERS:
		tell(result, private, probe_counters(probe, private, ORDER_TEXT_MAX));
		return 0;
	case ORDER_FILL:
		pattern_fill(offered, order->size, order->seed);
		return 0;
	case ORDER_CHECK:
		result->status = check(offered, order, &result->offset);
		return 0;
	case ORDER_WRITE:
		pattern_fill(private, order->size, order->seed);
		return probe_move(probe, IBV_WR_RDMA_WRITE, order->size, deadline);
	case ORDER_READ:
		if (probe_move(probe, IBV_WR_RDMA_READ, order->size, deadline))
			return -1;
		result->status = check(private, order, &result->offset);
		return 0;
	case ORDER_RUN:
		return probe_run(probe, order->size, order->milliseconds,
			deadline_in(order->milliseconds + patience(answer)), &result->offset,
			&result->nanoseconds);
	case ORDER_LANES:
		return make_lanes(answer, order, result);
	case ORDER_BEGIN:
		begin(answer, order, result);
		return 0;
	case ORDER_END:
		tell_tally(answer, result);
		return 0;
	case ORDER_PROOF:
	case ORDER_TYPES:
		break;
	}
	return 0;
}

/* Takes one order and answers it. */
static int take_order(struct answer *answer)
{
	struct probe *probe = &answer->probe;
	struct order order, result;
	struct course course;
	int received = probe_receive(probe, &order, silence(answer));

	if (received > 0 && answer->kind != SESSION_MEASUREMENT)
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"order_decode", "it sent a message of 0 bytes that makes no sense");
	if (received)
		return received < 0 ? -1 : 0;
	answer->begun = true;
	result = (struct order){.type = order.type, .answer = true, .number = order.number};
	if (!is_sensible(answer, &order))
		result.status = ORDER_REFUSED;
	else if (carry_out(answer, &order, &result))
		return -1;
	if (probe_send(probe, &result, silence(answer)))
		return -1;
	if (!answer->due)
		return 0;
	answer->due = false;
	course_init(&course, probe_now());
	return bench_run(&answer->bench, &course, &answer->tally, NULL);
}

/*
 * With a secret the client's first order is its proof, and the answer has ours. Whatever else it says
 * is refused, and is the last that we hear.
 */
static int admit(struct answer *answer)
{
	struct probe *probe = &answer->probe;
	uint8_t text[SECRET_PROOF_SIZE];
	struct order order, result;
	int received;
	bool proved;

	if (!probe->handshake.secret)
		return 0;
	received = probe_receive(probe, &order, silence(answer));
	if (received < 0)
		return -1;
	if (received > 0)
		order = (struct order){0};
	result = (struct order){.type = order.type, .answer = true, .number = order.number};
	proved = !order.answer && probe_is_proved(probe, &order);
	if (!proved)
		result.status = ORDER_REFUSED;
	else if (probe_open(probe))
		return -1;
	else
		probe_prove(probe, &result, text);
	if (probe_send(probe, &result, silence(answer)) && proved)
		return -1;
	answer->stranger = !proved;
	if (proved)
		return 0;
	/* Whatever became of the answer, this is why. */
	probe->failure = (struct failure){0};
	return failure_set_stranger(&probe->failure, "ORDER_PROOF");
}

/* Says how it ended, unless the client just went away. */
static void report(struct answer *answer)
{
	const struct output *output = answer->session->output;
	struct failure *failure = &answer->probe.failure;
	char text[1024];

	if (answer->probe.disconnected && !answer->stranger)
		return;
	if (failure->kind == FAILURE_DEADLINE && !answer->begun) {
		*failure = (struct failure){0};
		failure_set(failure, FAILURE_DEADLINE, PHASE_EXCHANGE, LIMIT_HANDSHAKE,
			"--handshake-timeout", "timed out waiting for its first order");
	}
	if (failure->phase == PHASE_EXCHANGE)
		failure->phase =
			answer->kind == SESSION_MEASUREMENT ? PHASE_MEASUREMENT : PHASE_DIAGNOSIS;
	failure_explain(failure, answer->probe.peer, output->verbose, text, sizeof(text));
	output_error(output, "%s", text);
}

/* The thread. */
static void serve(void *argument)
{
	struct answer *answer = argument;
	struct probe *probe = &answer->probe;

	probe->stop_fd = answer->worker.stop_fd;
	bench_init(&answer->bench, probe, answer->depth, true);
	if (probe_prepare(probe, answer->queue_pairs, answer->depth))
		refuse(answer);
	else if (accept_client(answer) == 0 && admit(answer) == 0)
		while (take_order(answer) == 0)
			;
	report(answer);
	if (probe->connected)
		output_line(answer->session->output, "peer disconnected.");
}

static void ended(void *about)
{
	struct answer *answer = about;

	mailbox_post(answer->session->mailbox, &answer->to_main, ANSWER_ENDED);
}

/* Returns 0, or -errno with its id as it was. */
static int start(struct answer *answer, const struct rdma_cm_event *request)
{
	struct rdma_cm_id *id = request->id;
	struct rdma_event_channel *before = id->channel, *events = rdma_create_event_channel();
	int error;

	if (!events)
		return -errno;
	error = fcntl(events->fd, F_SETFL, O_NONBLOCK) || rdma_migrate_id(id, events) ? -errno : 0;
	if (error)
		goto destroy_channel;
	probe_init(&answer->probe, events, id, rdma_get_peer_addr(id), answer->session->secret,
		SECRET_SERVER);
	handshake_hear(&answer->probe.handshake, request->param.conn.private_data);
	error = worker_start(&answer->worker, "diagnosis", serve, answer, &answer->listener);
	if (!error)
		return 0;
	worker_join(&answer->worker);
	rdma_migrate_id(id, before);
destroy_channel:
	rdma_destroy_event_channel(events);
	return error;
}

void answers_init(struct answers *answers, unsigned int most_per_address)
{
	TAILQ_INIT(&answers->all);
	places_init(&answers->places, ANSWERS_MAX, most_per_address, 0);
}

enum refusal answers_take(struct answers *answers, const struct session *session,
	const struct answer_server *server, const struct rdma_cm_event *request,
	const struct introduction *theirs)
{
	const struct sockaddr *peer = rdma_get_peer_addr(request->id);
	enum places_room room = places_room(&answers->places, peer);
	uint32_t queue_pairs = 1, depth = PROBE_DEPTH;
	struct answer *answer;

	if (room != PLACES_FREE)
		return room == PLACES_FULL ? REFUSAL_FULL : REFUSAL_ADDRESS;
	if (theirs->session == SESSION_MEASUREMENT &&
		introduction_shape_read(theirs->size, &queue_pairs, &depth))
		return REFUSAL_MALFORMED;
	answer = calloc(1, sizeof(*answer));
	if (!answer)
		return REFUSAL_RESOURCES;
	answer->session = session;
	answer->server = *server;
	answer->kind = (enum session_kind)theirs->session;
	answer->queue_pairs = queue_pairs;
	answer->depth = depth;
	answer->handshake =
		deadline_in(session->handshake_timeout > HANDSHAKE_MIN ? session->handshake_timeout
								       : HANDSHAKE_MIN);
	answer->initiator_depth = request->param.conn.initiator_depth;
	answer->responder_resources = request->param.conn.responder_resources;
	answer->to_main.about = answer;
	answer->listener = (struct worker_listener){NULL, ended, answer};
	answer->worker.stop_fd = -1;

	if (start(answer, request)) {
		free(answer);
		return REFUSAL_RESOURCES;
	}
	TAILQ_INSERT_TAIL(&answers->all, answer, next);
	places_take(&answers->places, &answer->place, peer, deadline_now());
	return REFUSAL_NONE;
}

bool answers_note(struct answers *answers, const struct slip *slip, unsigned int notes)
{
	struct answer *answer = slip->about;

	if (!(notes & ANSWER_ENDED))
		return false;
	worker_join(&answer->worker);
	bench_free(&answer->bench);
	probe_close(&answer->probe);
	TAILQ_REMOVE(&answers->all, answer, next);
	places_leave(&answers->places, &answer->place);
	free(answer);
	return true;
}

void answers_stop(struct answers *answers)
{
	struct answer *answer;

	TAILQ_FOREACH (answer, &answers->all, next)
		worker_stop(&answer->worker);
}

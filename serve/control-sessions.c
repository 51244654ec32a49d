#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/worker.h"
#include "cli/options.h"
#include "measure/perf-test.h"
#include "serve/control-sessions.h"

/* The note to the main thread that a diagnosis is over: beyond those about connections. */
#define CONTROL_SESSION_ENDED (1U << 16)

/* Bounds of the silence that --timeout allows, in milliseconds. */
#define SILENCE_MIN 5000
#define SILENCE_MAX 30000

/* The least time for a handshake: a short --timeout, which sets it, is meant for exchanges. */
#define HANDSHAKE_MIN 5000

/* The longest test of a diagnosis. */
#define DIAGNOSIS_MS_MAX         5000
#define DIAGNOSIS_OPERATIONS_MAX 16

_Static_assert(OPTIONS_THREADS_MAX <= CONTROL_SESSIONS_MAX, "one client's threads find room");

struct control_session {
	TAILQ_ENTRY(control_session) next;
	const struct exchange_settings *settings;
	struct control_server server;
	struct probe probe;
	enum hello_kind kind;
	uint32_t queue_pairs, depth;                  /* that there is room for */
	struct perf_test test;                        /* of a measurement */
	bool due;                                     /* its run */
	struct test_result result;                    /* of the last run */
	uint8_t initiator_depth, responder_resources; /* that the client asked for */
	bool unauthenticated;                         /* it does not hold our secret */
	struct worker worker;
	struct worker_listener listener;
	struct wakeup to_main;
	struct slot place;
	deadline_t handshake; /* until then there has to be an order */
	bool begun;           /* there was one */
};

/* How long nothing may happen: longer than the client moves data by itself, and not for ever. */
static int64_t patience(const struct control_session *session)
{
	int64_t timeout = session->settings->timeout;

	if (timeout < SILENCE_MIN)
		return SILENCE_MIN;
	return timeout > SILENCE_MAX ? SILENCE_MAX : timeout;
}

/* When what is waited for now has to be there: the first order, or whatever comes after it. */
static deadline_t silence(const struct control_session *session)
{
	return session->begun ? deadline_in(patience(session)) : session->handshake;
}

static int accept_client(struct control_session *session)
{
	const struct hello ours = {
		.version = HELLO_VERSION,
		.kind = (uint8_t)session->kind,
		.timeout = (uint32_t)session->settings->timeout,
	};
	struct ibv_device_attr device = {0};
	struct rdma_conn_param parameters = {
		.rnr_retry_count = TRANSPORT_RNR_RETRIES,
	};

	ibv_query_device(session->probe.id->verbs, &device);
	parameters.responder_resources =
		probe_reads(session->initiator_depth, device.max_qp_rd_atom);
	parameters.initiator_depth =
		probe_reads(session->responder_resources, device.max_qp_init_rd_atom);
	parameters.private_data =
		handshake_hello(&session->probe.handshake, &ours, &parameters.private_data_len);
	if (rdma_accept(session->probe.id, &parameters))
		return failure_set(&session->probe.failure, FAILURE_ERRNO, PHASE_CONNECT, errno,
			"rdma_accept", "%s", strerror(errno));
	session->probe.connected = true;
	return probe_await_event(
		&session->probe, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT, silence(session), NULL);
}

/* Without the memory for it there is no diagnosis: the client hears of it. */
static void refuse(struct control_session *session)
{
	const struct hello ours = {
		.version = HELLO_VERSION,
		.kind = (uint8_t)session->kind,
		.refusal = REFUSAL_RESOURCES,
	};
	uint8_t hello[HELLO_SIZE];

	hello_encode(&ours, hello);
	rdma_reject(session->probe.id, hello, HELLO_SIZE);
}

/* Whether the command can be carried out at this point of the session. */
static bool is_sensible(const struct control_session *session, const struct command *command)
{
	bool has_queue_pairs = session->test.notices.start;

	if (command->reply)
		return false;
	switch (command->type) {
	case COMMAND_REGION:
		return !has_queue_pairs && (session->kind == HELLO_MEASUREMENT ||
						   command->length <= COMMAND_REGION_MIN);
	case COMMAND_QUEUE_PAIRS:
		return !has_queue_pairs;
	case COMMAND_FACTS:
	case COMMAND_COUNTERS:
	case COMMAND_BEGIN:
	case COMMAND_END:
		return true;
	case COMMAND_PROOF: /* it was due before */
		break;
	}
	return false;
}

/* A test of a diagnosis is short, whoever measures more asks for a measurement. */
static bool is_short(const struct test_parameters *parameters)
{
	return parameters->operations ? parameters->operations <= DIAGNOSIS_OPERATIONS_MAX
				      : parameters->milliseconds <= DIAGNOSIS_MS_MAX;
}

/* Texts are written into `private`, which nobody uses meanwhile, and sent from there. */
static void tell(struct command *message, const char *text, size_t size)
{
	message->text = text;
	message->text_size = (uint16_t)size;
}

/* What the server is beyond its end of the connection. */
static void add_server(struct facts *facts, const struct control_session *session)
{
	const struct control_server *server = &session->server;
	uint64_t max_size = session->settings->max_size;
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

static void tell_facts(struct control_session *session, struct command *message)
{
	char *text = (char *)session->probe.private.start;
	struct facts facts = {0};

	probe_facts(&session->probe, &facts);
	add_server(&facts, session);
	tell(message, text, facts_encode(&facts, text, COMMAND_TEXT_MAX));
}

/* There is not the memory: the client hears of it, and that is the end. */
static int refuse_memory(struct control_session *session, struct command *result)
{
	struct failure failure = session->probe.failure;

	session->probe.failure = (struct failure){0};
	result->status = COMMAND_FAILED;
	probe_send(&session->probe, result, silence(session));
	session->probe.failure = failure;
	return -1;
}

/* The client's memory, and ours, of which there is to be as much. */
static int meet(
	struct control_session *session, const struct command *command, struct command *result)
{
	if (probe_enlarge(&session->probe, command->length))
		return refuse_memory(session, result);
	probe_meet(&session->probe, command);
	probe_tell_region(&session->probe, result);
	return 0;
}

/* The queue pairs of a measurement beside its first one, as many as it had asked room for. */
static int make_queue_pairs(
	struct control_session *session, const struct command *command, struct command *result)
{
	struct perf_test *test = &session->test;
	uint8_t *text = session->probe.private.start;

	if (perf_test_make_queue_pairs(test, session->queue_pairs) ||
		perf_test_connect_queue_pairs(test, command->text, command->text_size))
		return -1;
	tell(result, (char *)text, perf_test_encode_numbers(test, text));
	return 0;
}

/* Gets ready for a run, which begins when the client has heard that. */
static void begin(
	struct control_session *session, const struct command *command, struct command *result)
{
	struct test_parameters parameters;

	session->due =
		test_parameters_decode(&parameters, command->text, command->text_size) == 0 &&
		perf_test_can(&session->test, &parameters) &&
		(session->kind == HELLO_MEASUREMENT || is_short(&parameters));
	if (session->due)
		perf_test_begin(&session->test, &parameters, patience(session));
	else
		result->status = COMMAND_REFUSED;
}

static void send_result(struct control_session *session, struct command *result)
{
	test_result_encode(&session->result, session->probe.private.start);
	tell(result, (char *)session->probe.private.start, TEST_RESULT_SIZE);
}

/* Carries out an order. Returns 0 with what became of it, or -1 if the connection is broken. */
static int carry_out(
	struct control_session *session, const struct command *command, struct command *result)
{
	struct probe *probe = &session->probe;
	void *private = probe->private.start;

	switch (command->type) {
	case COMMAND_REGION:
		return meet(session, command, result);
	case COMMAND_FACTS:
		tell_facts(session, result);
		return 0;
	case COMMAND_COUNTERS:
		tell(result, private, probe_counters(probe, private, COMMAND_TEXT_MAX));
		return 0;
	case COMMAND_QUEUE_PAIRS:
		return make_queue_pairs(session, command, result);
	case COMMAND_BEGIN:
		begin(session, command, result);
		return 0;
	case COMMAND_END:
		send_result(session, result);
		return 0;
	case COMMAND_PROOF:
		break;
	}
	return 0;
}

/* Takes one order and answers it. */
static int take_command(struct control_session *session)
{
	struct probe *probe = &session->probe;
	struct command command, result;
	struct test_shared shared;
	int received = probe_receive(probe, &command, silence(session));

	/* A test may begin and end with keepalives. */
	if (received > 0 && !session->test.notices.start)
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"order_decode", "it sent a message of 0 bytes that makes no sense");
	if (received)
		return received < 0 ? -1 : 0;
	session->begun = true;
	result = (struct command){.type = command.type, .reply = true, .number = command.number};
	if (!is_sensible(session, &command))
		result.status = COMMAND_REFUSED;
	else if (carry_out(session, &command, &result))
		return -1;
	if (probe_send(probe, &result, silence(session)))
		return -1;
	if (!session->due)
		return 0;
	session->due = false;
	test_shared_init(&shared, probe_now());
	return perf_test_run(&session->test, &shared, &session->result, NULL);
}

/*
 * With a secret the client's first order is its proof, and the answer has ours. Whatever else it says
 * is refused, and is the last that we hear.
 */
static int admit(struct control_session *session)
{
	struct probe *probe = &session->probe;
	uint8_t text[SECRET_PROOF_SIZE];
	struct command command, result;
	int received;
	bool proved;

	if (!probe->handshake.secret)
		return 0;
	received = probe_receive(probe, &command, silence(session));
	if (received < 0)
		return -1;
	if (received > 0)
		command = (struct command){0};
	result = (struct command){.type = command.type, .reply = true, .number = command.number};
	proved = !command.reply && probe_is_proved(probe, &command);
	if (!proved)
		result.status = COMMAND_REFUSED;
	else if (probe_open(probe))
		return -1;
	else
		probe_prove(probe, &result, text);
	if (probe_send(probe, &result, silence(session)) && proved)
		return -1;
	session->unauthenticated = !proved;
	if (proved)
		return 0;
	/* Whatever became of the answer, this is why. */
	probe->failure = (struct failure){0};
	return failure_set_unauthenticated(&probe->failure, "ORDER_PROOF");
}

/* Says how it ended, unless the client just went away. */
static void report(struct control_session *session)
{
	struct failure *failure = &session->probe.failure;

	if (session->probe.disconnected && !session->unauthenticated)
		return;
	if (failure->kind == FAILURE_DEADLINE && !session->begun) {
		*failure = (struct failure){0};
		failure_set(failure, FAILURE_DEADLINE, PHASE_EXCHANGE, LIMIT_HANDSHAKE,
			"--handshake-timeout", "timed out waiting for its first order");
	}
	if (failure->phase == PHASE_EXCHANGE)
		failure->phase =
			session->kind == HELLO_MEASUREMENT ? PHASE_MEASUREMENT : PHASE_DIAGNOSIS;
	output_failure(session->settings->output, failure, session->probe.peer);
}

/* The thread. */
static void serve(void *argument)
{
	struct control_session *session = argument;
	struct probe *probe = &session->probe;

	probe->stop_fd = session->worker.stop_fd;
	perf_test_init(&session->test, probe, session->depth, true);
	if (probe_prepare(probe, session->queue_pairs, session->depth))
		refuse(session);
	else if (accept_client(session) == 0 && admit(session) == 0)
		while (take_command(session) == 0)
			;
	report(session);
	if (probe->connected)
		output_line(session->settings->output, "peer disconnected.");
}

static void ended(void *about)
{
	struct control_session *session = about;

	wakeup_queue_post(session->settings->wakeups, &session->to_main, CONTROL_SESSION_ENDED);
}

/* Returns 0, or -errno with its id as it was. */
static int start(struct control_session *session, const struct rdma_cm_event *request)
{
	struct rdma_cm_id *id = request->id;
	struct rdma_event_channel *before = id->channel, *events = rdma_create_event_channel();
	int error;

	if (!events)
		return -errno;
	error = fcntl(events->fd, F_SETFL, O_NONBLOCK) || rdma_migrate_id(id, events) ? -errno : 0;
	if (error)
		goto destroy_channel;
	probe_init(&session->probe, events, id, rdma_get_peer_addr(id), session->settings->secret,
		SECRET_SERVER);
	handshake_receive_hello(&session->probe.handshake, request->param.conn.private_data);
	error = worker_start(&session->worker, "diagnosis", serve, session, &session->listener);
	if (!error)
		return 0;
	worker_join(&session->worker);
	rdma_migrate_id(id, before);
destroy_channel:
	rdma_destroy_event_channel(events);
	return error;
}

void control_sessions_init(struct control_sessions *control_sessions, unsigned int most_per_address)
{
	TAILQ_INIT(&control_sessions->all);
	slots_init(&control_sessions->slots, CONTROL_SESSIONS_MAX, most_per_address, 0);
}

enum refusal control_sessions_take(struct control_sessions *control_sessions,
	const struct exchange_settings *settings, const struct control_server *server,
	const struct rdma_cm_event *request, const struct hello *theirs)
{
	const struct sockaddr *peer = rdma_get_peer_addr(request->id);
	enum slots_state slots = slots_state(&control_sessions->slots, peer);
	uint32_t queue_pairs = 1, depth = TEST_DIAGNOSIS_DEPTH;
	struct control_session *session;

	if (slots != SLOTS_FREE)
		return slots == SLOTS_FULL ? REFUSAL_FULL : REFUSAL_ADDRESS;
	if (theirs->kind == HELLO_MEASUREMENT &&
		hello_shape_decode(theirs->size, &queue_pairs, &depth))
		return REFUSAL_MALFORMED;
	session = calloc(1, sizeof(*session));
	if (!session)
		return REFUSAL_RESOURCES;
	session->settings = settings;
	session->server = *server;
	session->kind = (enum hello_kind)theirs->kind;
	session->queue_pairs = queue_pairs;
	session->depth = depth;
	session->handshake = deadline_in(settings->handshake_timeout > HANDSHAKE_MIN
						 ? settings->handshake_timeout
						 : HANDSHAKE_MIN);
	session->initiator_depth = request->param.conn.initiator_depth;
	session->responder_resources = request->param.conn.responder_resources;
	session->to_main.about = session;
	session->listener = (struct worker_listener){NULL, ended, session};
	session->worker.stop_fd = -1;

	if (start(session, request)) {
		free(session);
		return REFUSAL_RESOURCES;
	}
	TAILQ_INSERT_TAIL(&control_sessions->all, session, next);
	slots_take(&control_sessions->slots, &session->place, peer, deadline_now());
	return REFUSAL_NONE;
}

bool control_sessions_take_event(
	struct control_sessions *control_sessions, const struct wakeup *wakeup, unsigned int events)
{
	struct control_session *session = wakeup->about;

	if (!(events & CONTROL_SESSION_ENDED))
		return false;
	worker_join(&session->worker);
	perf_test_free(&session->test);
	probe_close(&session->probe);
	TAILQ_REMOVE(&control_sessions->all, session, next);
	slots_release(&control_sessions->slots, &session->place);
	free(session);
	return true;
}

void control_sessions_stop(struct control_sessions *control_sessions)
{
	struct control_session *session;

	TAILQ_FOREACH (session, &control_sessions->all, next)
		worker_stop(&session->worker);
}

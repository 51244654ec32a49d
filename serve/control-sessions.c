/*
 * Control sessions of the server. Each belongs to its thread from start() until the thread has
 * ended, and then to the main thread, which joins the thread and frees the session.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/explain.h"
#include "base/text.h"
#include "base/units.h"
#include "base/worker.h"
#include "cli/options.h"
#include "control/operations.h"
#include "measure/test-run.h"
#include "protocol/little-endian.h"
#include "serve/control-sessions.h"
#include "serve/session-tests.h"
#include "verbs/bootstrap.h"
#include "verbs/channel.h"

/* Wakeup event: a session has ended. Distinct from the events of connections. */
#define CONTROL_SESSION_ENDED (1U << 16)

/* Bounds on the client's idle timeout, which --timeout sets, in milliseconds. */
#define IDLE_MIN 5000
#define IDLE_MAX 30000

/*
 * Minimum handshake timeout in milliseconds. The default, --timeout, is meant for exchanges and may
 * be short.
 */
#define HANDSHAKE_MIN 5000

/* Limits on the tests in a diagnosis. */
#define DIAGNOSIS_MS_MAX         5000
#define DIAGNOSIS_OPERATIONS_MAX 16

/* Maximum size of the line that a session leaves. */
#define REPORT_SIZE (64 + ADDRESS_TEXT_SIZE + UNITS_TEXT + SESSION_TESTS_TEXT)

_Static_assert(OPTIONS_THREADS_MAX <= CONTROL_SESSIONS_MAX, "a slot for each thread of one client");

struct control_session {
	TAILQ_ENTRY(control_session) next;
	const struct exchange_settings *settings;
	struct client_log *log;
	struct control_server server;
	struct control control;
	enum hello_kind kind;
	char device[IBV_SYSFS_NAME_MAX];
	uint32_t queue_pairs, depth; /* requested by the client */
	uint32_t inline_max, gathers;
	bool bandwidth; /* it announced only bandwidth tests */
	bool is_worker; /* another session reports the measurement */
	struct perf_test test;
	struct operation_end operations;              /* begun, but not ended */
	bool begun;                                   /* run the test after the reply */
	struct test_result result;                    /* of the last test */
	pthread_mutex_t lock;                         /* guards the next two, for the main thread */
	struct session_tests tests;                   /* all that have ended */
	struct test_parameters running;               /* the last that has begun; size 0: none */
	bool untold;                                  /* the client has not asked for the result */
	uint8_t initiator_depth, responder_resources; /* at this end: rdma_get_cm_event(3) */
	bool ended;                                   /* by this server, not by the client */
	bool failed;                                  /* for the totals */
	deadline_t start;
	struct worker worker;
	struct worker_listener listener;
	struct wakeup to_main;
	struct slot slot;
	deadline_t accepted;   /* when this server accepted the connection; 0: not accepted */
	deadline_t handshake;  /* deadline of the first command */
	bool received_command; /* the first command has arrived */
};

static const char *kind_name(const struct control_session *session)
{
	return session->kind == HELLO_MEASUREMENT ? "measurement" : "diagnosis";
}

/*
 * The client's idle timeout in milliseconds: while only the client moves data, it sends no
 * messages.
 */
static int64_t idle_timeout(const struct control_session *session)
{
	int64_t timeout = session->settings->timeout;

	if (timeout < IDLE_MIN)
		return IDLE_MIN;
	return timeout > IDLE_MAX ? IDLE_MAX : timeout;
}

/* The deadline of the next wait; the handshake deadline applies until the first command. */
static deadline_t idle_deadline(const struct control_session *session)
{
	return session->received_command ? deadline_in(idle_timeout(session)) : session->handshake;
}

/*
 * Accepts the connection. The client sends first, and its first command may arrive long before
 * rdmacm reports the connection as established, because the packet that establishes it was lost.
 */
static int accept_client(struct control_session *session)
{
	const struct hello ours = {
		.version = HELLO_VERSION,
		.kind = (uint8_t)session->kind,
		.timeout = (uint32_t)session->settings->timeout,
		.flags = HELLO_ANSWERS |
			 (session->kind == HELLO_DIAGNOSIS ? HELLO_OPERATIONS | HELLO_LINKS : 0),
	};
	struct rdma_conn_param parameters = {.rnr_retry_count = TRANSPORT_RNR_RETRIES};
	struct control *control = &session->control;

	control_limit_reads(
		control, &parameters, session->initiator_depth, session->responder_resources);
	parameters.private_data =
		handshake_hello(&control->handshake, &ours, &parameters.private_data_len);
	if (id_accept(control->id, &parameters, &control->failure))
		return -1;
	control->connected = true;
	session->accepted = deadline_now();
	return 0;
}

/* Refuses the client for lack of memory, of memory budget or of a queue pair. */
static void refuse(struct control_session *session)
{
	const struct hello ours = {
		.version = HELLO_VERSION,
		.kind = (uint8_t)session->kind,
		.refusal = failure_is_for_memory(&session->control.failure) ? REFUSAL_MEMORY
									    : REFUSAL_RESOURCES,
	};
	uint8_t hello[HELLO_SIZE];

	hello_encode(&ours, hello);
	bootstrap_of(session->control.id)->reject(session->control.id, hello, HELLO_SIZE);
}

/* Texts are written to `private`, which is not otherwise in use, and sent from there. */
static char *text_of(struct control_session *session, struct command *reply)
{
	reply->text = (char *)session->control.private.start;
	return (char *)session->control.private.start;
}

/* Adds facts about the server itself. */
static void add_server(struct facts *facts, const struct control_session *session)
{
	const struct control_server *server = &session->server;
	uint64_t max_size = session->settings->max_size;
	const char *full = "";

	if (server->full == REFUSAL_ADDRESS)
		full = ", full for this address";
	else if (server->full != REFUSAL_NONE)
		full = ", full";
	facts_add(facts, "mode", "%s", server->mode);
	facts_add(facts, "clients", "%u of %u%s", server->clients, server->most, full);
	if (max_size)
		facts_add(facts, "max size", "%" PRIu64, max_size);
}

static void reply_facts(struct control_session *session, struct command *reply)
{
	struct facts facts = {0};

	control_facts(&session->control, &facts);
	add_server(&facts, session);
	reply->text_size =
		(uint16_t)facts_encode(&facts, text_of(session, reply), COMMAND_TEXT_MAX);
}

/* Sends the reply that ends the session because of the recorded failure. Returns -1. */
static int end_with(
	struct control_session *session, struct command *reply, enum command_status status)
{
	static const char full = REFUSAL_MEMORY;

	session->ended = true;
	reply->status = status;
	if (status == COMMAND_FAILED && failure_is_for_memory(&session->control.failure)) {
		reply->text = &full;
		reply->text_size = sizeof(full);
	}
	control_send_last(&session->control, reply);
	return -1;
}

/* Stores the client's region and describes the local one, which is at least as large. */
static int exchange_regions(
	struct control_session *session, const struct command *command, struct command *reply)
{
	bool is_late = session->test.queue_pair_count > 0;
	bool is_large = session->kind == HELLO_DIAGNOSIS && command->length > COMMAND_REGION_MIN;

	if (is_late || is_large) {
		reply->status = COMMAND_REFUSED;
		return 0;
	}
	if (control_enlarge(&session->control, command->length))
		return end_with(session, reply, COMMAND_FAILED);
	control_set_peer_region(&session->control, command);
	control_describe_region(&session->control, reply);
	return 0;
}

/*
 * Takes the transport of the additional queue pairs from the end of the text, if it is there: then
 * the connection's own queue pair is none of them. Returns their number.
 */
static uint32_t take_transport(struct control_session *session, struct command *command)
{
	struct control *control = &session->control;
	uint32_t all = session->queue_pairs, transport;
	size_t numbers = (size_t)4 * (all - 1);

	if (all < 2 || command->text_size != numbers + 4 || control->shares || !control->receives)
		return all;
	transport = le_get32((const uint8_t *)command->text + numbers);
	if (transport == TEST_RC || transport >= TEST_TRANSPORTS)
		return all;
	command->text_size = (uint16_t)numbers;
	control->transport = (enum test_transport)transport;
	return all - 1;
}

/*
 * Creates the additional queue pairs that the client requested. Refuses a second request, and any
 * on iWARP, where queue pairs cannot be connected without rdmacm.
 */
static int make_queue_pairs(
	struct control_session *session, struct command *command, struct command *reply)
{
	struct perf_test *test = &session->test;

	if (test->queue_pair_count > 0 ||
		((session->queue_pairs > 1 || session->control.shares) &&
			!session->control.device.traits->own_queue_pairs)) {
		reply->status = COMMAND_REFUSED;
		return 0;
	}
	if (perf_test_make_queue_pairs(test, take_transport(session, command)))
		return end_with(session, reply, COMMAND_FAILED);
	if (perf_test_connect_queue_pairs(test, command->text, command->text_size))
		return -1;
	reply->text_size =
		(uint16_t)perf_test_encode_numbers(test, (uint8_t *)text_of(session, reply));
	return 0;
}

/* True if a test is short enough for a diagnosis. */
static bool is_short(const struct test_parameters *parameters)
{
	return parameters->operations ? parameters->operations <= DIAGNOSIS_OPERATIONS_MAX
				      : parameters->milliseconds <= DIAGNOSIS_MS_MAX;
}

/* Offers the counter that the client shares with its other sessions. */
static int share_counter(struct control_session *session, uint64_t number, struct command *reply)
{
	struct control *control = &session->control;
	struct counter_share *share = &session->test.share;

	if (counter_share_join(
		    share, number, &control->device, control->endpoint.pd, &control->failure))
		return end_with(session, reply, COMMAND_FAILED);
	reply->address = (uintptr_t)share->region.start;
	reply->length = TEST_ATOMIC_SIZE;
	reply->rkey = share->region.mr->rkey;
	return 0;
}

/* Prepares a test, which begins once the client has received the reply. */
static int begin_test(
	struct control_session *session, const struct command *command, struct command *reply)
{
	struct test_parameters parameters;

	session->begun =
		test_parameters_decode(&parameters, command->text, command->text_size) == 0 &&
		test_run_can(&session->test, &parameters) &&
		(!session->bandwidth || parameters.kind == TEST_BANDWIDTH) &&
		(session->kind == HELLO_MEASUREMENT || is_short(&parameters));
	if (!session->begun) {
		reply->status = COMMAND_REFUSED;
		return 0;
	}
	if (parameters.counter && share_counter(session, parameters.counter, reply))
		return -1;
	pthread_mutex_lock(&session->lock);
	session->running = parameters;
	session_tests_begin(&session->tests, &parameters);
	pthread_mutex_unlock(&session->lock);
	test_run_begin(&session->test, &parameters, idle_timeout(session));
	return 0;
}

/* Replies with our result of the test. It counts if the client sent its own, not for a warm-up. */
static void end_test(
	struct control_session *session, const struct command *command, struct command *reply)
{
	struct test_result theirs;

	if (session->untold &&
		test_result_decode(&theirs, command->text, command->text_size) == 0) {
		pthread_mutex_lock(&session->lock);
		session_tests_add(
			&session->tests, &session->test.parameters, &session->result, &theirs);
		pthread_mutex_unlock(&session->lock);
	}
	session->untold = false;
	test_result_encode(&session->result, (uint8_t *)text_of(session, reply));
	reply->text_size = TEST_RESULT_SIZE;
}

/* Begins, or ends, the operations that a diagnosis tries: control/operations.h. */
static void try_operations(
	struct control_session *session, const struct command *command, struct command *reply)
{
	uint8_t *text = (uint8_t *)text_of(session, reply);
	int error = -EPROTO;

	if (session->kind == HELLO_DIAGNOSIS && command->type == COMMAND_OPERATIONS) {
		error = operations_begin(&session->operations, &session->control, command->text,
			command->text_size, text);
		reply->text_size = OPERATIONS_OFFER_SIZE;
	} else if (session->kind == HELLO_DIAGNOSIS && command->type == COMMAND_OPERATIONS_LINK) {
		error = operations_link(
			&session->operations, command->text, command->text_size, text);
		reply->text_size = OPERATIONS_OFFER_SIZE;
	} else if (session->kind == HELLO_DIAGNOSIS) {
		error = operations_end(
			&session->operations, command->text, command->text_size, text);
		reply->text_size = OPERATIONS_RESULTS_SIZE;
	}
	if (!error)
		return;
	reply->text_size = 0;
	reply->status = COMMAND_REFUSED;
}

/* Executes a command. Returns 0 with the outcome in *reply, or -1 if the connection is broken. */
static int carry_out(
	struct control_session *session, struct command *command, struct command *reply)
{
	struct counters counters;

	switch (command->type) {
	case COMMAND_REGION:
		return exchange_regions(session, command, reply);
	case COMMAND_FACTS:
		reply_facts(session, reply);
		return 0;
	case COMMAND_COUNTERS:
		control_counters(&session->control, &counters);
		reply->text_size = (uint16_t)counters_encode(
			&counters, text_of(session, reply), COMMAND_TEXT_MAX);
		return 0;
	case COMMAND_QUEUE_PAIRS:
		return make_queue_pairs(session, command, reply);
	case COMMAND_BEGIN:
		return begin_test(session, command, reply);
	case COMMAND_END:
		end_test(session, command, reply);
		return 0;
	case COMMAND_OPERATIONS:
	case COMMAND_OPERATIONS_LINK:
	case COMMAND_OPERATIONS_END:
		try_operations(session, command, reply);
		return 0;
	case COMMAND_PROOF: /* valid only as the first command */
	case COMMAND_ABORT: /* sent only by the server */
		reply->status = COMMAND_REFUSED;
		return 0;
	}
	return 0;
}

/* Receives one command, replies to it, and runs the test, if it begins one. */
static int take_command(struct control_session *session)
{
	struct control *control = &session->control;
	struct command command, reply;
	struct test_shared shared;
	int received = control_receive_message(control, &command, idle_deadline(session));

	/* Keepalives may precede and follow a test. */
	if (received > 0 && session->test.queue_pair_count == 0)
		return failure_protocol(&control->failure, "command_decode",
			"the peer sent a malformed message of 0 bytes");
	if (received)
		return received < 0 ? -1 : perf_test_take_empty(&session->test);
	session->received_command = true;
	reply = (struct command){.type = command.type, .reply = true, .number = command.number};
	if (command.reply)
		reply.status = COMMAND_REFUSED;
	else if (carry_out(session, &command, &reply))
		return -1;
	if (control_send_message(control, &reply, idle_deadline(session)))
		return -1;
	if (!session->begun)
		return 0;
	session->begun = false;
	session->untold = true;
	test_shared_init(&shared, test_now());
	return test_run(&session->test, &shared, &session->result, NULL);
}

/*
 * With a secret, the client's first command must be its proof, and the reply contains the server's.
 * Any other command is refused and ends the session.
 */
static int admit(struct control_session *session)
{
	struct control *control = &session->control;
	struct command command = {0}, reply;
	uint8_t text[SECRET_PROOF_SIZE];

	if (!control->handshake.secret)
		return 0;
	if (control_receive_message(control, &command, idle_deadline(session)) < 0)
		return -1;
	reply = (struct command){.type = command.type, .reply = true, .number = command.number};
	if (command.reply || !control_is_proved(control, &command)) {
		failure_set_unauthenticated(&control->failure, "COMMAND_PROOF");
		return end_with(session, &reply, COMMAND_REFUSED);
	}
	if (control_register(control))
		return end_with(session, &reply, COMMAND_FAILED);
	control_prove(control, &reply, text);
	return control_send_message(control, &reply, idle_deadline(session));
}

/* Completes the failure that ended the session with what is known about it. */
static void conclude(struct control_session *session)
{
	struct failure *failure = &session->control.failure;

	if (failure->kind == FAILURE_DEADLINE && !session->received_command) {
		*failure = (struct failure){0};
		failure_set(failure, FAILURE_DEADLINE, PHASE_EXCHANGE, LIMIT_HANDSHAKE,
			"--handshake-timeout", "timed out waiting for the first command");
	}
	if (session->accepted && !session->control.heard)
		failure_reply_lost(failure, deadline_now() - session->accepted);
	endpoint_blame(&session->control.endpoint, failure);
	if (failure->phase == PHASE_EXCHANGE)
		failure->phase =
			session->kind == HELLO_MEASUREMENT ? PHASE_MEASUREMENT : PHASE_DIAGNOSIS;
}

/*
 * If this server ends the session in the middle, sends its reason to a client that still has a
 * connection and understands it. On iWARP, the client sends first.
 */
static void send_reason(struct control_session *session)
{
	struct control *control = &session->control;
	struct command message = {.type = COMMAND_ABORT, .reply = true};
	char text[COMMAND_REASON_MAX + 1];

	if (session->ended || !control->explains || !control->heard ||
		failure_is_set(&control->end))
		return;
	session->ended = true;
	explain_cause(&control->failure, text, sizeof(text));
	message.text = text;
	message.text_size = (uint16_t)strlen(text);
	control_send_last(control, &message);
}

/* Prints a line of the transcript. These clients are many, and each leaves a line at its end. */
static void step(const struct control_session *session, const char *peer, const char *text)
{
	if (session->settings->output->verbose)
		client_log_step(session->log, peer, text);
}

/* Prints the line that a session leaves when its client simply disconnects. */
static void report_end(const struct control_session *session)
{
	char duration[UNITS_TEXT], text[SESSION_TESTS_TEXT], line[REPORT_SIZE];

	if (session->is_worker)
		return;
	snprintf(line, sizeof(line), "%s by %s in %s", kind_name(session), session->control.peer,
		units_format_duration(duration, deadline_now() - session->start));
	session_tests_text(&session->tests, session->kind == HELLO_DIAGNOSIS, text);
	text_append(line, sizeof(line), ": %s.", text);
	output_result(session->settings->output, NULL, line);
}

/*
 * Sends the reason and prints the failure, unless the client simply disconnected. What a full
 * server refuses is printed only with --verbose, as for exchanges.
 */
static void report(struct control_session *session)
{
	char text[OUTPUT_FAILURE_SIZE];

	if (session->control.disconnected && !session->ended) {
		report_end(session);
		return;
	}
	session->failed = true;
	conclude(session);
	send_reason(session);
	if (failure_is_for_memory(&session->control.failure)) {
		output_detail(session->settings->output, "no memory for another client: %s",
			session->control.failure.evidence);
		return;
	}
	client_log_failure(session->log, &session->control.failure, session->control.peer, text,
		deadline_now());
}

/* Serves the client on the processors of the device's node. */
static void serve_client(struct control_session *session)
{
	locality_bind(locality_processors(&session->control.device.locality));
	if (accept_client(session)) {
		refuse(session);
		return;
	}
	if (admit(session) == 0)
		while (take_command(session) == 0)
			;
}

/* The thread's main function. */
static void serve(void *argument)
{
	struct control_session *session = argument;
	struct control *control = &session->control;

	control->stop_fd = session->worker.stop_fd;
	perf_test_init(&session->test, control, session->depth, true);
	if (control_prepare(control, session->queue_pairs, session->depth))
		refuse(session);
	else
		serve_client(session);
	operation_end_close(&session->operations);
	counter_share_leave(&session->test.share);
	report(session);
	if (control->connected)
		step(session, control->peer, "peer disconnected.");
}

static void ended(void *about)
{
	struct control_session *session = about;

	wakeup_queue_post(session->settings->wakeups, &session->to_main, CONTROL_SESSION_ENDED);
}

/* Starts the session's thread. Returns 0, or -errno with the id unchanged. */
static int start(struct control_session *session, const struct control_server *server,
	const struct rdma_cm_event *request, const struct hello *theirs)
{
	struct rdma_cm_id *id = request->id;
	const struct bootstrap *bootstrap = bootstrap_of(id);
	struct cm_channel *events;
	int error = channel_create(bootstrap->channel_kind, &events);

	if (error)
		return error;
	if (bootstrap->migrate(id, events)) {
		error = -errno;
		goto destroy_channel;
	}
	control_init(&session->control, events, id, rdma_get_peer_addr(id),
		session->settings->secret, SECRET_SERVER);
	if (session->bandwidth)
		session->control.ordering = session->settings->ordering;
	session->control.inline_max = session->inline_max;
	session->control.gathers = session->gathers;
	session->control.answers = theirs->flags & HELLO_ANSWERS;
	session->control.explains = theirs->flags & HELLO_EXPLAINED;
	if (session->kind == HELLO_MEASUREMENT && (theirs->flags & HELLO_RECEIVES))
		session->control.receives = session->depth + CONTROL_RECEIVES_BESIDES;
	session->control.shares = session->control.receives && (theirs->flags & HELLO_SHARES);
	handshake_receive_hello(&session->control.handshake, request->param.conn.private_data);
	error = worker_start(&session->worker, "control", serve, session, &session->listener);
	if (!error)
		return 0;
	worker_join(&session->worker);
	bootstrap->migrate(id, server->channel);
destroy_channel:
	channel_destroy(events);
	return error;
}

void control_sessions_init(struct control_sessions *control_sessions, unsigned int most_per_address,
	struct client_log *log, struct totals *totals)
{
	control_sessions->log = log;
	control_sessions->totals = totals;
	TAILQ_INIT(&control_sessions->all);
	slots_init(&control_sessions->slots, CONTROL_SESSIONS_MAX, most_per_address, 0);
}

/*
 * True if the client's session is reported by another one: a measurement by that of its first
 * thread, and a diagnosis that tries the other way to connect by the one that it made before. That
 * session must exist: no client is served unnoticed.
 */
static bool is_worker(const struct control_sessions *control_sessions, const struct sockaddr *peer,
	const struct hello *theirs)
{
	struct control_session *session;

	if (!(theirs->flags & HELLO_WORKER))
		return false;
	TAILQ_FOREACH (session, &control_sessions->all, next)
		if (session->kind == (enum hello_kind)theirs->kind && !session->is_worker &&
			address_equal(peer, rdma_get_peer_addr(session->control.id)))
			return true;
	return false;
}

/* Frees a session without a thread. */
static void discard(struct control_session *session)
{
	pthread_mutex_destroy(&session->lock);
	free(session);
}

enum refusal control_sessions_take(struct control_sessions *control_sessions,
	const struct exchange_settings *settings, const struct control_server *server,
	const struct rdma_cm_event *request, const struct hello *theirs)
{
	const struct sockaddr *peer = rdma_get_peer_addr(request->id);
	enum slots_state slots = slots_state(&control_sessions->slots, peer);
	uint32_t queue_pairs = 1, depth = TEST_DIAGNOSIS_DEPTH, inline_max = 0, gathers = 1;
	struct control_session *session;
	char text[ADDRESS_TEXT_SIZE];

	if (slots != SLOTS_FREE)
		return slots == SLOTS_FULL ? REFUSAL_FULL : REFUSAL_ADDRESS;
	if (theirs->kind == HELLO_MEASUREMENT &&
		(hello_shape_decode(theirs->size, &queue_pairs, &depth) ||
			hello_requests_decode(theirs->mtu, &inline_max, &gathers)))
		return REFUSAL_MALFORMED;
	session = calloc(1, sizeof(*session));
	if (!session)
		return REFUSAL_RESOURCES;
	pthread_mutex_init(&session->lock, NULL);
	snprintf(session->device, sizeof(session->device), "%s",
		ibv_get_device_name(request->id->verbs->device));
	session->settings = settings;
	session->log = control_sessions->log;
	session->server = *server;
	session->kind = (enum hello_kind)theirs->kind;
	session->queue_pairs = queue_pairs;
	session->depth = depth;
	session->inline_max = inline_max;
	session->gathers = gathers;
	session->bandwidth = theirs->kind == HELLO_MEASUREMENT && (theirs->flags & HELLO_BANDWIDTH);
	session->is_worker = is_worker(control_sessions, peer, theirs);
	session->handshake = deadline_in(settings->handshake_timeout > HANDSHAKE_MIN
						 ? settings->handshake_timeout
						 : HANDSHAKE_MIN);
	session->initiator_depth = request->param.conn.initiator_depth;
	session->responder_resources = request->param.conn.responder_resources;
	session->to_main.about = session;
	session->start = deadline_now();
	session->listener = (struct worker_listener){.ended = ended, .about = session};
	session->worker.stop_fd = -1;
	address_port_text(peer, text);
	step(session, text, "received connection request.");
	if (start(session, server, request, theirs)) {
		discard(session);
		return REFUSAL_RESOURCES;
	}
	TAILQ_INSERT_TAIL(&control_sessions->all, session, next);
	slots_take(&control_sessions->slots, &session->slot, peer, deadline_now());
	return REFUSAL_NONE;
}

/* Adds a session that has ended to the totals. */
static void count(struct totals *totals, const struct control_session *session)
{
	uint64_t ignored = 0;

	if (session->is_worker)
		return;
	if (session->kind == HELLO_MEASUREMENT)
		totals_add(&totals->measurements, session->failed, &totals->measured,
			session->tests.bytes);
	else
		totals_add(&totals->diagnoses, session->failed, &ignored, 0);
}

bool control_sessions_take_event(
	struct control_sessions *control_sessions, const struct wakeup *wakeup, unsigned int events)
{
	struct control_session *session = wakeup->about;

	if (!(events & CONTROL_SESSION_ENDED))
		return false;
	worker_join(&session->worker);
	count(control_sessions->totals, session);
	control_close(&session->control);
	TAILQ_REMOVE(&control_sessions->all, session, next);
	slots_release(&control_sessions->slots, &session->slot);
	discard(session);
	return true;
}

void control_sessions_count(const struct control_sessions *control_sessions,
	unsigned int *measurements, unsigned int *diagnoses)
{
	const struct control_session *session;

	*measurements = *diagnoses = 0;
	TAILQ_FOREACH (session, &control_sessions->all, next)
		if (!session->is_worker)
			++*(session->kind == HELLO_MEASUREMENT ? measurements : diagnoses);
}

void control_sessions_each(const struct control_sessions *control_sessions, void *user,
	void (*take)(void *user, const struct control_session_state *state))
{
	struct control_session_state state;
	struct control_session *session;

	TAILQ_FOREACH (session, &control_sessions->all, next) {
		if (session->is_worker)
			continue;
		state = (struct control_session_state){.peer = session->control.peer,
			.kind = kind_name(session),
			.device = session->device};
		pthread_mutex_lock(&session->lock);
		state.test = session->running;
		state.moved = session->tests.bytes;
		pthread_mutex_unlock(&session->lock);
		take(user, &state);
	}
}

void control_sessions_stop(struct control_sessions *control_sessions)
{
	struct control_session *session;

	TAILQ_FOREACH (session, &control_sessions->all, next)
		worker_stop(&session->worker);
}

/*
 * Setup and teardown of a connection: the main thread's part.
 *
 * Resources are created in dependency order: protection domain, completion queue, queue pair,
 * memory. connection_destroy() frees whatever exists, so it also accepts a partially created
 * connection: first the queue pair, then its completion queue, then the regions, so that the device
 * never accesses freed memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "exchange/connection.h"
#include "exchange/internal.h"
#include "exchange/movers.h"
#include "exchange/test-data.h"
#include "exchange/tuning.h"
#include "verbs/bootstrap.h"
#include "verbs/cm.h"
#include "verbs/resource-limit.h"

/* How long a sender waits after an RNR NAK: 12 encodes 0.64 ms; 0 would mean 655 ms. */
#define RNR_TIMER 12

/*
 * What our hello says of trees. A client that does not say so might not expect that the server
 * does.
 */
static struct hello plans_of(const struct connection *connection)
{
	const struct exchange_settings *settings = connection->settings;
	bool trees = settings->plans & (HELLO_SENDS_TREE | HELLO_TAKES_TREE);

	return (struct hello){
		.flags = settings->plans,
		.extended = trees && (settings->active || connection->theirs.extended),
		.answers = trees && (settings->active || connection->theirs.answers),
		.keeps = trees && settings->kept && (settings->active || connection->theirs.keeps),
	};
}

/*
 * If the peer sends a tree and asks what we have of it, our data is the answers. If we ask, the
 * peer's is. Returns 0 or -1.
 */
static int make_answers(struct connection *connection, struct failure *failure)
{
	const struct hello ours = plans_of(connection), *theirs = &connection->theirs;
	int ends[2];

	if (hello_asks(&ours, theirs)) {
		connection->theirs.size = STREAM_SIZE_UNKNOWN;
		connection->answers = answers_new();
		return connection->answers ? 0
					   : failure_set(failure, FAILURE_ERRNO, PHASE_ALLOCATION,
						     ENOMEM, "calloc", "");
	}
	if (!hello_asks(theirs, &ours))
		return 0;
	source_close(connection->source); /* a greeting */
	connection->source = NULL;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return failure_set(failure, FAILURE_ERRNO, PHASE_ALLOCATION, errno, "pipe2", "");
	connection->answers_peer = true;
	connection->answering = ends[1];
	if (source_open_answers(&connection->source, ends[0]) == 0)
		return 0;
	close(ends[0]);
	return failure_set(failure, FAILURE_ERRNO, PHASE_ALLOCATION, ENOMEM, "calloc", "");
}

/* Bytes of a stream for which a ring is made: answers need few. */
static uint64_t ring_bytes(uint64_t size, bool is_answers)
{
	return is_answers ? ANSWERS_RING : size;
}

static int make_endpoint(struct connection *connection, struct failure *failure)
{
	const struct queue_size size = {
		.sends = connection->limits.sends,
		.receives = connection->limits.receives + connection->limits.slots,
		.gathers = connection->mover->gathers,
	};

	return endpoint_open(
		&connection->endpoint, connection->id, connection->device, &size, 1, failure);
}

/*
 * Callbacks of the worker threads (struct worker_listener): they wake the CQ thread or the main
 * thread.
 */
static void worker_progressed(void *about)
{
	struct connection *connection = about;

	wakeup_queue_post(&connection->device->wakeups, &connection->to_thread, THREAD_MOVED);
}

static void source_ended(void *about)
{
	struct connection *connection = about;

	wakeup_queue_post(
		connection->settings->wakeups, &connection->to_main, CONNECTION_SOURCE_ENDED);
}

static void sink_ended(void *about)
{
	struct connection *connection = about;

	wakeup_queue_post(
		connection->settings->wakeups, &connection->to_main, CONNECTION_SINK_ENDED);
}

/*
 * Creates a ring, whose data is read only after the completion that announces it, so the device may
 * write it in any order. With a secret, memory that the peer can access is registered only after
 * the peer has proved that it holds the secret.
 */
static int make_ring(struct connection *connection, struct region *region, struct ring *ring,
	size_t size, size_t least, int access, struct failure *failure)
{
	bool reachable = access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	bool later = reachable && connection->settings->secret;

	access |= device_data_access(connection->device, connection->settings->ordering);
	if (later ? region_map(region, connection->device, size, access, failure)
		  : connection_create_region(connection, region, size, least, access, failure))
		return -1;
	ring_init(ring, region->start, region->size);
	return 0;
}

/*
 * A text that the peer cannot access is stored after the message slots, in the same page, so that
 * 1,000 exchanges of texts fit into 8 MiB of locked memory.
 */
static int share_control(struct connection *connection, struct region *region, struct ring *ring)
{
	region->start = connection->control.start + control_size(&connection->limits);
	region->size = SINK_TEXT_SIZE;
	region->mr = connection->control.mr;
	ring_init(ring, region->start, SINK_TEXT_SIZE);
	return 0;
}

/* True if the ring that the peer cannot access has only a text. */
static bool shares_control(const struct connection *connection)
{
	return connection->limits.texts && !connection->test_data;
}

/* Creates the ring for the peer's data, which arrives in receive slots. */
static int make_slots(struct connection *connection, struct failure *failure)
{
	struct ring *ring = &connection->incoming_ring;
	uint32_t depth = connection->limits.depth;
	uint64_t ours = ring_bytes(source_size(connection->source), connection->answers_peer);
	uint64_t theirs = ring_bytes(connection->theirs.size, connection->answers);
	size_t least, size = slots_size(connection, theirs, ours, &least);
	int error;

	connection->slots_held = calloc(depth, sizeof(*connection->slots_held));
	connection->pieces_placed = calloc(depth, sizeof(*connection->pieces_placed));
	if (!connection->slots_held || !connection->pieces_placed)
		return failure_set(failure, FAILURE_ERRNO, PHASE_ALLOCATION, ENOMEM, "calloc", "");
	error = make_ring(connection, &connection->incoming, ring, size, least,
		connection->mover->incoming_access, failure);
	if (error)
		return error;
	slots_divide(connection);
	ring_use_pieces(ring, connection->pieces_placed, depth);
	return 0;
}

/* Creates both rings once the size of the peer's data is known. */
static int make_rings(struct connection *connection, struct failure *failure)
{
	const struct mover *mover = connection->mover;
	uint64_t ours = ring_bytes(source_size(connection->source), connection->answers_peer);
	uint64_t theirs = ring_bytes(connection->theirs.size, connection->answers);
	bool remote = connection->device->traits->read_needs_remote_write;
	bool posted = mover->exposes == EXPOSES_NOTHING;
	int incoming = mover->incoming_access | (remote ? IBV_ACCESS_REMOTE_WRITE : 0);
	bool shares = shares_control(connection);
	char out[UNITS_TEXT], in[UNITS_TEXT];
	int error = posted ? make_slots(connection, failure) : 0;

	if (error)
		return -1;
	/* Several slots may need more memory than all data that arrives in them. */
	if (posted)
		theirs = connection->incoming_ring.size;
	if (shares && mover->exposes != EXPOSES_OUTGOING)
		error = share_control(
			connection, &connection->outgoing, &connection->outgoing_ring);
	else
		error = make_ring(connection, &connection->outgoing, &connection->outgoing_ring,
			ring_size(connection, ours, theirs), 0, mover->outgoing_access, failure);
	if (error)
		return -1;
	if (!posted && shares && mover->exposes == EXPOSES_OUTGOING && !remote)
		error = share_control(
			connection, &connection->incoming, &connection->incoming_ring);
	else if (!posted)
		error = make_ring(connection, &connection->incoming, &connection->incoming_ring,
			ring_size(connection, theirs, ours), 0, incoming, failure);
	if (error)
		return -1;
	output_detail(connection->settings->output,
		"%s: registered %s bytes for outgoing data, %s for incoming", connection->peer,
		units_format_count(out, connection->outgoing_ring.size),
		units_format_count(in, connection->incoming_ring.size));
	return 0;
}

/* For a greeting, which is shown instead of stored. */
static const struct output_file_options no_output_file;

/* Starts the threads that access files. They wait until the peer is ready. */
static int start_workers(struct connection *connection, struct failure *failure)
{
	struct ring *out = &connection->outgoing_ring, *in = &connection->incoming_ring;
	const cpu_set_t *processors = locality_processors(&connection->device->locality);
	uint32_t chunk = connection->limits.chunk;
	unsigned int workers = workers_choose(connection->settings, connection->device,
		connection->theirs.size, connection->theirs.flags & HELLO_SENDS_TREE);
	char reason[256];
	int error;

	connection->source_listener =
		(struct worker_listener){worker_progressed, source_ended, connection, processors};
	connection->sink_listener =
		(struct worker_listener){worker_progressed, sink_ended, connection, processors};
	error = sink_open(&connection->sink,
		hello_is_greeting(&connection->theirs) ? &no_output_file
						       : &connection->settings->output_file,
		connection->theirs.size);
	if (!error && connection->answers) {
		sink_collect(connection->sink, connection->answers);
		source_ask(connection->source, connection->answers,
			!connection->settings->output_file.checksum);
	}
	if (!error && connection->answers_peer) {
		sink_answer(connection->sink, connection->answering);
		connection->answering = -1;
	}
	if (!error &&
		sink_reserve(connection->sink, &workers, connection->settings->secret, failure))
		return -1;
	if (!error)
		error = sink_start(connection->sink, in,
			flow_chunk(chunk, in->size, connection->theirs.size), workers,
			&connection->sink_listener);
	if (!error)
		error = source_start(connection->source, out,
			flow_chunk(chunk, out->size, source_size(connection->source)),
			workers_choose(connection->settings, connection->device,
				source_size(connection->source),
				connection->settings->plans & HELLO_SENDS_TREE),
			&connection->source_listener);
	if (!error) {
		test_data_fill(connection);
		return 0;
	}
	resource_limit_of_threads(-error, reason, sizeof(reason));
	return failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY, -error, "pthread_create",
		"cannot start a thread: %s", reason);
}

/*
 * Creates the resources for the first message or, on the passive side, all resources. The source
 * starts last: on failure, it may belong to the caller.
 */
static int make_all(
	struct connection *connection, const struct request *request, struct failure *failure)
{
	struct queue_limits *limits = &connection->limits;
	bool streams;
	int error;

	if (request && make_answers(connection, failure))
		return -1;
	if (!connection->source && settings_open_source(connection->settings, &connection->source,
					   PHASE_EXCHANGE, failure))
		return -1;
	/* The active side learns the size of the peer's data only from the reply. */
	streams = !request || !source_is_text(connection->source) ||
		  connection->theirs.size > SINK_TEXT_SIZE ||
		  (connection->theirs.flags & HELLO_SENDS_FILE);
	test_data_offer(connection, request ? !streams : source_is_text(connection->source));
	queue_limits_choose(limits, connection->settings, connection->device,
		connection->id->port_num, connection->mover, streams, connection->test_data);
	connection->marks = calloc(limits->sends, sizeof(*connection->marks));
	if (!connection->marks)
		return failure_set(failure, FAILURE_ERRNO, PHASE_ALLOCATION, ENOMEM, "calloc", "");
	if (make_endpoint(connection, failure) ||
		region_create(&connection->control, connection->device, connection->endpoint.pd,
			control_size(limits) + (shares_control(connection) ? SINK_TEXT_SIZE : 0),
			IBV_ACCESS_LOCAL_WRITE, failure))
		return -1;
	queue_pair_set_slots(connection->endpoint.pairs,
		(struct slot_area){.start = control_receives(connection),
			.slot_size = LONG_SLOT,
			.key = connection->control.mr->lkey});
	error = queue_pair_post_receives(connection->endpoint.pairs, limits->receives);
	if (error)
		return failure_errno(failure, PHASE_QUEUE_PAIR, "ibv_post_recv", -error);
	if (request && (make_rings(connection, failure) || start_workers(connection, failure)))
		return -1;
	/*
	 * From here on, the CQ thread may poll the connection. Nothing else must fail before it
	 * adopts the connection: a driver may flush the receives of a queue pair that is destroyed.
	 */
	return endpoint_arm(&connection->endpoint)
		       ? failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, EIO,
				 "ibv_req_notify_cq", "cannot request completion events: %s",
				 strerror(EIO))
		       : 0;
}

static uint8_t smaller(int a, int b)
{
	int least = a < b ? a : b;

	return (uint8_t)(least < UINT8_MAX ? least : UINT8_MAX);
}

/* Encodes our hello before the CQ thread, which reads it, adopts the connection. */
static void make_hello(struct connection *connection)
{
	const struct exchange_settings *settings = connection->settings;
	const struct hello plans = plans_of(connection),
			   ours = {
				   .version = HELLO_VERSION,
				   .mode = (uint8_t)connection->mode->number,
				   .kind = HELLO_EXCHANGE,
				   .size = source_size(connection->source),
				   .timeout = (uint32_t)settings->timeout,
				   .flags = plans.flags,
				   .mtu = connection->mtu,
				   .extended = plans.extended,
				   .answers = plans.answers,
				   .keeps = plans.keeps,
			   };

	connection->hello_bytes =
		handshake_hello(&connection->handshake, &ours, &connection->hello_size);
}

int connection_create(const struct exchange_settings *settings, const struct mode *mode,
	struct rdma_cm_id *id, struct device *device, const struct request *request,
	struct connection **result, struct failure *failure)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection)
		return failure_set(failure, FAILURE_ERRNO, PHASE_ALLOCATION, ENOMEM, "calloc", "");
	connection->settings = settings;
	connection->mode = mode;
	connection->dscp = -1;
	connection->registration.worker.stop_fd = connection->answering = -1;
	connection->mover = mover_find(mode, request && request->tutorial);
	connection->device = device;
	connection->id = id;
	connection->to_thread.about = connection->to_main.about = connection;
	address_port_text(rdma_get_peer_addr(id), connection->peer);
	exchange_init(&connection->exchange, settings->active, connection->mover->rules,
		settings->secret);
	handshake_init(&connection->handshake, settings->secret,
		settings->active ? SECRET_CLIENT : SECRET_SERVER);
	connection->initiator_depth = smaller(device->attributes.max_qp_init_rd_atom, UINT8_MAX);
	connection->responder_resources = smaller(device->attributes.max_qp_rd_atom, UINT8_MAX);
	if (request) {
		connection->theirs = request->theirs;
		connection->counted = request->counted;
		connection->source = request->source;
		handshake_receive_hello(&connection->handshake, request->hello_bytes);
		connection->initiator_depth =
			smaller(connection->initiator_depth, request->initiator_depth);
		connection->responder_resources =
			smaller(connection->responder_resources, request->responder_resources);
	}
	if (make_all(connection, request, failure)) {
		/* The caller still owns these. */
		connection->id = NULL;
		if (request && request->source)
			connection->source = NULL;
		connection_destroy(connection);
		return -1;
	}
	output_detail(settings->output,
		"%s: %s mode on %s port %u, queue pair %u%s, "
		"chunk size %u bytes, depth %u",
		connection->peer, mode->name, device_name(device), id->port_num, id->qp->qp_num,
		connection->mover->rules->hello ? "" : ", tutorial peer", connection->limits.chunk,
		connection->limits.depth);
	make_hello(connection);
	wakeup_queue_post(&device->wakeups, &connection->to_thread, THREAD_ADOPT);
	*result = connection;
	return 0;
}

struct rdma_conn_param connection_parameters(const struct connection *connection)
{
	struct rdma_conn_param parameters = {
		.initiator_depth = connection->initiator_depth,
		.responder_resources = connection->responder_resources,
		.retry_count = TRANSPORT_RETRIES,
		.rnr_retry_count = TRANSPORT_RNR_RETRIES,
	};

	if (connection->mover->rules->hello) {
		parameters.private_data = connection->hello_bytes;
		parameters.private_data_len = connection->hello_size;
	}
	return parameters;
}

/*
 * Sets the RNR timer, which rdmacm leaves at 0. iWARP has none, and a driver might apply the state
 * alone to the live connection.
 */
static void set_rnr_timer(struct connection *connection)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTS, .min_rnr_timer = RNR_TIMER};

	if (connection->device->traits->retries_receives)
		ibv_modify_qp(connection->id->qp, &attributes, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER);
}

int connection_accept(struct connection *connection, struct failure *failure)
{
	struct rdma_conn_param granted = connection_parameters(connection);

	if (id_accept(connection->id, &granted, failure))
		return -1;
	set_rnr_timer(connection);
	return 0;
}

/* Handles the server's acceptance. Returns event flags for the CQ thread, or -1. */
static int read_answer(
	struct connection *connection, const struct rdma_conn_param *reply, struct failure *failure)
{
	const struct exchange_settings *settings = connection->settings;
	struct hello *theirs = &connection->theirs;
	int error = hello_decode(theirs, reply->private_data, reply->private_data_len);

	connection->initiator_depth = smaller(connection->initiator_depth, reply->initiator_depth);
	if (connection->mode->reads && connection->initiator_depth == 0)
		return failure_set(failure, FAILURE_PROTOCOL, PHASE_CONNECT, 0,
			"RDMA_CM_EVENT_ESTABLISHED", "the server does not allow RDMA READ");
	/*
	 * Use the same message for all causes, so that an impostor does not learn which check
	 * failed.
	 */
	if (settings->secret &&
		(error || !handshake_fits(settings->secret, theirs, reply->private_data_len)))
		return secret_refused(failure);
	if (error == -ENOMSG && (settings->input || settings->output_file.output))
		return failure_set(failure, FAILURE_PROTOCOL, PHASE_CONNECT, 0,
			"RDMA_CM_EVENT_ESTABLISHED",
			"the server is a tutorial program, which cannot exchange files");
	if ((settings->plans & HELLO_SENDS_TREE) && !(theirs->flags & HELLO_TAKES_TREE))
		return failure_set(failure, FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_NO_FOLDER,
			"RDMA_CM_EVENT_ESTABLISHED", "");
	if (plans_of(connection).keeps && !theirs->keeps)
		return failure_set(failure, FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_KEPT,
			"RDMA_CM_EVENT_ESTABLISHED",
			"the server keeps no owners, groups, ACLs or extended attributes");
	if (error == -ENOMSG && !connection->mode->tutorial)
		return failure_set(failure, FAILURE_PROTOCOL, PHASE_CONNECT, 0,
			"RDMA_CM_EVENT_ESTABLISHED",
			"the server is a tutorial program, which does not know mode %s",
			connection->mode->name);
	if (error == -ENOMSG) {
		output_detail(settings->output, "%s is a tutorial program", connection->peer);
		theirs->size = SINK_TEXT_SIZE;
		return THREAD_TUTORIAL;
	}
	if (error || theirs->version != HELLO_VERSION || theirs->mode != connection->mode->number ||
		!handshake_fits(settings->secret, theirs, reply->private_data_len))
		return failure_set(failure, FAILURE_PROTOCOL, PHASE_CONNECT, error,
			"RDMA_CM_EVENT_ESTABLISHED",
			"the server's hello does not match ours (version %u, mode %u)",
			theirs->version, theirs->mode);
	handshake_receive_hello(&connection->handshake, reply->private_data);
	test_data_accepted(connection);
	return 0;
}

/* Reads the DSCP of the packets, which may not be what a server was asked for. */
static void find_dscp(struct connection *connection)
{
	const struct exchange_settings *settings = connection->settings;

	connection->dscp = endpoint_dscp(&connection->endpoint);
	if (settings->dscp >= 0 && connection->dscp >= 0 && connection->dscp != settings->dscp &&
		!connection->counted)
		output_line_warning(settings->output,
			"%s: packets carry DSCP %d, not %d: on RoCE, the client's --tos applies to "
			"both directions",
			connection->peer, connection->dscp, settings->dscp);
}

static void show_tuning(const struct connection *connection)
{
	const struct tuning tuning = tuning_of(connection);
	char text[TUNING_TEXT];

	tuning_text(text, &tuning);
	output_detail(connection->settings->output, "%s: %s", connection->peer, text);
}

int connection_established(
	struct connection *connection, const struct rdma_conn_param *reply, struct failure *failure)
{
	int events = 0;

	if (connection->main_life != CONNECTION_OPEN)
		return 0;
	find_dscp(connection);
	if (connection->settings->active) {
		set_rnr_timer(connection);
		events = read_answer(connection, reply, failure);
		if (events < 0 || make_answers(connection, failure) ||
			make_rings(connection, failure) || start_workers(connection, failure))
			return -1;
	}
	show_tuning(connection);
	wakeup_queue_post(&connection->device->wakeups, &connection->to_thread,
		THREAD_ESTABLISHED | (unsigned int)events);
	return 0;
}

void connection_cancel(struct connection *connection, const struct failure *reason)
{
	if (connection->main_life != CONNECTION_OPEN || failure_is_set(&connection->cancel_reason))
		return;
	connection->cancel_reason = *reason;
	wakeup_queue_post(&connection->device->wakeups, &connection->to_thread, THREAD_CANCEL);
}

void connection_close(struct connection *connection, const struct failure *reason)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};

	if (connection->main_life != CONNECTION_OPEN)
		return;
	connection->main_life = CONNECTION_CLOSING;
	if (reason)
		connection->reason = *reason;
	/*
	 * On InfiniBand and RoCE, either call moves the queue pair to the error state, which
	 * flushes all posted work requests. On iWARP, that state could reset a connection that is
	 * still delivering data.
	 */
	if (bootstrap_of(connection->id)->disconnect(connection->id) &&
		connection->device->traits->transport == IBV_TRANSPORT_IB)
		ibv_modify_qp(connection->id->qp, &attributes, IBV_QP_STATE);
	wakeup_queue_post(&connection->device->wakeups, &connection->to_thread, THREAD_CLOSE);
}

void connection_disconnected(struct connection *connection)
{
	struct failure gone = {0};

	failure_set(&gone, FAILURE_GONE, PHASE_EXCHANGE, 0, "RDMA_CM_EVENT_DISCONNECTED", "");
	if (connection->main_life == CONNECTION_OPEN)
		connection->disconnected = deadline_now();
	connection_close(connection, &gone);
}

void connection_abandon(struct connection *connection, const struct failure *reason)
{
	if (connection->main_life >= CONNECTION_ABANDONING)
		return;
	connection_close(connection, reason);
	connection->main_life = CONNECTION_ABANDONING;
	wakeup_queue_post(&connection->device->wakeups, &connection->to_thread, THREAD_ABANDON);
}

/*
 * The events of the worker threads that were started and not joined. Valid once the CQ thread,
 * which may start one, has released the connection.
 */
static unsigned int workers_of(const struct connection *connection)
{
	return (source_is_running(connection->source) ? CONNECTION_SOURCE_ENDED : 0) |
	       (sink_is_running(connection->sink) ? CONNECTION_SINK_ENDED : 0) |
	       (connection->registration.worker.running ? CONNECTION_REGISTRATION_ENDED : 0);
}

bool connection_drained(struct connection *connection, unsigned int events)
{
	/*
	 * An abandoned connection is released only after the CQ thread has processed
	 * THREAD_ABANDON.
	 */
	unsigned int released = connection->main_life == CONNECTION_ABANDONING
					? CONNECTION_ABANDONED
					: CONNECTION_DRAINED;

	if (events & released) {
		connection->main_life = CONNECTION_RELEASED;
		endpoint_blame(&connection->endpoint, &connection->failure);
		test_data_explain_unsent(connection);
	}
	connection->ended |= events;
	return connection->main_life == CONNECTION_RELEASED &&
	       (workers_of(connection) & ~connection->ended) == 0;
}

const struct failure *connection_outcome(const struct connection *connection)
{
	return failure_is_set(&connection->failure) ? &connection->failure
						    : &connection->incomplete;
}

void connection_destroy(struct connection *connection)
{
	/*
	 * If the exchange never began, its workers are still waiting for source_begin() and
	 * sink_begin().
	 */
	if (source_is_running(connection->source))
		source_stop(connection->source);
	if (sink_is_running(connection->sink))
		sink_stop(connection->sink);
	source_close(connection->source);
	sink_close(connection->sink);
	answers_free(connection->answers);
	if (connection->answering >= 0)
		close(connection->answering);
	worker_join(&connection->registration.worker);
	wakeup_queue_withdraw(connection->settings->wakeups, &connection->to_main);
	wakeup_queue_withdraw(&connection->device->wakeups, &connection->to_thread);
	endpoint_close_queues(&connection->endpoint);
	if (connection->incoming.start)
		ring_destroy(&connection->incoming_ring);
	if (connection->outgoing.start)
		ring_destroy(&connection->outgoing_ring);
	region_free(&connection->incoming);
	region_free(&connection->outgoing);
	region_free(&connection->control);
	endpoint_close(&connection->endpoint);
	if (connection->id)
		bootstrap_of(connection->id)->destroy(connection->id);
	free(connection->marks);
	free(connection->slots_held);
	free(connection->pieces_placed);
	free(connection);
}

const char *connection_peer(const struct connection *connection)
{
	return connection->peer;
}

void connection_set_owner(struct connection *connection, void *owner)
{
	connection->owner = owner;
}

void *connection_owner(const struct connection *connection)
{
	return connection->owner;
}

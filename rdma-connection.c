/*
 * Making, connecting and ending a connection: the main thread's half of the verbs module.
 *
 * The order in which things are made is the order in which they depend on one another (protection
 * domain, completion queue, queue pair, memory). connection_destroy() frees whatever is there, so it
 * also takes a half-made connection: first the queue pair, then its completion queue, then the
 * regions, so that the device never holds what is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/host.h"
#include "rdma-internal.h"

/*
 * How hard the transport tries. A lost packet is sent again after ACK_TIMEOUT (4.096 us * 2^17, half
 * a second), RETRIES times: about four seconds, inside the usual deadline of ten, until the peer is
 * given up. (Not 7 times, which soft-RoCE takes for ever.) The active side's numbers hold for both.
 * A receiver that is not ready is asked again for ever (7): a tutorial peer posts its second receive
 * late, and the deadline ends the rest.
 */
#define ACK_TIMEOUT 17
#define RETRIES     6
#define RNR_RETRIES 7
/* The pause that we ask of a sender that finds no receive: code 12, 0.64 ms. 0 would be 655 ms. */
#define RNR_TIMER 12
/* READs in flight each way; an exchange has one. */
#define READ_DEPTH 1

/*
 * Maps the memory: one page for what the peer may access, one for everything else. Locked memory is
 * counted in pages, and many systems allow an ordinary user 8 MiB: room for 1,000 clients. Anonymous
 * pages are zero, so nothing old can be read by the peer.
 */
static int map_memory(struct memory *memory)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *start;

	_Static_assert(sizeof(struct control) + REGION_SIZE <= 4096, "one page");
	start = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start == MAP_FAILED)
		return -errno;
	memory->mapped = 2 * page;
	memory->control = (struct control *)start;
	return 0;
}

/*
 * Lays the two message buffers out: the one that is not exposed comes right behind `control` and is
 * registered with it, so two regions are enough for three purposes.
 */
static void place_buffers(struct connection *connection)
{
	struct memory *memory = &connection->memory;
	uint8_t *hidden = (uint8_t *)(memory->control + 1);
	uint8_t *exposed = (uint8_t *)memory->control + memory->mapped / 2;

	memory->incoming = mode_verbs(connection->mode)->exposes_incoming ? exposed : hidden;
	memory->outgoing = memory->incoming == exposed ? hidden : exposed;
	memcpy(memory->outgoing, connection->session->message, connection->session->message_size);
}

static struct ibv_mr *register_memory(struct connection *connection, void *start, size_t length,
	int access, struct failure *failure)
{
	struct ibv_mr *region = ibv_reg_mr(connection->pd, start, length, (unsigned int)access);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct rlimit limit = {0};
	int error = errno;

	if (region)
		return region;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY, error, "ibv_reg_mr",
		"%s; needed %zu KiB more, the limit is %llu KiB", strerror(error),
		(length + page - 1) / page * page / 1024,
		(unsigned long long)limit.rlim_cur / 1024);
	return NULL;
}

static int make_regions(struct connection *connection, struct failure *failure)
{
	const struct mode_verbs *mode = mode_verbs(connection->mode);
	struct memory *memory = &connection->memory;
	bool iwarp = connection->device->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	int error = map_memory(memory);

	if (error)
		return failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY, -error, "mmap", "%s",
			strerror(-error));
	place_buffers(connection);
	connection->control_mr = register_memory(connection, memory->control,
		sizeof(*memory->control) + REGION_SIZE, IBV_ACCESS_LOCAL_WRITE, failure);
	connection->exposed_mr =
		connection->control_mr
			? register_memory(connection,
				  mode->exposes_incoming ? memory->incoming : memory->outgoing,
				  REGION_SIZE, mode->exposed_access, failure)
			: NULL;
	/* iWARP: where a READ lands must allow REMOTE_WRITE, so it is kept apart from control. */
	if (connection->exposed_mr && iwarp && mode->opcode == IBV_WR_RDMA_READ) {
		connection->sink_mr = register_memory(connection, memory->incoming, REGION_SIZE,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, failure);
		return connection->sink_mr ? 0 : -1;
	}
	return connection->exposed_mr ? 0 : -1;
}

static int make_queue_pair(struct connection *connection, struct failure *failure)
{
	struct ibv_context *verbs = connection->device->verbs;
	struct ibv_qp_init_attr wanted = {
		.qp_type = IBV_QPT_RC,
		.cap =
			{
				.max_send_wr = SENDS,
				.max_recv_wr = RECEIVES,
				.max_send_sge = 1,
				.max_recv_sge = 1,
			},
	};
	struct ibv_device_attr allowed = {0};
	int error;

	connection->pd = ibv_alloc_pd(verbs);
	if (!connection->pd)
		return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, errno, "ibv_alloc_pd",
			"no protection domain: %s", strerror(errno));
	connection->cq =
		ibv_create_cq(verbs, SENDS + RECEIVES, connection, connection->device->channel, 0);
	if (!connection->cq)
		return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, errno, "ibv_create_cq",
			"no completion queue: %s", strerror(errno));
	error = ibv_req_notify_cq(connection->cq, 0);
	if (error)
		return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, error,
			"ibv_req_notify_cq", "no completion events: %s", strerror(error));
	connection->armed = true;
	wanted.send_cq = wanted.recv_cq = connection->cq;
	if (rdma_create_qp(connection->id, connection->pd, &wanted) == 0)
		return 0;
	error = errno;
	ibv_query_device(verbs, &allowed);
	if (error == EINVAL && allowed.max_qp_wr >= SENDS + RECEIVES)
		/* Nothing is wrong with the size: rdmacm gave the request up before we came to it. */
		return failure_set(failure, FAILURE_GONE, PHASE_CONNECT, error, "rdma_create_qp",
			"its request was given up before it was served");
	return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, error, "rdma_create_qp",
		"%s; asked for %d+%d work requests, the device allows %d each and %d queue pairs",
		strerror(error), SENDS, RECEIVES, allowed.max_qp_wr, allowed.max_qp);
}

int connection_create(const struct session *session, const struct mode *mode, struct rdma_cm_id *id,
	struct device *device, bool tutorial, struct connection **result, struct failure *failure)
{
	uint8_t timeout = ACK_TIMEOUT;
	struct connection *connection = calloc(1, sizeof(*connection));
	int error;

	if (!connection)
		return failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY, ENOMEM, "calloc", "");
	connection->session = session;
	connection->mode = mode;
	connection->device = device;
	connection->id = id;
	connection->to_thread.about = connection->to_main.about = connection;
	address_port_text(rdma_get_peer_addr(id), connection->peer);
	exchange_init(&connection->exchange, session->active, tutorial);
	/* Older kernels and other transports have no such option: then theirs holds. */
	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof(timeout));

	if (make_queue_pair(connection, failure) || make_regions(connection, failure))
		goto destroy;
	error = connection_post_receives(connection);
	if (error) {
		failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, -error, "ibv_post_recv", "%s",
			strerror(-error));
		goto destroy;
	}
	output_detail(session->output,
		"%s: %s mode on %s port %u, queue pair %u%s, offering %d bytes at %p, rkey %#x",
		connection->peer, mode->name, device_name(device), id->port_num, id->qp->qp_num,
		tutorial ? ", a program of the tutorial" : "", REGION_SIZE,
		connection->exposed_mr->addr, connection->exposed_mr->rkey);
	mailbox_post(&device->mailbox, &connection->to_thread, THREAD_ADOPT);
	*result = connection;
	return 0;

destroy:
	connection->id = NULL; /* stays the caller's */
	if (id->qp)
		rdma_destroy_qp(id);
	connection_destroy(connection);
	return -1;
}

/* Our introduction and how hard to try, the same for connect and accept. */
static struct rdma_conn_param parameters(
	const struct connection *connection, uint8_t introduction[INTRODUCTION_SIZE])
{
	const struct introduction ours = {
		.version = INTRODUCTION_VERSION,
		.mode = (uint8_t)connection->mode->number,
		.session = SESSION_EXCHANGE,
		.region_length = REGION_SIZE,
	};
	struct rdma_conn_param parameters = {
		.initiator_depth = READ_DEPTH,
		.responder_resources = READ_DEPTH,
		.retry_count = RETRIES,
		.rnr_retry_count = RNR_RETRIES,
	};

	introduction_encode(&ours, introduction);
	if (!connection->exchange.tutorial) {
		parameters.private_data = introduction;
		parameters.private_data_len = INTRODUCTION_SIZE;
	}
	return parameters;
}

/* Sets what rdmacm leaves at 0. Devices that do not know it (iWARP) refuse; so be it. */
static void set_rnr_timer(struct connection *connection)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTS, .min_rnr_timer = RNR_TIMER};

	ibv_modify_qp(connection->id->qp, &attributes, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER);
}

bool connection_reads(const struct mode *mode)
{
	return mode_verbs(mode)->opcode == IBV_WR_RDMA_READ;
}

int connection_connect(struct connection *connection)
{
	uint8_t introduction[INTRODUCTION_SIZE];
	struct rdma_conn_param wanted = parameters(connection, introduction);

	return rdma_connect(connection->id, &wanted) ? -errno : 0;
}

static uint8_t smaller(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

int connection_accept(struct connection *connection, const struct rdma_conn_param *request)
{
	uint8_t introduction[INTRODUCTION_SIZE];
	struct rdma_conn_param granted = parameters(connection, introduction);

	granted.initiator_depth = smaller(READ_DEPTH, request->initiator_depth);
	granted.responder_resources = smaller(READ_DEPTH, request->responder_resources);
	if (rdma_accept(connection->id, &granted))
		return -errno;
	set_rnr_timer(connection);
	return 0;
}

/* What the server's acceptance says about it: notes for the CQ thread, or -1. */
static int read_answer(const struct connection *connection, const struct rdma_conn_param *answer,
	struct failure *failure)
{
	struct introduction theirs;
	int error = introduction_decode(&theirs, answer->private_data, answer->private_data_len);

	if (connection_reads(connection->mode) && answer->initiator_depth == 0)
		return failure_set(failure, FAILURE_PROTOCOL, PHASE_CONNECT, 0,
			"RDMA_CM_EVENT_ESTABLISHED", "it allows no RDMA READ");
	if (error == -ENOMSG) {
		output_detail(connection->session->output, "%s is a program of the tutorial",
			connection->peer);
		return THREAD_TUTORIAL;
	}
	if (error || theirs.version != INTRODUCTION_VERSION ||
		theirs.mode != connection->mode->number || theirs.region_length < REGION_SIZE)
		return failure_set(failure, FAILURE_PROTOCOL, PHASE_CONNECT, error,
			"RDMA_CM_EVENT_ESTABLISHED",
			"it accepted with version %u, mode %u, regions of %llu bytes, not ours",
			theirs.version, theirs.mode, (unsigned long long)theirs.region_length);
	return 0;
}

int connection_established(struct connection *connection, const struct rdma_conn_param *answer,
	struct failure *failure)
{
	int notes = 0;

	if (connection->closed)
		return 0;
	if (connection->session->active) {
		set_rnr_timer(connection);
		notes = read_answer(connection, answer, failure);
		if (notes < 0)
			return -1;
	}
	mailbox_post(&connection->device->mailbox, &connection->to_thread,
		THREAD_ESTABLISHED | (unsigned int)notes);
	return 0;
}

void connection_close(struct connection *connection, const struct failure *reason)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};

	if (connection->closed)
		return;
	connection->closed = true;
	if (reason)
		connection->reason = *reason;
	/* Either way the queue pair is in the error state then, and flushes what is posted. */
	if (rdma_disconnect(connection->id))
		ibv_modify_qp(connection->id->qp, &attributes, IBV_QP_STATE);
	mailbox_post(&connection->device->mailbox, &connection->to_thread, THREAD_CLOSE);
}

void connection_disconnected(struct connection *connection)
{
	struct failure gone = {0};

	failure_set(&gone, FAILURE_GONE, PHASE_EXCHANGE, 0, "RDMA_CM_EVENT_DISCONNECTED", "");
	connection_close(connection, &gone);
}

void connection_abandon(struct connection *connection, const struct failure *reason)
{
	if (connection->abandoned || connection->let_go)
		return;
	connection->abandoned = true;
	connection_close(connection, reason);
	mailbox_post(&connection->device->mailbox, &connection->to_thread, THREAD_ABANDON);
}

bool connection_drained(struct connection *connection, unsigned int notes)
{
	/* An abandoned connection is let go of only when the thread has seen that note too. */
	if (notes & (connection->abandoned ? CONNECTION_ABANDONED : CONNECTION_DRAINED))
		connection->let_go = true;
	return connection->let_go;
}

const struct failure *connection_outcome(const struct connection *connection)
{
	return &connection->failure;
}

void connection_destroy(struct connection *connection)
{
	mailbox_withdraw(connection->session->mailbox, &connection->to_main);
	mailbox_withdraw(&connection->device->mailbox, &connection->to_thread);
	if (connection->id && connection->id->qp)
		rdma_destroy_qp(connection->id);
	if (connection->cq)
		ibv_destroy_cq(connection->cq);
	if (connection->sink_mr)
		ibv_dereg_mr(connection->sink_mr);
	if (connection->exposed_mr)
		ibv_dereg_mr(connection->exposed_mr);
	if (connection->control_mr)
		ibv_dereg_mr(connection->control_mr);
	if (connection->pd)
		ibv_dealloc_pd(connection->pd);
	if (connection->memory.mapped)
		munmap(connection->memory.control, connection->memory.mapped);
	if (connection->id)
		rdma_destroy_id(connection->id);
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

/* The made-up device: what becomes of work requests, and what the test does with it. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>

#include "fake-internal.h"

struct fake fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .slept = PTHREAD_COND_INITIALIZER};

void fake_rule(bool kept, const char *what)
{
	if (kept)
		return;
	fprintf(stderr, "made-up device: %s\n", what);
	abort();
}

void fake_lock(void)
{
	pthread_mutex_lock(&fake.lock);
}

void fake_unlock(void)
{
	pthread_mutex_unlock(&fake.lock);
}

bool fake_make(const char *function, unsigned int objects)
{
	bool fails;

	fake_lock();
	fails = fake.failure.function && strcmp(fake.failure.function, function) == 0 &&
		fake.failure.after-- == 0;
	if (fails) {
		fake.failure.function = NULL;
		errno = fake.failure.error;
	} else {
		fake.objects += objects;
	}
	fake_unlock();
	return !fails;
}

void fake_unmake(void)
{
	fake_lock();
	fake_rule(fake.objects-- > 0, "something was freed that was never made");
	fake_unlock();
}

struct fake_connection *fake_of_qp(struct ibv_qp *qp)
{
	return (struct fake_connection *)((char *)qp - offsetof(struct fake_connection, qp));
}

struct fake_connection *fake_of_id(struct rdma_cm_id *id)
{
	return (struct fake_connection *)id;
}

/* Work requests and completions. The lock is held. */

static void add_completion(struct fake_cq *cq, const struct ibv_wc *completion)
{
	fake_rule(cq->added - cq->polled < (unsigned int)cq->cq.cqe,
		"the completion queue overflows");
	cq->queue[cq->added++ % QUEUE_MAX] = *completion;
	if (!cq->armed)
		return;
	cq->armed = false;
	cq->events++;
	eventfd_write(cq->cq.channel->fd, 1);
}

const struct fake_mr *fake_find(uint32_t key)
{
	for (size_t i = 0; i < OBJECT_MAX; i++)
		if (fake.regions[i].used &&
			(fake.regions[i].mr.lkey == key || fake.regions[i].mr.rkey == key))
			return &fake.regions[i];
	return NULL;
}

/* Our own memory that a work request names must be registered, for what is done to it. */
static void check_piece(
	const struct fake_connection *connection, const struct ibv_sge *piece, int access)
{
	const struct fake_mr *region = fake_find(piece->lkey);
	uint64_t start = region ? (uintptr_t)region->mr.addr : 0;

	fake_rule(region && region->mr.lkey == piece->lkey, "no region has this lkey");
	fake_rule(region->mr.pd == connection->qp.pd, "the region is of another protection domain");
	fake_rule(piece->addr >= start && piece->addr - start + piece->length <= region->mr.length,
		"a work request leaves its region");
	fake_rule((region->access & access) == access, "the region does not allow that");
}

static void complete_send(struct fake_connection *connection, enum ibv_wc_status status)
{
	const struct fake_send *send = &connection->sends[connection->completed++];
	const struct ibv_wc completion = {
		.wr_id = send->wr_id,
		.status = status,
		.qp_num = connection->qp.qp_num,
	};

	if (send->flags & IBV_SEND_SIGNALED || status != IBV_WC_SUCCESS)
		add_completion(connection->cq, &completion);
}

static void complete_receive(
	struct fake_connection *connection, enum ibv_wc_status status, size_t length)
{
	const struct ibv_wc completion = {
		.wr_id = connection->receives[connection->received++].wr_id,
		.status = status,
		.opcode = IBV_WC_RECV,
		.byte_len = (uint32_t)length,
		.qp_num = connection->qp.qp_num,
	};

	add_completion(connection->cq, &completion);
}

void fake_flush(struct fake_connection *connection)
{
	connection->broken = true;
	while (connection->completed < connection->posted)
		complete_send(connection, IBV_WC_WR_FLUSH_ERR);
	while (connection->received < connection->receives_posted)
		complete_receive(connection, IBV_WC_WR_FLUSH_ERR, 0);
}

void fake_take_send(struct fake_connection *connection, const struct ibv_send_wr *request)
{
	struct fake_send *send = &connection->sends[connection->posted++];
	bool reads = request->opcode == IBV_WR_RDMA_READ;
	bool marker = request->num_sge == 0; /* to be flushed, so it carries nothing */
	int sink = IBV_ACCESS_LOCAL_WRITE;

	if (fake.device.transport_type == IBV_TRANSPORT_IWARP)
		sink |= IBV_ACCESS_REMOTE_WRITE;
	fake_rule(connection->posted < QUEUE_MAX, "the send queue overflows");
	fake_rule(marker ? connection->broken : request->num_sge == 1,
		"one piece is expected, or none in the error state");
	if (!marker)
		check_piece(connection, request->sg_list, reads ? sink : 0);
	*send = (struct fake_send){
		.wr_id = request->wr_id,
		.opcode = request->opcode,
		.flags = request->send_flags,
		.call = connection->calls,
		.remote_address = request->wr.rdma.remote_addr,
		.rkey = request->wr.rdma.rkey,
	};
	connection->markers += marker;
	if (!marker)
		send->piece = *request->sg_list;
	if (request->opcode != IBV_WR_SEND || marker)
		return;
	fake_rule(send->piece.length == MESSAGE_SIZE, "a message has another size");
	memcpy(send->bytes, (void *)(uintptr_t)send->piece.addr, MESSAGE_SIZE);
}

void fake_take_receive(struct fake_connection *connection, const struct ibv_recv_wr *request)
{
	unsigned int place = connection->receives_posted++;

	fake_rule(place < QUEUE_MAX, "the receive queue overflows");
	fake_rule(
		!request->next && request->num_sge == 1, "one receive with one piece is expected");
	check_piece(connection, request->sg_list, IBV_ACCESS_LOCAL_WRITE);
	connection->receives[place] = *request;
	connection->pieces[place] = *request->sg_list;
}

/* What succeeds has an effect, on memory that nobody touched since it was posted. */
static void execute(const struct fake_send *send)
{
	void *ours = (void *)(uintptr_t)send->piece.addr;
	void *theirs = (void *)(uintptr_t)send->remote_address;

	if (send->opcode == IBV_WR_SEND) {
		fake_rule(memcmp(ours, send->bytes, MESSAGE_SIZE) == 0,
			"a message was changed before it was acknowledged");
		return;
	}
	fake_rule(send->rkey == fake.peer.rkey, "the peer has no region with this rkey");
	fake_rule(send->remote_address >= fake.peer.start &&
			  send->remote_address - fake.peer.start + send->piece.length <=
				  fake.peer.length,
		"RDMA leaves the peer's region");
	if (send->opcode == IBV_WR_RDMA_WRITE)
		memcpy(theirs, ours, send->piece.length);
	else
		memcpy(ours, theirs, send->piece.length);
}

/* What the test does. */

/*
 * The CQ thread polls two descriptors, and nobody else here does. It is settled when it is about to
 * sleep and neither is readable: only it reads them, so nothing can have slipped by.
 */
int poll(struct pollfd *waiting, nfds_t count, int milliseconds)
{
	const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
	int result;

	if (count == 2) {
		fake_lock();
		memcpy(fake.watched, waiting, sizeof(fake.watched));
		fake.asleep = true;
		pthread_cond_broadcast(&fake.slept);
		fake_unlock();
	}
	result = ppoll(waiting, count, milliseconds < 0 ? NULL : &time, NULL);
	if (count == 2) {
		fake_lock();
		fake.asleep = false;
		fake_unlock();
	}
	return result;
}

void fake_settle(void)
{
	const struct timespec moment = {0, 100000};

	for (unsigned int tries = 0; tries < 100000; tries++) {
		struct pollfd watched[2];
		bool asleep;

		fake_lock();
		asleep = fake.asleep;
		memcpy(watched, fake.watched, sizeof(watched));
		if (asleep && ppoll(watched, 2, &(struct timespec){0}, NULL) == 0) {
			fake_unlock();
			return;
		}
		fake_unlock();
		nanosleep(&moment, NULL);
	}
	fake_rule(false, "the CQ thread does not come to rest");
}

void fake_start(enum ibv_transport_type transport)
{
	fake_lock();
	fake_rule(fake.objects == 0, "something is left of the test before");
	fake.device = (struct ibv_device){.transport_type = transport, .name = "fake0"};
	fake.context = (struct ibv_context){
		.device = &fake.device,
		.ops = fake_ops,
	};
	memset(fake.cqs, 0, sizeof(fake.cqs));
	memset(fake.regions, 0, sizeof(fake.regions));
	memset(&fake.failure, 0, sizeof(fake.failure));
	memset(&fake.peer, 0, sizeof(fake.peer));
	fake.flush_on_disconnect = true;
	fake.asleep = false;
	fake_unlock();
}

struct ibv_context *fake_context(void)
{
	return &fake.context;
}

struct rdma_cm_id *fake_id(void)
{
	struct fake_connection *connection = calloc(1, sizeof(*connection));
	struct sockaddr_in *peer;

	fake_rule(connection && fake_make("rdma_create_id", 1), "no memory");
	connection->id.verbs = &fake.context;
	connection->id.port_num = 1;
	peer = &connection->id.route.addr.dst_sin;
	peer->sin_family = AF_INET;
	peer->sin_port = htons(7471);
	inet_pton(AF_INET, "192.0.2.9", &peer->sin_addr);
	return &connection->id;
}

void fake_fail(const char *function, unsigned int after, int error)
{
	fake_lock();
	fake.failure.function = function;
	fake.failure.after = after;
	fake.failure.error = error;
	fake_unlock();
}

unsigned int fake_objects(void)
{
	unsigned int objects;

	fake_lock();
	objects = fake.objects;
	fake_unlock();
	return objects;
}

void fake_expose(void *memory, size_t length, uint32_t rkey)
{
	fake_lock();
	fake.peer.start = (uintptr_t)memory;
	fake.peer.length = length;
	fake.peer.rkey = rkey;
	fake_unlock();
}

unsigned int fake_sends(struct rdma_cm_id *id)
{
	unsigned int posted;

	fake_lock();
	posted = fake_of_id(id)->posted - fake_of_id(id)->markers;
	fake_unlock();
	return posted;
}

struct fake_send fake_send(struct rdma_cm_id *id, unsigned int index)
{
	struct fake_send send;

	fake_lock();
	fake_rule(index < fake_of_id(id)->posted, "no such work request was posted");
	send = fake_of_id(id)->sends[index];
	fake_unlock();
	return send;
}

void fake_complete(struct rdma_cm_id *id, enum ibv_wc_status status)
{
	struct fake_connection *connection = fake_of_id(id);

	fake_lock();
	fake_rule(connection->completed < connection->posted, "nothing is there to complete");
	if (status == IBV_WC_SUCCESS)
		execute(&connection->sends[connection->completed]);
	complete_send(connection, status);
	fake_unlock();
}

void fake_arrive(struct rdma_cm_id *id, const void *bytes, size_t length)
{
	struct fake_connection *connection = fake_of_id(id);
	const struct ibv_sge *piece = &connection->pieces[connection->received];

	fake_lock();
	fake_rule(connection->received < connection->receives_posted, "no receive is posted");
	memcpy((void *)(uintptr_t)piece->addr, bytes,
		length < piece->length ? length : piece->length);
	complete_receive(connection, IBV_WC_SUCCESS, length);
	fake_unlock();
}

void fake_fail_receive(struct rdma_cm_id *id, enum ibv_wc_status status)
{
	fake_lock();
	complete_receive(fake_of_id(id), status, 0);
	fake_unlock();
}

void fake_break(struct rdma_cm_id *id)
{
	fake_lock();
	fake_flush(fake_of_id(id));
	fake_unlock();
}

void fake_flush_on_disconnect(bool flushes)
{
	fake_lock();
	fake.flush_on_disconnect = flushes;
	fake_unlock();
}

struct fake_requests fake_requests(struct rdma_cm_id *id)
{
	struct fake_requests requests;

	fake_lock();
	requests = fake_of_id(id)->requests;
	fake_unlock();
	return requests;
}

const struct ibv_mr *fake_region(uint32_t key, int *access)
{
	const struct fake_mr *region;

	fake_lock();
	region = fake_find(key);
	fake_unlock();
	if (!region)
		return NULL;
	*access = region->access;
	return &region->mr;
}

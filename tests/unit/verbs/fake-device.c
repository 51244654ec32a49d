/* The core of the fake device: executes work requests and enforces the rules of real hardware. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/verbs/fake-internal.h"

struct fake fake = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.unheld = PTHREAD_COND_INITIALIZER,
	.tick = -1,
	.channel = -1,
};

void fake_rule(bool kept, const char *what)
{
	if (kept)
		return;
	/* Not stderr, which the test may have redirected. */
	dprintf(STDERR_FILENO, "made-up device: %s\n", what);
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

size_t fake_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

struct fake_connection *fake_of_qp(struct ibv_qp *qp)
{
	return (struct fake_connection *)((char *)qp - offsetof(struct fake_connection, qp));
}

struct fake_connection *fake_of_id(struct rdma_cm_id *id)
{
	return (struct fake_connection *)id;
}

static void raise_event(struct fake_cq *cq)
{
	if (!cq->armed)
		return;
	cq->armed = false;
	cq->events++;
	eventfd_write(cq->cq.channel->fd, 1);
}

static void add_completion(struct fake_connection *connection, const struct ibv_wc *completion,
	bool receive, unsigned int send)
{
	struct fake_cq *cq = connection->cq;

	fake_rule(cq->added - cq->polled < (unsigned int)cq->cq.cqe,
		"the completion queue overflows");
	cq->queue[cq->added++ % (unsigned int)cq->cq.cqe] =
		(struct fake_completion){*completion, connection, receive, send};
	raise_event(cq);
}

const struct fake_mr *fake_find(uint32_t key)
{
	for (size_t i = 0; i < OBJECT_MAX; i++)
		if (fake.regions[i].used &&
			(fake.regions[i].mr.lkey == key || fake.regions[i].mr.rkey == key))
			return &fake.regions[i];
	return NULL;
}

static bool is_inside(const struct fake_mr *region, uint64_t address, uint64_t length)
{
	uint64_t start = (uintptr_t)region->mr.addr;

	return address >= start && length <= region->mr.length &&
	       address - start <= region->mr.length - length;
}

/* The local memory of a work request must be registered with the access flags that it needs. */
static void check_piece(
	const struct fake_connection *connection, const struct ibv_sge *piece, int access)
{
	const struct fake_mr *region = fake_find(piece->lkey);

	fake_rule(region && region->mr.lkey == piece->lkey, "no region has this lkey");
	fake_rule(region->mr.pd == connection->qp.pd, "the region is of another protection domain");
	fake_rule(
		is_inside(region, piece->addr, piece->length), "a work request leaves its region");
	fake_rule((region->access & access) == access, "the region does not allow that");
}

static bool overtakes(void)
{
	return fake.personality && fake.personality->overtakes;
}

unsigned int fake_next_send(const struct fake_connection *connection)
{
	unsigned int next = connection->first;

	if (!overtakes() || ++fake.overtakes % 3 == 0)
		return next;
	while (next < connection->posted &&
		(connection->sends[next].completed ||
			connection->sends[next].opcode == IBV_WR_RDMA_READ))
		next++;
	return next < connection->posted ? next : connection->first;
}

void fake_complete_send(
	struct fake_connection *connection, unsigned int number, enum ibv_wc_status status)
{
	struct fake_send *send = &connection->sends[number];
	const struct ibv_wc completion = {
		.wr_id = send->wr_id,
		.status = status,
		.qp_num = connection->qp.qp_num,
	};

	send->completed = true;
	connection->completed++;
	while (connection->first < connection->posted &&
		connection->sends[connection->first].completed)
		connection->first++;
	connection->reading -= send->opcode == IBV_WR_RDMA_READ;
	if (send->flags & IBV_SEND_SIGNALED || status != IBV_WC_SUCCESS)
		add_completion(connection, &completion, false, number);
}

void fake_complete_receive(struct fake_connection *connection, const struct ibv_wc *how)
{
	struct ibv_wc completion = *how;

	fake_rule(connection->received < connection->receives_posted, "no receive is posted");
	completion.wr_id =
		connection->receives[connection->received++ % connection->capacity.max_recv_wr]
			.wr_id;
	completion.qp_num = connection->qp.qp_num;
	add_completion(connection, &completion, true, 0);
}

static void flush(struct fake_connection *connection)
{
	const struct ibv_wc flushed = {.status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV};

	while (connection->completed < connection->posted)
		fake_complete_send(connection, connection->first, IBV_WC_WR_FLUSH_ERR);
	while (connection->received < connection->receives_posted)
		fake_complete_receive(connection, &flushed);
}

void fake_flush(struct fake_connection *connection)
{
	connection->broken = true;
	if (!fake.personality || !fake.personality->flushes_in_poll) {
		flush(connection);
	} else if (!connection->cq->flushing) {
		/* One event for the error, and none for what is flushed or posted later. */
		connection->cq->flushing = connection;
		raise_event(connection->cq);
	}
}

void fake_flush_in_poll(struct fake_cq *cq)
{
	bool armed = cq->armed;

	if (!cq->flushing)
		return;
	cq->armed = false;
	flush(cq->flushing);
	cq->armed = armed;
}

static void *at(const struct ibv_sge *piece)
{
	return (void *)(uintptr_t)piece->addr;
}

/* The memory of a send must not change until its slot in the queue is free. */
static void check_unchanged(const struct fake_send *send)
{
	struct digest digest;

	if (send->opcode == IBV_WR_RDMA_READ)
		return;
	digest = digest_of(at(&send->piece), send->piece.length);
	fake_rule(
		digest_equal(&digest, &send->digest), "memory was changed while it was being sent");
	digest = digest_of(at(&send->data), send->data.length);
	fake_rule(digest_equal(&digest, &send->data_digest),
		"data was changed while it was being sent");
}

/* True if the program knows that this send has completed. */
static bool is_known(
	const struct fake_connection *connection, unsigned int number, unsigned int last)
{
	if (overtakes())
		return number < connection->posted && connection->sends[number].polled;
	return number <= last;
}

void fake_polled(const struct fake_completion *polled)
{
	struct fake_connection *connection = polled->connection;

	if (polled->receive) {
		connection->receives_freed++;
		return;
	}
	connection->sends[polled->send].polled = true;
	for (; is_known(connection, connection->freed, polled->send); connection->freed++)
		if (!connection->broken)
			check_unchanged(&connection->sends[connection->freed]);
}

static void check_send(const struct fake_connection *connection, const struct ibv_send_wr *request)
{
	bool sends = request->opcode == IBV_WR_SEND;
	bool reads = request->opcode == IBV_WR_RDMA_READ;
	bool iwarp = fake.device.transport_type == IBV_TRANSPORT_IWARP;
	int sink = IBV_ACCESS_LOCAL_WRITE | (iwarp ? IBV_ACCESS_REMOTE_WRITE : 0);

	fake_rule(connection->posted - connection->freed < connection->capacity.max_send_wr,
		"the send queue overflows");
	fake_rule(request->num_sge == 1 || (!reads && request->num_sge == 0) ||
			  (sends && request->num_sge == 2),
		"one piece is expected, a second one in a SEND, or an empty SEND or WRITE");
	fake_rule((uint32_t)request->num_sge <= connection->capacity.max_send_sge,
		"a send has more pieces than the queue pair allows");
	if (request->num_sge > 1)
		check_piece(connection, request->sg_list + 1, 0);
	if (request->num_sge > 0)
		check_piece(connection, request->sg_list, reads ? sink : 0);
	fake_rule(
		sends || request->num_sge == 0 || request->sg_list->length > 0, "RDMA of no bytes");
	fake_rule(!sends || !request->num_sge || request->sg_list->length <= MESSAGE_MAX,
		"a message is longer than any");
	fake_rule(request->num_sge == 0 || request->sg_list->length <= FAKE_MESSAGE_MAX,
		"a work request is longer than the device's messages");
	fake_rule(!iwarp || request->opcode != IBV_WR_RDMA_WRITE_WITH_IMM,
		"iWARP has no immediate data");
	fake_rule(!overtakes() || request->send_flags & IBV_SEND_SIGNALED,
		"a later completion does not account for an unsignaled send");
	fake_rule(!overtakes() || !(request->send_flags & IBV_SEND_FENCE),
		"a fenced send stops the READs of the peer");
	fake_rule(!reads || connection->reading < connection->reads,
		"more READs than were agreed are in flight");
}

/* Appends a slot. All sends are kept for the test. */
static struct fake_send *add_send(struct fake_connection *connection)
{
	if (connection->posted == connection->room) {
		connection->room = connection->room ? 2 * connection->room : 64;
		connection->sends = reallocarray(
			connection->sends, connection->room, sizeof(*connection->sends));
		fake_rule(connection->sends, "no memory");
	}
	return &connection->sends[connection->posted++];
}

void fake_take_send(struct fake_connection *connection, const struct ibv_send_wr *request)
{
	bool reads = request->opcode == IBV_WR_RDMA_READ;
	struct fake_send *send;

	check_send(connection, request);
	send = add_send(connection);
	*send = (struct fake_send){
		.wr_id = request->wr_id,
		.opcode = request->opcode,
		.flags = request->send_flags,
		.immediate = ntohl(request->imm_data),
		.remote_address = request->wr.rdma.remote_addr,
		.rkey = request->wr.rdma.rkey,
	};
	connection->reading += reads;
	connection->drains += request->num_sge == 0 && connection->broken;
	if (request->num_sge > 0)
		send->piece = *request->sg_list;
	if (request->num_sge > 1)
		send->data = request->sg_list[1];
	if (!reads) {
		send->digest = digest_of(at(&send->piece), send->piece.length);
		send->data_digest = digest_of(at(&send->data), send->data.length);
	}
	if (request->opcode == IBV_WR_SEND && request->num_sge > 0)
		memcpy(send->bytes, at(&send->piece), send->piece.length);
}

void fake_take_receive(struct fake_connection *connection, const struct ibv_recv_wr *request)
{
	uint32_t most = connection->capacity.max_recv_wr;

	fake_rule(connection->receives_posted - connection->receives_freed < most,
		"the receive queue overflows");
	fake_rule(
		!request->next && request->num_sge == 1, "one receive with one piece is expected");
	check_piece(connection, request->sg_list, IBV_ACCESS_LOCAL_WRITE);
	connection->receives[connection->receives_posted++ % most] =
		(struct fake_receive){request->wr_id, *request->sg_list};
	if (connection->broken)
		fake_flush(connection);
	else
		fake_pour(connection);
}

void fake_pour(struct fake_connection *connection)
{
	const struct ibv_wc keepalive = {.status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV};

	for (; connection->flood > 0 && connection->received < connection->receives_posted;
		connection->flood--)
		fake_deliver(connection, "", &keepalive);
}

/* Flips a bit in the middle of the data if the test asked for damage here. */
static void damage(uint8_t *bytes, size_t length)
{
	if (fake.damage > 0 && --fake.damage == 0)
		bytes[length / 2] ^= 0x10;
}

static void receive_data(uint8_t *to, const struct ibv_sge *data)
{
	memcpy(to, at(data), data->length);
	damage(to, data->length);
}

/* Delivers a message of `head` bytes that are copied, followed by data. */
static void deliver(struct fake_connection *connection, const void *bytes, size_t head,
	const struct ibv_sge *data, const struct ibv_wc *how)
{
	const struct fake_receive *receive;
	struct ibv_wc completion = *how;

	fake_rule(connection->received < connection->receives_posted,
		"a message comes and no receive is posted");
	receive = &connection->receives[connection->received % connection->capacity.max_recv_wr];
	if (bytes && how->byte_len > receive->piece.length)
		completion.status = IBV_WC_LOC_LEN_ERR;
	else if (bytes)
		memcpy(at(&receive->piece), bytes, head);
	if (completion.status == IBV_WC_SUCCESS && data && data->length > 0)
		receive_data((uint8_t *)at(&receive->piece) + head, data);
	fake_complete_receive(connection, &completion);
	if (completion.status != IBV_WC_SUCCESS)
		fake_flush(connection);
}

void fake_deliver(struct fake_connection *connection, const void *bytes, const struct ibv_wc *how)
{
	deliver(connection, bytes, how->byte_len, NULL, how);
}

/* Returns the remote memory of an RDMA operation. It must be inside a region with the right
 * access. */
static void *reach(const struct fake_connection *connection, const struct fake_send *send)
{
	bool reads = send->opcode == IBV_WR_RDMA_READ;
	int right = reads ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
	uint64_t address = send->remote_address, length = send->piece.length;
	const struct fake_mr *region;

	if (connection->peer) {
		region = fake_find(send->rkey);
		fake_rule(region && region->mr.rkey == send->rkey &&
				  region->mr.pd == connection->peer->qp.pd,
			"the peer has no region with this rkey");
		fake_rule(region->access & right, "the peer's region does not allow that");
		fake_rule(is_inside(region, address, length), "RDMA leaves the peer's region");
	} else {
		fake_rule(send->rkey == fake.peer.rkey, "the peer has no region with this rkey");
		fake_rule(address >= fake.peer.start && length <= fake.peer.length &&
				  address - fake.peer.start <= fake.peer.length - length,
			"RDMA leaves the peer's region");
	}
	return (void *)(uintptr_t)address;
}

/* Delivers a send to the joined connection, if there is one. */
static void tell_peer(struct fake_connection *connection, const struct fake_send *send)
{
	struct ibv_wc completion = {
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.byte_len = send->piece.length + send->data.length,
	};

	if (!connection->peer || connection->peer->broken)
		return;
	if (send->opcode == IBV_WR_SEND) {
		deliver(connection->peer, send->bytes, send->piece.length, &send->data,
			&completion);
	} else if (send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		completion.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
		completion.imm_data = htonl(send->immediate);
		completion.wc_flags = IBV_WC_WITH_IMM;
		fake_deliver(connection->peer, NULL, &completion);
	}
}

void fake_execute(struct fake_connection *connection, unsigned int number)
{
	const struct fake_send *send = &connection->sends[number];
	uint8_t *from = at(&send->piece), *to;

	check_unchanged(send);
	/* A device checks no key for a WRITE of no bytes. */
	if (send->opcode != IBV_WR_SEND && send->piece.length > 0) {
		to = reach(connection, send);
		if (send->opcode == IBV_WR_RDMA_READ) {
			from = to;
			to = at(&send->piece);
		}
		memcpy(to, from, send->piece.length);
		damage(to, send->piece.length);
	}
	tell_peer(connection, send);
}

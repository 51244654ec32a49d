/* The fake device's replacements for functions of libibverbs and librdmacm. */
#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/verbs/fake-internal.h"

/* The functions that ibv_post_send() and similar inline functions call through the context. */

/* The result of a post that failed. */
static int post_failed(void)
{
	return fake.posts_set_errno ? -1 : errno;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	struct fake_connection *connection = fake_of_qp(qp);
	int error = 0;

	for (; request; request = request->next) {
		if (!fake_make("ibv_post_send", 0)) {
			error = post_failed();
			*bad = request;
			break;
		}
		fake_lock();
		fake_take_send(connection, request);
		if (connection->broken)
			fake_flush(connection);
		fake_unlock();
	}
	return error;
}

static int post_receive(struct ibv_qp *qp, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	if (!fake_make("ibv_post_recv", 0)) {
		*bad = request;
		return post_failed();
	}
	fake_lock();
	fake_take_receive(fake_of_qp(qp), request);
	fake_unlock();
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *completions)
{
	struct fake_cq *queue = (struct fake_cq *)cq;
	int taken = 0;

	if (!fake_make("ibv_poll_cq", 0))
		return -1;
	fake_lock();
	fake_flush_in_poll(queue);
	while (taken < count && queue->polled < queue->added) {
		const struct fake_completion *next =
			&queue->queue[queue->polled++ % (unsigned int)cq->cqe];

		fake_polled(next);
		completions[taken++] = next->completion;
	}
	fake.turn += (unsigned int)taken;
	if (fake.turn > fake.longest_turn)
		fake.longest_turn = fake.turn;
	fake_unlock();
	return taken;
}

static int request_event(struct ibv_cq *cq, int solicited_only)
{
	struct fake_cq *queue = (struct fake_cq *)cq;

	if (!fake_make("ibv_req_notify_cq", 0))
		return errno;
	fake_rule(!solicited_only, "events of all completions are expected");
	fake_lock();
	queue->armed = true;
	fake_unlock();
	return 0;
}

const struct ibv_context_ops fake_ops = {
	.poll_cq = poll_cq,
	.req_notify_cq = request_event,
	.post_send = post_send,
	.post_recv = post_receive,
};

/* libibverbs. */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));

	if (!channel || !fake_make("ibv_create_comp_channel", 1)) {
		free(channel);
		return NULL;
	}
	channel->context = context;
	channel->fd = eventfd(0, EFD_SEMAPHORE);
	fake.channel = channel->fd;
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	fake_rule(!channel->refcnt, "a channel is freed before its completion queues");
	fake.channel = -1;
	close(channel->fd);
	free(channel);
	fake_unmake();
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (!pd || !fake_make("ibv_alloc_pd", 1)) {
		free(pd);
		return NULL;
	}
	pd->context = context;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	for (size_t i = 0; i < OBJECT_MAX; i++)
		fake_rule(!fake.regions[i].used || fake.regions[i].mr.pd != pd,
			"a protection domain is freed before its regions");
	free(pd);
	fake_unmake();
	return 0;
}

/* A queue that is never used: it only takes up space. */
static struct ibv_cq *make_unused_cq(struct ibv_context *context, int entries)
{
	struct ibv_cq *cq = calloc(1, sizeof(*cq));

	fake_rule(cq, "no memory");
	cq->context = context;
	fake.unused_entries += (unsigned int)entries;
	return cq;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
	struct ibv_comp_channel *channel, int vector)
{
	struct fake_cq *cq;
	size_t place = 0;

	fake_rule(entries > 0, "an empty queue");
	if (!channel)
		return make_unused_cq(context, entries);
	cq = calloc(1, sizeof(*cq));
	fake_rule(vector >= 0 && vector < context->num_comp_vectors, "no such completion vector");
	if (!cq || !fake_make("ibv_create_cq", 1)) {
		free(cq);
		return NULL;
	}
	cq->queue = calloc((size_t)entries, sizeof(*cq->queue));
	fake_rule(cq->queue, "no memory");
	cq->cq.context = context;
	cq->cq.channel = channel;
	cq->cq.cq_context = cq_context;
	cq->cq.cqe = entries;
	cq->vector = vector;
	fake_lock();
	channel->refcnt++;
	while (fake.cqs[place])
		place++;
	fake_rule(place < OBJECT_MAX, "too many completion queues");
	fake.cqs[place] = cq;
	fake_unlock();
	return &cq->cq;
}

/* Pending events are discarded. Retrieved ones must have been acknowledged, otherwise the real
 * function would hang. */
int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct fake_cq *queue = (struct fake_cq *)cq;
	eventfd_t ignored;

	fake_lock();
	fake_rule(
		queue->got == queue->acknowledged, "a queue is freed before its events are known");
	fake_rule(!fake.personality || !fake.personality->late_events || !queue->armed,
		"a queue is freed that will raise an event");
	while (queue->events-- > 0)
		eventfd_read(cq->channel->fd, &ignored);
	for (size_t i = 0; i < OBJECT_MAX; i++)
		if (fake.cqs[i] == queue)
			fake.cqs[i] = NULL;
	cq->channel->refcnt--;
	fake_unlock();
	free(queue->queue);
	free(queue);
	fake_unmake();
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	eventfd_t ignored;
	int result = -1;

	if (!fake_make("ibv_get_cq_event", 0) || eventfd_read(channel->fd, &ignored))
		return -1;
	fake_lock();
	for (size_t i = 0; result && i < OBJECT_MAX; i++) {
		if (!fake.cqs[i] || fake.cqs[i]->events == 0)
			continue;
		fake.cqs[i]->events--;
		fake.cqs[i]->got++;
		*cq = &fake.cqs[i]->cq;
		*context = fake.cqs[i]->cq.cq_context;
		result = 0;
	}
	fake_unlock();
	errno = EAGAIN;
	return result;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	fake_lock();
	((struct fake_cq *)cq)->acknowledged += count;
	fake_unlock();
}

/* Called with the lock. */
static size_t registered_in(const struct ibv_pd *pd)
{
	size_t bytes = 0;

	for (size_t i = 0; i < OBJECT_MAX; i++)
		if (fake.regions[i].used && fake.regions[i].mr.pd == pd)
			bytes += fake_pages(fake.regions[i].mr.length);
	return bytes;
}

/* Waits while the test holds registrations of this size. Called with the lock. */
static void wait_while_held(size_t length)
{
	while (fake.held && length >= fake.held) {
		fake_rule(!fake_is_cq_thread(), "the CQ thread waits for a registration");
		pthread_cond_wait(&fake.unheld, &fake.lock);
	}
}

struct ibv_mr *ibv_reg_mr_iova2(
	struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
	struct fake_mr *region = fake.regions;

	fake_rule(iova == (uintptr_t)address, "a region is known by its own address");
	fake_lock();
	wait_while_held(length);
	fake_unlock();
	if (!fake_make("ibv_reg_mr", 1))
		return NULL;
	fake_lock();
	if (fake.registered_most && registered_in(pd) + fake_pages(length) > fake.registered_most) {
		fake_unlock();
		fake_unmake();
		errno = ENOMEM;
		return NULL;
	}
	while (region->used)
		region++;
	fake_rule(region < fake.regions + OBJECT_MAX, "too many regions");
	fake.registered += fake_pages(length);
	region->used = true;
	region->access = (int)access;
	region->mr.context = pd->context;
	region->mr.pd = pd;
	region->mr.addr = address;
	region->mr.length = length;
	/* lkey and rkey always differ, so that confusing them is detected. */
	region->mr.lkey = FAKE_LKEY + (uint32_t)(region - fake.regions);
	region->mr.rkey = 0x2000 + (uint32_t)(region - fake.regions);
	fake_unlock();
	return &region->mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, address, length, (uintptr_t)address, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (!fake_make("ibv_dereg_mr", 0))
		return errno;
	fake_lock();
	((struct fake_mr *)mr)->used = false;
	fake.registered -= fake_pages(mr->length);
	fake_unlock();
	fake_unmake();
	return 0;
}

/* Resets the connection, as far as the device does so. Called with the lock. */
static void modify_state(struct fake_connection *connection, enum ibv_qp_state state)
{
	bool resets = fake.personality && fake.personality->modify_resets;

	if (resets && (state == IBV_QPS_RTS || state == IBV_QPS_ERR)) {
		fake.resets++;
		fake_flush(connection);
		if (connection->peer)
			fake_flush(connection->peer);
	}
	if (state == IBV_QPS_ERR && fake.flush_on_disconnect)
		fake_flush(connection);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
	struct fake_connection *connection = fake_of_qp(qp);

	if (!fake_make("ibv_modify_qp", 0))
		return errno;
	fake_lock();
	if (mask & IBV_QP_MIN_RNR_TIMER)
		connection->requests.rnr_timer = attributes->min_rnr_timer;
	modify_state(connection, attributes->qp_state);
	fake_unlock();
	return 0;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	eventfd_t ignored;

	if (eventfd_read(context->async_fd, &ignored))
		return -1;
	fake_lock();
	*event = fake.events[fake.events_read++ % EVENT_MAX];
	fake_unlock();
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	/* From now on, the program can destroy the object. */
	event->element.qp = NULL;
	fake_lock();
	fake.events_acknowledged++;
	fake_unlock();
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attributes)
{
	(void)context;
	*attributes = fake.attributes;
	return 0;
}

#undef ibv_query_port
int ibv_query_port(
	struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attributes)
{
	(void)context;
	fake_rule(port == 1, "the id's port is expected");
	if (!fake_make("ibv_query_port", 0))
		return errno;
	((struct ibv_port_attr *)attributes)->max_msg_sz = FAKE_MESSAGE_MAX;
	((struct ibv_port_attr *)attributes)->active_mtu = fake.port_mtu;
	((struct ibv_port_attr *)attributes)->active_width = fake.port_width;
	((struct ibv_port_attr *)attributes)->active_speed = fake.port_speed;
	return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask,
	struct ibv_qp_init_attr *initial)
{
	(void)qp, (void)initial;
	fake_rule(mask == IBV_QP_PATH_MTU, "only the path MTU is known");
	if (!fake_make("ibv_query_qp", 0))
		return errno;
	attributes->path_mtu = fake.path_mtu;
	return 0;
}

/* librdmacm. */

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
	struct fake_connection *connection = fake_of_id(id);

	if (fake.inline_most && attributes->cap.max_inline_data >= fake.inline_most) {
		errno = EINVAL;
		return -1;
	}
	if (!fake_make("rdma_create_qp", 1))
		return -1;
	fake_rule(attributes->cap.max_send_wr <= (uint32_t)fake.attributes.max_qp_wr &&
			  attributes->cap.max_recv_wr <= (uint32_t)fake.attributes.max_qp_wr,
		"the queue pair is larger than the device allows");
	fake_rule(attributes->qp_type == IBV_QPT_RC, "a reliable connection is expected");
	fake_rule(attributes->send_cq == attributes->recv_cq, "one completion queue is expected");
	fake_rule((unsigned int)attributes->send_cq->cqe >=
			  attributes->cap.max_send_wr + attributes->cap.max_recv_wr,
		"the completion queue is smaller than what can be posted");
	connection->qp.context = id->verbs;
	connection->qp.pd = pd;
	connection->qp.qp_num = 17;
	connection->cq = (struct fake_cq *)attributes->send_cq;
	connection->capacity = attributes->cap;
	connection->receives = calloc(attributes->cap.max_recv_wr, sizeof(*connection->receives));
	fake_rule(connection->receives, "no memory");
	id->qp = &connection->qp;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	struct fake_connection *connection = fake_of_id(id);

	fake_rule(id->qp, "a queue pair is freed twice");
	if (connection->cq->armed && connection->received < connection->receives_posted)
		fake.destroyed_armed++;
	id->qp = NULL;
	free(connection->receives);
	connection->receives = NULL;
	fake_unmake();
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	fake_rule(!id->qp, "an id is freed before its queue pair");
	free(fake_of_id(id)->sends);
	free(fake_of_id(id));
	fake_unmake();
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int option, void *value, size_t size)
{
	if (!fake_make("rdma_set_option", 0))
		return -1;
	fake_rule(level == RDMA_OPTION_ID && option == RDMA_OPTION_ID_ACK_TIMEOUT && size == 1,
		"only the timeout of acknowledgements is expected");
	fake_of_id(id)->requests.ack_timeout = *(uint8_t *)value;
	return 0;
}

/* The ids of iWARP have no address vector. */
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attributes, int *mask)
{
	(void)id;
	fake_rule(attributes->qp_state == IBV_QPS_RTR, "attributes of RTR are expected");
	*mask = IBV_QP_STATE;
	if (fake.device.transport_type == IBV_TRANSPORT_IWARP)
		return 0;
	*mask |= IBV_QP_AV;
	attributes->ah_attr = (struct ibv_ah_attr){
		.is_global = 1,
		.grh.traffic_class = fake.traffic_class,
	};
	return 0;
}

/* librdmacm, cma.c: ucma_valid_param(). 255 stands for the limit. */
static bool is_above(uint8_t reads, int most)
{
	return reads != UINT8_MAX && reads > most;
}

static int keep_parameters(struct rdma_cm_id *id, const struct rdma_conn_param *parameters)
{
	struct fake_requests *requests = &fake_of_id(id)->requests;

	if (is_above(parameters->responder_resources, fake.attributes.max_qp_rd_atom) ||
		is_above(parameters->initiator_depth, fake.attributes.max_qp_init_rd_atom)) {
		errno = EINVAL;
		return -1;
	}
	requests->connect = *parameters;
	requests->connect.private_data = NULL;
	fake_agree(id, parameters->initiator_depth);
	fake_rule(parameters->private_data_len <= sizeof(requests->private_data),
		"more private data than rdmacm carries");
	if (parameters->private_data)
		memcpy(requests->private_data, parameters->private_data,
			parameters->private_data_len);
	return 0;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	return fake_make("rdma_connect", 0) ? keep_parameters(id, parameters) : -1;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	return fake_make("rdma_accept", 0) ? keep_parameters(id, parameters) : -1;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	if (!fake_make("rdma_disconnect", 0))
		return -1;
	fake_lock();
	fake_of_id(id)->requests.disconnects++;
	if (fake.flush_on_disconnect)
		fake_flush(fake_of_id(id));
	fake_unlock();
	return 0;
}

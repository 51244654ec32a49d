/*
 * The connection manager of the fake device, replacing rdmacm: connects two ids of the same
 * process. The lock of the device guards its state.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/measure/perf-test-device.h"
#include "verbs/channel.h"

/* Time limit for the server's reply, in seconds. */
#define REPLY_S 60

struct fixture_id {
	struct rdma_cm_id id;
	struct fixture_id *peer;
	struct rdma_conn_param parameters; /* passed to rdma_connect() or rdma_accept() */
	uint8_t private_data[UINT8_MAX];
	sem_t replied; /* by the server, at the client */
	bool accepted;
};

/* A channel has exactly one id. */
struct fixture_events {
	struct rdma_event_channel channel;
	struct rdma_cm_id *id;
};

static struct fixture_id *of(struct rdma_cm_id *id)
{
	return (struct fixture_id *)id;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct fixture_events *events = calloc(1, sizeof(*events));

	assert_non_null(events);
	events->channel.fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
	return &events->channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
	free(channel);
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	id->channel = channel;
	((struct fixture_events *)channel)->id = id;
	return 0;
}

/* The only event is RDMA_CM_EVENT_DISCONNECTED. */
int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	eventfd_t one;

	if (eventfd_read(channel->fd, &one))
		return -1;
	*event = calloc(1, sizeof(**event));
	assert_non_null(*event);
	(*event)->id = ((struct fixture_events *)channel)->id;
	(*event)->event = RDMA_CM_EVENT_DISCONNECTED;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	free(event);
	return 0;
}

struct cm_channel *perf_test_manager_channel(void)
{
	struct cm_channel *channel;

	assert_int_equal(channel_create(CHANNEL_RDMACM, &channel), 0);
	return channel;
}

struct rdma_cm_id *perf_test_manager_id(struct cm_channel *channel)
{
	struct fixture_id *id = calloc(1, sizeof(*id));

	assert_non_null(id);
	id->id.verbs = &perf_test_device.context;
	id->id.port_num = 1;
	id->id.route.addr.dst_sin.sin_family = AF_INET;
	sem_init(&id->replied, 0, 0);
	if (channel)
		rdma_migrate_id(&id->id, channel->rdmacm);
	return &id->id;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	assert_null(id->qp);
	pthread_mutex_lock(&perf_test_device.lock);
	if (of(id)->peer)
		of(id)->peer->peer = NULL;
	pthread_mutex_unlock(&perf_test_device.lock);
	sem_destroy(&of(id)->replied);
	free(id);
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t size)
{
	(void)id, (void)level, (void)name, (void)value, (void)size;
	return 0;
}

/* Limits READs to what the device allows. Returns -1 if more are asked for. */
static int limit_reads(uint8_t *reads, int most)
{
	/* librdmacm, cma.c: ucma_valid_param(). 255 stands for the limit. */
	if (*reads == UINT8_MAX && most < UINT8_MAX)
		*reads = (uint8_t)most;
	errno = EINVAL;
	return *reads > most ? -1 : 0;
}

static int keep(struct rdma_cm_id *id, const struct rdma_conn_param *parameters)
{
	const struct personality *personality = perf_test_device.personality;
	struct rdma_conn_param *kept = &of(id)->parameters;

	*kept = *parameters;
	memcpy(of(id)->private_data, parameters->private_data, parameters->private_data_len);
	kept->private_data = of(id)->private_data;
	return limit_reads(&kept->responder_resources, personality->reads_answered) ||
			       limit_reads(&kept->initiator_depth, personality->reads_asked)
		       ? -1
		       : 0;
}

/* Describes to one end what the other passed: each initiates what the other answers. */
static struct rdma_cm_event event_of(
	const struct fixture_id *from, struct fixture_id *to, enum rdma_cm_event_type type)
{
	struct rdma_cm_event event = {.id = &to->id, .event = type};

	event.param.conn = from->parameters;
	event.param.conn.initiator_depth = from->parameters.responder_resources;
	event.param.conn.responder_resources = from->parameters.initiator_depth;
	return event;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	return keep(id, parameters);
}

struct rdma_cm_event perf_test_manager_request(struct rdma_cm_id *client)
{
	struct fixture_id *server = of(perf_test_manager_id(NULL));

	server->peer = of(client);
	of(client)->peer = server;
	return event_of(of(client), server, RDMA_CM_EVENT_CONNECT_REQUEST);
}

static void reply(struct rdma_cm_id *server, bool accepted)
{
	struct fixture_qp *ours, *theirs;

	pthread_mutex_lock(&perf_test_device.lock);
	if (accepted) {
		ours = (struct fixture_qp *)server->qp;
		theirs = (struct fixture_qp *)of(server)->peer->id.qp;
		ours->peer = theirs;
		theirs->peer = ours;
	}
	of(server)->peer->accepted = accepted;
	sem_post(&of(server)->peer->replied);
	pthread_mutex_unlock(&perf_test_device.lock);
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	int error = keep(id, parameters);

	reply(id, !error);
	return error;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t size)
{
	(void)data, (void)size;
	reply(id, false);
	return 0;
}

struct rdma_cm_event perf_test_manager_reply(struct rdma_cm_id *client)
{
	struct timespec deadline;
	struct rdma_cm_event event;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += REPLY_S;
	assert_int_equal(sem_timedwait(&of(client)->replied, &deadline), 0);
	assert_true(of(client)->accepted);
	event = event_of(of(client)->peer, of(client), RDMA_CM_EVENT_ESTABLISHED);
	/*
	 * The kernel takes over what the server initiates for the client's queue pair, whatever the
	 * client asked for: cm_init_qp_rtr_attr() in cm.c. Its driver then returns EINVAL.
	 */
	assert_true(event.param.conn.responder_resources <=
		    perf_test_device.personality->reads_answered);
	return event;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attributes, int *mask)
{
	*mask = IBV_QP_STATE;
	if (attributes->qp_state == IBV_QPS_INIT) {
		*mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
		attributes->port_num = id->port_num;
	}
	if (attributes->qp_state == IBV_QPS_RTR) {
		*mask |= IBV_QP_DEST_QPN | IBV_QP_AV;
		attributes->ah_attr.port_num = id->port_num;
		attributes->ah_attr.grh.traffic_class = TRAFFIC_CLASS;
	}
	return 0;
}

/* Both ends are told. The queue pair of the other end lives until it disconnects as well. */
int rdma_disconnect(struct rdma_cm_id *id)
{
	pthread_mutex_lock(&perf_test_device.lock);
	perf_test_device_break((struct fixture_qp *)id->qp);
	eventfd_write(id->channel->fd, 1);
	if (of(id)->peer)
		eventfd_write(of(id)->peer->id.channel->fd, 1);
	pthread_mutex_unlock(&perf_test_device.lock);
	return 0;
}

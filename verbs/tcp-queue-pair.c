/*
 * A queue pair that is connected without rdmacm: INIT, ready to receive (RTR), ready to send (RTS).
 * Each transition needs the attributes of ibv_modify_qp(3), which --verbose prints. InfiniBand
 * specification, volume 1, 10.3.1 and 11.2.5.2.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "verbs/device.h"
#include "verbs/path-choice.h"
#include "verbs/tcp-queue-pair.h"

/* How long a sender waits after an RNR NAK: 12 encodes 0.64 ms. */
#define RNR_TIMER 12

/* Room for what a transition needs. */
#define TRANSITION_TEXT 400

/* Routers that a packet with a GID may pass. */
#define HOP_LIMIT 64

static const char *state_name(enum ibv_qp_state state)
{
	switch (state) {
	case IBV_QPS_INIT:
		return "INIT";
	case IBV_QPS_RTR:
		return "RTR";
	case IBV_QPS_RTS:
		return "RTS";
	default:
		return "another state";
	}
}

/* The way to the peer's port. Packets on Ethernet always have a GID; on InfiniBand, LIDs do. */
static struct ibv_ah_attr address_of(const struct tcp_id *tcp)
{
	const struct path_settings *settings = tcp->settings;
	struct ibv_ah_attr address = {
		.dlid = tcp->peer.lid,
		.sl = (uint8_t)settings->service_level,
		.port_num = tcp->own.gid.port,
		.is_global = tcp->own.gid.type != TCP_GID_INFINIBAND,
		.grh = {.sgid_index = (uint8_t)tcp->own.gid.index,
			.hop_limit = HOP_LIMIT,
			.traffic_class = settings->traffic_class ? (uint8_t)settings->traffic_class
								 : tcp->theirs.traffic_class},
	};

	memcpy(address.grh.dgid.raw, tcp->peer.gid, sizeof(address.grh.dgid.raw));
	return address;
}

/* The larger packets of the two ends cannot be used. */
static enum ibv_mtu path_mtu(const struct tcp_id *tcp)
{
	return (enum ibv_mtu)(tcp->own.gid.mtu < tcp->peer.mtu ? tcp->own.gid.mtu : tcp->peer.mtu);
}

static uint8_t smaller(uint8_t one, uint8_t other)
{
	return one < other ? one : other;
}

int tcp_attributes(struct rdma_cm_id *id, struct ibv_qp_attr *attributes, int *mask)
{
	const struct tcp_id *tcp = tcp_id_of(id);

	switch (attributes->qp_state) {
	case IBV_QPS_INIT:
		attributes->pkey_index = (uint16_t)tcp->settings->pkey_index;
		attributes->port_num = tcp->own.gid.port;
		attributes->qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
		*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
		return 0;
	case IBV_QPS_RTR:
		attributes->ah_attr = address_of(tcp);
		attributes->path_mtu = path_mtu(tcp);
		attributes->dest_qp_num = tcp->theirs.number;
		attributes->rq_psn = tcp->theirs.sequence;
		attributes->max_dest_rd_atomic =
			smaller(tcp->ours.responder_resources, tcp->theirs.initiator_depth);
		attributes->min_rnr_timer = RNR_TIMER;
		*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		return 0;
	case IBV_QPS_RTS:
		attributes->sq_psn = tcp->ours.sequence;
		attributes->timeout = TRANSPORT_ACK_TIMEOUT;
		attributes->retry_cnt = TRANSPORT_RETRIES;
		attributes->rnr_retry = TRANSPORT_RNR_RETRIES;
		attributes->max_rd_atomic =
			smaller(tcp->ours.initiator_depth, tcp->theirs.responder_resources);
		*mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
		return 0;
	default:
		errno = EINVAL;
		return -1;
	}
}

/* Writes what the state needs, as in "path MTU 1024, destination QP 17, ...". */
static void describe(
	const struct tcp_id *tcp, const struct ibv_qp_attr *attributes, char *text, size_t size)
{
	char ours[PATH_GID_TEXT], theirs[PATH_GID_TEXT];

	path_gid_text(&tcp->own.gid, ours);
	path_gid_text(&tcp->peer, theirs);
	switch (attributes->qp_state) {
	case IBV_QPS_INIT:
		snprintf(text, size, "%s port %u, P_Key index %u (0x%04x)", tcp->own.device,
			attributes->port_num, attributes->pkey_index, tcp->own.gid.pkey);
		break;
	case IBV_QPS_RTR:
		snprintf(text, size,
			"from %s, LID %u, to %s, LID %u, QP %u, PSN %u, path MTU %u, SL %u, "
			"traffic class %u, READs served %u",
			ours, tcp->own.gid.lid, theirs, attributes->ah_attr.dlid,
			attributes->dest_qp_num, attributes->rq_psn,
			device_mtu_bytes(attributes->path_mtu), attributes->ah_attr.sl,
			attributes->ah_attr.grh.traffic_class, attributes->max_dest_rd_atomic);
		break;
	default:
		snprintf(text, size, "PSN %u, timeout %u, retries %u, RNR retries %u, READs %u",
			attributes->sq_psn, attributes->timeout, attributes->retry_cnt,
			attributes->rnr_retry, attributes->max_rd_atomic);
	}
}

/* The kernel resolves the peer's hardware address on the way to RTR. */
static enum path_fault fault_of(int error)
{
	switch (error) {
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ENETDOWN:
		return PATH_UNRESOLVED;
	default:
		return PATH_ATTRIBUTES;
	}
}

/* Moves the queue pair to this state. Returns 0, or -1 with errno set and the failure recorded. */
static int advance(struct tcp_id *tcp, enum ibv_qp_state to)
{
	struct ibv_qp_attr attributes = {.qp_state = to};
	char text[TRANSITION_TEXT];
	int error, mask;

	if (tcp_attributes(&tcp->id, &attributes, &mask))
		return -1;
	if (tcp->output->verbose) {
		describe(tcp, &attributes, text, sizeof(text));
		output_detail(tcp->output, "queue pair %u to %s: %s", tcp->id.qp->qp_num,
			state_name(to), text);
	}
	error = ibv_modify_qp(tcp->id.qp, &attributes, mask);
	if (!error)
		return 0;
	describe(tcp, &attributes, text, sizeof(text));
	failure_set(&tcp->failure, FAILURE_PATH, PHASE_CONNECT, (int)fault_of(error),
		"ibv_modify_qp", "%s, to %s: %.230s", strerror(error), state_name(to), text);
	errno = error;
	return -1;
}

int tcp_create_queue_pair(
	struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
	struct tcp_id *tcp = tcp_id_of(id);
	int error;

	tcp->failure = (struct failure){0}; /* of another try */
	id->qp = ibv_create_qp(pd, attributes);
	if (!id->qp)
		return -1;
	id->pd = pd;
	if (advance(tcp, IBV_QPS_INIT) == 0)
		return 0;
	error = errno;
	tcp_destroy_queue_pair(id);
	errno = error;
	return -1;
}

void tcp_destroy_queue_pair(struct rdma_cm_id *id)
{
	tcp_join_mover(tcp_id_of(id));
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
}

void tcp_describe_queue_pair(struct tcp_id *tcp, const struct rdma_conn_param *parameters)
{
	struct tcp_queue_pair *ours = &tcp->ours;

	ours->number = tcp->id.qp->qp_num;
	/* Packets of an earlier connection must not fit into this one. */
	ours->sequence = randombytes_random() & 0xffffff;
	ours->mtu = tcp->own.gid.mtu;
	ours->traffic_class = (uint8_t)tcp->settings->traffic_class;
	ours->initiator_depth = parameters->initiator_depth;
	ours->responder_resources = parameters->responder_resources;
	ours->private_size = parameters->private_data ? parameters->private_data_len : 0;
	if (ours->private_size > TCP_PRIVATE_MAX)
		ours->private_size = TCP_PRIVATE_MAX;
	if (ours->private_size > 0)
		memcpy(ours->private_data, parameters->private_data, ours->private_size);
}

int tcp_connect_queue_pair(struct tcp_id *tcp)
{
	return advance(tcp, IBV_QPS_RTR) || advance(tcp, IBV_QPS_RTS) ? -1 : 0;
}

static void move(void *argument)
{
	struct tcp_id *tcp = argument;

	tcp->moving_error = tcp_connect_queue_pair(tcp) ? errno : 0;
	eventfd_write(tcp->moved, 1);
}

int tcp_start_mover(struct tcp_id *tcp)
{
	int error;

	tcp->moved = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (tcp->moved < 0)
		return -errno;
	tcp->mover = (struct brief_job){.name = "connect", .run = move, .argument = tcp};
	error = brief_job_start(&tcp->mover);
	if (!error)
		return 0;
	close(tcp->moved);
	tcp->moved = -1;
	return error;
}

void tcp_join_mover(struct tcp_id *tcp)
{
	if (tcp->moved < 0)
		return;
	brief_job_wait(&tcp->mover);
	close(tcp->moved);
	tcp->moved = -1;
}

/*
 * Connections of the test peers without rdmacm, as docs/protocol.md describes them: synchronous,
 * and between GIDs of the addresses of the TCP connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "tests/one-host/endpoint-tcp.h"

enum {
	PORT = 1,
	ACK_TIMEOUT = 17,
	FULL_PARTITION = 0xffff,
};

static void *check(void *made, const char *what)
{
	if (!made)
		die("%s: %s", what, strerror(errno));
	return made;
}

/* Looks for the GID of this address, without its port, in the table of the device. */
static bool has_gid(struct ibv_context *device, const struct sockaddr *address, struct tcp_gid *gid)
{
	struct ibv_gid_entry entries[256];
	ssize_t count = ibv_query_gid_table(device, entries, sizeof(entries) / sizeof(*entries), 0);
	struct sockaddr_storage of_gid;

	for (ssize_t i = 0; i < count; i++) {
		tcp_gid_address(entries[i].gid.raw, &of_gid);
		if (entries[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
			!address_equal((struct sockaddr *)&of_gid, address))
			continue;
		*gid = (struct tcp_gid){.type = TCP_GID_ROCE_V2,
			.mtu = IBV_MTU_1024,
			.port = PORT,
			.index = (uint16_t)entries[i].gid_index,
			.pkey = FULL_PARTITION};
		memcpy(gid->gid, entries[i].gid.raw, sizeof(gid->gid));
		return true;
	}
	return false;
}

/* Makes end->id, with the device that has a GID of the local address of the TCP connection. */
static void open_device(struct endpoint *end)
{
	struct ibv_device **devices = check(ibv_get_device_list(NULL), "ibv_get_device_list");
	struct sockaddr_storage local;
	socklen_t size = sizeof(local);

	end->id = check(calloc(1, sizeof(*end->id)), "calloc");
	end->id->port_num = PORT;
	getsockname(end->tcp.fd, (struct sockaddr *)&local, &size);
	for (size_t i = 0; devices[i] && !end->id->verbs; i++) {
		end->id->verbs = check(ibv_open_device(devices[i]), "ibv_open_device");
		if (!has_gid(end->id->verbs, (struct sockaddr *)&local, &end->tcp.own)) {
			ibv_close_device(end->id->verbs);
			end->id->verbs = NULL;
		}
	}
	ibv_free_device_list(devices);
	if (!end->id->verbs)
		die("no device has a GID of the local address");
}

static void put(struct endpoint *end, const uint8_t *frame, size_t size)
{
	if (send(end->tcp.fd, frame, size, MSG_NOSIGNAL) != (ssize_t)size)
		die("send: %s", strerror(errno));
}

/* Receives a frame. Returns its type, or 0 if the peer has closed the connection. */
static unsigned int get(struct endpoint *end, uint8_t frame[TCP_FRAME_MAX])
{
	size_t have = 0;

	do {
		if (recv(end->tcp.fd, frame + have, 1, 0) <= 0)
			return 0;
		have++;
	} while (tcp_frame_size(frame, have) == 0);
	return tcp_frame_type(frame);
}

static void expect(unsigned int type, unsigned int wanted, bool valid)
{
	if (type != wanted || !valid)
		die("frame of type %u; expected a valid one of type %u", type, wanted);
}

/* Keeps what the peer said. */
static void hear(struct endpoint *end)
{
	const struct tcp_queue_pair *theirs = &end->tcp.theirs;

	memcpy(end->words, theirs->private_data, theirs->private_size);
	end->heard = (struct rdma_conn_param){.private_data = end->words,
		.private_data_len = theirs->private_size,
		.initiator_depth = theirs->responder_resources,
		.responder_resources = theirs->initiator_depth};
}

static size_t describe(struct endpoint *end, enum tcp_frame_type type, uint8_t *frame)
{
	const struct rdma_conn_param *said = &end->parameters;
	struct tcp_queue_pair *ours = &end->tcp.ours;

	ours->number = end->id->qp ? end->id->qp->qp_num : (uint32_t)getpid() & 0x7fffff;
	ours->sequence = ours->number;
	ours->mtu = end->tcp.own.mtu;
	ours->initiator_depth = said->initiator_depth;
	ours->responder_resources = said->responder_resources;
	ours->private_size = said->private_data_len;
	if (said->private_data)
		memcpy(ours->private_data, said->private_data, said->private_data_len);
	return tcp_queue_pair_encode(type, ours, frame);
}

static uint8_t smaller(uint8_t one, uint8_t other)
{
	return one < other ? one : other;
}

void endpoint_tcp_attributes(struct endpoint *end, struct ibv_qp_attr *attributes, int *mask)
{
	const struct tcp_queue_pair *ours = &end->tcp.ours, *theirs = &end->tcp.theirs;

	*mask = IBV_QP_STATE;
	switch (attributes->qp_state) {
	case IBV_QPS_INIT:
		attributes->port_num = PORT;
		attributes->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
		*mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
		break;
	case IBV_QPS_RTR:
		attributes->ah_attr =
			(struct ibv_ah_attr){.is_global = 1, .port_num = PORT, .grh.hop_limit = 64};
		attributes->ah_attr.grh.sgid_index = (uint8_t)end->tcp.own.index;
		memcpy(attributes->ah_attr.grh.dgid.raw, end->tcp.peer.gid, 16);
		attributes->path_mtu = IBV_MTU_1024;
		attributes->dest_qp_num = theirs->number;
		attributes->rq_psn = theirs->sequence;
		attributes->max_dest_rd_atomic =
			smaller(ours->responder_resources, theirs->initiator_depth);
		*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		break;
	default:
		attributes->sq_psn = ours->sequence;
		attributes->timeout = ACK_TIMEOUT;
		attributes->retry_cnt = end->parameters.retry_count;
		attributes->rnr_retry = end->parameters.rnr_retry_count;
		attributes->max_rd_atomic =
			smaller(ours->initiator_depth, theirs->responder_resources);
		*mask |= IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			 IBV_QP_MAX_QP_RD_ATOMIC;
	}
}

static void advance(struct endpoint *end, enum ibv_qp_state state)
{
	struct ibv_qp_attr attributes = {.qp_state = state};
	int mask, error;

	endpoint_tcp_attributes(end, &attributes, &mask);
	error = ibv_modify_qp(end->id->qp, &attributes, mask);
	if (error)
		die("ibv_modify_qp to state %d: %s", (int)state, strerror(error));
}

void endpoint_tcp_create_queue_pair(struct endpoint *end, struct ibv_qp_init_attr *wanted)
{
	end->id->qp = check(ibv_create_qp(end->pd, wanted), "ibv_create_qp");
	advance(end, IBV_QPS_INIT);
}

/* A client. */

static int connect_to(const struct addrinfo *to)
{
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen))
		die("connect: %s", strerror(errno));
	return fd;
}

void endpoint_tcp_resolve(struct endpoint *end, const struct addrinfo *to)
{
	struct tcp_offer offer = {.count = 1};
	struct tcp_path path;
	uint8_t frame[TCP_FRAME_MAX] = {0};
	unsigned int type;

	end->tcp.fd = connect_to(to);
	open_device(end);
	offer.gids[0] = end->tcp.own;
	put(end, frame, tcp_offer_encode(&offer, frame));
	type = get(end, frame);
	expect(type, TCP_PATH, tcp_path_decode(&path, frame) == 0 && path.refusal == PATH_FINE);
	end->tcp.peer = path.gids[0];
}

void endpoint_tcp_request(struct endpoint *end)
{
	uint8_t frame[TCP_FRAME_MAX] = {0}, size;
	unsigned int type;

	put(end, frame, describe(end, TCP_REQUEST, frame));
	type = get(end, frame);
	if (type == TCP_REJECT) {
		tcp_reject_data(frame, &size);
		die("event %s, status 28, %u bytes; expected %s",
			rdma_event_str(RDMA_CM_EVENT_REJECTED), size,
			rdma_event_str(RDMA_CM_EVENT_ESTABLISHED));
	}
	expect(type, TCP_REPLY, tcp_queue_pair_decode(&end->tcp.theirs, frame) == 0);
	hear(end);
}

void endpoint_tcp_connect(struct endpoint *end)
{
	uint8_t frame[TCP_FRAME_MAX] = {0};

	endpoint_tcp_request(end);
	advance(end, IBV_QPS_RTR);
	advance(end, IBV_QPS_RTS);
	put(end, frame, tcp_ready_encode(frame));
}

/* Connects to the server and sends it an offer. Returns the socket. */
static int knock(struct endpoint *end, const struct addrinfo *to)
{
	const struct tcp_offer offer = {.count = 1, .gids = {end->tcp.own}};
	uint8_t frame[TCP_FRAME_MAX] = {0};
	size_t size = tcp_offer_encode(&offer, frame);
	int fd = connect_to(to);

	if (send(fd, frame, size, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
		die("send: %s", strerror(errno));
	return fd;
}

/* Answers a path by a request, and a reply by silence. Returns false for anything else. */
static bool go_on(struct endpoint *end, int fd)
{
	uint8_t answer[TCP_FRAME_MAX], frame[TCP_FRAME_MAX] = {0};
	ssize_t size = recv(fd, answer, sizeof(answer), 0);

	if (size > 0 && tcp_frame_type(answer) == TCP_REPLY)
		return true;
	return size > 0 && tcp_frame_type(answer) == TCP_PATH &&
	       send(fd, frame, describe(end, TCP_REQUEST, frame), MSG_NOSIGNAL) > 0;
}

void endpoint_tcp_knock(struct endpoint *end, const struct addrinfo *to, unsigned int at_once)
{
	struct pollfd *sockets = check(calloc(at_once, sizeof(*sockets)), "calloc");

	endpoint_tcp_resolve(end, to);
	for (unsigned int i = 0; i < at_once; i++)
		sockets[i] = (struct pollfd){.fd = knock(end, to), .events = POLLIN};
	for (;;) {
		if (poll(sockets, at_once, -1) < 0)
			die("poll: %s", strerror(errno));
		for (unsigned int i = 0; i < at_once; i++) {
			if (!sockets[i].revents || go_on(end, sockets[i].fd))
				continue;
			close(sockets[i].fd);
			sockets[i].fd = knock(end, to);
			if (end->sent++ == 0)
				puts("here");
		}
	}
}

/* A server. */

unsigned int endpoint_tcp_listen(struct endpoint *end, const struct addrinfo *at)
{
	struct sockaddr_in local;
	socklen_t size = sizeof(local);
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, 8) ||
		getsockname(fd, (struct sockaddr *)&local, &size))
		die("cannot listen: %s", strerror(errno));
	end->tcp.listener = fd;
	return ntohs(local.sin_port);
}

void endpoint_tcp_await_request(struct endpoint *end)
{
	struct tcp_path path = {.count = 1};
	struct tcp_offer offer;
	uint8_t frame[TCP_FRAME_MAX] = {0};
	unsigned int type;

	end->tcp.fd = accept(end->tcp.listener, NULL, NULL);
	if (end->tcp.fd < 0)
		die("accept: %s", strerror(errno));
	open_device(end);
	type = get(end, frame);
	expect(type, TCP_OFFER, tcp_offer_decode(&offer, frame) == 0);
	while (path.chosen + 1 < offer.count &&
		memcmp(offer.gids[path.chosen].gid, end->tcp.own.gid, 16) != 0)
		path.chosen++;
	end->tcp.peer = offer.gids[path.chosen];
	path.gids[0] = end->tcp.own;
	put(end, frame, tcp_path_encode(&path, frame));
	type = get(end, frame);
	expect(type, TCP_REQUEST, tcp_queue_pair_decode(&end->tcp.theirs, frame) == 0);
	hear(end);
}

void endpoint_tcp_accept(struct endpoint *end)
{
	uint8_t frame[TCP_FRAME_MAX], reply[TCP_FRAME_MAX];
	size_t size = describe(end, TCP_REPLY, reply);

	advance(end, IBV_QPS_RTR);
	advance(end, IBV_QPS_RTS);
	put(end, reply, size);
	expect(get(end, frame), TCP_READY, true);
}

void endpoint_tcp_reject(struct endpoint *end, const void *words, uint8_t length)
{
	uint8_t frame[TCP_FRAME_MAX] = {0};

	put(end, frame, tcp_reject_encode(words, length, frame));
}

/* Both. */

void endpoint_tcp_await_end(struct endpoint *end)
{
	char byte;

	if (recv(end->tcp.fd, &byte, 1, 0) > 0)
		die("a byte on the TCP connection; expected its end");
}

void endpoint_tcp_free(struct endpoint *end)
{
	close(end->tcp.fd);
	if (end->tcp.listener > 0)
		close(end->tcp.listener);
	if (end->id && end->id->verbs)
		ibv_close_device(end->id->verbs);
	free(end->id);
}

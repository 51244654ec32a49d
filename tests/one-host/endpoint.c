/* A connection endpoint for the test peers, without the code under test. Owns its verbs objects. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/one-host/endpoint-tcp.h"

enum {
	MOST_YIELDS = 100,
	LONG_LOOK_MS = 10,
};

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fflush(stdout);
	fputs("peer: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(EXIT_FAILURE);
}

static void *memory(size_t size)
{
	void *bytes = aligned_alloc(4096, (size + 4095) / 4096 * 4096);

	if (!bytes)
		die("out of memory");
	memset(bytes, 0, size);
	return bytes;
}

static struct ibv_mr *region(struct endpoint *end, void *bytes, size_t size, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(end->pd, bytes, size, (unsigned int)access);

	if (!mr)
		die("ibv_reg_mr: %s", strerror(errno));
	return mr;
}

static void make(struct endpoint *end, unsigned int receives)
{
	struct ibv_qp_init_attr wanted = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = ENDPOINT_SLOTS,
			.max_recv_wr = ENDPOINT_SLOTS,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	size_t slots = ENDPOINT_SLOTS * sizeof(*end->sends);

	end->pd = ibv_alloc_pd(end->id->verbs);
	end->cq = ibv_create_cq(end->id->verbs, 2 * ENDPOINT_SLOTS, NULL, NULL, 0);
	if (!end->pd || !end->cq)
		die("no protection domain or completion queue: %s", strerror(errno));
	wanted.send_cq = wanted.recv_cq = end->cq;
	if (end->tcp.used)
		endpoint_tcp_create_queue_pair(end, &wanted);
	else if (rdma_create_qp(end->id, end->pd, &wanted))
		die("rdma_create_qp: %s", strerror(errno));
	end->sends = memory(2 * slots);
	end->receives = end->sends + ENDPOINT_SLOTS;
	end->exposed = memory(ENDPOINT_REGION);
	end->local = memory(ENDPOINT_LOCAL);
	end->slots_mr = region(end, end->sends, 2 * slots, IBV_ACCESS_LOCAL_WRITE);
	end->exposed_mr = region(
		end, end->exposed, ENDPOINT_REGION, IBV_ACCESS_LOCAL_WRITE | end->exposed_access);
	end->local_mr = region(end, end->local, ENDPOINT_LOCAL, IBV_ACCESS_LOCAL_WRITE);
	while (receives-- > 0)
		endpoint_post_receive(end);
}

static void keep(struct endpoint *end, const struct rdma_conn_param *heard)
{
	end->heard = *heard;
	if (heard->private_data_len > 0)
		memcpy(end->words, heard->private_data, heard->private_data_len);
	end->heard.private_data = end->words;
}

/* Waits for an event; returns it unacknowledged. */
static struct rdma_cm_event *wait_event(struct endpoint *end)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(end->channel, &event))
		die("rdma_get_cm_event: %s", strerror(errno));
	return event;
}

void endpoint_event(struct endpoint *end, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	const struct rdma_conn_param *heard;

	if (end->tcp.used) {
		endpoint_tcp_await_end(end);
		return;
	}
	event = wait_event(end);
	heard = &event->param.conn;
	if (event->event != type)
		die("event %s, status %d, %u bytes; expected %s", rdma_event_str(event->event),
			event->status, heard->private_data_len, rdma_event_str(type));
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		end->id = event->id;
	/*
	 * The passive side receives the parameters in the request; its ESTABLISHED event has none.
	 */
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST ||
		(type == RDMA_CM_EVENT_ESTABLISHED && !end->listener))
		keep(end, heard);
	rdma_ack_cm_event(event);
}

static struct addrinfo *find(const char *host, const char *port)
{
	struct addrinfo *list;
	int error = getaddrinfo(host, port, NULL, &list);

	if (error)
		die("getaddrinfo %s: %s", host, gai_strerror(error));
	return list;
}

static void start(struct endpoint *end, struct rdma_cm_id **id)
{
	const char *bootstrap = getenv("PAIR_BOOTSTRAP");

	alarm(ENDPOINT_SECONDS);
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	end->tcp.used = bootstrap && strcmp(bootstrap, "tcp") == 0;
	if (end->tcp.used)
		return;
	end->channel = rdma_create_event_channel();
	if (!end->channel || rdma_create_id(end->channel, id, NULL, RDMA_PS_TCP))
		die("rdma_create_id: %s", strerror(errno));
}

/* Resolves the address and the route. */
static void resolve(struct endpoint *end, const char *host, const char *port)
{
	struct addrinfo *list = find(host, port);

	start(end, &end->id);
	if (end->tcp.used) {
		endpoint_tcp_resolve(end, list);
		freeaddrinfo(list);
		return;
	}
	if (rdma_resolve_addr(end->id, NULL, list->ai_addr, 5000))
		die("rdma_resolve_addr: %s", strerror(errno));
	freeaddrinfo(list);
	endpoint_event(end, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(end->id, 5000))
		die("rdma_resolve_route: %s", strerror(errno));
	endpoint_event(end, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

void endpoint_half_open(struct endpoint *end, const char *host, const char *port)
{
	resolve(end, host, port);
	if (end->tcp.used) {
		endpoint_tcp_request(end);
		return;
	}
	/* Unique: the server would treat a second request with the same number as a duplicate. */
	end->parameters.qp_num = 1U << 23 | ((uint32_t)getpid() & 0x7fffff);
	if (rdma_connect(end->id, &end->parameters))
		die("rdma_connect: %s", strerror(errno));
	/* Without a queue pair, librdmacm leaves the confirmation to us; never send it. */
	endpoint_event(end, RDMA_CM_EVENT_CONNECT_RESPONSE);
}

/* Starts another request to that address. */
static void set_out(struct endpoint *end, const struct addrinfo *to)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(end->channel, &id, NULL, RDMA_PS_TCP) ||
		rdma_resolve_addr(id, NULL, to->ai_addr, 5000))
		die("rdma_resolve_addr: %s", strerror(errno));
}

/* Performs the next step of a request: address, route, connect. A reply starts a new request. */
static void go_on(struct endpoint *end, struct rdma_cm_id *id, enum rdma_cm_event_type event,
	const struct addrinfo *to)
{
	if (event == RDMA_CM_EVENT_ADDR_RESOLVED && rdma_resolve_route(id, 5000))
		die("rdma_resolve_route: %s", strerror(errno));
	if (event == RDMA_CM_EVENT_ROUTE_RESOLVED) {
		/* The server would treat a second request with the same number as a duplicate. */
		end->parameters.qp_num = 1U << 23 | (end->posted++ & 0x7fffff);
		if (rdma_connect(id, &end->parameters))
			die("rdma_connect: %s", strerror(errno));
	}
	if (event == RDMA_CM_EVENT_ADDR_RESOLVED || event == RDMA_CM_EVENT_ROUTE_RESOLVED)
		return;
	rdma_destroy_id(id);
	set_out(end, to);
	if (end->sent++ == 0)
		puts("here");
}

void endpoint_knock(struct endpoint *end, const char *host, const char *port, unsigned int at_once)
{
	struct addrinfo *list = find(host, port);

	start(end, &end->id);
	if (end->tcp.used)
		endpoint_tcp_knock(end, list, at_once);
	end->posted = (unsigned int)getpid() << 8;
	while (at_once-- > 0)
		set_out(end, list);
	for (;;) {
		struct rdma_cm_event *event = wait_event(end);
		enum rdma_cm_event_type type = event->event;
		struct rdma_cm_id *id = event->id;

		rdma_ack_cm_event(event);
		go_on(end, id, type, list);
	}
}

void endpoint_connect(
	struct endpoint *end, const char *host, const char *port, unsigned int receives)
{
	resolve(end, host, port);
	make(end, receives);
	if (end->tcp.used) {
		endpoint_tcp_connect(end);
		return;
	}
	if (rdma_connect(end->id, &end->parameters))
		die("rdma_connect: %s", strerror(errno));
	endpoint_event(end, RDMA_CM_EVENT_ESTABLISHED);
}

/* Writes the port to the file, which appears as a whole. */
static void announce(unsigned int port, const char *port_file)
{
	char temporary[512];
	FILE *file;

	snprintf(temporary, sizeof(temporary), "%s.new", port_file);
	file = fopen(temporary, "w");
	if (!file || fprintf(file, "%u\n", port) < 0 || fclose(file) ||
		rename(temporary, port_file))
		die("%s: %s", port_file, strerror(errno));
}

/* Listens, writes the port to a file, and waits for a request. */
static void await_request(struct endpoint *end, const char *address, const char *port_file)
{
	struct addrinfo *list = find(address, "0");

	start(end, &end->listener);
	if (end->tcp.used) {
		announce(endpoint_tcp_listen(end, list), port_file);
		freeaddrinfo(list);
		endpoint_tcp_await_request(end);
		return;
	}
	if (rdma_bind_addr(end->listener, list->ai_addr) || rdma_listen(end->listener, 8))
		die("cannot listen: %s", strerror(errno));
	freeaddrinfo(list);
	announce(ntohs(rdma_get_src_port(end->listener)), port_file);
	endpoint_event(end, RDMA_CM_EVENT_CONNECT_REQUEST);
}

static void free_ids(struct endpoint *end)
{
	if (end->tcp.used) {
		endpoint_tcp_free(end);
		return;
	}
	rdma_destroy_id(end->id);
	if (end->listener)
		rdma_destroy_id(end->listener);
	rdma_destroy_event_channel(end->channel);
}

void endpoint_refuse(struct endpoint *end, const char *address, const char *port_file,
	const void *words, uint8_t length)
{
	await_request(end, address, port_file);
	if (end->tcp.used)
		endpoint_tcp_reject(end, words, length);
	else
		rdma_reject(end->id, words, length);
	free_ids(end);
}

void endpoint_accept(
	struct endpoint *end, const char *address, const char *port_file, unsigned int receives)
{
	await_request(end, address, port_file);
	make(end, receives);
	if (end->tcp.used) {
		endpoint_tcp_accept(end);
		return;
	}
	if (rdma_accept(end->id, &end->parameters))
		die("rdma_accept: %s", strerror(errno));
	endpoint_event(end, RDMA_CM_EVENT_ESTABLISHED);
}

void endpoint_attributes(struct endpoint *end, struct ibv_qp_attr *attributes, int *mask)
{
	if (end->tcp.used)
		endpoint_tcp_attributes(end, attributes, mask);
	else if (rdma_init_qp_attr(end->id, attributes, mask))
		die("rdma_init_qp_attr: %s", strerror(errno));
}

void endpoint_disconnect(struct endpoint *end)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};

	if (!end->tcp.used) {
		rdma_disconnect(end->id);
		return;
	}
	ibv_modify_qp(end->id->qp, &attributes, IBV_QP_STATE);
	shutdown(end->tcp.fd, SHUT_WR);
}

void endpoint_post_receive(struct endpoint *end)
{
	unsigned int slot = end->posted++ % ENDPOINT_SLOTS;
	struct ibv_sge piece = {(uintptr_t)end->receives[slot], sizeof(end->receives[slot]),
		end->slots_mr->lkey ^ end->receive_fault};
	struct ibv_recv_wr request = {.wr_id = slot, .sg_list = &piece, .num_sge = 1}, *bad;

	if (ibv_post_recv(end->id->qp, &request, &bad))
		die("ibv_post_recv failed");
}

static void post(struct endpoint *end, struct ibv_send_wr *request)
{
	struct ibv_send_wr *bad;

	if (ibv_post_send(end->id->qp, request, &bad))
		die("ibv_post_send failed");
}

void endpoint_send(struct endpoint *end, const void *bytes, uint32_t length)
{
	uint8_t *slot = end->sends[end->sent++ % ENDPOINT_SLOTS];
	struct ibv_sge piece = {(uintptr_t)slot, length, end->slots_mr->lkey};
	struct ibv_send_wr request = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND};

	memcpy(slot, bytes, length);
	post(end, &request);
}

void endpoint_rdma(struct endpoint *end, enum ibv_wr_opcode opcode, uint64_t address, uint32_t rkey,
	uint32_t length, uint32_t immediate)
{
	struct ibv_sge piece = {(uintptr_t)end->local, length, end->local_mr->lkey};
	struct ibv_send_wr request = {
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = opcode,
		.imm_data = htonl(immediate),
		.wr.rdma = {.remote_addr = address, .rkey = rkey},
	};

	post(end, &request);
}

/* A long wait leaves the processor to the program under test. */
struct ibv_wc endpoint_completion(struct endpoint *end)
{
	struct ibv_wc completion;
	int count;

	for (int looks = 0; (count = ibv_poll_cq(end->cq, 1, &completion)) == 0; looks++) {
		if (looks < MOST_YIELDS)
			sched_yield();
		else
			poll(NULL, 0, looks < 2 * MOST_YIELDS ? 1 : LONG_LOOK_MS);
	}
	if (count < 0)
		die("ibv_poll_cq failed");
	return completion;
}

const uint8_t *endpoint_received(const struct endpoint *end, const struct ibv_wc *completion)
{
	return end->receives[completion->wr_id];
}

void endpoint_free(struct endpoint *end)
{
	if (end->tcp.used)
		ibv_destroy_qp(end->id->qp);
	else
		rdma_destroy_qp(end->id);
	ibv_destroy_cq(end->cq);
	ibv_dereg_mr(end->slots_mr);
	ibv_dereg_mr(end->exposed_mr);
	ibv_dereg_mr(end->local_mr);
	ibv_dealloc_pd(end->pd);
	free_ids(end);
	free(end->sends);
	free(end->exposed);
	free(end->local);
}

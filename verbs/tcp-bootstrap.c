/*
 * Sockets, frames and events of connections without rdmacm: see verbs/tcp-bootstrap.h. A peer that
 * has not taken all before gets at most two small frames, so the socket always has room for them.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/address.h"
#include "base/explain.h"
#include "host/device-address.h"
#include "host/netlink.h"
#include "protocol/hello.h"
#include "verbs/bootstrap.h"
#include "verbs/opened-devices.h"
#include "verbs/path-choice.h"
#include "verbs/tcp-bootstrap.h"
#include "verbs/tcp-queue-pair.h"

/* Sockets that one call looks at. */
#define LOOKS 16

/* Connections that the kernel may complete before they are accepted. */
#define BACKLOG 1024

/* A host that has gone is noticed after the first number of seconds plus four times the second. */
#define KEEPALIVE_IDLE  10
#define KEEPALIVE_PROBE 5
#define KEEPALIVE_COUNT 4

/* How often connections without a request are looked at, in seconds. */
#define TICK 1

/* The GIDs of a server may change; they are read again after this many milliseconds. */
#define CANDIDATES_MS 1000

struct tcp_channel {
	int epoll;
	int timer; /* of ticks, while anything needs them; -1: no listener was made */
	bool ticks;
	bool opens;                        /* a listener's: devices may be open */
	struct tcp_id *paused;             /* that listener, NULL: none */
	struct path_candidates candidates; /* for connections to this local address */
	struct sockaddr_storage candidates_local;
	deadline_t candidates_until;   /* 0: none yet */
	struct tcp_id_queue half_open; /* the oldest first */
	unsigned int half_open_count;
};

/* Channels and ids. */

int tcp_channel_create(struct tcp_channel **result)
{
	struct tcp_channel *channel = calloc(1, sizeof(*channel));
	int error;

	if (!channel)
		return -ENOMEM;
	TAILQ_INIT(&channel->half_open);
	channel->timer = -1;
	channel->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (channel->epoll >= 0) {
		*result = channel;
		return 0;
	}
	error = -errno;
	free(channel);
	return error;
}

/* A listener needs the timer, even if no descriptor is left later. Returns 0 or -errno. */
static int make_timer(struct tcp_channel *channel)
{
	struct epoll_event ticking = {.events = EPOLLIN}; /* without an id */

	if (channel->timer >= 0)
		return 0;
	channel->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (channel->timer < 0 ||
		epoll_ctl(channel->epoll, EPOLL_CTL_ADD, channel->timer, &ticking))
		return -errno;
	return 0;
}

/*
 * Starts or stops the ticks, for connections without a request, a listener that waits for a
 * descriptor, and open devices.
 */
static void set_timer(struct tcp_channel *channel)
{
	const bool runs = channel->half_open_count > 0 || channel->paused || channel->opens;
	const struct itimerspec ticks = {
		.it_value.tv_sec = runs ? TICK : 0, .it_interval.tv_sec = runs ? TICK : 0};

	if (runs == channel->ticks)
		return;
	channel->ticks = runs;
	timerfd_settime(channel->timer, 0, &ticks, NULL);
}

int tcp_channel_fd(const struct tcp_channel *channel)
{
	return channel->epoll;
}

/* Waits for these events of the id's socket; 0: for none. Returns 0, or -1 with errno set. */
static int watch(struct tcp_id *tcp, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = tcp};
	const int change = !tcp->watched ? EPOLL_CTL_ADD
			   : events == 0 ? EPOLL_CTL_DEL
					 : EPOLL_CTL_MOD;

	if (events == 0 && !tcp->watched)
		return 0;
	if (epoll_ctl(tcp->channel->epoll, change, tcp->fd, &event))
		return -1;
	tcp->watched = events != 0;
	return 0;
}

static bool is_half_open(const struct tcp_id *tcp)
{
	return tcp->state == TCP_AWAITS_OFFER || tcp->state == TCP_AWAITS_REQUEST;
}

static void leave_half_open(struct tcp_id *tcp)
{
	TAILQ_REMOVE(&tcp->channel->half_open, tcp, next);
	if (--tcp->channel->half_open_count == 0)
		set_timer(tcp->channel);
}

static void destroy(struct rdma_cm_id *id)
{
	struct tcp_id *tcp = tcp_id_of(id);

	if (is_half_open(tcp))
		leave_half_open(tcp);
	if (tcp->channel->paused == tcp)
		tcp->channel->paused = NULL;
	tcp_join_mover(tcp);
	/* The device of a client stays open: what it has made there may outlive the connection. */
	if (tcp->id.verbs && !tcp->client)
		opened_device_release(tcp->id.verbs);
	free(tcp->client);
	close(tcp->fd); /* which ends the epoll instance's interest */
	free(tcp);
}

void tcp_channel_destroy(struct tcp_channel *channel)
{
	while (!TAILQ_EMPTY(&channel->half_open))
		destroy(&TAILQ_FIRST(&channel->half_open)->id);
	if (channel->timer >= 0)
		close(channel->timer);
	close(channel->epoll);
	free(channel);
}

/* Takes over the socket. Returns NULL with errno set, and the socket closed. */
static struct tcp_id *make_id(struct tcp_channel *channel, int fd,
	const struct path_settings *settings, const struct output *output, enum tcp_state state)
{
	struct tcp_id *tcp = calloc(1, sizeof(*tcp));

	if (!tcp) {
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	tcp->id.ps = OWN_PORT_SPACE;
	tcp->shared.bootstrap = &bootstrap_tcp;
	tcp->fd = fd;
	tcp->moved = -1;
	tcp->channel = channel;
	tcp->settings = settings;
	tcp->output = output;
	tcp->state = state;
	return tcp;
}

/* The addresses of both ends of the TCP connection, which name the peer in messages. */
static void take_addresses(struct tcp_id *tcp)
{
	struct rdma_addr *pair = &tcp->id.route.addr;
	socklen_t size = sizeof(pair->src_storage);

	getsockname(tcp->fd, &pair->src_addr, &size);
	size = sizeof(pair->dst_storage);
	getpeername(tcp->fd, &pair->dst_addr, &size);
}

/*
 * The first acknowledgement is not delayed (TCP_QUICKACK): Linux 6.1 loses the listener of software
 * iWARP, and may crash, if it carries the end of a connection that was only a probe.
 */
static void set_options(int fd)
{
	static const int yes = 1, idle = KEEPALIVE_IDLE, probe = KEEPALIVE_PROBE,
			 count = KEEPALIVE_COUNT;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &probe, sizeof(probe));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

static int open_socket(int family)
{
	return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Closes the socket. Returns the negative errno of what failed before. */
static int give_up(int fd)
{
	int error = -errno;

	close(fd);
	return error;
}

int tcp_listen(struct tcp_channel *channel, const struct sockaddr *address,
	const struct path_settings *settings, const struct output *output,
	struct rdma_cm_id **listener)
{
	static const int yes = 1;
	struct tcp_id *tcp;
	int error = make_timer(channel), fd;

	if (error)
		return error;
	fd = open_socket(address->sa_family);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (address->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (bind(fd, address, address_length(address)) || listen(fd, BACKLOG))
		return give_up(fd);
	tcp = make_id(channel, fd, settings, output, TCP_LISTENS);
	if (!tcp)
		return -ENOMEM;
	take_addresses(tcp);
	if (watch(tcp, EPOLLIN)) {
		error = -errno;
		destroy(&tcp->id);
		return error;
	}
	channel->opens = true; /* the server may have looked for a path before */
	set_timer(channel);
	*listener = &tcp->id;
	return 0;
}

int tcp_start(struct tcp_channel *channel, const struct sockaddr *address,
	const struct sockaddr *source, const struct path_settings *settings,
	const struct output *output, struct rdma_cm_id **id)
{
	struct tcp_id *tcp;
	int fd = open_socket(address->sa_family), error;

	if (fd < 0)
		return -errno;
	set_options(fd);
	if ((source && bind(fd, source, address_length(source))) ||
		(connect(fd, address, address_length(address)) && errno != EINPROGRESS))
		return give_up(fd);
	tcp = make_id(channel, fd, settings, output, TCP_CONNECTING);
	if (!tcp)
		return -ENOMEM;
	memcpy(&tcp->id.route.addr.dst_storage, address, address_length(address));
	if (watch(tcp, EPOLLOUT)) {
		error = -errno;
		destroy(&tcp->id);
		return error;
	}
	*id = &tcp->id;
	return 0;
}

/* Frames. */

/* Sends the frame in tcp->frame as a whole. Returns 0, or -1 with errno set. */
static int send_frame(struct tcp_id *tcp, size_t size)
{
	ssize_t sent = send(tcp->fd, tcp->frame, size, MSG_NOSIGNAL);

	if (sent == (ssize_t)size)
		return 0;
	if (sent >= 0)
		errno = EPIPE;
	return -1;
}

/*
 * Reads a frame, as far as it has arrived, and nothing of the next one. Returns its type if it is
 * complete, 0 if more bytes are needed, or -errno: -ECONNRESET if the peer has closed the
 * connection, -EPROTO if it violates the protocol.
 */
static int read_frame(struct tcp_id *tcp)
{
	ssize_t count;
	int size;

	do {
		count = recv(tcp->fd, tcp->bytes + tcp->have,
			tcp_frame_missing(tcp->bytes, tcp->have), 0);
		if (count < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (count == 0)
			return -ECONNRESET;
		tcp->have += (size_t)count;
		size = tcp_frame_size(tcp->bytes, tcp->have);
	} while (size == 0);
	if (size < 0)
		return size;
	tcp->have = 0;
	return (int)tcp_frame_type(tcp->bytes);
}

/* Events. */

static int report(
	struct tcp_id *tcp, enum rdma_cm_event_type type, int status, struct event_copy *copy)
{
	copy->event = (struct rdma_cm_event){.id = &tcp->id, .event = type, .status = status};
	return 1;
}

/* Reports the last event of the id. */
static int report_end(
	struct tcp_id *tcp, enum rdma_cm_event_type type, int status, struct event_copy *copy)
{
	watch(tcp, 0);
	tcp->state = TCP_ENDED;
	return report(tcp, type, status, copy);
}

/* Reports what the peer's frame says, as its recipient sees it: rdma_get_cm_event(3). */
static int report_peer(struct tcp_id *tcp, enum rdma_cm_event_type type, struct event_copy *copy)
{
	const struct tcp_queue_pair *theirs = &tcp->theirs;

	report(tcp, type, 0, copy);
	memcpy(copy->private_data, theirs->private_data, theirs->private_size);
	copy->event.param.conn = (struct rdma_conn_param){
		.private_data = theirs->private_size > 0 ? copy->private_data : NULL,
		.private_data_len = theirs->private_size,
		.responder_resources = theirs->initiator_depth,
		.initiator_depth = theirs->responder_resources,
		.qp_num = theirs->number,
	};
	return 1;
}

/* Binds the id to the device and port of its candidate, once. Returns 0 or -1. */
static int use_port(struct tcp_id *tcp)
{
	if (!tcp->id.verbs)
		tcp->id.verbs = opened_device_use(tcp->own.device);
	tcp->id.port_num = tcp->own.gid.port;
	return tcp->id.verbs ? 0
			     : failure_errno(&tcp->failure, PHASE_OPEN, "ibv_open_device", ENODEV);
}

static int use_path(struct tcp_id *tcp)
{
	struct rdma_ib_addr *gids = &tcp->id.route.addr.addr.ibaddr;

	memcpy(gids->sgid.raw, tcp->own.gid.gid, sizeof(gids->sgid.raw));
	memcpy(gids->dgid.raw, tcp->peer.gid, sizeof(gids->dgid.raw));
	gids->pkey = htons(tcp->own.gid.pkey);
	return use_port(tcp);
}

/* A server. */

/* Drops connections whose request is overdue, and makes room for another one. */
static void drop_half_open(struct tcp_channel *channel, unsigned int most)
{
	struct tcp_id *oldest;

	while (!TAILQ_EMPTY(&channel->half_open)) {
		oldest = TAILQ_FIRST(&channel->half_open);
		if (channel->half_open_count <= most && deadline_left(oldest->deadline) > 0)
			break;
		destroy(&oldest->id);
	}
}

/*
 * Without a descriptor, the listener would be readable all the time: it waits for a tick, unless
 * another connection can make room.
 */
static void pause_listener(struct tcp_id *listener)
{
	struct tcp_channel *channel = listener->channel;

	if (channel->half_open_count > 0) {
		drop_half_open(channel, channel->half_open_count - 1);
		return;
	}
	output_detail(listener->output, "cannot accept a TCP connection: %s", strerror(errno));
	watch(listener, 0);
	channel->paused = listener;
	set_timer(channel);
}

/* Connections without a request leave most descriptors to others. */
static unsigned int most_half_open(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 4 >= TCP_HALF_OPEN)
		return TCP_HALF_OPEN;
	return limit.rlim_cur < 8 ? 1 : (unsigned int)(limit.rlim_cur / 4);
}

static void tick(struct tcp_channel *channel)
{
	struct tcp_id *paused = channel->paused;
	uint64_t ticks;

	if (read(channel->timer, &ticks, sizeof(ticks)) < 0)
		return;
	drop_half_open(channel, most_half_open());
	channel->paused = NULL;
	if (paused)
		watch(paused, EPOLLIN);
	channel->opens = channel->opens && opened_devices_close_unused();
	set_timer(channel);
}

static void take_connection(struct tcp_id *listener)
{
	struct tcp_channel *channel = listener->channel;
	/* cppcheck-suppress nullPointer ; accept4(2) allows it */
	int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct tcp_id *tcp;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			pause_listener(listener);
		return;
	}
	drop_half_open(channel, most_half_open() - 1);
	set_options(fd);
	tcp = make_id(channel, fd, listener->settings, listener->output, TCP_AWAITS_OFFER);
	if (!tcp)
		return;
	take_addresses(tcp);
	tcp->deadline = deadline_in(TCP_HALF_OPEN_MS);
	TAILQ_INSERT_TAIL(&channel->half_open, tcp, next);
	if (++channel->half_open_count == 1)
		set_timer(channel);
	if (watch(tcp, EPOLLIN))
		destroy(&tcp->id);
}

/* The GIDs of this host for TCP connections to this local address, read once in a while. */
static const struct path_candidates *find_candidates(struct tcp_id *tcp)
{
	struct tcp_channel *channel = tcp->channel;
	const struct sockaddr *local = &tcp->id.route.addr.src_addr;

	if (deadline_left(channel->candidates_until) == 0 ||
		!address_equal(local, (const struct sockaddr *)&channel->candidates_local)) {
		struct failure failure = {0};

		if (path_candidates_find(tcp->settings, local, &channel->candidates, &failure)) {
			channel->candidates.count = 0;
			output_detail(
				tcp->output, "no path for TCP connections: %s", failure.evidence);
		}
		channel->opens = true;
		set_timer(channel);
		memcpy(&channel->candidates_local, local, address_length(local));
		channel->candidates_until = deadline_in(CANDIDATES_MS);
	}
	return &channel->candidates;
}

/* True if the client does not wait for an answer any longer. */
static bool has_gone(const struct tcp_id *tcp)
{
	char byte;

	return recv(tcp->fd, &byte, 1, MSG_PEEK) == 0;
}

static void show_path(const struct tcp_id *tcp, const struct tcp_path *path)
{
	char peer[ADDRESS_TEXT_SIZE], here[PATH_GID_TEXT], there[PATH_GID_TEXT];

	address_port_text(&tcp->id.route.addr.dst_addr, peer);
	if (path->refusal != PATH_FINE) {
		output_detail(tcp->output, "%s: no path: %s", peer,
			explain(FAILURE_PATH, PHASE_ADDRESS, (int)path->refusal)->cause);
		return;
	}
	path_gid_text(&tcp->own.gid, here);
	path_gid_text(&tcp->peer, there);
	output_detail(
		tcp->output, "%s: path from %s of %s to %s", peer, here, tcp->own.device, there);
}

/* Who has not proved to know the secret learns one GID, of the network that the offer names. */
static void be_discreet(struct tcp_path *path)
{
	path->count = path->count > 0 ? 1 : 0;
	memset(path->gids[0].interface, 0, sizeof(path->gids[0].interface));
}

/* Chooses the path for an offer and tells the client. Returns 0 or -1. */
static int answer_offer(struct tcp_id *tcp)
{
	const struct path_candidates *ours;
	struct tcp_offer theirs;
	struct tcp_path path = {.refusal = PATH_OTHER_RELEASE};
	unsigned int chosen = 0;
	int error = tcp_offer_decode(&theirs, tcp->bytes);

	if (has_gone(tcp) || (error && error != -EPROTONOSUPPORT))
		return -1;
	ours = find_candidates(tcp);
	if (!error)
		path_choose(&theirs, ours, netlink_is_local(&tcp->id.route.addr.dst_addr),
			path_reaches, &path, &chosen);
	path.rdmacm = tcp->settings->rdmacm;
	if (tcp->settings->discreet)
		be_discreet(&path);
	if (path.refusal == PATH_FINE) {
		tcp->own = ours->all[chosen];
		tcp->peer = theirs.gids[path.chosen];
		if (use_path(tcp))
			return -1;
	}
	if (tcp->output->verbose)
		show_path(tcp, &path);
	/* After a refusal, the client closes the connection. */
	tcp->state = TCP_AWAITS_REQUEST;
	return send_frame(tcp, tcp_path_encode(&path, tcp->frame));
}

/* Handles a frame of a connection without a request. Returns 1 if it is the request. */
static int take_half_open(struct tcp_id *tcp, struct event_copy *copy)
{
	int type = read_frame(tcp);

	if (type == 0 ||
		(type == TCP_OFFER && tcp->state == TCP_AWAITS_OFFER && answer_offer(tcp) == 0))
		return 0;
	if (type == TCP_REQUEST && tcp->state == TCP_AWAITS_REQUEST && tcp->id.verbs &&
		tcp_queue_pair_decode(&tcp->theirs, tcp->bytes) == 0) {
		leave_half_open(tcp);
		watch(tcp, 0);
		tcp->state = TCP_REQUESTED;
		return report_peer(tcp, RDMA_CM_EVENT_CONNECT_REQUEST, copy);
	}
	destroy(&tcp->id);
	return 0;
}

/* The queue pair is moved by a thread, which may wait for the answer of the peer's neighbours. */
static int accept_request(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	struct tcp_id *tcp = tcp_id_of(id);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = tcp};
	int error;

	tcp_describe_queue_pair(tcp, parameters);
	error = tcp_start_mover(tcp);
	if (!error && epoll_ctl(tcp->channel->epoll, EPOLL_CTL_ADD, tcp->moved, &event))
		error = -errno;
	if (error) {
		errno = -error;
		return -1;
	}
	tcp->state = TCP_MOVES_QUEUE_PAIR;
	return 0;
}

/* Tells the client whether the queue pair was moved. Returns 0 or -errno. */
static int reply(struct tcp_id *tcp)
{
	struct hello refusal = {.version = HELLO_VERSION, .refusal = REFUSAL_PATH};
	uint8_t hello[HELLO_SIZE];

	if (!tcp->moving_error)
		return send_frame(tcp, tcp_queue_pair_encode(TCP_REPLY, &tcp->ours, tcp->frame))
			       ? -ECONNRESET
			       : 0;
	refusal.size = (uint64_t)tcp->moving_error;
	hello_encode(&refusal, hello);
	send_frame(tcp, tcp_reject_encode(hello, sizeof(hello), tcp->frame));
	return -tcp->moving_error;
}

/* The thread is done. */
static int take_moved(struct tcp_id *tcp, struct event_copy *copy)
{
	int error;

	tcp_join_mover(tcp);
	error = reply(tcp);
	if (!error && watch(tcp, EPOLLIN))
		error = -errno;
	if (error)
		return report_end(tcp, RDMA_CM_EVENT_CONNECT_ERROR, error, copy);
	tcp->state = TCP_AWAITS_READY;
	return 0;
}

static int reject_request(struct rdma_cm_id *id, const void *data, uint8_t size)
{
	struct tcp_id *tcp = tcp_id_of(id);

	return send_frame(tcp, tcp_reject_encode(data, size, tcp->frame));
}

/* The client confirms that it has the reply. */
static int take_ready(struct tcp_id *tcp, struct event_copy *copy)
{
	int type = read_frame(tcp);

	if (type == 0)
		return 0;
	if (type != TCP_READY)
		return report_end(
			tcp, RDMA_CM_EVENT_CONNECT_ERROR, type < 0 ? type : -EPROTO, copy);
	tcp->state = TCP_READY_BOTH;
	return report(tcp, RDMA_CM_EVENT_ESTABLISHED, 0, copy);
}

/* A client. */

bool tcp_explain(struct failure *failure, int error)
{
	const enum path_fault fault = error == ECONNREFUSED                         ? PATH_NO_TCP
				      : error == EADDRNOTAVAIL                      ? PATH_NO_SOURCE
				      : error == ECONNRESET                         ? PATH_NO_ANSWER
				      : error == ETIMEDOUT || error == EHOSTUNREACH ? PATH_SILENT
										    : PATH_FINE;

	if (fault != PATH_FINE)
		failure_set(failure, FAILURE_PATH, PHASE_ADDRESS, (int)fault, "connect", "%s",
			strerror(error));
	return fault != PATH_FINE;
}

static int take_connected(struct tcp_id *tcp, struct event_copy *copy)
{
	socklen_t size = sizeof(int);
	int error = 0;

	getsockopt(tcp->fd, SOL_SOCKET, SO_ERROR, &error, &size);
	if (error) {
		tcp_explain(&tcp->failure, error);
		return report_end(tcp, RDMA_CM_EVENT_ADDR_ERROR, -error, copy);
	}
	take_addresses(tcp);
	watch(tcp, 0);
	tcp->state = TCP_CONNECTED;
	return report(tcp, RDMA_CM_EVENT_ADDR_RESOLVED, 0, copy);
}

/*
 * Records that what listens did not answer as a server of ours, which may be full of connections
 * without a request. error: that of the connection; -EPROTO or a type: of the answer. Returns -1.
 */
static int meet_stranger(struct failure *failure, int error)
{
	const bool said = error == -EPROTO || error >= 0;

	return failure_set(failure, FAILURE_PATH, PHASE_ADDRESS,
		said ? PATH_STRANGER : PATH_NO_ANSWER, "recv", "%s",
		said ? "it sent something else" : strerror(-error));
}

void tcp_look(struct rdma_cm_id *id)
{
	struct tcp_id *tcp = tcp_id_of(id);

	take_addresses(tcp); /* connect(2) has chosen that of this end */
	tcp->client = calloc(1, sizeof(*tcp->client));
	if (tcp->client)
		path_candidates_find(tcp->settings, &id->route.addr.src_addr,
			&tcp->client->candidates, &tcp->client->failure);
}

int tcp_offer(struct rdma_cm_id *id, struct failure *failure)
{
	struct tcp_id *tcp = tcp_id_of(id);
	struct tcp_offer offer;

	if (!tcp->client)
		return failure_errno(failure, PHASE_ALLOCATION, "calloc", ENOMEM);
	if (tcp->client->candidates.count == 0) {
		*failure = tcp->client->failure;
		return -1;
	}
	path_offer(&tcp->client->candidates, &offer);
	if (send_frame(tcp, tcp_offer_encode(&offer, tcp->frame)))
		return meet_stranger(failure, -errno);
	if (watch(tcp, EPOLLIN))
		return failure_errno(failure, PHASE_ROUTE, "epoll_ctl", errno);
	tcp->state = TCP_AWAITS_PATH;
	if (!path_has_one_port(&tcp->client->candidates))
		return 0;
	tcp->own = tcp->client->candidates.all[0];
	if (use_port(tcp) == 0)
		return 0;
	*failure = tcp->failure;
	return -1;
}

bool tcp_awaits_path(const struct rdma_cm_id *id)
{
	return tcp_id_of(id)->state == TCP_AWAITS_PATH;
}

static int take_path(struct tcp_id *tcp, struct event_copy *copy)
{
	struct tcp_client *client = tcp->client;
	struct tcp_path *path = &client->path;
	struct tcp_offer ours;
	int type = read_frame(tcp);

	if (type == 0)
		return 0;
	path_offer(&client->candidates, &ours);
	if (type != TCP_PATH || tcp_path_decode(path, tcp->bytes) ||
		(path->refusal == PATH_FINE && path->chosen >= ours.count)) {
		path->count = 0;
		meet_stranger(&tcp->failure, type);
		return report_end(tcp, RDMA_CM_EVENT_ROUTE_ERROR, -EPROTO, copy);
	}
	if (path->refusal != PATH_FINE) {
		path_refused(&tcp->failure, &ours, path);
		return report_end(tcp, RDMA_CM_EVENT_ROUTE_ERROR, -EHOSTUNREACH, copy);
	}
	tcp->own = client->candidates.all[path->chosen];
	tcp->peer = path->gids[0];
	if (use_path(tcp))
		return report_end(tcp, RDMA_CM_EVENT_ROUTE_ERROR, -ENODEV, copy);
	tcp->state = client->requested ? TCP_AWAITS_REPLY : TCP_RESOLVED;
	return report(tcp, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, copy);
}

int tcp_request(struct rdma_cm_id *id, const struct rdma_conn_param *parameters)
{
	struct tcp_id *tcp = tcp_id_of(id);
	int error;

	tcp_describe_queue_pair(tcp, parameters);
	error = send_frame(tcp, tcp_queue_pair_encode(TCP_REQUEST, &tcp->ours, tcp->frame));
	tcp->client->requested = true;
	if (tcp_awaits_path(id))
		return 0;
	if (!error)
		tcp->state = TCP_AWAITS_REPLY;
	return error;
}

static int take_rejection(struct tcp_id *tcp, struct event_copy *copy)
{
	uint8_t size;
	const uint8_t *data = tcp_reject_data(tcp->bytes, &size);

	report_end(tcp, RDMA_CM_EVENT_REJECTED, REJECTED_CONSUMER, copy);
	memcpy(copy->private_data, data, size);
	copy->event.param.conn = (struct rdma_conn_param){
		.private_data = size > 0 ? copy->private_data : NULL, .private_data_len = size};
	return 1;
}

static int take_reply(struct tcp_id *tcp, struct event_copy *copy)
{
	int type = read_frame(tcp);

	if (type == 0)
		return 0;
	if (type == TCP_REJECT)
		return take_rejection(tcp, copy);
	if (type != TCP_REPLY || !tcp->id.qp || tcp_queue_pair_decode(&tcp->theirs, tcp->bytes))
		return report_end(
			tcp, RDMA_CM_EVENT_CONNECT_ERROR, type < 0 ? type : -EPROTO, copy);
	if (tcp_connect_queue_pair(tcp) || send_frame(tcp, tcp_ready_encode(tcp->frame)))
		return report_end(tcp, RDMA_CM_EVENT_CONNECT_ERROR, -errno, copy);
	tcp->state = TCP_READY_BOTH;
	return report_peer(tcp, RDMA_CM_EVENT_ESTABLISHED, copy);
}

/* Both ends. */

/* Nothing but the end of the connection may arrive. */
static int take_end(struct tcp_id *tcp, struct event_copy *copy)
{
	char byte;

	if (recv(tcp->fd, &byte, 1, 0) < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return report_end(tcp, RDMA_CM_EVENT_DISCONNECTED, 0, copy);
}

static int take_one(struct tcp_id *tcp, struct event_copy *copy)
{
	switch (tcp->state) {
	case TCP_LISTENS:
		take_connection(tcp);
		return 0;
	case TCP_AWAITS_OFFER:
	case TCP_AWAITS_REQUEST:
		return take_half_open(tcp, copy);
	case TCP_MOVES_QUEUE_PAIR:
		return take_moved(tcp, copy);
	case TCP_AWAITS_READY:
		return take_ready(tcp, copy);
	case TCP_CONNECTING:
		return take_connected(tcp, copy);
	case TCP_AWAITS_PATH:
		return take_path(tcp, copy);
	case TCP_RESOLVED:
	case TCP_AWAITS_REPLY:
		return take_reply(tcp, copy);
	case TCP_READY_BOTH:
		return take_end(tcp, copy);
	case TCP_REQUESTED:
	case TCP_CONNECTED:
	case TCP_ENDED:
		break;
	}
	watch(tcp, 0);
	return 0;
}

int tcp_channel_take(struct tcp_channel *channel, struct event_copy *copy)
{
	struct epoll_event ready;
	int count;

	for (int i = 0; i < LOOKS; i++) {
		count = epoll_wait(channel->epoll, &ready, 1, 0);
		if (count <= 0)
			return count == 0 || errno == EINTR ? 0 : -errno;
		if (!ready.data.ptr)
			tick(channel);
		else if (take_one(ready.data.ptr, copy))
			return 1;
	}
	return 0;
}

/* The queue pair is flushed even if the peer has gone. */
static int disconnect(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};

	if (id->qp)
		ibv_modify_qp(id->qp, &attributes, IBV_QP_STATE);
	shutdown(tcp_id_of(id)->fd, SHUT_WR);
	return 0;
}

/*
 * A removal is reported to an id of rdmacm, if the channel takes its events and the device has an
 * address.
 */
static int hold(struct rdma_cm_id *id, struct cm_channel *channel, struct rdma_cm_id **held)
{
	struct sockaddr_storage address;
	const char *device = ibv_get_device_name(id->verbs->device);

	opened_device_keep(id->verbs);
	*held = NULL;
	if (!channel->rdmacm ||
		device_address_find("", device, AF_UNSPEC, &address) != HOST_READY ||
		rdma_create_id(channel->rdmacm, held, NULL, RDMA_PS_TCP))
		return 0;
	if (rdma_bind_addr(*held, (struct sockaddr *)&address)) {
		rdma_destroy_id(*held);
		*held = NULL;
	}
	return 0;
}

static void release(struct ibv_context *verbs, struct rdma_cm_id *held)
{
	if (held)
		rdma_destroy_id(held);
	opened_device_release(verbs);
}

static int migrate(struct rdma_cm_id *id, struct cm_channel *channel)
{
	struct tcp_id *tcp = tcp_id_of(id);
	const bool watched = tcp->state != TCP_REQUESTED && tcp->state != TCP_ENDED;

	watch(tcp, 0);
	tcp->channel = channel->tcp;
	return watched ? watch(tcp, EPOLLIN) : 0;
}

static bool gids_of(const struct rdma_cm_id *id, struct tcp_offer *ours, struct tcp_path *theirs)
{
	const struct tcp_client *client = tcp_id_of(id)->client;

	if (!client || client->path.count == 0)
		return false;
	path_offer(&client->candidates, ours);
	*theirs = client->path;
	return true;
}

static const struct failure *failure_of(const struct rdma_cm_id *id)
{
	const struct failure *failure = &tcp_id_of(id)->failure;

	return failure_is_set(failure) ? failure : NULL;
}

const struct bootstrap bootstrap_tcp = {
	.name = "tcp",
	.channel_kind = CHANNEL_TCP,
	.accept = accept_request,
	.reject = reject_request,
	.create_queue_pair = tcp_create_queue_pair,
	.destroy_queue_pair = tcp_destroy_queue_pair,
	.attributes = tcp_attributes,
	.disconnect = disconnect,
	.hold = hold,
	.release = release,
	.migrate = migrate,
	.destroy = destroy,
	.gids = gids_of,
	.failure = failure_of,
};

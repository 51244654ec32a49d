/* See verbs/channel.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "host/readiness.h"
#include "verbs/channel.h"
#include "verbs/tcp-bootstrap.h"

/* Returns librdmacm's channel, or NULL with errno set. */
static struct rdma_event_channel *create_rdmacm(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int error;

	if (!channel || fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0)
		return channel;
	error = errno;
	rdma_destroy_event_channel(channel);
	errno = error;
	return NULL;
}

/* A descriptor that is readable if one of these is. Returns it, or -errno. */
static int join(int one, int other)
{
	const int both[] = {one, other};
	int error, joined = epoll_create1(EPOLL_CLOEXEC);

	if (joined < 0)
		return -errno;
	for (size_t i = 0; i < 2; i++) {
		struct epoll_event event = {.events = EPOLLIN};

		if (epoll_ctl(joined, EPOLL_CTL_ADD, both[i], &event)) {
			error = -errno;
			close(joined);
			return error;
		}
	}
	return joined;
}

int channel_create(unsigned int kinds, struct cm_channel **result)
{
	struct cm_channel *channel = calloc(1, sizeof(*channel));
	int error = 0;

	if (!channel)
		return -ENOMEM;
	channel->fd = -1;
	if (kinds & CHANNEL_RDMACM) {
		channel->rdmacm = create_rdmacm();
		error = channel->rdmacm ? 0 : -errno;
	}
	if (!error && (kinds & CHANNEL_TCP))
		error = tcp_channel_create(&channel->tcp);
	if (!error && channel->rdmacm && channel->tcp) {
		error = join(channel->rdmacm->fd, tcp_channel_fd(channel->tcp));
		if (error > 0) {
			channel->fd = error;
			error = 0;
		}
	} else if (!error) {
		channel->fd = channel->rdmacm ? channel->rdmacm->fd : tcp_channel_fd(channel->tcp);
	}
	if (error)
		channel_destroy(channel);
	else
		*result = channel;
	return error;
}

void channel_destroy(struct cm_channel *channel)
{
	if (channel->rdmacm && channel->tcp && channel->fd >= 0)
		close(channel->fd);
	if (channel->tcp)
		tcp_channel_destroy(channel->tcp);
	if (channel->rdmacm)
		rdma_destroy_event_channel(channel->rdmacm);
	free(channel);
}

struct cm_channel *channel_open(unsigned int kinds, struct failure *failure)
{
	struct cm_channel *channel = NULL;
	char evidence[sizeof(failure->evidence)];
	enum readiness lacking;
	int error = -channel_create(kinds, &channel);

	if (!error)
		return channel;
	/* With no free descriptor, neither the library nor this function would find any devices. */
	if (fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0) < 0 && errno == EMFILE)
		error = EMFILE;
	lacking = readiness_of_host("", evidence, sizeof(evidence));
	if (lacking != HOST_READY && error != EMFILE)
		failure_set(failure, FAILURE_HOST, PHASE_OPEN, (int)lacking,
			"rdma_create_event_channel", "%s", evidence);
	else
		failure_errno(failure, PHASE_OPEN, "rdma_create_event_channel", error);
	return NULL;
}

static int take_rdmacm(struct rdma_event_channel *channel, struct event_copy *copy)
{
	struct rdma_conn_param *parameters = &copy->event.param.conn;
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(channel, &event))
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	copy->event = *event;
	if (parameters->private_data) {
		memcpy(copy->private_data, parameters->private_data, parameters->private_data_len);
		parameters->private_data = copy->private_data;
	}
	rdma_ack_cm_event(event);
	return 1;
}

int channel_take(struct cm_channel *channel, struct event_copy *copy)
{
	int taken = channel->rdmacm ? take_rdmacm(channel->rdmacm, copy) : 0;

	return taken == 0 && channel->tcp ? tcp_channel_take(channel->tcp, copy) : taken;
}

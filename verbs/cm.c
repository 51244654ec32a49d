/* rdmacm event channel and events: see verbs/cm.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "host/readiness.h"
#include "protocol/hello.h"
#include "protocol/mode.h"
#include "protocol/secret.h"
#include "verbs/cm.h"

/* A reply that was not confirmed within this time was lost, in milliseconds. */
#define REPLY_MS 1000

int id_set_dscp(struct rdma_cm_id *id, int dscp, struct failure *failure)
{
	uint8_t tos;

	if (dscp < 0)
		return 0;
	tos = (uint8_t)(dscp << 2);
	if (rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)) == 0)
		return 0;
	return failure_errno(failure, PHASE_OPEN, "rdma_set_option", errno);
}

/* Records a refusal and the details from the server's hello. */
static void refusal(struct failure *failure, const struct hello *theirs)
{
	const struct mode *mode = mode_by_number(theirs->mode);
	char cause[160] = "", count[UNITS_TEXT];

	if (theirs->refusal == REFUSAL_MODE)
		snprintf(cause, sizeof(cause), "the server runs in %s mode",
			mode ? mode->name : "another");
	else if (theirs->refusal == REFUSAL_VERSION)
		snprintf(cause, sizeof(cause),
			"the server speaks protocol version %u, this client speaks %d",
			theirs->version, HELLO_VERSION);
	else if (theirs->refusal == REFUSAL_SESSION)
		snprintf(cause, sizeof(cause), "the server does not support this kind of session");
	else if (theirs->refusal == REFUSAL_SIZE)
		snprintf(cause, sizeof(cause), "the server accepts at most %s bytes from a client",
			units_format_count(count, theirs->size));
	if (theirs->refusal == REFUSAL_SECRET)
		secret_refused(failure);
	failure_set(failure, FAILURE_REFUSED, PHASE_CONNECT, (int)theirs->refusal,
		"RDMA_CM_EVENT_REJECTED", "%s", cause);
}

void failure_from_event(
	struct failure *failure, const struct rdma_cm_event *event, enum phase phase)
{
	const struct rdma_conn_param *reply = &event->param.conn;
	const char *name = rdma_event_str(event->event);
	struct hello theirs;

	if (event->event == RDMA_CM_EVENT_REJECTED && reply->private_data &&
		hello_decode(&theirs, reply->private_data, reply->private_data_len) == 0)
		refusal(failure, &theirs);
	else if (event->event == RDMA_CM_EVENT_REJECTED && event->status > 0)
		failure_set(failure, FAILURE_REJECTED, phase, event->status, name, "");
	else if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		failure_set(failure, FAILURE_REMOVED, phase, 0, name, "");
	else if (event->status == 0)
		failure_set(failure, FAILURE_GONE, phase, 0, name, "rdmacm reports %s", name);
	else
		failure_errno(failure, phase, name, abs(event->status));
}

bool failure_reply_lost(struct failure *failure, int64_t waited)
{
	const char *event = failure->call;
	bool timed_out = (failure->kind == FAILURE_REJECTED && failure->code == REJECTED_TIMEOUT) ||
			 (event && strcmp(event, rdma_event_str(RDMA_CM_EVENT_UNREACHABLE)) == 0);

	if (!timed_out || waited < REPLY_MS)
		return false;
	*failure = (struct failure){0};
	failure_set(failure, FAILURE_GONE, PHASE_CONNECT, CODE_REPLY_LOST, event,
		"no confirmation for %.1f s", (double)waited / 1000);
	return true;
}

int id_accept(struct rdma_cm_id *id, struct rdma_conn_param *parameters, struct failure *failure)
{
	if (rdma_accept(id, parameters) == 0)
		return 0;
	if (errno == EINVAL)
		return failure_set(failure, FAILURE_GONE, PHASE_CONNECT, errno, "rdma_accept",
			"the client gave up before the server accepted the connection");
	return failure_errno(failure, PHASE_CONNECT, "rdma_accept", errno);
}

int channel_create(struct rdma_event_channel **result)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int error;

	if (!channel)
		return -errno;
	if (fcntl(channel->fd, F_SETFL, O_NONBLOCK)) {
		error = -errno;
		rdma_destroy_event_channel(channel);
		return error;
	}
	*result = channel;
	return 0;
}

struct rdma_event_channel *channel_open(struct failure *failure)
{
	struct rdma_event_channel *channel = NULL;
	char evidence[sizeof(failure->evidence)];
	enum readiness lacking;
	int error = -channel_create(&channel);

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

int channel_take(struct rdma_event_channel *channel, struct event_copy *copy)
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

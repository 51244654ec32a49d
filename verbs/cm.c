/* rdmacm event channel and events: see verbs/cm.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "protocol/hello.h"
#include "protocol/mode.h"
#include "protocol/secret.h"
#include "verbs/bootstrap.h"
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
	/* Release 0.1 took a secret of this release for none, and requires its own. */
	if (theirs->refusal == REFUSAL_SECRET && !theirs->secret)
		failure_set(failure, FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_OLD_SECRET,
			"--secret-file", "");
	else if (theirs->refusal == REFUSAL_SECRET)
		secret_refused(failure);
	if (theirs->refusal == REFUSAL_PATH && theirs->size > 0)
		failure_set(failure, FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_PATH,
			"RDMA_CM_EVENT_REJECTED", "its kernel says: %s",
			strerror((int)(theirs->size & 0xff)));
	failure_set(failure, FAILURE_REFUSED, PHASE_CONNECT, (int)theirs->refusal,
		"RDMA_CM_EVENT_REJECTED", "%s", cause);
}

static bool is_by_tcp(const struct rdma_cm_id *id)
{
	return id && bootstrap_of(id)->channel_kind == CHANNEL_TCP;
}

void failure_from_event(
	struct failure *failure, const struct rdma_cm_event *event, enum phase phase)
{
	const struct rdma_conn_param *reply = &event->param.conn;
	const struct failure *known =
		event->id ? bootstrap_of(event->id)->failure(event->id) : NULL;
	const char *name = rdma_event_str(event->event);
	struct hello theirs;

	if (known)
		*failure = *known;
	else if (event->event == RDMA_CM_EVENT_REJECTED && reply->private_data &&
		 hello_decode(&theirs, reply->private_data, reply->private_data_len) == 0)
		refusal(failure, &theirs);
	else if (event->event == RDMA_CM_EVENT_REJECTED && event->status > 0)
		failure_set(failure, FAILURE_REJECTED, phase, event->status, name, "");
	else if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		failure_set(failure, FAILURE_REMOVED, phase, 0, name, "");
	else if (event->status == 0 && is_by_tcp(event->id))
		failure_set(
			failure, FAILURE_GONE, phase, 0, "recv", "the TCP connection was closed");
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
	const struct bootstrap *bootstrap = bootstrap_of(id);
	int error = bootstrap->accept(id, parameters) ? errno : 0;

	if (!error)
		return 0;
	if (bootstrap->failure(id)) {
		*failure = *bootstrap->failure(id);
		return -1;
	}
	if (error == EINVAL)
		return failure_set(failure, FAILURE_GONE, PHASE_CONNECT, error, "rdma_accept",
			"the client gave up before the server accepted the connection");
	return failure_errno(failure, PHASE_CONNECT, "rdma_accept", error);
}

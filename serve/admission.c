/* Accepts or refuses connection requests. Owns the slots, and the id of each refused request. */
#include <errno.h>
#include <string.h>

#include "base/explain.h"
#include "protocol/handshake.h"
#include "protocol/message.h"
#include "serve/admission.h"
#include "stream/sink.h"
#include "stream/source.h"
#include "verbs/bootstrap.h"

/* Closing clients allowed in addition to the number of slots. They hold memory but no slot. */
#define ENDING_MORE 16

/* True if the input is standard input and a client has consumed it. */
static bool input_is_used(const struct admission *admission)
{
	const char *input = admission->options->input;

	return admission->used_input && input &&
	       (strcmp(input, "-") == 0 || strcmp(input, "/dev/stdin") == 0);
}

/* True if another client is using an input or output that cannot be shared. */
static bool is_busy(const struct admission *admission)
{
	return admission->exclusive && admission->clients > 0;
}

/* True if the announced size exceeds --max-size. The size of a pipe is unknown until its end. */
static bool too_large(const struct options *options, uint64_t size)
{
	return options->max_size && size != STREAM_SIZE_UNKNOWN && size > options->max_size;
}

/* Returns REFUSAL_NONE, or the reason to refuse the peer's hello. */
static enum refusal check_hello(const struct admission *admission, const struct hello *theirs)
{
	const struct mode *mode = admission->options->mode;

	if (theirs->version != HELLO_VERSION)
		return REFUSAL_VERSION;
	if (hello_is_control(theirs))
		return REFUSAL_NONE;
	if (theirs->kind != HELLO_EXCHANGE || !mode_by_number(theirs->mode))
		return REFUSAL_SESSION;
	return mode && theirs->mode != mode->number ? REFUSAL_MODE : REFUSAL_NONE;
}

enum refusal admission_check(const struct admission *admission, const struct rdma_cm_event *event,
	const struct mode **mode, struct request *request)
{
	const struct rdma_conn_param *asked = &event->param.conn;
	const struct options *options = admission->options;
	struct hello *theirs = &request->theirs;
	int error = hello_decode(theirs, asked->private_data, asked->private_data_len);
	enum refusal refusal = REFUSAL_NONE;

	request->tutorial = error == -ENOMSG;
	if (error == 0 && theirs->secret && asked->private_data_len >= SECRET_HELLO_SIZE)
		memcpy(request->hello_bytes, asked->private_data, SECRET_HELLO_SIZE);
	request->initiator_depth = asked->initiator_depth;
	request->responder_resources = asked->responder_resources;
	*mode = options->mode ? options->mode : &mode_any;
	if (options->device &&
		strcmp(options->device, ibv_get_device_name(event->id->verbs->device)) != 0)
		return REFUSAL_DEVICE;
	if (error != -EMSGSIZE &&
		!handshake_fits(admission->settings->secret, theirs, asked->private_data_len))
		return admission->settings->secret && theirs->old_secret ? REFUSAL_OLD_SECRET
									 : REFUSAL_SECRET;
	if (request->tutorial) {
		theirs->size = SINK_TEXT_SIZE;
		if (!(*mode)->tutorial)
			return REFUSAL_MODE;
		if (options->input || options->output)
			return REFUSAL_FILES;
		return too_large(options, theirs->size) ? REFUSAL_SIZE : REFUSAL_NONE;
	}
	if (error)
		return REFUSAL_MALFORMED;
	refusal = check_hello(admission, theirs);
	if (refusal != REFUSAL_NONE || hello_is_control(theirs))
		return refusal;
	*mode = mode_by_number(theirs->mode);
	if ((*mode)->reads && asked->initiator_depth == 0)
		return REFUSAL_DEPTH;
	refusal = hello_check_plans(&(struct hello){.flags = admission->settings->plans}, theirs);
	if (refusal != REFUSAL_NONE)
		return refusal;
	if (too_large(options, theirs->size))
		return REFUSAL_SIZE;
	return input_is_used(admission) ? REFUSAL_INPUT : REFUSAL_NONE;
}

struct slot *admission_evictable(struct admission *admission, const struct sockaddr *peer)
{
	struct slot *slot;

	/* Do not evict an authenticated client for one that has not authenticated yet. */
	if (admission->settings->secret)
		return NULL;
	TAILQ_FOREACH (slot, &admission->slots.all, next)
		if (slot->evictable)
			slot_active(slot, connection_last_progress(slot->holder));
	return slots_evictable(&admission->slots, peer, deadline_now());
}

enum refusal admission_capacity(
	struct admission *admission, const struct sockaddr *peer, struct slot **evict)
{
	const struct slots *slots = &admission->slots;
	enum slots_state state = slots_state(slots, peer);

	*evict = NULL;
	if (admission->clients - slots->taken > slots->capacity + ENDING_MORE)
		return REFUSAL_CLIENTS;
	if (state == SLOTS_FREE)
		return REFUSAL_NONE;
	*evict = admission_evictable(admission, peer);
	if (*evict)
		return REFUSAL_NONE;
	return state == SLOTS_FULL_ADDRESS ? REFUSAL_ADDRESS : REFUSAL_CLIENTS;
}

enum refusal admission_admit(
	struct admission *admission, const struct sockaddr *peer, struct slot **evict)
{
	if (!is_busy(admission))
		return admission_capacity(admission, peer, evict);
	/*
	 * The evicted client holds the input and output until it is freed; the new client retries.
	 */
	*evict = admission_evictable(admission, peer);
	return REFUSAL_BUSY;
}

/* The cause of a refusal that clients do not retry; NULL for the others. */
static const char *cause_of(enum refusal refusal)
{
	switch (refusal) {
	case REFUSAL_BUSY:
	case REFUSAL_FULL:
	case REFUSAL_CLIENTS:
	case REFUSAL_ADDRESS:
	case REFUSAL_MEMORY:
	case REFUSAL_NONE:
		return NULL;
	case REFUSAL_MODE:
		return "it requested the other mode";
	case REFUSAL_VERSION:
		return "it speaks another version of the protocol";
	case REFUSAL_SESSION:
		return "it requested an unknown kind of session";
	case REFUSAL_SIZE:
		return "its data exceeds --max-size";
	case REFUSAL_DEPTH:
		return "its RDMA device does not accept RDMA READs";
	case REFUSAL_OLD_SECRET:
		return "it is of release 0.1, whose secrets this release does not know";
	case REFUSAL_FILES:
		return "it is a tutorial program, which cannot exchange files";
	case REFUSAL_PATH:
	case REFUSAL_RESOURCES:
	case REFUSAL_DEVICE:
	case REFUSAL_MALFORMED:
	case REFUSAL_STOPPING:
	case REFUSAL_INPUT:
	case REFUSAL_SECRET:
	case REFUSAL_NO_OUTPUT:
	case REFUSAL_UNWANTED:
	case REFUSAL_NO_DATA:
	case REFUSAL_NO_FOLDER:
	case REFUSAL_TREE:
	case REFUSAL_KEPT:
		break;
	}
	return explain(FAILURE_REFUSED, PHASE_CONNECT, (int)refusal)->cause;
}

/* Reports a refusal. The server's operator must act on some. */
static void report(const struct admission *admission, enum refusal refusal, const char *peer)
{
	const char *cause = cause_of(refusal);
	struct failure failure = {0};
	char text[OUTPUT_FAILURE_SIZE];

	if (refusal == REFUSAL_SECRET && admission->settings->secret)
		failure_set_unauthenticated(&failure, message_name(MSG_PROOF));
	else if (refusal == REFUSAL_INPUT && input_is_used(admission))
		failure_set(&failure, FAILURE_FILE, PHASE_EXCHANGE, -ENODATA, "--input",
			"another client has consumed standard input");
	if (failure_is_set(&failure))
		client_log_failure(admission->log, &failure, peer, text, deadline_now());
	else if (cause)
		client_log_refusal(admission->log, peer, refusal, cause, deadline_now());
}

void admission_refuse(
	const struct admission *admission, struct rdma_cm_id *id, enum refusal refusal)
{
	const struct mode *mode = admission->options->mode;
	const struct hello ours = {
		.version = HELLO_VERSION,
		.mode = mode ? (uint8_t)mode->number : 0,
		.refusal = refusal,
		/* A client tells by this that it does not speak to release 0.1. */
		.secret = refusal == REFUSAL_SECRET,
		.size = refusal == REFUSAL_SIZE ? admission->options->max_size : 0,
	};
	uint8_t hello[HELLO_SIZE];
	char peer[ADDRESS_TEXT_SIZE];

	admission->totals->refused++;
	address_port_text(rdma_get_peer_addr(id), peer);
	output_detail(admission->settings->output, "refused %s, reason %d", peer, refusal);
	report(admission, refusal, peer);
	hello_encode(&ours, hello);
	bootstrap_of(id)->reject(id, hello, HELLO_SIZE);
	bootstrap_of(id)->destroy(id);
}

/* What a server serves, and what it says when it does not: see serve/admission.h. */
#include <errno.h>
#include <string.h>

#include "protocol/handshake.h"
#include "protocol/message.h"
#include "serve/admission.h"
#include "stream/sink.h"
#include "stream/source.h"

/* More clients than there are places may be ending, but no more than that, and so many. */
#define ENDING_MORE 16

/* Standard input comes once. */
static bool used_up(const struct service *service)
{
	const char *input = service->options->input;

	return service->used_input && input &&
	       (strcmp(input, "-") == 0 || strcmp(input, "/dev/stdin") == 0);
}

/* Whether our input or output is one that only one client can have, and is taken. */
static bool busy(const struct service *service)
{
	const struct options *options = service->options;

	return service->clients > 0 &&
	       ((options->input && output_file_is_shared(options->input)) ||
		       (options->output && output_file_is_shared(options->output)));
}

/* Whether more is announced than --max-size allows. Of a pipe only the data itself will tell. */
static bool too_large(const struct options *options, uint64_t size)
{
	return options->max_size && size != STREAM_SIZE_UNKNOWN && size > options->max_size;
}

/* What of ours does not fit the peer's introduction. */
static enum refusal judge_hello(const struct service *service, const struct hello *theirs)
{
	if (theirs->version != HELLO_VERSION)
		return REFUSAL_VERSION;
	if (hello_is_control(theirs))
		return REFUSAL_NONE;
	if (theirs->kind != HELLO_EXCHANGE || !mode_by_number(theirs->mode))
		return REFUSAL_SESSION;
	if (service->options->mode && theirs->mode != service->options->mode->number)
		return REFUSAL_MODE;
	return REFUSAL_NONE;
}

enum refusal admission_judge(const struct service *service, const struct rdma_cm_event *event,
	const struct mode **mode, struct request *request)
{
	const struct rdma_conn_param *asked = &event->param.conn;
	const struct options *options = service->options;
	struct hello *theirs = &request->theirs;
	int error = hello_decode(theirs, asked->private_data, asked->private_data_len);
	enum refusal refusal = REFUSAL_NONE;

	request->tutorial = error == -ENOMSG;
	if (error == 0 && theirs->secret && asked->private_data_len >= SECRET_HELLO_SIZE)
		memcpy(request->hello_bytes, asked->private_data, SECRET_HELLO_SIZE);
	request->initiator_depth = asked->initiator_depth;
	request->responder_resources = asked->responder_resources;
	*mode = options->mode ? options->mode : mode_by_number(MODE_WRITE);
	if (options->device &&
		strcmp(options->device, ibv_get_device_name(event->id->verbs->device)) != 0)
		return REFUSAL_DEVICE;
	if (error != -EMSGSIZE &&
		!handshake_fits(service->settings.secret, theirs, asked->private_data_len))
		return REFUSAL_SECRET;
	if (request->tutorial) {
		theirs->size = SINK_TEXT_SIZE;
		if (options->input || options->output)
			return REFUSAL_FILES;
		return too_large(options, theirs->size) ? REFUSAL_SIZE : REFUSAL_NONE;
	}
	if (error)
		return REFUSAL_MALFORMED;
	refusal = judge_hello(service, theirs);
	if (refusal != REFUSAL_NONE || hello_is_control(theirs))
		return refusal;
	*mode = mode_by_number(theirs->mode);
	if (connection_reads(*mode) && asked->initiator_depth == 0)
		return REFUSAL_DEPTH;
	if (too_large(options, theirs->size))
		return REFUSAL_SIZE;
	return used_up(service) ? REFUSAL_INPUT : REFUSAL_NONE;
}

/* Who has to go for a newcomer from there, if anybody. */
static struct slot *idlest_of(struct service *service, const struct sockaddr *peer)
{
	struct slot *slot;

	/* Nobody who has proved that he holds the secret goes for one who has proved nothing yet. */
	if (service->settings.secret)
		return NULL;
	TAILQ_FOREACH (slot, &service->slots.all, next)
		slot_moved(slot, connection_last_progress(slot->holder));
	return slots_idlest(&service->slots, peer, deadline_now());
}

enum refusal admission_capacity(
	struct service *service, const struct sockaddr *peer, struct slot **idlest)
{
	struct slots *slots = &service->slots;
	enum slots_capacity room = slots_capacity(slots, peer);

	*idlest = NULL;
	/* Those who are ending have no place, but memory still. */
	if (service->clients - slots->taken > slots->most + ENDING_MORE)
		return REFUSAL_CLIENTS;
	if (room == SLOTS_FREE)
		return REFUSAL_NONE;
	*idlest = idlest_of(service, peer);
	if (*idlest)
		return REFUSAL_NONE;
	return room == SLOTS_FULL_ADDRESS ? REFUSAL_ADDRESS : REFUSAL_CLIENTS;
}

enum refusal admission_let_in(
	struct service *service, const struct sockaddr *peer, struct slot **idlest)
{
	if (!busy(service))
		return admission_capacity(service, peer, idlest);
	/* Who has it gives it back when he is gone, not before: until then the newcomer asks again. */
	*idlest = idlest_of(service, peer);
	return REFUSAL_BUSY;
}

/* Whoever has no secret is told of like whoever has a wrong one. */
static void report_unauthenticated(const struct service *service, const char *peer)
{
	struct failure failure = {0};

	failure_set_unauthenticated(&failure, message_name(MSG_PROOF));
	service_report(service, &failure, peer);
}

static void report_used_up(const struct service *service, const char *peer)
{
	struct failure failure = {0};

	failure_set(&failure, FAILURE_FILE, PHASE_EXCHANGE, -ENODATA, "--input",
		"another client has had our standard input");
	service_report(service, &failure, peer);
}

void admission_refuse(const struct service *service, struct rdma_cm_id *id, enum refusal refusal)
{
	const struct mode *mode = service->options->mode;
	const struct hello ours = {
		.version = HELLO_VERSION,
		.mode = mode ? (uint8_t)mode->number : 0,
		.refusal = refusal,
		.size = refusal == REFUSAL_SIZE ? service->options->max_size : 0,
	};
	uint8_t hello[HELLO_SIZE];
	char peer[ADDRESS_TEXT_SIZE];

	address_port_text(rdma_get_peer_addr(id), peer);
	output_detail(service->output, "%s is refused, reason %d", peer, refusal);
	if (refusal == REFUSAL_SECRET && service->settings.secret)
		report_unauthenticated(service, peer);
	if (refusal == REFUSAL_INPUT && used_up(service))
		report_used_up(service, peer);
	hello_encode(&ours, hello);
	rdma_reject(id, hello, HELLO_SIZE);
	rdma_destroy_id(id);
}

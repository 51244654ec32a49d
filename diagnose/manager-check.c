/*
 * The check of this host's own connection manager. A soft-RoCE device whose link went down during
 * traffic may never answer a connection request again (its queue pair 1 stays in error), which
 * nothing but a request to the device itself shows.
 *
 * The request goes to a port that is reserved but not listening, so a working manager rejects it at
 * once. This needs no queue pair, and works for any user who can open the device files.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/diagnosis.h"
#include "host/device-address.h"
#include "verbs/dial.h"

/*
 * Time limit of an attempt in milliseconds, and the number of attempts: a busy host may be slow.
 */
#define ANSWER_MS 2000
#define ATTEMPTS  2

/* The request while it is in progress. */
struct manager_request {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

/* Takes over the id. A request that will be rejected needs no queue pair, only a number. */
static int prepare(void *user, struct rdma_event_channel *channel, struct rdma_cm_id *id,
	struct rdma_conn_param *parameters, struct failure *failure)
{
	struct manager_request *request = user;

	(void)failure;
	*request = (struct manager_request){channel, id};
	*parameters = (struct rdma_conn_param){.qp_num = 2};
	return 0;
}

static void discard(void *user, const struct failure *reason)
{
	struct manager_request *request = user;

	(void)reason;
	rdma_destroy_id(request->id);
	rdma_destroy_event_channel(request->channel);
}

enum answer {
	NOT_ASKED, /* the request could not be made, which proves nothing */
	NO_ANSWER,
	ANSWERED,
};

/* Makes one request to the address. Any answer will do. */
static enum answer ask_once(struct diagnosis *diagnosis, const struct sockaddr *address)
{
	struct manager_request request;
	struct dial dial = {
		.peer = "this host",
		.output = &diagnosis->output,
		.stop_fd = -1,
		.dscp = -1,
		.deadline = deadline_in(INT64_C(2) * ANSWER_MS),
		.prepare = prepare,
		.discard = discard,
		.user = &request,
	};
	struct event_copy reply;

	if (dial_resolve(&dial, address, NULL, ANSWER_MS))
		return NOT_ASKED;
	dial.deadline = deadline_in(ANSWER_MS);
	if (dial_connect(&dial, &reply) == 0) {
		discard(&request, NULL);
		return ANSWERED;
	}
	return dial.failure.kind == FAILURE_DEADLINE ? NO_ANSWER : ANSWERED;
}

/* Reserves a port of the address, and requests a connection to it. */
static enum answer ask(struct diagnosis *diagnosis, struct sockaddr_storage *address)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *reserved = NULL;
	enum answer answer = NOT_ASKED;

	if (channel && rdma_create_id(channel, &reserved, NULL, RDMA_PS_TCP) == 0 &&
		rdma_bind_addr(reserved, (struct sockaddr *)address) == 0) {
		address_set_port(address, ntohs(rdma_get_src_port(reserved)));
		for (int i = 0; i < ATTEMPTS && answer != ANSWERED; i++)
			answer = ask_once(diagnosis, (struct sockaddr *)address);
	}
	if (reserved)
		rdma_destroy_id(reserved);
	if (channel)
		rdma_destroy_event_channel(channel);
	return answer;
}

/* True if the device can be expected to connect to itself, and its port is active. */
static bool is_checked(const struct diagnosis *diagnosis, const struct inventory_device *device)
{
	const char *only = diagnosis->options->device;

	return strcmp(device->driver, "rdma_rxe") == 0 && device->port_count > 0 &&
	       strcmp(device->ports[0].state, "ACTIVE") == 0 &&
	       (!only || strcmp(only, device->name) == 0);
}

int check_manager(struct diagnosis *diagnosis)
{
	const struct inventory *inventory = &diagnosis->inventory;
	char checked[128] = "";

	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];
		struct sockaddr_storage address;
		enum answer answer;

		if (!is_checked(diagnosis, device) ||
			device_address_find("", device->name, AF_UNSPEC, &address) != HOST_READY)
			continue;
		answer = ask(diagnosis, &address);
		if (answer == NO_ANSWER)
			return check_failed(diagnosis, CHECK_MANAGER, FAILURE_HOST, PHASE_OPEN,
				HOST_MANAGER_DEAD, "%s, interface %s", device->name,
				device->parent);
		if (answer == ANSWERED)
			snprintf(checked + strlen(checked), sizeof(checked) - strlen(checked),
				"%s%s", *checked ? ", " : "", device->name);
	}
	if (*checked)
		check_list_ok(
			&diagnosis->list, CHECK_MANAGER, "%s answers connection requests", checked);
	else
		check_list_skip(
			&diagnosis->list, CHECK_MANAGER, "no soft-RoCE device could be asked");
	return 0;
}

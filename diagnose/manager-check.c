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
#include "diagnose/manager-check.h"
#include "host/device-address.h"
#include "verbs/channel.h"
#include "verbs/dial.h"

/* Time to wait for the answer to a request, in milliseconds. */
#define ANSWER_MS 2000

/* After this many requests that the device did not receive, the manager is dead. */
#define LOST 2

/* After this many requests without an answer, its state remains unknown. */
#define REQUESTS 4

enum manager_state manager_record(
	struct manager_record *record, bool answered, bool counted, uint64_t received)
{
	if (answered)
		return MANAGER_ANSWERS;
	record->requests++;
	record->lost = counted && received == 0 ? record->lost + 1 : 0;
	if (record->lost == LOST)
		return MANAGER_DEAD;
	return record->requests == REQUESTS ? MANAGER_UNKNOWN : MANAGER_SILENT;
}

/* The request while it is in progress. */
struct manager_request {
	struct cm_channel *channel;
	struct rdma_cm_id *id;
};

/* Takes over the id. A request that will be rejected needs no queue pair, only a number. */
static int prepare(void *user, struct cm_channel *channel, struct rdma_cm_id *id,
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
	channel_destroy(request->channel);
}

/*
 * Makes one request to the device's address. Any answer will do. If the request cannot be made, the
 * state is unknown.
 */
static enum manager_state ask_once(struct diagnosis *diagnosis, const char *device,
	const struct sockaddr *address, struct manager_record *record)
{
	struct counters before, after = {0};
	uint64_t sent, received = 0;
	bool counted;
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
		return MANAGER_UNKNOWN;
	if (counters_read("", device, 1, &before))
		before = (struct counters){0};
	dial.deadline = deadline_in(ANSWER_MS);
	if (dial_connect(&dial, &reply) == 0) {
		discard(&request, NULL);
		return MANAGER_ANSWERS;
	}
	if (dial.failure.code == CODE_NOT_SENT || dial.failure.kind == FAILURE_HOST)
		return MANAGER_UNKNOWN;
	if (counters_read("", device, 1, &after) == 0)
		counters_difference(&before, &after, &after);
	counted = counters_packets(&after, &sent, &received);
	return manager_record(record, dial.failure.kind != FAILURE_DEADLINE, counted, received);
}

/* Reserves a port of the address, and requests a connection to it. */
static enum manager_state ask(
	struct diagnosis *diagnosis, const char *device, struct sockaddr_storage *address)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *reserved = NULL;
	enum manager_state state = MANAGER_UNKNOWN;
	struct manager_record record = {0};

	if (channel && rdma_create_id(channel, &reserved, NULL, RDMA_PS_TCP) == 0 &&
		rdma_bind_addr(reserved, (struct sockaddr *)address) == 0) {
		address_set_port(address, ntohs(rdma_get_src_port(reserved)));
		do {
			state = ask_once(diagnosis, device, (struct sockaddr *)address, &record);
		} while (state == MANAGER_SILENT);
	}
	if (reserved)
		rdma_destroy_id(reserved);
	if (channel)
		rdma_destroy_event_channel(channel);
	return state;
}

/* True if the diagnosis may use the device, which has an active port. */
static bool is_usable(const struct diagnosis *diagnosis, const struct inventory_device *device)
{
	const char *only = diagnosis->options->device;
	bool active = false;

	for (size_t i = 0; i < device->port_count; i++)
		active = active || strcmp(device->ports[i].state, "ACTIVE") == 0;
	return active && (!only || strcmp(only, device->name) == 0);
}

/* True if the device can be expected to connect to itself. */
static bool is_checked(const struct diagnosis *diagnosis, const struct inventory_device *device)
{
	return strcmp(device->driver, "rdma_rxe") == 0 && is_usable(diagnosis, device);
}

/* The bit of a device in dead_managers; 0 for one beyond the last bit, which counts as alive. */
static uint64_t bit_of(size_t device)
{
	return device < 64 ? UINT64_C(1) << device : 0;
}

static int fail(
	struct diagnosis *diagnosis, enum check check, const struct inventory_device *device)
{
	return check_failed(diagnosis, check, FAILURE_HOST, PHASE_OPEN, HOST_MANAGER_DEAD,
		"%s, interface %s", device->name, device->parent);
}

int manager_judge_dead(struct diagnosis *diagnosis)
{
	const struct inventory *inventory = &diagnosis->inventory;
	const struct inventory_device *first = NULL;
	bool others = false;

	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		if (!(diagnosis->dead_managers & bit_of(i)))
			others = others || is_usable(diagnosis, device);
		else if (!first)
			first = device;
	}
	if (first && !others)
		return fail(diagnosis, CHECK_MANAGER, first);
	for (size_t i = 0; i < inventory->device_count; i++)
		if (diagnosis->dead_managers & bit_of(i))
			check_list_warn(&diagnosis->list, CHECK_MANAGER,
				"%s no longer answers connection requests, not even its own",
				inventory->devices[i].name);
	return 0;
}

int manager_check_route(struct diagnosis *diagnosis)
{
	size_t index = (size_t)(diagnosis->device - diagnosis->inventory.devices);

	return (diagnosis->dead_managers & bit_of(index)) != 0
		       ? fail(diagnosis, CHECK_ROUTE, diagnosis->device)
		       : 0;
}

int check_manager(struct diagnosis *diagnosis)
{
	const struct inventory *inventory = &diagnosis->inventory;
	char checked[128] = "";

	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];
		struct sockaddr_storage address;
		enum manager_state state;

		if (!is_checked(diagnosis, device) ||
			device_address_find("", device->name, AF_UNSPEC, &address) != HOST_READY)
			continue;
		state = ask(diagnosis, device->name, &address);
		if (state == MANAGER_DEAD)
			diagnosis->dead_managers |= bit_of(i);
		if (state == MANAGER_ANSWERS)
			snprintf(checked + strlen(checked), sizeof(checked) - strlen(checked),
				"%s%s", *checked ? ", " : "", device->name);
	}
	if (manager_judge_dead(diagnosis))
		return -1;
	if (*checked) {
		const char *answers = strchr(checked, ',') ? "answer" : "answers";

		check_list_ok(&diagnosis->list, CHECK_MANAGER, "%s %s connection requests", checked,
			answers);
		check_list_shorten(&diagnosis->list, CHECK_MANAGER, "%s %s", checked, answers);
	} else if (diagnosis->dead_managers)
		check_list_ok(&diagnosis->list, CHECK_MANAGER, "other devices are active");
	else
		check_list_skip(&diagnosis->list, CHECK_MANAGER,
			"no soft-RoCE device could be asked, or answered in time");
	return 0;
}

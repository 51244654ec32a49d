/* Watches for the reply to a connection request: see verbs/reply-watch.h. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "verbs/device.h"
#include "verbs/reply-watch.h"

/* Time in milliseconds in which a packet that arrived at the interface reaches the device. */
#define ARRIVAL_MS 200

/* True if the device's packets pass the kernel's network stack on their way to another host. */
static bool is_visible(const struct rdma_cm_id *id)
{
	const struct device_traits *traits;
	struct ibv_device_attr attributes;

	if (ibv_query_device(id->verbs, &attributes))
		return false;
	traits = device_traits(id->verbs, &attributes);
	return traits->software && traits->transport == IBV_TRANSPORT_IB &&
	       !address_equal(&id->route.addr.src_addr, &id->route.addr.dst_addr);
}

static void read_counters(const struct rdma_cm_id *id, struct counters *counters)
{
	if (counters_read("", ibv_get_device_name(id->verbs->device), id->port_num, counters))
		*counters = (struct counters){0};
}

void reply_watch_begin(struct reply_watch *watch, const struct rdma_cm_id *id, bool complete)
{
	*watch = (struct reply_watch){.id = id, .complete = complete, .tap = {.fd = -1}};
	watch->seen = is_visible(id) && packet_tap_open(&watch->tap, &id->route.addr.src_addr,
						&id->route.addr.dst_addr) == 0;
	read_counters(id, &watch->before);
}

static struct reply_traffic traffic_of(const struct reply_watch *watch)
{
	struct counters after, difference;
	struct reply_traffic traffic = {0};

	read_counters(watch->id, &after);
	counters_difference(&watch->before, &after, &difference);
	traffic.known = counters_packets(&difference, &traffic.sent, &traffic.received);
	return traffic;
}

/*
 * Reads what was seen. A packet reaches the device a moment after the interface, so look again
 * before it counts as dropped.
 */
static struct reply_traffic take_stock(struct reply_watch *watch)
{
	struct reply_traffic traffic;

	packet_tap_read(&watch->tap);
	traffic = traffic_of(watch);
	if (watch->tap.arrived > 0 && traffic.known && traffic.received == 0) {
		(void)poll(NULL, 0, ARRIVAL_MS);
		traffic = traffic_of(watch);
	}
	return traffic;
}

/*
 * Other peers' packets count as traffic of the device, too, so a device that received some may have
 * received the reply.
 */
static void blame(const struct reply_watch *watch, const struct reply_traffic *traffic,
	struct failure *failure)
{
	if (!watch->seen || !traffic->known)
		return;
	if (watch->tap.arrived > 0 && traffic->received == 0)
		failure->code = CODE_REPLY_DROPPED;
	else if (watch->complete && watch->tap.left == 0 && watch->tap.arrived == 0)
		failure->code = CODE_REQUEST_DROPPED;
}

void reply_watch_judge(const struct reply_watch *watch, const struct reply_traffic *traffic,
	const char *device, struct failure *failure)
{
	size_t used = strlen(failure->evidence), left = sizeof(failure->evidence) - used;
	char *evidence = failure->evidence + used;
	const char *before = used ? "; " : "";

	blame(watch, traffic, failure);
	if (watch->tap.arrived > 0)
		snprintf(evidence, left,
			"%spackets of the peer that arrived at %s: %u, at %s: %" PRIu64, before,
			watch->tap.interface, watch->tap.arrived, device, traffic->received);
	else if (watch->seen)
		snprintf(evidence, left,
			"%spackets to the peer that left this host: %u, from it: none", before,
			watch->tap.left);
	else if (traffic->known)
		snprintf(evidence, left, "%spackets that %s sent: %" PRIu64 ", received: %" PRIu64,
			before, device, traffic->sent, traffic->received);
}

void reply_watch_end(struct reply_watch *watch, struct failure *failure)
{
	struct reply_traffic traffic;

	if (!watch->id)
		return;
	if (failure->kind == FAILURE_DEADLINE && failure->phase == PHASE_CONNECT) {
		traffic = take_stock(watch);
		reply_watch_judge(
			watch, &traffic, ibv_get_device_name(watch->id->verbs->device), failure);
	}
	packet_tap_close(&watch->tap);
	watch->id = NULL;
}

/* Lists GIDs of this host: see verbs/path-candidates.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "host/netlink.h"
#include "host/readiness.h"
#include "host/verbs-devices.h"
#include "verbs/device.h"
#include "verbs/opened-devices.h"
#include "verbs/path-candidates.h"

static bool is_active(const struct inventory_port *port)
{
	return strcmp(port->state, "ACTIVE") == 0;
}

/* Writes an IP address as inventories write GIDs: IPv4 is mapped. */
static void mapped_text(const struct sockaddr *address, char text[INET6_ADDRSTRLEN])
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (address->sa_family == AF_INET6)
		mapped = v6->sin6_addr;
	else
		memcpy(mapped.s6_addr + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
	inet_ntop(AF_INET6, &mapped, text, INET6_ADDRSTRLEN);
}

/* Returns the interface of the port's GID of this text, "" if there is none. */
static const char *interface_of(const struct inventory_port *port, const char *gid)
{
	for (size_t i = 0; i < port->gid_count; i++)
		if (strcmp(port->gids[i].text, gid) == 0)
			return port->gids[i].interface;
	return "";
}

static enum tcp_gid_type type_of(const struct inventory_port *port, const struct inventory_gid *gid)
{
	if (strcmp(port->link_layer, "Ethernet") != 0)
		return TCP_GID_INFINIBAND;
	return strcmp(gid->type, "RoCE v2") == 0 ? TCP_GID_ROCE_V2 : TCP_GID_ROCE_V1;
}

/* The better candidate comes first; of equals, the one that is in the table first. */
static int rank(const struct path_candidate *candidate)
{
	return (candidate->gid.carries_tcp ? 4 : 0) +
	       (tcp_gid_is_link_local(&candidate->gid) ? 0 : 2) +
	       (candidate->gid.type == TCP_GID_ROCE_V1 ? 0 : 1);
}

static void insert(struct path_candidates *candidates, const struct path_candidate *candidate)
{
	unsigned int place = candidates->count;

	while (place > 0 && rank(&candidates->all[place - 1]) < rank(candidate))
		place--;
	if (place == TCP_GIDS_MAX)
		return;
	if (candidates->count < TCP_GIDS_MAX)
		candidates->count++;
	memmove(&candidates->all[place + 1], &candidates->all[place],
		(candidates->count - place - 1) * sizeof(*candidate));
	candidates->all[place] = *candidate;
}

static void list_port(const struct inventory_device *device, const struct inventory_port *port,
	const struct path_settings *settings, const char *local, struct path_candidates *candidates)
{
	const char *tcp_interface = interface_of(port, local);

	for (size_t i = 0; i < port->gid_count; i++) {
		const struct inventory_gid *gid = &port->gids[i];
		struct path_candidate candidate = {
			.gid = {.type = type_of(port, gid),
				.port = (uint8_t)port->number,
				.index = (uint16_t)gid->index,
				.lid = (uint16_t)port->lid,
				.mtu = IBV_MTU_256,
				.pkey = PATH_PKEY_FULL | PATH_PKEY_NUMBER,
				.carries_tcp = *gid->interface &&
					       strcmp(gid->interface, tcp_interface) == 0},
		};

		/* ibv_modify_qp(3) takes no higher index. */
		if (gid->index > UINT8_MAX ||
			(settings->gid_index >= 0 &&
				gid->index != (unsigned int)settings->gid_index) ||
			inet_pton(AF_INET6, gid->text, candidate.gid.gid) != 1)
			continue;
		snprintf(candidate.device, sizeof(candidate.device), "%s", device->name);
		snprintf(candidate.gid.interface, sizeof(candidate.gid.interface), "%s",
			gid->interface);
		insert(candidates, &candidate);
	}
}

static bool is_wanted(const struct inventory_device *device, const struct inventory_port *port,
	const struct path_settings *settings)
{
	return (!settings->device || strcmp(device->name, settings->device) == 0) &&
	       (settings->port == 0 || port->number == settings->port);
}

/* Lists "0 (fe80::1), 1 (10.0.0.1)" of a port, for the evidence. */
static void list_indices(const struct inventory_port *port, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < port->gid_count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%u (%s, %s)", i ? ", " : "",
			port->gids[i].index, port->gids[i].text, port->gids[i].type);
}

int path_candidates_explain(const struct inventory *inventory, const struct path_settings *settings,
	struct failure *failure)
{
	char text[200], evidence[sizeof(failure->evidence)];
	const struct inventory_device *iwarp = NULL;
	enum readiness lacking;

	for (size_t i = 0; i < inventory->device_count; i++)
		for (size_t j = 0; j < inventory->devices[i].port_count; j++) {
			const struct inventory_device *device = &inventory->devices[i];
			const struct inventory_port *port = &device->ports[j];

			if (!is_wanted(device, port, settings))
				continue;
			if (inventory_is_iwarp(device)) {
				iwarp = device;
				continue;
			}
			if (settings->gid_index < 0 || !is_active(port))
				continue;
			list_indices(port, text, sizeof(text));
			return failure_set(failure, FAILURE_PATH, PHASE_ADDRESS, PATH_NO_GID,
				"--gid-index", "entry %d of %s port %u; it has %s",
				settings->gid_index, device->name, port->number, text);
		}
	if (iwarp)
		return failure_set(failure, FAILURE_PATH, PHASE_ADDRESS, PATH_IWARP, "--bootstrap",
			"%s", iwarp->name);
	lacking = readiness_check(inventory, settings->device, evidence, sizeof(evidence));
	if (lacking != HOST_READY)
		return failure_set(failure, FAILURE_HOST, PHASE_ADDRESS, (int)lacking,
			"ibv_get_device_list", "%s", evidence);
	if (settings->port > 0)
		snprintf(text, sizeof(text), " %u", settings->port);
	return failure_set(failure, FAILURE_PATH, PHASE_ADDRESS, PATH_NO_PORT, "ibv_query_port",
		"no active port%s%s%s has a GID", settings->port > 0 ? text : "",
		settings->device ? " of " : "", settings->device ? settings->device : "");
}

void path_candidates_list(const struct inventory *inventory, const struct path_settings *settings,
	const struct sockaddr *local, struct path_candidates *candidates)
{
	char text[INET6_ADDRSTRLEN];

	mapped_text(local, text);
	candidates->count = 0;
	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		for (size_t j = 0; j < device->port_count; j++)
			if (!inventory_is_iwarp(device) && is_active(&device->ports[j]) &&
				is_wanted(device, &device->ports[j], settings))
				list_port(device, &device->ports[j], settings, text, candidates);
	}
}

/* Returns the largest enum ibv_mtu that is at most this one and this many bytes; 0: no limit. */
static uint8_t limit_mtu(enum ibv_mtu mtu, unsigned int bytes)
{
	while (bytes > 0 && mtu > IBV_MTU_256 && device_mtu_bytes(mtu) > bytes)
		mtu--;
	return (uint8_t)mtu;
}

static bool is_same_port(const struct path_candidate *one, const struct path_candidate *other)
{
	return one->gid.port == other->gid.port && strcmp(one->device, other->device) == 0;
}

/* Asks the device, unless another candidate of this port is complete; NULL: none is. */
static int complete(const struct path_settings *settings, const struct path_candidate *known,
	struct path_candidate *candidate, struct failure *failure)
{
	struct ibv_context *context;
	struct ibv_port_attr port;
	__be16 pkey;

	if (known && is_same_port(known, candidate)) {
		candidate->gid.mtu = known->gid.mtu;
		candidate->gid.lid = known->gid.lid;
		candidate->gid.pkey = known->gid.pkey;
		return 0;
	}
	context = opened_device(candidate->device);
	if (!context || ibv_query_port(context, candidate->gid.port, &port))
		return failure_errno(failure, PHASE_ADDRESS, "ibv_query_port", errno);
	if (settings->pkey_index >= port.pkey_tbl_len ||
		ibv_query_pkey(context, candidate->gid.port, (int)settings->pkey_index, &pkey) ||
		(ntohs(pkey) & PATH_PKEY_NUMBER) == 0)
		return failure_set(failure, FAILURE_PATH, PHASE_ADDRESS, PATH_NO_PKEY,
			"--pkey-index", "%s port %u: index %u of %u", candidate->device,
			candidate->gid.port, settings->pkey_index, port.pkey_tbl_len);
	candidate->gid.mtu = limit_mtu(port.active_mtu, settings->mtu);
	candidate->gid.lid = port.lid;
	candidate->gid.pkey = ntohs(pkey);
	return 0;
}

/* What the devices say does not tell why none can be used: sysfs and the system do. Returns -1. */
static int explain(const struct path_settings *settings, struct failure *failure)
{
	struct inventory inventory;
	int error = inventory_take("", NULL, &inventory);

	if (error)
		return failure_errno(failure, PHASE_ADDRESS, "inventory_take", -error);
	path_candidates_explain(&inventory, settings, failure);
	inventory_free(&inventory);
	return -1;
}

int path_candidates_find(const struct path_settings *settings, const struct sockaddr *local,
	struct path_candidates *candidates, struct failure *failure)
{
	struct ibv_context *contexts[OPENED_DEVICES_MAX];
	struct inventory inventory = {0};
	unsigned int kept = 0;

	candidates->count = 0;
	if (verbs_devices_read_open(
		    contexts, opened_devices(settings->device, contexts), &inventory) == 0)
		path_candidates_list(&inventory, settings, local, candidates);
	inventory_free(&inventory);
	if (candidates->count == 0)
		return explain(settings, failure);
	for (unsigned int i = 0; i < candidates->count; i++) {
		const struct path_candidate *known = kept > 0 ? &candidates->all[kept - 1] : NULL;

		if (complete(settings, known, &candidates->all[i], failure) == 0)
			candidates->all[kept++] = candidates->all[i];
	}
	candidates->count = kept;
	if (kept == 0)
		return -1;
	*failure = (struct failure){0}; /* of another candidate */
	return 0;
}

/* True for a unicast address of a host; whether it is one of this host, is stored. */
static bool is_unicast(const struct sockaddr *address, bool *local)
{
	const struct in6_addr *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
	struct netlink_route route;

	*local = false;
	if (address->sa_family == AF_INET6 &&
		(IN6_IS_ADDR_MULTICAST(v6) || IN6_IS_ADDR_UNSPECIFIED(v6)))
		return false;
	if (netlink_find_route(address, NULL, &route))
		return true; /* as far as is known */
	*local = route.type == RTN_LOCAL;
	return route.type == RTN_UNICAST || route.type == RTN_LOCAL;
}

bool path_reaches(const struct path_candidate *from, const struct tcp_gid *to, bool same_host)
{
	const unsigned int interface = if_nametoindex(from->gid.interface);
	struct sockaddr_storage source, address;
	const struct sockaddr *destination = (const struct sockaddr *)&address;
	struct netlink_route route;
	bool local;

	tcp_gid_address(from->gid.gid, &source);
	tcp_gid_address(to->gid, &address);
	if (!is_unicast(destination, &local))
		return false;
	if (local)
		return same_host;
	/* As the kernel does on the way to RTR, through the interface of our GID. */
	switch (netlink_match_route(
		interface, destination, (const struct sockaddr *)&source, &route)) {
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -EACCES:
	case -EINVAL:
		return false;
	default:
		return true; /* or unknown */
	}
}

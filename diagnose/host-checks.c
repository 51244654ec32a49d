/* The checks below RDMA: this host, the other one's name, and the way to it. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "diagnose/diagnosis.h"
#include "diagnose/path-mtu.h"
#include "diagnose/udp-probe.h"
#include "host/device-address.h"
#include "host/readiness.h"

/*
 * The time of each check, in milliseconds. The kernel gives up a neighbour that is absent after 3
 * s, one that it knew before after 8 s.
 */
#define NAME_MS      3000
#define NEIGHBOUR_MS 8500
#define CHOICE_MS    3500 /* of several addresses, each */
#define PATH_MS      2500

/* What RoCE v2 adds to the data of a packet, at most: IPv6, UDP, and headers of 56 bytes. */
#define PACKET_HEADERS (40 + 8 + 56)

/* Adds the active MTUs of a device, which verbs know and sysfs does not. */
static void add_mtus(const struct inventory *inventory, struct ibv_device *entry)
{
	const char *name = ibv_get_device_name(entry);
	const struct inventory_device *device = inventory_device(inventory, name);
	struct ibv_context *verbs = device ? ibv_open_device(entry) : NULL;

	if (!verbs)
		return;
	for (size_t i = 0; i < device->port_count; i++) {
		struct ibv_port_attr port = {0};

		ibv_query_port(verbs, (uint8_t)device->ports[i].number, &port);
		device->ports[i].rdma_mtu = control_mtu_bytes(port.active_mtu);
	}
	ibv_close_device(verbs);
}

static void find_mtus(const struct inventory *inventory)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);

	for (size_t i = 0; devices && devices[i]; i++)
		add_mtus(inventory, devices[i]);
	if (devices)
		ibv_free_device_list(devices);
}

/* Writes "rxe0/1 ACTIVE, MTU 1024; ..." of all ports. */
static void name_ports(const struct inventory *inventory, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		for (size_t j = 0; j < device->port_count && used < size; j++)
			used += (size_t)snprintf(text + used, size - used, "%s%s/%u %s, MTU %u",
				used ? "; " : "", device->name, device->ports[j].number,
				device->ports[j].state, device->ports[j].rdma_mtu);
	}
}

int check_host(struct diagnosis *diagnosis)
{
	char text[256];
	enum readiness lacking;
	int error;

	error = inventory_take("", NULL, &diagnosis->inventory);
	if (error)
		return check_failed(diagnosis, CHECK_HOST, FAILURE_ERRNO, PHASE_OPEN, -error, "%s",
			strerror(-error));
	lacking = readiness_check(
		&diagnosis->inventory, diagnosis->options->device, text, sizeof(text));
	if (lacking != HOST_READY)
		return check_failed(
			diagnosis, CHECK_HOST, FAILURE_HOST, PHASE_OPEN, (int)lacking, "%s", text);
	find_mtus(&diagnosis->inventory);
	name_ports(&diagnosis->inventory, text, sizeof(text));
	check_list_ok(&diagnosis->list, CHECK_HOST, "%s", text);
	return 0;
}

int check_name(struct diagnosis *diagnosis)
{
	struct reach_names *names = &diagnosis->names;

	reach_find_names(diagnosis->options->host, NAME_MS, names);
	if (names->verdict != REACH_GOOD)
		return check_failed(diagnosis, CHECK_NAME, FAILURE_NAME, PHASE_NAME, names->error,
			"%s", names->evidence);
	check_list_ok(&diagnosis->list, CHECK_NAME, "%s", names->evidence);
	return 0;
}

/* Finds device and port of that network interface. Returns false if it has none. */
static bool find_port(struct diagnosis *diagnosis, const char *interface)
{
	const struct inventory *inventory = &diagnosis->inventory;

	for (size_t i = 0; i < inventory->device_count; i++) {
		diagnosis->device = &inventory->devices[i];
		for (size_t j = 0; j < diagnosis->device->port_count; j++) {
			diagnosis->port = &diagnosis->device->ports[j];
			if (inventory_interface(diagnosis->port, interface))
				return true;
		}
	}
	return false;
}

/* What is wrong with the address itself, or with the one to send from. Returns 0 if nothing is. */
static int check_addresses(
	struct diagnosis *diagnosis, const struct sockaddr *address, const struct sockaddr *source)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	struct udp_probe probe;
	int error;

	if (address->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) &&
		v6->sin6_scope_id == 0)
		return check_failed(diagnosis, CHECK_ROUTE, FAILURE_ERRNO, PHASE_ADDRESS, EINVAL,
			"a link-local address needs its interface, as in fe80::1%%eth0");
	if (!source)
		return 0;
	/* The kernel says of an address that is not its own that no route leads from there. */
	error = udp_probe_open(&probe, address, source);
	udp_probe_close(&probe);
	return error == -EADDRNOTAVAIL
		       ? check_failed(diagnosis, CHECK_ROUTE, FAILURE_ERRNO, PHASE_ADDRESS,
				 EADDRNOTAVAIL, "--source %s", diagnosis->options->source)
		       : 0;
}

/* Finds the route to one address. Returns 0 if it leads through an RDMA device. */
static int try_route(struct diagnosis *diagnosis, const struct sockaddr *address)
{
	struct reach_route *route = &diagnosis->route;
	char interface[IF_NAMESIZE], evidence[256], text[ADDRESS_TEXT_SIZE];
	const struct options *options = diagnosis->options;
	struct sockaddr_storage from;
	const struct sockaddr *source;
	struct failure failure = {0};

	/* From here on the advice is about this address of perhaps several. */
	address_text(address, text);
	check_list_set_host(&diagnosis->list, text);
	if (server_addresses_source(&diagnosis->server, address->sa_family, &from, &failure))
		return check_list_fail(&diagnosis->list, CHECK_ROUTE, &failure);
	source = address_or_none(&from);
	if (check_addresses(diagnosis, address, source))
		return -1;
	reach_find_route(address, source, route);
	if (route->verdict == REACH_BAD)
		return check_failed(diagnosis, CHECK_ROUTE, FAILURE_ERRNO, PHASE_ADDRESS,
			route->error ? route->error : ENETDOWN, "%s", route->evidence);
	/* For an address of this host the kernel says lo, but rdmacm takes its interface. */
	device_address_interface(address, interface, sizeof(interface));
	if (!find_port(diagnosis, interface)) {
		device_address_evidence("", options->source, address, evidence, sizeof(evidence));
		return check_failed(diagnosis, CHECK_ROUTE, FAILURE_ERRNO, PHASE_ADDRESS, ENODEV,
			"%s", evidence);
	}
	if (options->device && strcmp(diagnosis->device->name, options->device) != 0)
		return check_failed(diagnosis, CHECK_ROUTE, FAILURE_HOST, PHASE_ADDRESS,
			HOST_OTHER_DEVICE, "it leads through %s", diagnosis->device->name);
	if (route->verdict == REACH_UNKNOWN)
		check_list_skip(&diagnosis->list, CHECK_ROUTE, "%s; RDMA device %s",
			route->evidence, diagnosis->device->name);
	else
		check_list_ok(&diagnosis->list, CHECK_ROUTE, "%s; RDMA device %s", route->evidence,
			diagnosis->device->name);
	return 0;
}

/* True unless the kernel has given up the next host on the route that was just found. */
static bool neighbour_answers(const struct diagnosis *diagnosis)
{
	struct reach_neighbour neighbour;

	reach_find_neighbour(&diagnosis->route, deadline_in(CHOICE_MS), &neighbour);
	return neighbour.verdict != REACH_BAD;
}

/*
 * Diagnoses the first address that has a route through an RDMA device and whose neighbour answers,
 * as rdma-client would take it; if there is none, the first with such a route, or the first of all.
 */
int check_route(struct diagnosis *diagnosis)
{
	const struct reach_names *names = &diagnosis->names;
	unsigned int first = names->count;
	struct failure failure = {0};

	if (server_addresses_find_source(&diagnosis->server, deadline_in(NAME_MS), &failure))
		return check_list_fail(&diagnosis->list, CHECK_ROUTE, &failure);
	for (unsigned int i = 0; i < names->count; i++) {
		if (try_route(diagnosis, (const struct sockaddr *)&names->addresses[i]))
			continue;
		if (names->count == 1 || neighbour_answers(diagnosis))
			return 0;
		if (first == names->count)
			first = i;
	}
	return names->count == 1 ? -1
				 : try_route(diagnosis,
					   (const struct sockaddr *)&names
						   ->addresses[first < names->count ? first : 0]);
}

int check_neighbour(struct diagnosis *diagnosis)
{
	struct reach_neighbour neighbour;
	char text[ADDRESS_TEXT_SIZE];

	reach_find_neighbour(&diagnosis->route, deadline_in(NEIGHBOUR_MS), &neighbour);
	if (neighbour.verdict == REACH_BAD) {
		/* The advice is about the neighbour, which may be a gateway. */
		address_text((struct sockaddr *)&neighbour.address, text);
		check_list_set_host(&diagnosis->list, text);
		return check_failed(diagnosis, CHECK_NEIGHBOUR, FAILURE_ERRNO, PHASE_ADDRESS,
			ETIMEDOUT, "%s", neighbour.evidence);
	}
	if (neighbour.verdict == REACH_UNKNOWN)
		check_list_skip(&diagnosis->list, CHECK_NEIGHBOUR, "%s", neighbour.evidence);
	else
		check_list_ok(&diagnosis->list, CHECK_NEIGHBOUR, "%s", neighbour.evidence);
	return 0;
}

/* Also says whether RDMA's own packets, which may be smaller, fit. */
static void path_failed(struct diagnosis *diagnosis, const struct path_mtu *path)
{
	unsigned int packet = diagnosis->port->rdma_mtu + PACKET_HEADERS;

	check_failed(diagnosis, CHECK_PATH, FAILURE_IMPAIRED, PHASE_ADDRESS, IMPAIRED_PATH,
		"%s; RDMA's packets of up to %u bytes %s", path->evidence, packet,
		path->found.proven >= packet ? "fit" : "do not fit");
}

/* RDMA may do with packets that are smaller than the interface's, so the diagnosis goes on. */
int check_path(struct diagnosis *diagnosis)
{
	struct path_mtu path;

	path_mtu_find(&diagnosis->route, deadline_in(PATH_MS), &path);
	diagnosis->path_mtu = path.found.proven;
	if (path.verdict == REACH_BAD)
		path_failed(diagnosis, &path);
	else if (path.verdict == REACH_UNKNOWN)
		check_list_skip(&diagnosis->list, CHECK_PATH, "%s", path.evidence);
	else
		check_list_ok(&diagnosis->list, CHECK_PATH, "%s", path.evidence);
	return 0;
}

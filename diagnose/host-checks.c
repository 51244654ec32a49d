/*
 * The checks below RDMA: this host, the name of the other host, and the route, neighbour and path
 * to it. The inventory, the names and the route belong to the diagnosis.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/text.h"
#include "cli/startup.h"
#include "diagnose/diagnosis.h"
#include "diagnose/manager-check.h"
#include "diagnose/mtu-verdicts.h"
#include "diagnose/path-mtu.h"
#include "diagnose/route-domains.h"
#include "diagnose/udp-probe.h"
#include "host/device-address.h"
#include "host/readiness.h"
#include "host/stack-table.h"

/*
 * Time limits in milliseconds. The C library repeats a request to a name server after 5 s. The
 * kernel gives up on an absent neighbour after 3 s, or after 8 s if it already knew the neighbour.
 */
#define NAME_MS      7000
#define NEIGHBOUR_MS 8500
#define CHOICE_MS    3500 /* per address, if there are several */
#define PATH_MS      8500

/*
 * The kernel sends three requests for a neighbour. If a path loses 5 % of the packets in each
 * direction, all of them go unanswered in 1 of 1,000 rounds.
 */
#define NEIGHBOUR_ROUNDS 2

/* Adds the active MTUs of a device, which are available from verbs but not from sysfs. */
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
		device->ports[i].rdma_mtu = device_mtu_bytes(port.active_mtu);
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

/* Reports all ports: "rxe0/1 ACTIVE, MTU 1024, 2.5 Gb/sec (1X SDR), rdma_rxe; ...". */
static void report_ports(const struct inventory *inventory, struct check_list *list)
{
	char whole[256] = "", shorter[CHECK_SHORTER_SIZE] = "";
	size_t ports = 0, active = 0;

	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		for (size_t j = 0; j < device->port_count; j++) {
			const struct inventory_port *port = &device->ports[j];

			text_append(whole, sizeof(whole), "%s%s/%u %s, MTU %u, %s, %s",
				ports ? "; " : "", device->name, port->number, port->state,
				port->rdma_mtu, port->rate, device->driver);
			text_append(shorter, sizeof(shorter), "%s%s/%u %s, MTU %u",
				ports ? "; " : "", device->name, port->number, port->state,
				port->rdma_mtu);
			active += strcmp(port->state, "ACTIVE") == 0;
			ports++;
		}
	}
	check_list_ok(list, CHECK_HOST, "%s", whole);
	check_list_shorten(list, CHECK_HOST, "%s", shorter);
	if (ports > 1)
		check_list_shorten(list, CHECK_HOST, "%zu of %zu ports ACTIVE", active, ports);
}

/* Warns of an address whose interface has another MAC address than the adapter below it. */
static void warn_of_mac(const struct inventory_device *device,
	const struct inventory_interface *interface, struct check_list *list)
{
	const struct interface_stack *stack = &interface->stack;

	if (interface->address_count && stack_table_needs_mac(device->driver, stack))
		check_list_warn(list, CHECK_HOST,
			"peers send to the MAC address of %s (%s), but %s may receive only packets "
			"for that of %s (%s)",
			interface->name, stack->layers[0].hardware, device->name,
			stack->layers[stack->count - 1].name,
			stack->layers[stack->count - 1].hardware);
}

static void examine_stacks(const struct inventory *inventory, struct check_list *list)
{
	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		for (size_t j = 0; j < device->port_count; j++)
			for (size_t k = 0; k < device->ports[j].interface_count; k++)
				warn_of_mac(device, &device->ports[j].interfaces[k], list);
	}
}

int check_host(struct diagnosis *diagnosis)
{
	struct failure failure = {0};
	char text[256];
	enum readiness lacking;
	int error;

	error = inventory_take("", NULL, &diagnosis->inventory);
	if (error)
		return check_failed(diagnosis, CHECK_HOST, FAILURE_ERRNO, PHASE_OPEN, -error, "%s",
			strerror(-error));
	lacking = readiness_check(
		&diagnosis->inventory, diagnosis->options->device, text, sizeof(text));
	/* With a HOST, the connection shows whether the packets for this host's address arrive. */
	if (diagnosis->options->bootstrap == BOOTSTRAP_TCP && readiness_is_of_rdmacm(lacking))
		lacking = HOST_READY;
	if (lacking != HOST_READY && !(lacking == HOST_STACK && diagnosis->options->host))
		return check_failed(
			diagnosis, CHECK_HOST, FAILURE_HOST, PHASE_OPEN, (int)lacking, "%s", text);
	if (startup_secret(&diagnosis->secret, diagnosis->options->secret_file, &failure))
		return check_list_fail(&diagnosis->list, CHECK_HOST, &failure);
	find_mtus(&diagnosis->inventory);
	address_conflicts_examine(&diagnosis->inventory, &diagnosis->list);
	examine_stacks(&diagnosis->inventory, &diagnosis->list);
	report_ports(&diagnosis->inventory, &diagnosis->list);
	return 0;
}

int check_name(struct diagnosis *diagnosis)
{
	struct reach_names *names = &diagnosis->names;
	char address[ADDRESS_TEXT_SIZE];

	reach_find_names(diagnosis->options->host, NAME_MS, names);
	if (names->verdict != REACH_GOOD)
		return check_failed(diagnosis, CHECK_NAME, FAILURE_NAME, PHASE_NAME, names->error,
			"%s", names->evidence);
	check_list_ok(&diagnosis->list, CHECK_NAME, "%s", names->evidence);
	address_text((const struct sockaddr *)&names->addresses[0], address);
	if (names->count > 1)
		check_list_shorten(&diagnosis->list, CHECK_NAME, "%s and %s", address,
			names->more        ? "more"
			: names->count > 2 ? "others"
					   : "another");
	return 0;
}

/* Finds the device and port of a network interface. Returns false if it has none. */
static bool find_port(struct diagnosis *diagnosis, const char *interface)
{
	const struct inventory *inventory = &diagnosis->inventory;
	const struct inventory_interface *found;

	for (size_t i = 0; i < inventory->device_count; i++) {
		diagnosis->device = &inventory->devices[i];
		for (size_t j = 0; j < diagnosis->device->port_count; j++) {
			diagnosis->port = &diagnosis->device->ports[j];
			found = inventory_interface(diagnosis->port, interface);
			if (found && !found->elsewhere)
				return true;
		}
	}
	return false;
}

/* Checks the destination address and the source address. Returns 0 if both are usable. */
static int check_addresses(
	struct diagnosis *diagnosis, const struct sockaddr *address, const struct sockaddr *source)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	struct udp_probe probe;
	int error;

	if (address->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) &&
		v6->sin6_scope_id == 0)
		return check_failed(diagnosis, CHECK_ROUTE, FAILURE_ERRNO, PHASE_ADDRESS, EINVAL,
			"a link-local address needs its interface: fe80::1%%eth0");
	if (!source)
		return 0;
	/* For a source address that is not local, the kernel would only report a missing route. */
	error = udp_probe_open(&probe, address, source);
	udp_probe_close(&probe);
	return error == -EADDRNOTAVAIL
		       ? check_failed(diagnosis, CHECK_ROUTE, FAILURE_ERRNO, PHASE_ADDRESS,
				 EADDRNOTAVAIL, "--source %s", diagnosis->options->source)
		       : 0;
}

static void report_route(struct diagnosis *diagnosis)
{
	const struct reach_route *route = &diagnosis->route;
	const char *device = diagnosis->device->name;

	check_list_ok(&diagnosis->list, CHECK_ROUTE, "%s; RDMA device %s", route->evidence, device);
	/* The interface that is down must be seen. */
	if (*route->down)
		return;
	check_list_shorten(&diagnosis->list, CHECK_ROUTE, "through %s, MTU %u; RDMA device %s",
		route->link.name, route->route.mtu ? route->route.mtu : route->link.mtu, device);
	check_list_shorten(
		&diagnosis->list, CHECK_ROUTE, "%s, RDMA device %s", route->link.name, device);
}

/* Finds the route to one address. Returns 0 if it uses an RDMA device. */
static int try_route(struct diagnosis *diagnosis, const struct sockaddr *address)
{
	struct reach_route *route = &diagnosis->route;
	char interface[IF_NAMESIZE], evidence[256], text[ADDRESS_TEXT_SIZE];
	const struct options *options = diagnosis->options;
	struct sockaddr_storage from;
	const struct sockaddr *source;
	struct failure failure = {0};
	int result;

	/* From here on, the advice refers to this address, which may be one of several. */
	address_text(address, text);
	check_list_set_host(&diagnosis->list, text);
	if (server_addresses_source(&diagnosis->server, address->sa_family, &from, &failure))
		return check_list_fail(&diagnosis->list, CHECK_ROUTE, &failure);
	source = address_or_none(&from);
	if (source && route_domains_use_vrf(diagnosis, address, source, &result))
		return result;
	if (check_addresses(diagnosis, address, source))
		return -1;
	reach_find_route(address, source, route);
	diagnosis->list.same_host = !route->error && route->route.type == RTN_LOCAL;
	if (!source && route->error == ENETUNREACH && route_domains_explain(diagnosis, address))
		return -1;
	if (route->verdict == REACH_BAD)
		return check_failed(diagnosis, CHECK_ROUTE, FAILURE_ERRNO, PHASE_ADDRESS,
			route->error ? route->error : ENETDOWN, "%s", route->evidence);
	/*
	 * The kernel routes a local address through lo, but rdmacm uses the address's own
	 * interface.
	 */
	device_address_interface(address, source, interface, sizeof(interface));
	if (!find_port(diagnosis, interface)) {
		if (!source && route_domains_explain(diagnosis, address))
			return -1;
		device_address_evidence("", options->source, address, evidence, sizeof(evidence));
		return check_failed(diagnosis, CHECK_ROUTE, FAILURE_ERRNO, PHASE_ADDRESS, ENODEV,
			"%s", evidence);
	}
	if (options->device && strcmp(diagnosis->device->name, options->device) != 0)
		return check_failed(diagnosis, CHECK_ROUTE, FAILURE_HOST, PHASE_ADDRESS,
			HOST_OTHER_DEVICE, "the route uses %s", diagnosis->device->name);
	if (manager_check_route(diagnosis))
		return -1;
	if (route->verdict == REACH_UNKNOWN)
		check_list_skip(&diagnosis->list, CHECK_ROUTE, "%s; RDMA device %s",
			route->evidence, diagnosis->device->name);
	else
		report_route(diagnosis);
	return 0;
}

/* True unless the kernel has given up on the next hop of the current route. */
static bool neighbour_answers(const struct diagnosis *diagnosis)
{
	struct reach_neighbour neighbour;

	reach_find_neighbour(&diagnosis->route, deadline_in(CHOICE_MS), &neighbour);
	return neighbour.verdict != REACH_BAD;
}

/*
 * Selects the first address that has a route through an RDMA device and whose neighbour replies, as
 * rdma-client does. If there is none, selects the first address with such a route or, failing that,
 * the first address.
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
	/* The choice of one of several addresses was the first round. */
	int rounds = diagnosis->names.count > 1;
	struct reach_neighbour neighbour;
	char text[ADDRESS_TEXT_SIZE];

	do {
		reach_find_neighbour(&diagnosis->route, deadline_in(NEIGHBOUR_MS), &neighbour);
	} while (neighbour.verdict == REACH_BAD && ++rounds < NEIGHBOUR_ROUNDS);
	if (neighbour.nowhere)
		return check_failed(diagnosis, CHECK_NEIGHBOUR, FAILURE_ADDRESS, PHASE_ADDRESS,
			ADDRESS_NOWHERE, "%s", neighbour.evidence);
	if (neighbour.verdict == REACH_BAD) {
		/* The advice refers to the neighbour, which may be a gateway. */
		address_text((struct sockaddr *)&neighbour.address, text);
		check_list_set_host(&diagnosis->list, text);
		return check_failed(diagnosis, CHECK_NEIGHBOUR, FAILURE_ERRNO, PHASE_ADDRESS,
			ETIMEDOUT, "%s", neighbour.evidence);
	}
	if (neighbour.verdict == REACH_UNKNOWN) {
		check_list_skip(&diagnosis->list, CHECK_NEIGHBOUR, "%s", neighbour.evidence);
	} else {
		check_list_ok(&diagnosis->list, CHECK_NEIGHBOUR, "%s", neighbour.evidence);
		if (!neighbour.needless)
			check_list_shorten(&diagnosis->list, CHECK_NEIGHBOUR, "reachable (%d ms)",
				neighbour.milliseconds);
		address_conflicts_ask(
			&diagnosis->conflicts, &diagnosis->route, &neighbour, &diagnosis->list);
	}
	return 0;
}

/* RDMA packets may be smaller than the interface MTU, so the diagnosis continues. */
int check_path(struct diagnosis *diagnosis)
{
	struct path_mtu path;

	path_mtu_find(&diagnosis->route, deadline_in(PATH_MS), &path);
	diagnosis->path_mtu = path.found.proven;
	if (path.verdict == REACH_BAD)
		mtu_verdicts_path(diagnosis, &path);
	else if (path.verdict == REACH_UNKNOWN)
		check_list_skip(&diagnosis->list, CHECK_PATH, "%s", path.evidence);
	else
		mtu_verdicts_path_ok(&diagnosis->list, &path);
	return 0;
}

#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/json-document.h"
#include "cli/startup.h"
#include "diagnose/connection-checks.h"
#include "diagnose/diagnose.h"
#include "diagnose/inventory-report.h"
#include "diagnose/path-mtu.h"
#include "diagnose/report.h"
#include "diagnose/udp-probe.h"
#include "host/device-address.h"
#include "host/readiness.h"

/*
 * How long each rung may take, in milliseconds. A neighbour that is not there is given up by the
 * kernel after 3 s, one that it knew before after 8 s.
 */
#define NAME_MS      3000
#define NEIGHBOUR_MS 8500
#define CHOICE_MS    3500 /* of several addresses, each */
#define PATH_MS      2500

/* How long the whole climb should take at most: with what is begun late, less than 15 s. */
#define CHECKS_MS 9000

/* What RoCE v2 adds to the data of a packet, at most: IPv6, UDP, and headers of 56 bytes. */
#define PACKET_HEADERS (40 + 8 + 56)

/* Prints the lines of a rung, each by itself. */
static void print_check(const struct diagnosis *diagnosis, enum check check)
{
	char text[4096], *rest = text, *line;

	check_list_lines(&diagnosis->list, check, text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		output_line(&diagnosis->output, "%s", line);
}

static void print_detail(const char *line, void *context)
{
	const struct diagnosis *diagnosis = context;

	output_line(&diagnosis->output, "            %s", line);
}

int check_failed(struct diagnosis *diagnosis, enum check check, enum failure_kind kind,
	enum phase phase, int code, const char *format, ...)
{
	struct failure failure = {0};
	char evidence[sizeof(failure.evidence)];
	va_list args;

	va_start(args, format);
	vsnprintf(evidence, sizeof(evidence), format, args);
	va_end(args);
	failure_set(&failure, kind, phase, code, "diagnose", "%s", evidence);
	return check_list_fail(&diagnosis->list, check, &failure);
}

/* Adds what verbs, not sysfs, tell of this device: how much data its packets hold now. */
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
		device->ports[i].rdma_mtu = probe_mtu_bytes(port.active_mtu);
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

static int check_host(struct diagnosis *diagnosis)
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

static int check_name(struct diagnosis *diagnosis)
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

/* Looks for the way to one address. Returns 0 if it leads through an RDMA device. */
static int try_route(struct diagnosis *diagnosis, const struct sockaddr *address)
{
	struct reach_route *route = &diagnosis->route;
	char interface[IF_NAMESIZE], evidence[256], text[ADDRESS_TEXT_SIZE];
	const struct options *options = diagnosis->options;
	struct sockaddr_storage from;
	const struct sockaddr *source;
	struct failure failure = {0};

	/* What is advised from here on is about this address of perhaps several. */
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

/* True unless the kernel has given up the next host on the way that was just found. */
static bool control_sessions(const struct diagnosis *diagnosis)
{
	struct reach_neighbour neighbour;

	reach_find_neighbour(&diagnosis->route, deadline_in(CHOICE_MS), &neighbour);
	return neighbour.verdict != REACH_BAD;
}

/*
 * The first address that RDMA leads to and that answers is the one that is diagnosed, as rdma-client
 * would take it. Where there is none the first with a way to it is, or the first of all.
 */
static int check_route(struct diagnosis *diagnosis)
{
	const struct reach_names *names = &diagnosis->names;
	unsigned int first = names->count;
	struct failure failure = {0};

	if (server_addresses_find_source(&diagnosis->server, deadline_in(NAME_MS), &failure))
		return check_list_fail(&diagnosis->list, CHECK_ROUTE, &failure);
	for (unsigned int i = 0; i < names->count; i++) {
		if (try_route(diagnosis, (const struct sockaddr *)&names->addresses[i]))
			continue;
		if (names->count == 1 || control_sessions(diagnosis))
			return 0;
		if (first == names->count)
			first = i;
	}
	return names->count == 1 ? -1
				 : try_route(diagnosis,
					   (const struct sockaddr *)&names
						   ->addresses[first < names->count ? first : 0]);
}

static int check_neighbour(struct diagnosis *diagnosis)
{
	struct reach_neighbour neighbour;
	char text[ADDRESS_TEXT_SIZE];

	reach_find_neighbour(&diagnosis->route, deadline_in(NEIGHBOUR_MS), &neighbour);
	if (neighbour.verdict == REACH_BAD) {
		/* What is to be looked at is the neighbour, which may be a gateway. */
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

/* Says, too, whether RDMA's own packets, which may be smaller, fit. */
static void break_path(struct diagnosis *diagnosis, const struct path_mtu *path)
{
	unsigned int packet = diagnosis->port->rdma_mtu + PACKET_HEADERS;

	check_failed(diagnosis, CHECK_PATH, FAILURE_IMPAIRED, PHASE_ADDRESS, IMPAIRED_PATH,
		"%s; RDMA's packets of up to %u bytes %s", path->evidence, packet,
		path->found.proven >= packet ? "fit" : "do not fit");
}

/* RDMA may do with packets that are smaller than the interface's, so the climb goes on. */
static int check_path(struct diagnosis *diagnosis)
{
	struct path_mtu path;

	path_mtu_find(&diagnosis->route, deadline_in(PATH_MS), &path);
	diagnosis->path_mtu = path.found.proven;
	if (path.verdict == REACH_BAD)
		break_path(diagnosis, &path);
	else if (path.verdict == REACH_UNKNOWN)
		check_list_skip(&diagnosis->list, CHECK_PATH, "%s", path.evidence);
	else
		check_list_ok(&diagnosis->list, CHECK_PATH, "%s", path.evidence);
	return 0;
}

static int (*const checks[CHECKS])(struct diagnosis *) = {
	[CHECK_HOST] = check_host,
	[CHECK_NAME] = check_name,
	[CHECK_ROUTE] = check_route,
	[CHECK_NEIGHBOUR] = check_neighbour,
	[CHECK_PATH] = check_path,
	[CHECK_CONNECTION] = check_connection,
	[CHECK_MESSAGE] = check_message,
	[CHECK_ENDS] = check_ends,
	[CHECK_DATA] = check_data,
	[CHECK_BANDWIDTH] = check_bandwidth,
	[CHECK_COUNTERS] = check_counters,
};

/* Shows the facts of both ends beside each other. */
static void print_ends(const struct diagnosis *diagnosis)
{
	const char *name, *ours, *theirs;
	unsigned int index = 0;
	char line[320];
	bool differ;

	snprintf(line, sizeof(line), "%-16s %-28s %s", "", "here", "there");
	print_detail(line, (void *)diagnosis);
	while ((name = facts_compare(
			&diagnosis->ours, &diagnosis->theirs, index++, &ours, &theirs, &differ))) {
		snprintf(line, sizeof(line), "%-16s %-28s %*s%s", name, ours ? ours : "-",
			differ ? -29 : 0, theirs ? theirs : "-", differ ? "differs" : "");
		print_detail(line, (void *)diagnosis);
	}
}

/* Why a rung is not tried. */
static const char *why_skipped(const struct diagnosis *diagnosis)
{
	if (!diagnosis->options->host)
		return "no HOST was given";
	/* Without a port the connection is what is looked at last. */
	if (!diagnosis->options->port && diagnosis->list.checks[CHECK_CONNECTION].state == CHECK_OK)
		return "no PORT was given";
	return "it was not reached";
}

/* Climbs until a rung breaks, and shows each; the rest is skipped. */
static void run_checks(struct diagnosis *diagnosis)
{
	deadline_t start;
	bool on = true;

	for (enum check check = CHECK_HOST; check < CHECKS; check++) {
		if (!diagnosis->options->host && check > CHECK_HOST)
			on = false;
		if (!on)
			check_list_skip(&diagnosis->list, check, "%s", why_skipped(diagnosis));
		start = deadline_now();
		on = on && checks[check](diagnosis) == 0;
		check_list_took(&diagnosis->list, check, (int)(deadline_now() - start));
		print_check(diagnosis, check);
		if (check == CHECK_HOST)
			inventory_lines(&diagnosis->inventory, print_detail, diagnosis);
		if (check == CHECK_ENDS && diagnosis->theirs.count > 0)
			print_ends(diagnosis);
	}
}

/* The document of --json. */
static void print_document(const struct diagnosis *diagnosis)
{
	const struct diagnosis_report findings = {
		.program = diagnosis->output.program,
		.host = diagnosis->options->host,
		.port = diagnosis->options->port,
		.list = &diagnosis->list,
		.here = &diagnosis->ours,
		.there = &diagnosis->theirs,
		.inventory = &diagnosis->inventory,
		.path_mtu = diagnosis->path_mtu,
		.rate_there = diagnosis->rate_there,
		.rate_back = diagnosis->rate_back,
		.counted_here = &diagnosis->counted_here,
		.counted_there = &diagnosis->counted_there,
	};
	struct json_object *object = diagnosis_report_json(&findings);

	output_document(document_line(object));
	json_object_put(object);
}

enum exit_status diagnose(const struct options *options, const char *program)
{
	struct diagnosis *diagnosis = calloc(1, sizeof(*diagnosis));
	enum exit_status status;
	char verdict[512];

	struct output output = startup_output(program, options);

	if (!diagnosis) {
		output_error(&output, "there is not enough memory");
		return output_finish(&output, STATUS_FAILED);
	}
	diagnosis->options = options;
	diagnosis->output = output;
	diagnosis->server.source = options->source;
	diagnosis->server.device = options->device;
	if (startup_secret(&diagnosis->secret, options->secret_file, &output)) {
		free(diagnosis);
		return output_finish(&output, STATUS_FAILED);
	}
	diagnosis->end = deadline_in(CHECKS_MS);
	check_list_init(&diagnosis->list, options->host ? options->host : "");
	run_checks(diagnosis);
	check_list_verdict(&diagnosis->list, verdict, sizeof(verdict));
	if (options->json)
		print_document(diagnosis);
	output_line(&diagnosis->output, "verdict: %s", verdict);
	status = output_finish(&diagnosis->output, check_list_status(&diagnosis->list));
	perf_test_free(&diagnosis->test);
	control_client_close(&diagnosis->client);
	server_addresses_free(&diagnosis->server);
	inventory_free(&diagnosis->inventory);
	secret_free(diagnosis->secret);
	free(diagnosis);
	return status;
}

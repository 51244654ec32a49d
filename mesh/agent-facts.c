/* See mesh/agent-facts.h. */
#include <errno.h>
#include <ifaddrs.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/explain.h"
#include "base/json-document.h"
#include "base/text.h"
#include "base/version.h"
#include "host/arp-flux.h"
#include "host/device-list.h"
#include "host/facts.h"
#include "host/readiness.h"
#include "mesh/agent-facts.h"
#include "mesh/agent-test.h"
#include "mesh/limits.h"

/* The port to describe: the first that is active, or the first of all; NULL: there is none. */
static const struct inventory_port *choose_port(const struct inventory_device *device)
{
	for (size_t i = 0; i < device->port_count; i++)
		if (strcmp(device->ports[i].state, "ACTIVE") == 0)
			return &device->ports[i];
	return device->port_count > 0 ? &device->ports[0] : NULL;
}

static void add_known(struct facts *facts, const char *name, const char *value)
{
	if (*value)
		facts_add(facts, name, "%s", value);
}

static void add_port(struct facts *facts, const struct inventory_port *port)
{
	facts_add(facts, "port", "%u", port->number);
	add_known(facts, "state", port->state);
	add_known(facts, "link layer", port->link_layer);
	add_known(facts, "rate", port->rate);
	if (port->gid_count > 0)
		add_known(facts, "gid type", port->gids[port->gid_count - 1].type);
	if (port->interface_count > 0 && port->interfaces[0].mtu > 0)
		facts_add(facts, "interface mtu", "%u", port->interfaces[0].mtu);
}

/* Adds why the host, or this device of it, is not ready for RDMA. Returns true if it is. */
static bool add_problem(
	struct json_object *message, const struct inventory *inventory, const char *device)
{
	struct failure failure = {0};
	char evidence[sizeof(failure.evidence)], problem[MESH_REASON_SIZE] = "";
	enum readiness lacking = readiness_check(inventory, device, evidence, sizeof(evidence));

	if (lacking != HOST_READY) {
		failure_set(&failure, FAILURE_HOST, PHASE_OPEN, (int)lacking, "readiness", "%s",
			evidence);
		explain_failure(&failure, NULL, false, problem, sizeof(problem));
		text_printable(problem);
	}
	document_add_known_text(message, "problem", problem);
	return lacking == HOST_READY;
}

/* Returns a device of the list that can be used; otherwise the single one of the list, or NULL. */
static const char *choose_device(const struct inventory *inventory, const char *devices)
{
	char evidence[sizeof(((struct failure *)0)->evidence)];

	for (size_t i = 0; i < inventory->device_count; i++) {
		const char *name = inventory->devices[i].name;

		if (device_list_has(devices, name) &&
			readiness_check(inventory, name, evidence, sizeof(evidence)) == HOST_READY)
			return name;
	}
	return device_list_single(devices);
}

/* Adds that interfaces of this host answer ARP for each other. */
static void add_warning(struct json_object *message, const struct inventory *inventory)
{
	struct ifaddrs *addresses;
	char text[MESH_REASON_SIZE] = "";

	if (getifaddrs(&addresses) == 0) {
		arp_flux_find("", inventory, addresses, text, sizeof(text));
		freeifaddrs(addresses);
	}
	document_add_known_text(message, "warning", text);
}

struct json_object *agent_facts_host(
	const struct inventory *inventory, const char *devices, bool *usable)
{
	struct json_object *message = json_object_new_object();
	struct utsname system;
	struct facts facts = {0};

	facts_add(&facts, "version", "%s", PROJECT_VERSION);
	if (uname(&system) == 0)
		facts_add(&facts, "kernel", "%s", system.release);
	document_add(message, "facts", facts_json(&facts));
	*usable = add_problem(message, inventory, choose_device(inventory, devices));
	add_warning(message, inventory);
	return message;
}

struct json_object *agent_facts_device(
	const struct inventory *inventory, const struct inventory_device *device)
{
	const struct inventory_port *port = choose_port(device);
	struct json_object *message = json_object_new_object();
	struct facts facts = {0};

	add_known(&facts, "driver", device->driver);
	add_known(&facts, "firmware", device->firmware);
	if (port)
		add_port(&facts, port);
	document_add_text(message, "device", device->name);
	document_add(message, "facts", facts_json(&facts));
	add_problem(message, inventory, device->name);
	return message;
}

/* True if an interface of the device has this address. */
static bool has_address(const struct inventory_device *device, const char *address)
{
	for (size_t i = 0; i < device->port_count; i++)
		for (size_t j = 0; j < device->ports[i].interface_count; j++) {
			const struct inventory_interface *interface =
				&device->ports[i].interfaces[j];

			for (size_t k = 0; k < interface->address_count; k++)
				if (strcmp(interface->addresses[k].text, address) == 0)
					return true;
		}
	return false;
}

struct json_object *agent_facts_addresses(
	const struct inventory_device *device, const char *addresses)
{
	struct json_object *message = json_object_new_object();
	char own[AGENT_ADDRESSES_SIZE] = "";

	while (*(addresses += strspn(addresses, " \r\n"))) {
		size_t length = strcspn(addresses, " \r\n");
		char address[ADDRESS_TEXT_SIZE];

		snprintf(address, sizeof(address), "%.*s", (int)length, addresses);
		if (has_address(device, address))
			text_append(own, sizeof(own), "%s%s", *own ? " " : "", address);
		addresses += length;
	}
	document_add_text(message, "device", device->name);
	document_add_text(message, "addresses", own);
	return message;
}

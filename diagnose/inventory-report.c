/*
 * An inventory as lines and as JSON. The lines are written into arrays of the caller's and escaped before
 * they are handed on; the JSON object belongs to the caller.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/json-document.h"
#include "base/text.h"
#include "base/units.h"
#include "diagnose/inventory-report.h"

/* Appends a text that is known after a comma. */
static void append_known(char line[INVENTORY_LINE], const char *before, const char *text)
{
	if (text[0])
		text_append(line, INVENTORY_LINE, ", %s%s", before, text);
}

static void pass_on(const char line[INVENTORY_LINE], inventory_line *take, void *context)
{
	char safe[TEXT_ESCAPED_SIZE(INVENTORY_LINE)];

	text_escape_utf8(safe, line, strlen(line));
	take(safe, context);
}

static const char *access_name(enum sysfs_access access)
{
	switch (access) {
	case SYSFS_GRANTED:
		return "usable";
	case SYSFS_DENIED:
		return "denied";
	default:
		return "missing";
	}
}

/* NULL if not known. */
static const char *netns_name(enum inventory_netns netns)
{
	switch (netns) {
	case INVENTORY_NETNS_SHARED:
		return "shared";
	case INVENTORY_NETNS_EXCLUSIVE:
		return "exclusive";
	default:
		return NULL;
	}
}

static void host_line(const struct inventory *inventory, inventory_line *take, void *context)
{
	const char *netns = netns_name(inventory->netns);
	char line[INVENTORY_LINE], size[UNITS_TEXT];

	snprintf(line, sizeof(line), "rdma_cm %s, ib_core %s, rdma_ucm %s",
		access_name(inventory->rdma_cm), inventory->ib_core ? "loaded" : "not loaded",
		inventory->rdma_ucm ? "loaded" : "not loaded");
	append_known(line, "netns ", netns ? netns : "");
	append_known(line, "locked memory ",
		inventory->ipc_lock || inventory->locked_max == UINT64_MAX
			? "without limit"
			: units_format(size, inventory->locked_max));
	pass_on(line, take, context);
}

static void append_device(char line[INVENTORY_LINE], const struct inventory_device *device)
{
	append_known(line, "", device->driver);
	append_known(line, "firmware ", device->firmware);
	if (device->uverbs[0])
		text_append(line, INVENTORY_LINE, ", %s %s", device->uverbs,
			access_name(device->access));
	else
		text_append(line, INVENTORY_LINE, ", no uverbs device");
}

static void append_interface(char line[INVENTORY_LINE], const struct inventory_interface *interface)
{
	text_append(line, INVENTORY_LINE, "; %s: %s", interface->name,
		interface->state[0] ? interface->state : "state unknown");
	if (interface->mtu)
		text_append(line, INVENTORY_LINE, ", MTU %u", interface->mtu);
	for (size_t i = 0; i < interface->address_count; i++)
		append_known(line, "", interface->addresses[i].text);
	if (interface->address_count == 0)
		text_append(line, INVENTORY_LINE, ", no address");
}

static void port_lines(const struct inventory_device *device, const struct inventory_port *port,
	inventory_line *take, void *context)
{
	char line[INVENTORY_LINE];

	snprintf(line, sizeof(line), "%s/%u: %s", device->name, port->number,
		port->state[0] ? port->state : "state unknown");
	append_known(line, "", port->physical_state);
	append_known(line, "", port->link_layer);
	append_known(line, "", port->rate);
	if (strcmp(port->link_layer, "InfiniBand") == 0)
		text_append(line, sizeof(line), ", LID %u, subnet manager's LID %u", port->lid,
			port->sm_lid);
	append_device(line, device);
	for (size_t i = 0; i < port->interface_count; i++)
		append_interface(line, &port->interfaces[i]);
	pass_on(line, take, context);
	for (size_t i = 0; i < port->gid_count; i++) {
		const struct inventory_gid *gid = &port->gids[i];

		snprintf(line, sizeof(line), "%s/%u GID %u: %s", device->name, port->number,
			gid->index, gid->text);
		append_known(line, "", gid->type);
		append_known(line, "", gid->interface);
		pass_on(line, take, context);
	}
}

void inventory_lines(const struct inventory *inventory, inventory_line *take, void *context)
{
	char line[INVENTORY_LINE];

	host_line(inventory, take, context);
	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		for (size_t j = 0; j < device->port_count; j++)
			port_lines(device, &device->ports[j], take, context);
		if (device->port_count == 0) {
			snprintf(line, sizeof(line), "%s: no port", device->name);
			append_device(line, device);
			pass_on(line, take, context);
		}
	}
}

/* A text that is null if it is not known. */
static bool add_known(struct json_object *object, const char *key, const char *text)
{
	return document_add_text(object, key, text[0] ? text : NULL);
}

static bool fill_interface(struct json_object *object, const struct inventory_interface *interface)
{
	struct json_object *addresses;

	if (!add_known(object, "name", interface->name) ||
		!add_known(object, "state", interface->state) ||
		!document_add_known(object, "mtu", interface->mtu))
		return false;
	addresses = document_add_array(object, "addresses");
	if (!addresses)
		return false;
	for (size_t i = 0; i < interface->address_count; i++)
		if (!document_append_text(addresses, interface->addresses[i].text))
			return false;
	return true;
}

static bool fill_gid(struct json_object *object, const struct inventory_gid *gid)
{
	return document_add_number(object, "index", gid->index) &&
	       add_known(object, "gid", gid->text) && add_known(object, "type", gid->type) &&
	       add_known(object, "interface", gid->interface);
}

static bool fill_port(struct json_object *object, const struct inventory_port *port)
{
	struct json_object *gids, *interfaces, *child;

	if (!document_add_number(object, "number", port->number) ||
		!add_known(object, "state", port->state) ||
		!add_known(object, "physical_state", port->physical_state) ||
		!add_known(object, "link_layer", port->link_layer) ||
		!add_known(object, "rate", port->rate) ||
		!document_add_known(object, "megabits", port->megabits) ||
		!document_add_known(object, "rdma_mtu", port->rdma_mtu) ||
		!document_add_known(object, "lid", port->lid) ||
		!document_add_known(object, "sm_lid", port->sm_lid))
		return false;
	gids = document_add_array(object, "gids");
	interfaces = document_add_array(object, "interfaces");
	if (!gids || !interfaces)
		return false;
	for (size_t i = 0; i < port->gid_count; i++) {
		child = document_append_object(gids);
		if (!child || !fill_gid(child, &port->gids[i]))
			return false;
	}
	for (size_t i = 0; i < port->interface_count; i++) {
		child = document_append_object(interfaces);
		if (!child || !fill_interface(child, &port->interfaces[i]))
			return false;
	}
	return true;
}

static bool fill_device(struct json_object *object, const struct inventory_device *device)
{
	struct json_object *ports;

	if (!add_known(object, "name", device->name) || !add_known(object, "type", device->type) ||
		!add_known(object, "description", device->description) ||
		!add_known(object, "firmware", device->firmware) ||
		!add_known(object, "driver", device->driver) ||
		!add_known(object, "parent", device->parent) ||
		!add_known(object, "uverbs", device->uverbs) ||
		!document_add_text(object, "access", access_name(device->access)))
		return false;
	ports = document_add_array(object, "ports");
	if (!ports)
		return false;
	for (size_t i = 0; i < device->port_count; i++) {
		struct json_object *port = document_append_object(ports);

		if (!port || !fill_port(port, &device->ports[i]))
			return false;
	}
	return true;
}

static bool fill(struct json_object *object, const struct inventory *inventory)
{
	bool limited = inventory->locked_max != UINT64_MAX;
	struct json_object *devices;

	if (!document_add_text(object, "rdma_cm", access_name(inventory->rdma_cm)) ||
		!document_add_boolean(object, "ib_core", inventory->ib_core) ||
		!document_add_boolean(object, "rdma_ucm", inventory->rdma_ucm) ||
		!document_add_text(object, "netns", netns_name(inventory->netns)) ||
		!(limited ? document_add_number(object, "locked_max", inventory->locked_max)
			  : document_add(object, "locked_max", NULL)) ||
		!document_add_boolean(object, "ipc_lock", inventory->ipc_lock))
		return false;
	devices = document_add_array(object, "devices");
	if (!devices)
		return false;
	for (size_t i = 0; i < inventory->device_count; i++) {
		struct json_object *device = document_append_object(devices);

		if (!device || !fill_device(device, &inventory->devices[i]))
			return false;
	}
	return true;
}

struct json_object *inventory_json(const struct inventory *inventory)
{
	struct json_object *object = json_object_new_object();

	return document_filled(object, object && fill(object, inventory));
}

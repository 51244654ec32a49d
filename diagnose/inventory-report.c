/*
 * Formats an inventory as lines and as JSON. Lines are built in stack buffers and escaped before
 * they are passed on; the JSON object belongs to the caller.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/json-document.h"
#include "base/text.h"
#include "base/units.h"
#include "diagnose/inventory-report.h"
#include "host/stack-table.h"

/* Appends a comma and the text, unless the text is empty. */
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

static const char *const access_names[] = {
	[SYSFS_MISSING] = "missing",
	[SYSFS_DENIED] = "denied",
	[SYSFS_GRANTED] = "usable",
};

static const char *const netns_names[] = {
	[INVENTORY_NETNS_UNKNOWN] = "",
	[INVENTORY_NETNS_SHARED] = "shared",
	[INVENTORY_NETNS_EXCLUSIVE] = "exclusive",
};

/* Whether the device exchanges packets for the addresses of an interface. */
static const char *const carries_names[] = {
	[STACK_UNKNOWN] = "",
	[STACK_CARRIES] = "yes",
	[STACK_OWN_MAC] = "with the device's MAC address",
	[STACK_LOSES] = "no",
};

static void host_line(const struct inventory *inventory, inventory_line *take, void *context)
{
	char line[INVENTORY_LINE], size[UNITS_TEXT];

	snprintf(line, sizeof(line), "rdma_cm %s", access_names[inventory->rdma_cm]);
	if (inventory->sysfs_absent)
		append_known(line, "", "/sys is not mounted");
	else
		text_append(line, sizeof(line), ", ib_core %s, rdma_ucm %s",
			inventory->ib_core ? "loaded" : "not loaded",
			inventory->rdma_ucm ? "loaded" : "not loaded");
	append_known(line, "netns ", netns_names[inventory->netns]);
	append_known(line, "locked memory ",
		inventory->ipc_lock || inventory->locked_max == UINT64_MAX
			? "unlimited"
			: units_format(size, inventory->locked_max));
	pass_on(line, take, context);
}

static void append_device(char line[INVENTORY_LINE], const struct inventory_device *device)
{
	append_known(line, "", device->driver);
	append_known(line, "firmware ", device->firmware);
	if (device->uverbs[0])
		text_append(line, INVENTORY_LINE, ", %s %s", device->uverbs,
			access_names[device->access]);
	else
		text_append(line, INVENTORY_LINE, ", no uverbs device");
}

static void append_interface(char line[INVENTORY_LINE], const struct inventory_interface *interface)
{
	/* Many virtual interfaces have no state, which is no fault. */
	bool stateless = strcmp(interface->state, "unknown") == 0;

	if (interface->elsewhere) {
		text_append(line, INVENTORY_LINE, "; %s: in another network namespace",
			interface->name);
		return;
	}
	text_append(line, INVENTORY_LINE, "; %s:", interface->name);
	if (!stateless)
		text_append(line, INVENTORY_LINE, " %s",
			interface->state[0] ? interface->state : "state unknown");
	if (interface->mtu)
		text_append(
			line, INVENTORY_LINE, "%s MTU %u", stateless ? "" : ",", interface->mtu);
	for (size_t i = 0; i < interface->address_count; i++)
		append_known(line, "", interface->addresses[i].text);
	if (interface->address_count == 0)
		text_append(line, INVENTORY_LINE, ", no address");
}

/* How an address reaches the device, if its interface is not the device's own. */
static void stack_line(const struct inventory_device *device,
	const struct inventory_interface *interface, inventory_line *take, void *context)
{
	char line[INVENTORY_LINE], addresses[INVENTORY_LINE] = "";

	if (interface->stack.count <= 1 && !interface->stack.elsewhere)
		return;
	for (size_t i = 0; i < interface->address_count; i++)
		if (!interface->addresses[i].link_local)
			text_append(addresses, sizeof(addresses), "%s%s", *addresses ? ", " : "",
				interface->addresses[i].text);
	stack_table_describe(addresses, interface, device->name, line, sizeof(line));
	if (*addresses)
		pass_on(line, take, context);
}

static void gid_lines(const struct inventory_device *device, const struct inventory_port *port,
	inventory_line *take, void *context)
{
	char line[INVENTORY_LINE];

	for (size_t i = 0; i < port->gid_count; i++) {
		const struct inventory_gid *gid = &port->gids[i];
		const struct inventory_interface *own = inventory_interface(port, gid->interface);

		snprintf(line, sizeof(line), "%s/%u GID %u: %s", device->name, port->number,
			gid->index, gid->text);
		append_known(line, "", gid->type);
		append_known(line, "", gid->interface);
		if (own && own->elsewhere)
			text_append(line, sizeof(line), " of another network namespace");
		pass_on(line, take, context);
	}
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
		text_append(line, sizeof(line), ", LID %u, subnet manager LID %u", port->lid,
			port->sm_lid);
	append_device(line, device);
	for (size_t i = 0; i < port->interface_count; i++)
		append_interface(line, &port->interfaces[i]);
	pass_on(line, take, context);
	for (size_t i = 0; i < port->interface_count; i++)
		stack_line(device, &port->interfaces[i], take, context);
}

void inventory_lines(
	const struct inventory *inventory, bool all, inventory_line *take, void *context)
{
	char line[INVENTORY_LINE];

	if (all)
		host_line(inventory, take, context);
	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		for (size_t j = 0; j < device->port_count; j++) {
			port_lines(device, &device->ports[j], take, context);
			if (all)
				gid_lines(device, &device->ports[j], take, context);
		}
		if (device->port_count == 0) {
			snprintf(line, sizeof(line), "%s: no port", device->name);
			append_device(line, device);
			pass_on(line, take, context);
		}
	}
}

static struct json_object *gid_json(const struct inventory_gid *gid)
{
	struct json_object *object = json_object_new_object();

	document_add_number(object, "index", gid->index);
	document_add_known_text(object, "gid", gid->text);
	document_add_known_text(object, "type", gid->type);
	document_add_known_text(object, "interface", gid->interface);
	return object;
}

static struct json_object *layer_json(const struct interface_layer *layer)
{
	struct json_object *object = json_object_new_object();

	document_add_known_text(object, "interface", layer->name);
	document_add_known_text(object, "kind", layer->kind);
	document_add_known_text(object, "mac", layer->hardware);
	return object;
}

static struct json_object *interface_json(
	const struct inventory_device *device, const struct inventory_interface *interface)
{
	struct json_object *object = json_object_new_object(), *addresses = json_object_new_array();
	struct json_object *stack = json_object_new_array();

	document_add_known_text(object, "name", interface->name);
	document_add_known_text(object, "state", interface->state);
	document_add_known(object, "mtu", interface->mtu);
	for (size_t i = 0; i < interface->address_count; i++)
		document_append_text(addresses, interface->addresses[i].text);
	document_add(object, "addresses", addresses);
	document_add_boolean(object, "elsewhere", interface->elsewhere);
	for (size_t i = 0; i < interface->stack.count; i++)
		document_append(stack, layer_json(&interface->stack.layers[i]));
	document_add(object, "stack", stack);
	document_add_known_text(object, "carries",
		carries_names[stack_table_verdict(device->driver, &interface->stack)]);
	return object;
}

static struct json_object *port_json(
	const struct inventory_device *device, const struct inventory_port *port)
{
	struct json_object *object = json_object_new_object();
	struct json_object *gids = json_object_new_array(), *interfaces = json_object_new_array();

	document_add_number(object, "number", port->number);
	document_add_known_text(object, "state", port->state);
	document_add_known_text(object, "physical_state", port->physical_state);
	document_add_known_text(object, "link_layer", port->link_layer);
	document_add_known_text(object, "rate", port->rate);
	document_add_known(object, "megabits", port->megabits);
	document_add_known(object, "rdma_mtu", port->rdma_mtu);
	document_add_known(object, "lid", port->lid);
	document_add_known(object, "sm_lid", port->sm_lid);
	for (size_t i = 0; i < port->gid_count; i++)
		document_append(gids, gid_json(&port->gids[i]));
	document_add(object, "gids", gids);
	for (size_t i = 0; i < port->interface_count; i++)
		document_append(interfaces, interface_json(device, &port->interfaces[i]));
	document_add(object, "interfaces", interfaces);
	return object;
}

static struct json_object *device_json(const struct inventory_device *device)
{
	struct json_object *object = json_object_new_object(), *ports = json_object_new_array();

	document_add_known_text(object, "name", device->name);
	document_add_known_text(object, "type", device->type);
	document_add_known_text(object, "description", device->description);
	document_add_known_text(object, "firmware", device->firmware);
	document_add_known_text(object, "driver", device->driver);
	document_add_known_text(object, "parent", device->parent);
	document_add_known_text(object, "uverbs", device->uverbs);
	document_add_text(object, "access", access_names[device->access]);
	for (size_t i = 0; i < device->port_count; i++)
		document_append(ports, port_json(device, &device->ports[i]));
	document_add(object, "ports", ports);
	return object;
}

struct json_object *inventory_json(const struct inventory *inventory)
{
	struct json_object *object = json_object_new_object(), *devices = json_object_new_array();

	document_add_text(object, "rdma_cm", access_names[inventory->rdma_cm]);
	document_add_boolean(object, "ib_core", inventory->ib_core);
	document_add_boolean(object, "rdma_ucm", inventory->rdma_ucm);
	document_add_known_text(object, "netns", netns_names[inventory->netns]);
	document_add_number_if(
		object, "locked_max", inventory->locked_max != UINT64_MAX, inventory->locked_max);
	document_add_boolean(object, "ipc_lock", inventory->ipc_lock);
	for (size_t i = 0; i < inventory->device_count; i++)
		document_append(devices, device_json(&inventory->devices[i]));
	document_add(object, "devices", devices);
	return document_filled(object);
}

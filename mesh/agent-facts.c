/* See mesh/agent-facts.h. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/explain.h"
#include "base/version.h"
#include "host/inventory.h"
#include "host/readiness.h"
#include "mesh/agent-facts.h"

/* The port to describe: the first that is active, or the first of all. */
static const struct inventory_port *choose_port(
	const struct inventory *inventory, const struct inventory_device **device)
{
	const struct inventory_port *chosen = NULL;

	for (size_t i = 0; i < inventory->device_count; i++)
		for (size_t j = 0; j < inventory->devices[i].port_count; j++) {
			const struct inventory_port *port = &inventory->devices[i].ports[j];

			if (strcmp(port->state, "ACTIVE") == 0) {
				*device = &inventory->devices[i];
				return port;
			}
			if (!chosen) {
				*device = &inventory->devices[i];
				chosen = port;
			}
		}
	return chosen;
}

static void add_known(struct facts *facts, const char *name, const char *value)
{
	if (*value)
		facts_add(facts, name, "%s", value);
}

static void add_port(struct facts *facts, const struct inventory_device *device,
	const struct inventory_port *port)
{
	facts_add(facts, "device", "%s", device->name);
	facts_add(facts, "port", "%u", port->number);
	add_known(facts, "driver", device->driver);
	add_known(facts, "firmware", device->firmware);
	add_known(facts, "state", port->state);
	add_known(facts, "link layer", port->link_layer);
	add_known(facts, "rate", port->rate);
	if (port->gid_count > 0)
		add_known(facts, "gid type", port->gids[port->gid_count - 1].type);
	if (port->interface_count > 0 && port->interfaces[0].mtu > 0)
		facts_add(facts, "interface mtu", "%u", port->interfaces[0].mtu);
}

void agent_facts(const char *device, struct facts *facts, char problem[AGENT_PROBLEM_SIZE])
{
	const struct inventory_device *described = NULL;
	const struct inventory_port *port;
	struct failure failure = {0};
	struct inventory inventory;
	enum readiness lacking;
	char evidence[sizeof(failure.evidence)];
	struct utsname system;

	*problem = '\0';
	*facts = (struct facts){0};
	facts_add(facts, "version", "%s", PROJECT_VERSION);
	if (uname(&system) == 0)
		facts_add(facts, "kernel", "%s", system.release);
	if (inventory_take("", device, &inventory))
		return;
	port = choose_port(&inventory, &described);
	if (port)
		add_port(facts, described, port);
	lacking = readiness_check(&inventory, device, evidence, sizeof(evidence));
	inventory_free(&inventory);
	if (lacking == HOST_READY)
		return;
	failure_set(&failure, FAILURE_HOST, PHASE_OPEN, (int)lacking, "readiness", "%s", evidence);
	explain_failure(&failure, NULL, false, problem, AGENT_PROBLEM_SIZE);
}

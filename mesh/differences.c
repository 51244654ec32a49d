/* See mesh/differences.h. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mesh/differences.h"

#define LINE_SIZE 1024

/* Names of hosts in a line, before it says how many more there are. */
#define NAMES_MAX 8

struct fact_row {
	const char *name;
	size_t field; /* of struct mesh_facts: a text, except for the MTU */
	bool of_host; /* not of a device */
};

static const struct fact_row compared[] = {
	{"driver", offsetof(struct mesh_facts, driver), false},
	{"firmware", offsetof(struct mesh_facts, firmware), false},
	{"rate", offsetof(struct mesh_facts, rate), false},
	{"link layer", offsetof(struct mesh_facts, link_layer), false},
	{"GID type", offsetof(struct mesh_facts, gid_type), false},
	{"interface MTU", offsetof(struct mesh_facts, interface_mtu), false},
	{"release", offsetof(struct mesh_facts, version), true},
	{"kernel", offsetof(struct mesh_facts, kernel), true},
};

/* What is compared: a fact of each host, or of its device of a rail. */
struct comparison {
	const struct coordinator *coordinator;
	const struct fact_row *row;
	const struct mesh_rail *rail;
};

/* The value of a host; "": unknown. */
static const char *value_of(
	const struct comparison *comparison, unsigned int host, char text[MESH_FACT_SIZE])
{
	const struct mesh_facts *facts = &comparison->coordinator->hosts[host].facts;
	const struct mesh_device *device;

	if (!comparison->row->of_host) {
		device = coordinator_rail_device(
			comparison->coordinator, host, comparison->rail, MESH_FROM);
		if (!device)
			return "";
		facts = &device->facts;
	}
	if (comparison->row->field != offsetof(struct mesh_facts, interface_mtu))
		return (const char *)facts + comparison->row->field;
	snprintf(text, MESH_FACT_SIZE, "%" PRIu64, facts->interface_mtu);
	return facts->interface_mtu ? text : "";
}

/* Returns how many hosts have this value. */
static unsigned int count_value(const struct comparison *comparison, const char *value)
{
	char text[MESH_FACT_SIZE];
	unsigned int count = 0;

	for (unsigned int i = 0; i < comparison->coordinator->list->count; i++)
		count += strcmp(value_of(comparison, i, text), value) == 0;
	return count;
}

/* Copies the most frequent value. Returns the number of hosts that have it. */
static unsigned int find_common(const struct comparison *comparison, char common[MESH_FACT_SIZE])
{
	char text[MESH_FACT_SIZE];
	unsigned int most = 0;

	*common = '\0';
	for (unsigned int i = 0; i < comparison->coordinator->list->count; i++) {
		const char *value = value_of(comparison, i, text);
		unsigned int count = *value ? count_value(comparison, value) : 0;

		if (count <= most)
			continue;
		most = count;
		snprintf(common, MESH_FACT_SIZE, "%s", value);
	}
	return most;
}

/* Appends the hosts that have another value. Returns their number. */
static unsigned int add_others(
	char line[LINE_SIZE], const struct comparison *comparison, const char *common)
{
	char text[MESH_FACT_SIZE];
	unsigned int others = 0;

	for (unsigned int i = 0; i < comparison->coordinator->list->count; i++) {
		const char *value = value_of(comparison, i, text);

		if (!*value || strcmp(value, common) == 0 || ++others > NAMES_MAX)
			continue;
		text_append(line, LINE_SIZE, "%s%s has %s", others > 1 ? ", " : "",
			comparison->coordinator->list->names[i], value);
	}
	if (others > NAMES_MAX)
		text_append(line, LINE_SIZE, ", and %u more", others - NAMES_MAX);
	return others;
}

static void print_fact(const struct comparison *comparison,
	void (*print)(void *context, const char *line), void *context)
{
	bool named = comparison->coordinator->rail_count > 1 && !comparison->row->of_host;
	char common[MESH_FACT_SIZE], line[LINE_SIZE] = "";
	unsigned int most = find_common(comparison, common);

	if (named)
		text_append(line, sizeof(line), "%s: ", comparison->rail->name);
	text_append(line, sizeof(line), "%s differs: ", comparison->row->name);
	if (add_others(line, comparison, common) == 0)
		return;
	text_append(line, sizeof(line), "; %u host%s %s %s", most, most == 1 ? "" : "s",
		most == 1 ? "has" : "have", common);
	print(context, line);
}

void differences_print(const struct coordinator *coordinator,
	void (*print)(void *context, const char *line), void *context)
{
	for (unsigned int rail = 0; rail < coordinator->rail_count; rail++)
		for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++) {
			const struct comparison comparison = {
				coordinator, &compared[i], &coordinator->rails[rail]};

			/* Those of hosts once, and those of devices once for each. */
			if (rail == 0 ||
				(!compared[i].of_host && mesh_rail_is_plain(comparison.rail)))
				print_fact(&comparison, print, context);
		}
}

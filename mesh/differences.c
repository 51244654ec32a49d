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

static const struct {
	const char *name;
	size_t field; /* of struct mesh_facts: a text, except for the MTU */
} compared[] = {
	{"driver", offsetof(struct mesh_facts, driver)},
	{"firmware", offsetof(struct mesh_facts, firmware)},
	{"rate", offsetof(struct mesh_facts, rate)},
	{"link layer", offsetof(struct mesh_facts, link_layer)},
	{"GID type", offsetof(struct mesh_facts, gid_type)},
	{"interface MTU", offsetof(struct mesh_facts, interface_mtu)},
	{"release", offsetof(struct mesh_facts, version)},
	{"kernel", offsetof(struct mesh_facts, kernel)},
};

/* The value of a fact of a host; "": unknown. */
static const char *value_of(const struct coordinator *coordinator, unsigned int host, size_t field,
	char text[MESH_FACT_SIZE])
{
	const struct mesh_facts *facts = &coordinator->hosts[host].facts;

	if (field != offsetof(struct mesh_facts, interface_mtu))
		return (const char *)facts + field;
	snprintf(text, MESH_FACT_SIZE, "%" PRIu64, facts->interface_mtu);
	return facts->interface_mtu ? text : "";
}

/* Returns how many hosts have this value. */
static unsigned int count_value(
	const struct coordinator *coordinator, size_t field, const char *value)
{
	char text[MESH_FACT_SIZE];
	unsigned int count = 0;

	for (unsigned int i = 0; i < coordinator->list->count; i++)
		count += strcmp(value_of(coordinator, i, field, text), value) == 0;
	return count;
}

/* Copies the most frequent value. Returns the number of hosts that have it. */
static unsigned int find_common(
	const struct coordinator *coordinator, size_t field, char common[MESH_FACT_SIZE])
{
	char text[MESH_FACT_SIZE];
	unsigned int most = 0;

	*common = '\0';
	for (unsigned int i = 0; i < coordinator->list->count; i++) {
		const char *value = value_of(coordinator, i, field, text);
		unsigned int count = *value ? count_value(coordinator, field, value) : 0;

		if (count <= most)
			continue;
		most = count;
		snprintf(common, MESH_FACT_SIZE, "%s", value);
	}
	return most;
}

static void print_fact(const struct coordinator *coordinator, const char *name, size_t field,
	void (*print)(void *context, const char *line), void *context)
{
	char common[MESH_FACT_SIZE], text[MESH_FACT_SIZE], line[LINE_SIZE] = "";
	unsigned int most = find_common(coordinator, field, common), others = 0;

	for (unsigned int i = 0; i < coordinator->list->count; i++) {
		const char *value = value_of(coordinator, i, field, text);

		if (!*value || strcmp(value, common) == 0 || ++others > NAMES_MAX)
			continue;
		text_append(line, sizeof(line), "%s%s has %s", others > 1 ? ", " : "",
			coordinator->list->names[i], value);
	}
	if (others == 0)
		return;
	if (others > NAMES_MAX)
		text_append(line, sizeof(line), ", and %u more", others - NAMES_MAX);
	snprintf(text, sizeof(text), "%s differs: ", name);
	memmove(line + strlen(text), line, sizeof(line) - strlen(text) - 1);
	line[sizeof(line) - 1] = '\0';
	memcpy(line, text, strlen(text));
	text_append(line, sizeof(line), "; %u host%s %s %s", most, most == 1 ? "" : "s",
		most == 1 ? "has" : "have", common);
	print(context, line);
}

void differences_print(const struct coordinator *coordinator,
	void (*print)(void *context, const char *line), void *context)
{
	for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++)
		print_fact(coordinator, compared[i].name, compared[i].field, print, context);
}

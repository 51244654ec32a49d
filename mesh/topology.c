/* See mesh/topology.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "mesh/topology.h"

#define LINE_SIZE 8192

/* A host without a group, while the file is read. */
#define NO_GROUP (~0U)

/* Returns the value of "KEY=value" on the line, in any case; NULL: it has none. */
static const char *value_of(const char *line, const char *key, char value[LINE_SIZE])
{
	size_t length = strlen(key);

	while (*(line += strspn(line, " \t\r\n"))) {
		size_t word = strcspn(line, " \t\r\n");

		if (word > length && line[length] == '=' && strncasecmp(line, key, length) == 0) {
			snprintf(value, LINE_SIZE, "%.*s", (int)(word - length - 1),
				line + length + 1);
			return value;
		}
		line += word;
	}
	return NULL;
}

/* Appends a group. Returns its number, or NO_GROUP without memory. */
static unsigned int add_group(struct topology *topology, const char *name)
{
	void *grown = realloc(topology->names, (topology->count + 1) * sizeof(topology->names[0]));

	if (!grown)
		return NO_GROUP;
	topology->names = grown;
	snprintf(topology->names[topology->count], MESH_NAME_SIZE, "%s", name);
	text_printable(topology->names[topology->count]);
	return topology->count++;
}

/* Adds a switch and those of its hosts that are part of the mesh. */
static int add_switch(struct topology *topology, const char *name, const char *nodes,
	const struct host_list *hosts, char why[MESH_REASON_SIZE])
{
	struct host_list members = {0};
	unsigned int group = NO_GROUP;
	int result = host_list_expand(&members, nodes, why);

	for (unsigned int i = 0; result == 0 && i < members.count; i++) {
		int host = host_list_find(hosts, members.names[i]);

		if (host < 0)
			continue;
		if (group == NO_GROUP)
			group = add_group(topology, name);
		topology->groups[host] = group;
	}
	host_list_free(&members);
	return result;
}

static int read_lines(struct topology *topology, FILE *file, const struct host_list *hosts,
	char why[MESH_REASON_SIZE])
{
	char line[LINE_SIZE], name[LINE_SIZE], nodes[LINE_SIZE];
	int result = 0;

	while (result == 0 && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#")] = '\0';
		if (value_of(line, "SwitchName", name) && value_of(line, "Nodes", nodes))
			result = add_switch(topology, name, nodes, hosts, why);
	}
	if (result == 0 && topology->count == 0) {
		snprintf(why, MESH_REASON_SIZE,
			"--topology has no line with SwitchName= and Nodes= of these hosts");
		result = -1;
	}
	for (unsigned int i = 0; i < hosts->count; i++)
		if (topology->groups[i] == NO_GROUP)
			topology->groups[i] = add_group(topology, hosts->names[i]);
	return result;
}

int topology_read(struct topology *topology, const char *path, const struct host_list *hosts,
	char why[MESH_REASON_SIZE])
{
	FILE *file = fopen(path, "re");
	int result = -1;

	*topology = (struct topology){.groups = calloc(hosts->count, sizeof(unsigned int))};
	if (!file) {
		snprintf(why, MESH_REASON_SIZE, "--topology cannot be read: %s", strerror(errno));
	} else if (!topology->groups) {
		snprintf(why, MESH_REASON_SIZE, "%s", strerror(ENOMEM));
	} else {
		for (unsigned int i = 0; i < hosts->count; i++)
			topology->groups[i] = NO_GROUP;
		result = read_lines(topology, file, hosts, why);
	}
	if (file)
		fclose(file);
	return result;
}

void topology_free(struct topology *topology)
{
	free(topology->names);
	free(topology->groups);
	*topology = (struct topology){0};
}

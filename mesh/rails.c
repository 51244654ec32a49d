/* See mesh/rails.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/device-list.h"
#include "mesh/rails.h"

/* Hosts in a line, before it says how many more there are. */
#define NAMES_MAX 3

#define LINE_SIZE 1024

/* Names of devices, each once, in the order of the first host that has them. */
struct names {
	char list[MESH_DEVICES_MAX][MESH_FACT_SIZE];
	unsigned int count;
};

static void add_name(struct names *names, const char *name)
{
	for (unsigned int i = 0; i < names->count; i++)
		if (strcmp(names->list[i], name) == 0)
			return;
	if (names->count < MESH_DEVICES_MAX)
		snprintf(names->list[names->count++], MESH_FACT_SIZE, "%s", name);
}

/* Collects the devices of all hosts that are ready. */
static void find_names(const struct coordinator *coordinator, struct names *names)
{
	names->count = 0;
	for (unsigned int i = 0; i < coordinator->list->count; i++) {
		const struct mesh_host *host = &coordinator->hosts[i];

		for (unsigned int j = 0; host->state == MESH_HOST_READY && j < host->device_count;
			j++)
			add_name(names, host->devices[j].facts.device);
	}
}

static struct mesh_rail make_rail(const struct names *names, unsigned int from, unsigned int to)
{
	struct mesh_rail rail = {.number = {from, to}};

	memcpy(rail.device[MESH_FROM], names->list[from], MESH_FACT_SIZE);
	memcpy(rail.device[MESH_TO], names->list[to], MESH_FACT_SIZE);
	snprintf(rail.name, sizeof(rail.name), "%s%s%s", names->list[from], from == to ? "" : "->",
		from == to ? "" : names->list[to]);
	return rail;
}

/* True if all hosts that are ready can use the device. */
static bool is_common(const struct coordinator *coordinator, const struct mesh_rail *rail)
{
	for (unsigned int i = 0; i < coordinator->list->count; i++)
		if (coordinator->hosts[i].state == MESH_HOST_READY &&
			!coordinator_is_ready(coordinator, i, rail, MESH_FROM))
			return false;
	return true;
}

/* Chooses the devices: those of --device, or those that all hosts have. */
static void choose_names(const struct coordinator *coordinator, struct names *names)
{
	const char *list = coordinator->options->device;
	char name[DEVICE_NAME_SIZE];
	unsigned int kept = 0;

	if (!device_list_is_all(list)) {
		names->count = 0;
		while (device_list_next(&list, name))
			add_name(names, name);
		return;
	}
	find_names(coordinator, names);
	for (unsigned int i = 0; i < names->count; i++) {
		const struct mesh_rail rail = make_rail(names, i, i);

		if (is_common(coordinator, &rail))
			memmove(names->list[kept++], names->list[i], MESH_FACT_SIZE);
	}
	names->count = kept;
}

int rails_choose(struct rails *rails, const struct coordinator *coordinator)
{
	struct names names;
	unsigned int most;

	choose_names(coordinator, &names);
	most = names.count > 0 ? names.count * names.count : 1;
	*rails = (struct rails){.list = calloc(most, sizeof(rails->list[0]))};
	if (!rails->list)
		return -ENOMEM;
	for (unsigned int i = 0; i < names.count; i++)
		rails->list[rails->count++] = make_rail(&names, i, i);
	for (unsigned int i = 0; coordinator->options->mesh.cross_rail && i < names.count; i++)
		for (unsigned int j = 0; j < names.count; j++)
			if (i != j)
				rails->list[rails->count++] = make_rail(&names, i, j);
	if (rails->count == 0)
		rails->count = 1;
	return 0;
}

void rails_free(struct rails *rails)
{
	free(rails->list);
	*rails = (struct rails){0};
}

static bool is_rail(const struct rails *rails, const char *name)
{
	for (unsigned int i = 0; i < rails->count; i++)
		if (strcmp(rails->list[i].name, name) == 0)
			return true;
	return false;
}

/* The length of the cause in a sentence, without evidence and remedy. */
static int cause_length(const char *sentence)
{
	size_t length = strcspn(sentence, "(;");

	return (int)(length > 0 && sentence[length] == '(' ? length - 1 : length);
}

static void print_left_out(const struct coordinator *coordinator, const struct mesh_rail *rail,
	void (*print)(void *context, const char *line), void *context)
{
	char line[LINE_SIZE] = "";
	unsigned int others = 0;

	text_append(line, sizeof(line), "%s is left out: ", rail->name);
	for (unsigned int i = 0; i < coordinator->list->count; i++) {
		const char *reason = coordinator_reason(coordinator, i, rail, MESH_FROM);

		if (coordinator->hosts[i].state != MESH_HOST_READY || !reason ||
			++others > NAMES_MAX)
			continue;
		text_append(line, sizeof(line), "%s%.64s: %.*s", others > 1 ? "; " : "",
			coordinator->list->names[i], cause_length(reason), reason);
	}
	if (others > NAMES_MAX)
		text_append(line, sizeof(line), "; and %u more hosts", others - NAMES_MAX);
	print(context, line);
}

void rails_print_left_out(const struct rails *rails, const struct coordinator *coordinator,
	void (*print)(void *context, const char *line), void *context)
{
	struct names names;

	if (!device_list_is_all(coordinator->options->device))
		return;
	find_names(coordinator, &names);
	for (unsigned int i = 0; i < names.count; i++) {
		const struct mesh_rail rail = make_rail(&names, i, i);

		if (!is_rail(rails, rail.name) && !is_common(coordinator, &rail))
			print_left_out(coordinator, &rail, print, context);
	}
}

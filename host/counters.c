/*
 * Port counters: reads, compares, formats, encodes and decodes them. The caller owns each list,
 * which has a fixed size and is sorted by name. host/counter-table.c classifies the counters.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-document.h"
#include "base/text.h"
#include "host/counters.h"
#include "host/sysfs.h"

/* " 18446744073709551615\n" with its terminator. */
#define VALUE_SIZE 24

/*
 * Copies a name of this length. Returns false if it is not valid. The name must be followed by a
 * space or a terminator.
 */
static bool copy_name(char to[COUNTER_NAME_SIZE], const char *name, size_t length)
{
	static const char characters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

	if (length < 1 || length >= COUNTER_NAME_SIZE || strspn(name, characters) != length)
		return false;
	memcpy(to, name, length);
	to[length] = '\0';
	return true;
}

static int compare_names(const void *one, const void *other)
{
	return strcmp(((const struct counter *)one)->name, ((const struct counter *)other)->name);
}

static void sort(struct counters *counters)
{
	qsort(counters->list, counters->count, sizeof(counters->list[0]), compare_names);
}

static bool is_fault(const char *name)
{
	return counter_class(name) != COUNTER_OTHER;
}

/*
 * Adds the counter in a file, unless the list is full, the name is invalid or already listed, or
 * the file does not contain a number.
 */
static void read_counter(
	const char *root, const char *folder, const char *file, struct counters *counters)
{
	struct counter *next = &counters->list[counters->count];
	size_t length = strlen(file);
	char name[COUNTER_NAME_SIZE];
	uint64_t value;

	if (strcmp(file, "lifespan") == 0 || length >= sizeof(name))
		return;
	memcpy(name, file, length + 1);
	for (char *blank = name; (blank = strchr(blank, ' '));)
		*blank = '_';
	if (counters->count == COUNTERS_MAX || !copy_name(next->name, name, length) ||
		lfind(next, counters->list, &counters->count, sizeof(*next), compare_names) ||
		sysfs_number(root, &value, "%s/%s", folder, file))
		return;
	next->value = value;
	counters->count++;
}

static void read_folder(const char *root, const char *folder, struct counters *counters)
{
	struct dirent **entries;
	int count = sysfs_list(root, &entries, "%s", folder);

	for (int i = 0; i < count; i++)
		read_counter(root, folder, entries[i]->d_name, counters);
	sysfs_free(entries, count);
}

int counters_read(
	const char *root, const char *device, unsigned int port, struct counters *counters)
{
	/* If two counters have the same name, the first is used: the driver's own. */
	static const char *const folders[] = {"hw_counters", "counters"};
	char folder[512];
	struct dirent **entries;
	int count;

	memset(counters, 0, sizeof(*counters));
	if (!sysfs_is_name(device) || strlen(device) > 255)
		return -ENODEV;
	count = sysfs_list(root, &entries, "/sys/class/infiniband/%s/ports/%u", device, port);
	sysfs_free(entries, count);
	if (count < 0)
		return -ENODEV;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(folder, sizeof(folder), "/sys/class/infiniband/%s/ports/%u/%s", device,
			port, folders[i]);
		read_folder(root, folder, counters);
	}
	snprintf(folder, sizeof(folder), "/sys/class/infiniband/%s/hw_counters", device);
	read_folder(root, folder, counters);
	sort(counters);
	return 0;
}

void counters_add(struct counters *counters, const char *name, uint64_t value)
{
	struct counter *counter = &counters->list[counters->count];

	if (counters->count == COUNTERS_MAX || strlen(name) >= sizeof(counter->name))
		return;
	strcpy(counter->name, name);
	counter->value = value;
	counters->count++;
	qsort(counters->list, counters->count, sizeof(counters->list[0]), compare_names);
}

void counters_difference(
	const struct counters *before, const struct counters *after, struct counters *difference)
{
	struct counters result = {0};

	for (size_t i = 0; i < after->count; i++) {
		const struct counter *now = &after->list[i];
		const struct counter *then =
			bsearch(now, before->list, before->count, sizeof(*now), compare_names);

		if (!then)
			continue;
		result.list[result.count] = *now;
		if (now->value >= then->value)
			result.list[result.count].value -= then->value;
		result.count++;
	}
	*difference = result;
}

/* Finds the first of these counters. Returns false if there is none. */
static bool find(const struct counters *counters, const char *const *names, uint64_t *value)
{
	for (; *names; names++)
		for (size_t i = 0; i < counters->count; i++)
			if (strcmp(counters->list[i].name, *names) == 0) {
				*value = counters->list[i].value;
				return true;
			}
	return false;
}

bool counters_packets(const struct counters *counters, uint64_t *sent, uint64_t *received)
{
	static const char *const sent_names[] = {"sent_pkts", "port_xmit_packets", NULL};
	static const char *const received_names[] = {"rcvd_pkts", "port_rcv_packets", NULL};

	return find(counters, sent_names, sent) && find(counters, received_names, received);
}

/* Sums the counters of a class, saturating at UINT64_MAX. Returns false if there are none. */
static bool add_up(const struct counters *counters, enum counter_class class, uint64_t *total)
{
	bool found = false;

	*total = 0;
	for (size_t i = 0; i < counters->count; i++) {
		if (counter_class(counters->list[i].name) != class)
			continue;
		found = true;
		if (__builtin_add_overflow(*total, counters->list[i].value, total))
			*total = UINT64_MAX;
	}
	return found;
}

uint64_t counters_total(const struct counters *difference, enum counter_class class)
{
	uint64_t total;

	add_up(difference, class, &total);
	return total;
}

static uint64_t total_if(const struct counters *counters, bool (*matches)(const char *name))
{
	uint64_t total = 0;

	for (size_t i = 0; i < counters->count; i++)
		if (matches(counters->list[i].name) &&
			__builtin_add_overflow(total, counters->list[i].value, &total))
			return UINT64_MAX;
	return total;
}

uint64_t counters_missed_by_peer(const struct counters *difference)
{
	return total_if(difference, counter_is_nak);
}

static bool is_missing(const char *name)
{
	return counter_class(name) == COUNTER_OUT_OF_ORDER && !counter_is_reordering(name);
}

uint64_t counters_missing(const struct counters *difference)
{
	return total_if(difference, is_missing);
}

uint64_t counters_reordered(const struct counters *difference)
{
	return total_if(difference, counter_is_reordering);
}

bool counters_include_faults(const struct counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		if (is_fault(counters->list[i].name))
			return true;
	return false;
}

void counters_describe(const struct counters *difference, char *text, size_t size)
{
	*text = '\0';
	for (size_t i = 0; i < difference->count; i++) {
		const struct counter *counter = &difference->list[i];

		if (counter->value > 0 && is_fault(counter->name))
			text_append(text, size, "%s%s %" PRIu64, *text ? ", " : "", counter->name,
				counter->value);
	}
	if (*text == '\0')
		text_append(text, size, "%s",
			counters_include_faults(difference) ? "no errors" : "no error counters");
}

/* JSON keys of the classes. */
static const char *const class_keys[COUNTER_OTHER] = {
	[COUNTER_RETRANSMISSION] = "retransmissions",
	[COUNTER_DUPLICATE] = "duplicates",
	[COUNTER_OUT_OF_ORDER] = "out_of_order",
	[COUNTER_RNR] = "receiver_not_ready",
	[COUNTER_CONGESTION] = "congestion",
	[COUNTER_LINK] = "link_errors",
	[COUNTER_ERROR] = "request_errors",
};

struct json_object *counters_json(const struct counters *difference)
{
	struct json_object *object = json_object_new_object(), *all = json_object_new_object();

	for (size_t i = 0; i < difference->count; i++)
		document_add_number(all, difference->list[i].name, difference->list[i].value);
	document_add(object, "all", all);
	for (enum counter_class class = 0; class < COUNTER_OTHER; class ++) {
		uint64_t total;
		bool known = add_up(difference, class, &total);

		document_add_number_if(object, class_keys[class], known, total);
	}
	return document_filled(object);
}

static void add_end(struct json_object *object, const char *key, const struct counters *counters)
{
	if (counters)
		document_add(object, key, counters_json(counters));
	else
		document_add_null(object, key);
}

struct json_object *counters_of_both_json(const struct counters *here, const struct counters *there)
{
	struct json_object *object = json_object_new_object();

	add_end(object, "here", here);
	add_end(object, "there", there);
	return document_filled(object);
}

/* Appends either the fault counters or the others, as many as fit. Returns the new length. */
static size_t encode_some(
	const struct counters *counters, bool faults, char *text, size_t used, size_t size)
{
	char line[COUNTER_NAME_SIZE + VALUE_SIZE];

	for (size_t i = 0; i < counters->count; i++) {
		const struct counter *counter = &counters->list[i];
		size_t length;

		if (is_fault(counter->name) != faults)
			continue;
		length = (size_t)snprintf(
			line, sizeof(line), "%s %" PRIu64 "\n", counter->name, counter->value);
		if (length > size - used)
			continue;
		memcpy(text + used, line, length);
		used += length;
	}
	return used;
}

size_t counters_encode(const struct counters *counters, char *text, size_t size)
{
	return encode_some(counters, false, text, encode_some(counters, true, text, 0, size), size);
}

/*
 * Adds the counter from one line, given without its newline. Returns false if the line is
 * malformed, the counter is already listed, or the list is full.
 */
static bool decode_line(const char *line, size_t length, struct counters *counters)
{
	const char *blank = memchr(line, ' ', length);
	struct counter counter = {0};

	if (!blank || counters->count == COUNTERS_MAX ||
		!copy_name(counter.name, line, (size_t)(blank - line)) ||
		!sysfs_decimal(blank + 1, length - (size_t)(blank + 1 - line), &counter.value) ||
		lfind(&counter, counters->list, &counters->count, sizeof(counter), compare_names))
		return false;
	counters->list[counters->count++] = counter;
	return true;
}

static bool decode_lines(const char *text, size_t length, struct counters *counters)
{
	const char *end = text + length, *line_end;

	for (const char *line = text; line < end; line = line_end + 1) {
		line_end = memchr(line, '\n', (size_t)(end - line));
		if (!line_end || !decode_line(line, (size_t)(line_end - line), counters))
			return false;
	}
	return true;
}

int counters_decode(const char *text, size_t length, struct counters *counters)
{
	memset(counters, 0, sizeof(*counters));
	if (length <= COUNTERS_TEXT_MAX && decode_lines(text, length, counters)) {
		sort(counters);
		return 0;
	}
	memset(counters, 0, sizeof(*counters));
	return -EBADMSG;
}

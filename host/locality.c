/* Reads the node of a device from sysfs and places threads and memory there. No state is kept. */
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "host/locality.h"
#include "host/sysfs.h"

/* Long enough for a list of every second processor. */
#define LIST_MAX 8192

#define NODES_MAX 1024
#define LONG_BITS (8 * sizeof(unsigned long))

/* Parses "7" or "0-7". Returns false for other text. */
static bool parse_range(const char *text, size_t length, uint64_t *first, uint64_t *last)
{
	const char *hyphen = memchr(text, '-', length);
	size_t left = hyphen ? (size_t)(hyphen - text) : length;

	if (!sysfs_decimal(text, left, first))
		return false;
	*last = *first;
	return (!hyphen || sysfs_decimal(hyphen + 1, length - left - 1, last)) && *first <= *last;
}

/* Parses a list such as "0-7,16-23". Processors that do not fit into a set are left out. */
static bool parse_list(const char *text, cpu_set_t *processors)
{
	uint64_t first, last;

	CPU_ZERO(processors);
	for (size_t length; *text; text += length + (text[length] == ',')) {
		length = strcspn(text, ",");
		if (!parse_range(text, length, &first, &last))
			return false;
		for (; first <= last && first < CPU_SETSIZE; first++)
			CPU_SET(first, processors);
	}
	return true;
}

/* Returns the device's NUMA node; -1 if it has none. */
static int find_node(const char *root, const char *device)
{
	uint64_t node;

	return sysfs_number(root, &node, "/sys/class/infiniband/%s/device/numa_node", device) ||
			       node >= NODES_MAX
		       ? -1
		       : (int)node;
}

void locality_find(const char *root, const char *device, struct locality *locality)
{
	cpu_set_t all, close;
	char list[LIST_MAX];

	*locality = (struct locality){.node = find_node(root, device)};
	if (locality->node < 0 ||
		sysfs_line(root, list, sizeof(list),
			"/sys/class/infiniband/%s/device/local_cpulist", device) ||
		!parse_list(list, &close) || sched_getaffinity(0, sizeof(all), &all))
		return;
	CPU_AND(&locality->processors, &close, &all);
	locality->restricted =
		CPU_COUNT(&locality->processors) > 0 && !CPU_EQUAL(&locality->processors, &all);
}

/* Direct system calls: libnuma would be a dependency for two of them. */
void locality_place(const struct locality *locality, void *start, size_t size)
{
	unsigned long nodes[NODES_MAX / LONG_BITS] = {0};
	int policy;

	if (!locality->restricted || syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0) ||
		policy != MPOL_DEFAULT)
		return;
	nodes[(size_t)locality->node / LONG_BITS] = 1UL << (size_t)locality->node % LONG_BITS;
	syscall(SYS_mbind, start, size, MPOL_PREFERRED, nodes, NODES_MAX + 1, 0);
}

void locality_text(const struct locality *locality, char *text, size_t size)
{
	const cpu_set_t *set = locality_processors(locality);

	*text = '\0';
	for (size_t first = 0, end; set && first < CPU_SETSIZE; first = end + 1) {
		for (end = first; end < CPU_SETSIZE && CPU_ISSET(end, set);)
			end++;
		if (end > first)
			text_append(text, size, "%s%zu", *text ? "," : "", first);
		if (end > first + 1)
			text_append(text, size, "-%zu", end - 1);
	}
}

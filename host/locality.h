/*
 * Which processors and which memory are close to a device: those of its NUMA node. A thread on
 * another node reaches the device, and the memory that the device writes, more slowly.
 */
#ifndef HOST_LOCALITY_H
#define HOST_LOCALITY_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

struct locality {
	int node;             /* NUMA node of the device; -1: unknown */
	bool restricted;      /* not all processors of this process are on the device's node */
	cpu_set_t processors; /* those that are, if restricted */
};

/*
 * Finds the processors of the device's node that the calling thread may use. If there are none, if
 * it may use no others, or if the node is unknown, as for software devices, nothing is restricted.
 * root: see host/sysfs.h. Any thread. sched_getaffinity(2).
 */
void locality_find(const char *root, const char *device, struct locality *locality);

/* Returns the processors if they are restricted, otherwise NULL. */
static inline const cpu_set_t *locality_processors(const struct locality *locality)
{
	return locality->restricted ? &locality->processors : NULL;
}

/*
 * Restricts the calling thread to these processors; NULL: does nothing. A failure only costs speed
 * and is ignored. sched_setaffinity(2).
 */
static inline void locality_bind(const cpu_set_t *processors)
{
	if (processors)
		pthread_setaffinity_np(pthread_self(), sizeof(*processors), processors);
}

/* Returns the next processor of the set after this one, cyclically; the set is not empty. */
static inline int locality_next(const cpu_set_t *processors, int after)
{
	do
		after = (after + 1) % CPU_SETSIZE;
	while (!CPU_ISSET((unsigned int)after, processors));
	return after;
}

/*
 * Asks the kernel to place new pages of this memory on the device's node, if processors are
 * restricted and the process has no memory policy of its own (numactl(8)). Failures are ignored.
 * mbind(2).
 */
void locality_place(const struct locality *locality, void *start, size_t size);

/* Formats the processors like the kernel: "0-7,16-23"; "" if they are not restricted. */
void locality_text(const struct locality *locality, char *text, size_t size);

#endif

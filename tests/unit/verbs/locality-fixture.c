/*
 * Records where threads and memory are placed. The lock guards all of it, because every thread
 * binds itself.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/verbs/locality-fixture.h"

#define NODE       1
#define THREADS    64
#define PLACEMENTS 64

static struct {
	pthread_mutex_t lock;
	bool started;
	int processor;
	struct {
		pid_t id;
		cpu_set_t processors;
	} threads[THREADS]; /* the last call of each thread */
	struct {
		const void *start;
		size_t size;
	} placements[PLACEMENTS];
	size_t thread_count, placement_count;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER, .processor = -1};

/* cmocka's assertions work only on the test's own thread. */
static void expect(bool condition)
{
	if (!condition)
		abort();
}

void locality_fixture_start(void)
{
	pthread_mutex_lock(&host.lock);
	host.started = true;
	host.thread_count = host.placement_count = 0;
	pthread_mutex_unlock(&host.lock);
}

void locality_fixture_stop(void)
{
	pthread_mutex_lock(&host.lock);
	host.started = false;
	pthread_mutex_unlock(&host.lock);
}

static cpu_set_t range(unsigned int first, unsigned int end)
{
	cpu_set_t processors;

	CPU_ZERO(&processors);
	for (; first < end; first++)
		CPU_SET(first, &processors);
	return processors;
}

struct locality locality_fixture_node(void)
{
	return (struct locality){
		.node = NODE,
		.restricted = true,
		.processors = range(LOCALITY_PROCESSORS / 2, LOCALITY_PROCESSORS),
	};
}

void locality_fixture_run_on(int processor)
{
	host.processor = processor;
}

/* Returns the index of the thread, or that of the next one if it has not bound itself. */
static size_t find(pid_t id)
{
	size_t i = 0;

	while (i < host.thread_count && host.threads[i].id != id)
		i++;
	return i;
}

cpu_set_t locality_fixture_own(void)
{
	cpu_set_t processors = range(0, LOCALITY_PROCESSORS);
	size_t i;

	pthread_mutex_lock(&host.lock);
	i = find(gettid());
	if (i < host.thread_count)
		processors = host.threads[i].processors;
	pthread_mutex_unlock(&host.lock);
	return processors;
}

/* True if the thread exists and has this name. See proc(5). */
static bool has_name(pid_t id, const char *name)
{
	char path[64], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", id);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fgets(text, sizeof(text), file))
		text[strcspn(text, "\n")] = '\0';
	fclose(file);
	return strcmp(text, name) == 0;
}

bool locality_fixture_binds(const char *name)
{
	const struct locality node = locality_fixture_node();
	bool binds = false;

	pthread_mutex_lock(&host.lock);
	for (size_t i = 0; i < host.thread_count; i++)
		if (has_name(host.threads[i].id, name))
			binds = CPU_EQUAL(&host.threads[i].processors, &node.processors);
	pthread_mutex_unlock(&host.lock);
	return binds;
}

bool locality_fixture_places(const void *start, size_t size)
{
	bool places = false;

	pthread_mutex_lock(&host.lock);
	for (size_t i = 0; i < host.placement_count; i++)
		places |= host.placements[i].start == start && host.placements[i].size == size;
	pthread_mutex_unlock(&host.lock);
	return places;
}

static void record_thread(pid_t id, const cpu_set_t *processors)
{
	size_t i = find(id);

	expect(i < THREADS);
	if (i == host.thread_count)
		host.thread_count++;
	host.threads[i].id = id;
	host.threads[i].processors = *processors;
}

int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *processors)
{
	expect(pthread_equal(thread, pthread_self()) && size == sizeof(*processors));
	pthread_mutex_lock(&host.lock);
	if (host.started)
		record_thread(gettid(), processors);
	pthread_mutex_unlock(&host.lock);
	return 0;
}

int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *processors)
{
	expect(pthread_equal(thread, pthread_self()) && size == sizeof(*processors));
	*processors = locality_fixture_own();
	return 0;
}

int sched_getcpu(void)
{
	errno = ENOSYS; /* if -1 */
	return host.processor;
}

/* Of host/locality.c. */

void locality_find(const char *root, const char *device, struct locality *locality)
{
	(void)root, (void)device;
	*locality = host.started ? locality_fixture_node() : (struct locality){.node = -1};
}

void locality_place(const struct locality *locality, void *start, size_t size)
{
	pthread_mutex_lock(&host.lock);
	if (host.started && locality->restricted && locality->node == NODE) {
		expect(host.placement_count < PLACEMENTS);
		host.placements[host.placement_count].start = start;
		host.placements[host.placement_count++].size = size;
	}
	pthread_mutex_unlock(&host.lock);
}

void locality_text(const struct locality *locality, char *text, size_t size)
{
	(void)locality;
	if (size > 0)
		*text = '\0';
}

/* The counters of the memory budget, protected by a mutex: they change once or twice a client. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "base/deadline.h"
#include "host/memory-budget.h"

/* What is available is read again after this time, in milliseconds. */
#define FRESH_MS 100

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct memory_budget budget = {.size = UINT64_MAX};
static struct control_group group;
static uint64_t unfilled; /* taken, but not yet allocated */
static int64_t spare;    /* of the share of what is available; negative if other programs took it */
static deadline_t stale; /* when to read again */

/* The share of this process in what would be available without it. */
static uint64_t share(bool chosen, uint64_t available)
{
	return chosen ? available / 8 * 7 : available / 2;
}

/* Reads what is available. The mutex is locked. */
static void refresh(struct available_memory *available)
{
	uint64_t filled = budget.used - unfilled;

	available_memory_read("", &group, available);
	spare = available->bytes == UINT64_MAX
			? INT64_MAX / 2
			: (int64_t)(share(budget.chosen, available->bytes + filled) - budget.used);
	stale = deadline_in(FRESH_MS);
}

void memory_budget_start(uint64_t wanted)
{
	pthread_mutex_lock(&mutex);
	control_group_find("", "memory", &group);
	budget.chosen = wanted > 0;
	refresh(&budget.available);
	budget.size = wanted ? wanted : memory_budget_share(&budget);
	pthread_mutex_unlock(&mutex);
}

void memory_budget_read(struct memory_budget *copy)
{
	pthread_mutex_lock(&mutex);
	*copy = budget;
	pthread_mutex_unlock(&mutex);
}

uint64_t memory_budget_share(const struct memory_budget *shown)
{
	uint64_t available = shown->available.bytes;

	return available == UINT64_MAX ? UINT64_MAX : share(shown->chosen, available);
}

void memory_budget_text(const struct memory_budget *shown, char text[MEMORY_BUDGET_TEXT])
{
	const struct available_memory *available = &shown->available;
	char size[UNITS_TEXT], there[UNITS_TEXT];

	units_format(size, shown->size);
	units_format(there, available->bytes);
	if (shown->size == UINT64_MAX)
		snprintf(text, MEMORY_BUDGET_TEXT, "any amount: what is available is unknown");
	else if (shown->chosen)
		snprintf(text, MEMORY_BUDGET_TEXT, "%s (--memory; %s has %s available)", size,
			available->source, there);
	else
		snprintf(text, MEMORY_BUDGET_TEXT, "%s, half of what %s has available", size,
			available->source);
}

const char *memory_budget_used(char text[MEMORY_BUDGET_USED])
{
	char used[UNITS_TEXT], size[UNITS_TEXT];
	struct memory_budget now;

	memory_budget_read(&now);
	snprintf(text, MEMORY_BUDGET_USED, "%s of %s", units_format(used, now.used),
		now.size == UINT64_MAX ? "any amount" : units_format(size, now.size));
	return text;
}

/* The mutex is locked. */
static uint64_t left(void)
{
	uint64_t by_size = budget.size > budget.used ? budget.size - budget.used : 0;
	struct available_memory now;

	if (budget.size == UINT64_MAX)
		return UINT64_MAX;
	if (deadline_left(stale) == 0)
		refresh(&now);
	if (spare <= 0)
		return 0;
	return by_size < (uint64_t)spare ? by_size : (uint64_t)spare;
}

uint64_t memory_budget_left(void)
{
	uint64_t bytes;

	pthread_mutex_lock(&mutex);
	bytes = left();
	pthread_mutex_unlock(&mutex);
	return bytes;
}

int memory_budget_take(uint64_t bytes, struct failure *failure)
{
	char whole[MEMORY_BUDGET_TEXT];
	uint64_t most;

	pthread_mutex_lock(&mutex);
	most = left();
	if (bytes <= most) {
		budget.used += bytes;
		unfilled += bytes;
		spare -= (int64_t)bytes;
	}
	pthread_mutex_unlock(&mutex);
	if (bytes <= most)
		return 0;
	memory_budget_text(&budget, whole);
	return failure_set(failure, FAILURE_LIMIT, PHASE_ALLOCATION, LIMIT_MEMORY, "memory budget",
		"needed %" PRIu64 " KiB more, and %" PRIu64 " KiB are left of %s", bytes / 1024,
		most / 1024, whole);
}

void memory_budget_filled(uint64_t bytes)
{
	pthread_mutex_lock(&mutex);
	unfilled -= bytes;
	pthread_mutex_unlock(&mutex);
}

void memory_budget_return(uint64_t bytes, uint64_t filled)
{
	pthread_mutex_lock(&mutex);
	budget.used -= bytes;
	unfilled -= bytes - filled;
	spare += (int64_t)bytes;
	pthread_mutex_unlock(&mutex);
}

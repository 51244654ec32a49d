/* See verbs/opened-devices.h. The table belongs to all threads, under its lock. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/deadline.h"
#include "verbs/opened-devices.h"

/* Looking for new devices takes longer than all the rest of a connection, in milliseconds. */
#define LOOK_MS 1000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ibv_context *devices[OPENED_DEVICES_MAX];

/* A device that was removed answers no longer: another may have its name now. */
static bool answers(struct ibv_context *context)
{
	struct ibv_device_attr attributes;

	return ibv_query_device(context, &attributes) == 0;
}

/*
 * Returns the place of the named device, or of one that is not open yet; NULL if all are used. The
 * place of a device that was removed is never used again, as others may use its context.
 */
static struct ibv_context **place_of(const char *name)
{
	for (size_t i = 0; i < OPENED_DEVICES_MAX; i++)
		if (!devices[i] || (strcmp(ibv_get_device_name(devices[i]->device), name) == 0 &&
					   answers(devices[i])))
			return &devices[i];
	return NULL;
}

/* Opens what has appeared since the last look, with the lock held. */
static void look(void)
{
	static deadline_t next_look;
	struct ibv_device **list;
	struct ibv_context **place;

	if (deadline_left(next_look) > 0)
		return;
	list = ibv_get_device_list(NULL);
	for (int i = 0; list && list[i]; i++) {
		place = place_of(ibv_get_device_name(list[i]));
		if (place && !*place)
			*place = ibv_open_device(list[i]);
	}
	if (list)
		ibv_free_device_list(list);
	next_look = deadline_in(LOOK_MS);
}

void opened_devices_look(void)
{
	pthread_mutex_lock(&lock);
	look();
	pthread_mutex_unlock(&lock);
}

size_t opened_devices(const char *name, struct ibv_context *contexts[OPENED_DEVICES_MAX])
{
	size_t count = 0;

	pthread_mutex_lock(&lock);
	look();
	for (size_t i = 0; i < OPENED_DEVICES_MAX && devices[i]; i++)
		if ((!name || strcmp(ibv_get_device_name(devices[i]->device), name) == 0) &&
			answers(devices[i]))
			contexts[count++] = devices[i];
	pthread_mutex_unlock(&lock);
	return count;
}

struct ibv_context *opened_device(const char *name)
{
	struct ibv_context *context = NULL;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < OPENED_DEVICES_MAX && devices[i] && !context; i++)
		if (strcmp(ibv_get_device_name(devices[i]->device), name) == 0 &&
			answers(devices[i]))
			context = devices[i];
	pthread_mutex_unlock(&lock);
	return context;
}

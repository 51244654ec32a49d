/* See verbs/opened-devices.h. The table belongs to all threads, under its lock. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "verbs/opened-devices.h"

/* More devices than a host has. */
#define DEVICES_MAX 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ibv_context *devices[DEVICES_MAX];

/* A device that was removed answers no longer: another may have its name now. */
static bool answers(struct ibv_context *context)
{
	struct ibv_device_attr attributes;

	return ibv_query_device(context, &attributes) == 0;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	errno = ENODEV;
	for (int i = 0; list && list[i] && !context; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

/* Returns the place of the named device, or of one that is not open yet; NULL if all are used. */
static struct ibv_context **place_of(const char *name)
{
	for (size_t i = 0; i < DEVICES_MAX; i++)
		if (!devices[i] || (strcmp(ibv_get_device_name(devices[i]->device), name) == 0 &&
					   answers(devices[i])))
			return &devices[i];
	return NULL;
}

struct ibv_context *opened_device(const char *name, struct failure *failure)
{
	struct ibv_context **place, *context = NULL;

	pthread_mutex_lock(&lock);
	place = place_of(name);
	if (!place)
		errno = ENOSPC;
	else if (!*place)
		*place = open_device(name);
	if (place)
		context = *place;
	pthread_mutex_unlock(&lock);
	if (!context)
		failure_set(failure, FAILURE_ERRNO, PHASE_OPEN, errno, "ibv_open_device", "%s: %s",
			name, strerror(errno));
	return context;
}

/* See verbs/opened-devices.h. The table belongs to all threads, under its lock. */
#include <pthread.h>
#include <string.h>

#include "base/deadline.h"
#include "verbs/device-events.h"
#include "verbs/opened-devices.h"

/* Looking for new devices takes longer than all the rest of a connection, in milliseconds. */
#define LOOK_MS 1000

/* How long a device stays open that nothing uses, in milliseconds. */
#define UNUSED_MS 1000

struct opened {
	struct ibv_context *context; /* NULL: a free place */
	unsigned int users;
	deadline_t close; /* when it may be closed, if it has no users */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct opened devices[OPENED_DEVICES_MAX];
static deadline_t next_look;

/* True if it is the named device; NULL: any. */
static bool is_named(struct ibv_context *context, const char *name)
{
	return !name || strcmp(ibv_get_device_name(context->device), name) == 0;
}

/* A device that was removed answers no longer: another may have its name now. */
static bool answers(struct ibv_context *context)
{
	struct ibv_device_attr attributes;

	return ibv_query_device(context, &attributes) == 0;
}

/* Returns the place of the named device, or NULL if it is not open. */
static struct opened *find(const char *name)
{
	for (size_t i = 0; i < OPENED_DEVICES_MAX; i++)
		if (devices[i].context && is_named(devices[i].context, name) &&
			answers(devices[i].context))
			return &devices[i];
	return NULL;
}

static struct opened *place_of(const struct ibv_context *context)
{
	size_t i = 0;

	while (i < OPENED_DEVICES_MAX - 1 && devices[i].context != context)
		i++;
	return &devices[i];
}

static void open_device(struct ibv_device *device)
{
	struct opened *place = place_of(NULL);

	if (!place->context && !find(ibv_get_device_name(device)))
		*place = (struct opened){
			.context = ibv_open_device(device), .close = deadline_in(UNUSED_MS)};
}

/* Opens the named device, or all, with the lock held. */
static void open_devices(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!name || strcmp(ibv_get_device_name(list[i]), name) == 0)
			open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
}

/* Opens what has appeared since the last look, with the lock held. */
static void look(const char *name)
{
	if (deadline_left(next_look) > 0)
		return;
	open_devices(name);
	next_look = deadline_in(LOOK_MS);
}

size_t opened_devices(const char *name, struct ibv_context *contexts[OPENED_DEVICES_MAX])
{
	size_t count = 0;

	pthread_mutex_lock(&lock);
	look(name);
	for (size_t i = 0; i < OPENED_DEVICES_MAX; i++) {
		struct ibv_context *context = devices[i].context;

		if (context && is_named(context, name) && answers(context))
			contexts[count++] = context;
	}
	pthread_mutex_unlock(&lock);
	return count;
}

struct ibv_context *opened_device(const char *name)
{
	const struct opened *place;

	pthread_mutex_lock(&lock);
	place = find(name);
	pthread_mutex_unlock(&lock);
	return place ? place->context : NULL;
}

struct ibv_context *opened_device_use(const char *name)
{
	struct opened *place;

	pthread_mutex_lock(&lock);
	place = find(name);
	if (!place) {
		open_devices(name);
		place = find(name);
	}
	if (place)
		place->users++;
	pthread_mutex_unlock(&lock);
	return place ? place->context : NULL;
}

void opened_device_keep(const struct ibv_context *context)
{
	pthread_mutex_lock(&lock);
	place_of(context)->users++;
	pthread_mutex_unlock(&lock);
}

void opened_device_release(const struct ibv_context *context)
{
	struct opened *place;

	pthread_mutex_lock(&lock);
	place = place_of(context);
	if (--place->users == 0)
		place->close = deadline_in(UNUSED_MS);
	pthread_mutex_unlock(&lock);
}

bool opened_devices_close_unused(void)
{
	bool others = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < OPENED_DEVICES_MAX; i++) {
		struct opened *place = &devices[i];

		if (!place->context)
			continue;
		if (place->users > 0 || deadline_left(place->close) > 0) {
			others = true;
			continue;
		}
		device_events_unwatch(place->context);
		ibv_close_device(place->context);
		place->context = NULL;
		next_look = 0;
	}
	pthread_mutex_unlock(&lock);
	return others;
}

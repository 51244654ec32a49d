/*
 * Reads asynchronous events on one thread, which is started with the first device and runs until
 * the process exits. One lock guards everything. Each event is acknowledged at once: destroying an
 * object waits for that.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "verbs/device-events.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Maximum number of devices watched; events of further devices are not read. */
#define DEVICES_MAX 256

/* Maximum number of pairs of a port and a type that are counted. */
#define TOTALS_MAX 256

/* What an event concerns. */
enum subject {
	SUBJECT_DEVICE,
	SUBJECT_PORT,
	SUBJECT_QUEUE, /* a queue pair, completion queue or shared receive queue */
};

/* The events that are kept; others belong to normal operation. */
static const struct {
	enum ibv_event_type type;
	enum subject subject;
	const char *name, *counter;
} kinds[] = {
	{IBV_EVENT_PORT_ERR, SUBJECT_PORT, "port error", "event_port_error"},
	{IBV_EVENT_PORT_ACTIVE, SUBJECT_PORT, "port active", "event_port_active"},
	{IBV_EVENT_GID_CHANGE, SUBJECT_PORT, "address change", "event_gid_change"},
	{IBV_EVENT_LID_CHANGE, SUBJECT_PORT, "LID change", "event_lid_change"},
	{IBV_EVENT_PKEY_CHANGE, SUBJECT_PORT, "partition change", "event_pkey_change"},
	{IBV_EVENT_SM_CHANGE, SUBJECT_PORT, "subnet manager change", "event_sm_change"},
	{IBV_EVENT_CLIENT_REREGISTER, SUBJECT_PORT, "subnet manager restart",
		"event_client_reregister"},
	{IBV_EVENT_DEVICE_FATAL, SUBJECT_DEVICE, "device failure or removal", "event_device_fatal"},
	{IBV_EVENT_QP_FATAL, SUBJECT_QUEUE, "queue pair failure", "event_queue_pair_fatal"},
	{IBV_EVENT_QP_REQ_ERR, SUBJECT_QUEUE, "invalid request", "event_invalid_request"},
	{IBV_EVENT_QP_ACCESS_ERR, SUBJECT_QUEUE, "access violation", "event_access_violation"},
	{IBV_EVENT_CQ_ERR, SUBJECT_QUEUE, "completion queue error", "event_completion_queue_error"},
	{IBV_EVENT_SRQ_ERR, SUBJECT_QUEUE, "shared receive queue error",
		"event_shared_receive_queue_error"},
	{IBV_EVENT_SRQ_LIMIT_REACHED, SUBJECT_QUEUE, "shared receive queue limit",
		"event_shared_receive_queue_limit"},
};

struct total {
	char device[IBV_SYSFS_NAME_MAX];
	unsigned int port;
	size_t kind;
	uint64_t count;
};

static struct {
	pthread_mutex_t lock;
	bool started;
	int changed; /* eventfd: a device was added */
	struct ibv_context *devices[DEVICES_MAX];
	unsigned int device_count;
	struct device_event kept[DEVICE_EVENTS_KEPT]; /* a ring */
	uint64_t events;                              /* read so far */
	struct total totals[TOTALS_MAX];
	size_t total_count;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = -1};

/* Returns the index in `kinds`, or COUNT(kinds) for an event that is not kept. */
static size_t kind_of(enum ibv_event_type type)
{
	size_t kind = 0;

	while (kind < COUNT(kinds) && kinds[kind].type != type)
		kind++;
	return kind;
}

const char *device_event_name(enum ibv_event_type type)
{
	size_t kind = kind_of(type);

	return kind < COUNT(kinds) ? kinds[kind].name : "event";
}

/* Counts the event. With the lock held. */
static void add_to_total(const struct device_event *event, size_t kind)
{
	struct total *total = state.totals, *end = state.totals + state.total_count;

	while (total < end && (total->kind != kind || total->port != event->port ||
				      strcmp(total->device, event->device) != 0))
		total++;
	if (total == end && state.total_count == TOTALS_MAX)
		return;
	if (total == end) {
		state.total_count++;
		*total = (struct total){.port = event->port, .kind = kind};
		memcpy(total->device, event->device, sizeof(total->device));
	}
	total->count++;
}

bool device_event_decode(const struct ibv_context *verbs, const struct ibv_async_event *read,
	struct device_event *event)
{
	size_t kind = kind_of(read->event_type);

	if (kind == COUNT(kinds))
		return false;
	*event = (struct device_event){.type = read->event_type, .time = deadline_now()};
	snprintf(event->device, sizeof(event->device), "%s", ibv_get_device_name(verbs->device));
	if (kinds[kind].subject == SUBJECT_PORT)
		event->port = (unsigned int)read->element.port_num;
	return true;
}

static void keep(const struct ibv_context *verbs, const struct ibv_async_event *read)
{
	struct device_event event;

	if (!device_event_decode(verbs, read, &event))
		return;
	pthread_mutex_lock(&state.lock);
	state.kept[state.events++ % DEVICE_EVENTS_KEPT] = event;
	add_to_total(&event, kind_of(event.type));
	pthread_mutex_unlock(&state.lock);
}

/* Reads all pending events. Returns false if the device no longer has any: it was removed. */
static bool read_all(struct ibv_context *verbs)
{
	struct ibv_async_event event;

	while (ibv_get_async_event(verbs, &event) == 0) {
		keep(verbs, &event);
		ibv_ack_async_event(&event);
	}
	return errno == EAGAIN || errno == EINTR;
}

static void forget(const struct ibv_context *verbs)
{
	pthread_mutex_lock(&state.lock);
	for (unsigned int i = 0; i < state.device_count; i++)
		if (state.devices[i] == verbs) {
			state.devices[i] = state.devices[--state.device_count];
			break;
		}
	pthread_mutex_unlock(&state.lock);
}

static void *read_events(void *argument)
{
	static struct pollfd waiting[DEVICES_MAX + 1];
	static struct ibv_context *devices[DEVICES_MAX];
	unsigned int count;
	eventfd_t ignored;

	for (;;) {
		pthread_mutex_lock(&state.lock);
		count = state.device_count;
		memcpy(devices, state.devices, count * sizeof(struct ibv_context *));
		pthread_mutex_unlock(&state.lock);
		waiting[0] = (struct pollfd){.fd = state.changed, .events = POLLIN};
		for (unsigned int i = 0; i < count; i++)
			waiting[i + 1] =
				(struct pollfd){.fd = devices[i]->async_fd, .events = POLLIN};
		if (poll(waiting, count + 1, -1) < 0)
			continue; /* EINTR */
		if (waiting[0].revents)
			eventfd_read(state.changed, &ignored);
		for (unsigned int i = 0; i < count; i++)
			if (waiting[i + 1].revents && !read_all(devices[i]))
				forget(devices[i]);
	}
	return argument;
}

/* Starts the thread, once. With the lock held. */
static int start(void)
{
	pthread_t thread;
	int error;

	if (state.started)
		return 0;
	if (state.changed < 0)
		state.changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (state.changed < 0)
		return -errno;
	error = pthread_create(&thread, NULL, read_events, NULL);
	if (error)
		return -error;
	pthread_setname_np(thread, "device-events");
	pthread_detach(thread);
	state.started = true;
	return 0;
}

static bool is_watched(const struct ibv_context *verbs)
{
	for (unsigned int i = 0; i < state.device_count; i++)
		if (state.devices[i] == verbs)
			return true;
	return false;
}

int device_events_watch(struct ibv_context *verbs)
{
	int error = 0;

	pthread_mutex_lock(&state.lock);
	if (!is_watched(verbs) && state.device_count < DEVICES_MAX) {
		error = fcntl(verbs->async_fd, F_SETFL, O_NONBLOCK) ? -errno : start();
		if (!error) {
			state.devices[state.device_count++] = verbs;
			eventfd_write(state.changed, 1);
		}
	}
	pthread_mutex_unlock(&state.lock);
	return error;
}

bool device_events_next(uint64_t *position, struct device_event *event)
{
	bool found;

	pthread_mutex_lock(&state.lock);
	if (state.events > *position + DEVICE_EVENTS_KEPT)
		*position = state.events - DEVICE_EVENTS_KEPT;
	found = *position < state.events;
	if (found)
		*event = state.kept[(*position)++ % DEVICE_EVENTS_KEPT];
	pthread_mutex_unlock(&state.lock);
	return found;
}

void device_events_count(const char *device, unsigned int port, struct counters *counters)
{
	uint64_t counts[COUNT(kinds)] = {0};

	pthread_mutex_lock(&state.lock);
	for (size_t i = 0; i < state.total_count; i++) {
		const struct total *total = &state.totals[i];

		if (strcmp(total->device, device) == 0 && (!total->port || total->port == port))
			counts[total->kind] += total->count;
	}
	pthread_mutex_unlock(&state.lock);
	for (size_t kind = 0; kind < COUNT(kinds); kind++)
		if (kinds[kind].subject != SUBJECT_QUEUE || counts[kind] > 0)
			counters_add(counters, kinds[kind].counter, counts[kind]);
}

/* True if the event explains why a connection through this port failed. */
static bool explains(const struct device_event *event, const char *device, unsigned int port)
{
	return strcmp(event->device, device) == 0 && (!event->port || event->port == port) &&
	       event->type != IBV_EVENT_PORT_ACTIVE && event->type != IBV_EVENT_SRQ_LIMIT_REACHED;
}

bool device_events_describe(
	const char *device, unsigned int port, deadline_t since, char *text, size_t size)
{
	deadline_t now = deadline_now();
	struct device_event event;
	uint64_t position = 0;

	*text = '\0';
	while (device_events_next(&position, &event))
		if (event.time >= since && explains(&event, device, port))
			snprintf(text, size, "%s %.1f s ago", device_event_name(event.type),
				(double)(now - event.time) / 1000);
	return *text != '\0';
}

/*
 * Reads asynchronous events on one thread, which is started with the first device and runs until
 * the process exits. A thread that needs to know why a connection has failed reads those that are
 * still pending itself. Each event is acknowledged at once: destroying an object waits for that.
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
#include "verbs/shared-receives.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Maximum number of devices watched; events of further devices are not read. */
#define DEVICES_MAX 256

/* Pause after a poll(2) that failed, for example because of a lack of memory, in milliseconds. */
#define PAUSE_MS 1000

/* Maximum number of pairs of a port and a type that are counted. */
#define TOTALS_MAX 256

/* What an event concerns. */
enum subject {
	SUBJECT_DEVICE,
	SUBJECT_PORT,
	SUBJECT_QUEUE_PAIR,
	SUBJECT_OTHER_QUEUE, /* a completion queue or shared receive queue */
};

/* The events that are counted; others belong to normal operation. */
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
	{IBV_EVENT_QP_FATAL, SUBJECT_QUEUE_PAIR, "queue pair failure", "event_queue_pair_fatal"},
	{IBV_EVENT_QP_REQ_ERR, SUBJECT_QUEUE_PAIR, "invalid request", "event_invalid_request"},
	{IBV_EVENT_QP_ACCESS_ERR, SUBJECT_QUEUE_PAIR, "access violation", "event_access_violation"},
	{IBV_EVENT_CQ_ERR, SUBJECT_OTHER_QUEUE, "completion queue error",
		"event_completion_queue_error"},
	{IBV_EVENT_SRQ_ERR, SUBJECT_OTHER_QUEUE, "shared receive queue error",
		"event_shared_receive_queue_error"},
	{IBV_EVENT_SRQ_LIMIT_REACHED, SUBJECT_OTHER_QUEUE, "shared receive queue limit",
		"event_shared_receive_queue_limit"},
};

struct total {
	char device[IBV_SYSFS_NAME_MAX];
	unsigned int port;
	size_t kind;
	uint64_t count;
};

/* A device whose events are read. librdmacm may close a removed device at any time. */
struct watched {
	struct ibv_context *verbs;
	int fd; /* its async_fd */
};

/* The latest events. */
struct ring {
	struct device_event kept[DEVICE_EVENTS_KEPT];
	uint64_t count; /* events so far */
};

/*
 * Peers can cause any number of events of their queue pairs, which must not displace the others. So
 * each kind has its own ring. Events of other queues are only counted.
 */
static struct {
	pthread_mutex_t reading; /* held while events are read; taken before `lock` */
	pthread_mutex_t lock;    /* guards the fields below */
	bool started;
	int changed; /* eventfd: a device was added */
	struct watched devices[DEVICES_MAX];
	unsigned int device_count;
	struct ring ports;       /* events of ports and devices */
	struct ring queue_pairs; /* events of queue pairs */
	struct total totals[TOTALS_MAX];
	size_t total_count;
} state = {
	.reading = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = -1,
};

/* Returns the index in `kinds`, or COUNT(kinds) for an event that is not counted. */
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
	if (kinds[kind].subject == SUBJECT_QUEUE_PAIR)
		event->queue_pair = read->element.qp->qp_num;
	return true;
}

/* Returns the ring that keeps these events, NULL if none does. */
static struct ring *ring_of(enum subject subject)
{
	if (subject == SUBJECT_OTHER_QUEUE)
		return NULL;
	return subject == SUBJECT_QUEUE_PAIR ? &state.queue_pairs : &state.ports;
}

static void keep(const struct ibv_context *verbs, const struct ibv_async_event *read)
{
	size_t kind = kind_of(read->event_type);
	struct device_event event;
	struct ring *ring;

	if (!device_event_decode(verbs, read, &event))
		return;
	pthread_mutex_lock(&state.lock);
	ring = ring_of(kinds[kind].subject);
	if (ring)
		ring->kept[ring->count++ % DEVICE_EVENTS_KEPT] = event;
	add_to_total(&event, kind);
	pthread_mutex_unlock(&state.lock);
}

static struct watched *find(const struct ibv_context *verbs)
{
	for (unsigned int i = 0; i < state.device_count; i++)
		if (state.devices[i].verbs == verbs)
			return &state.devices[i];
	return NULL;
}

static bool is_watched(const struct ibv_context *verbs)
{
	bool watched;

	pthread_mutex_lock(&state.lock);
	watched = find(verbs);
	pthread_mutex_unlock(&state.lock);
	return watched;
}

/* With `reading` held. */
static void stop_watching(const struct ibv_context *verbs)
{
	struct watched *device;

	pthread_mutex_lock(&state.lock);
	device = find(verbs);
	if (device)
		*device = state.devices[--state.device_count];
	pthread_mutex_unlock(&state.lock);
}

/*
 * Reads all pending events of a device that is still watched; the context of any other may be
 * closed, or the read might block. A removed device delivers IBV_EVENT_DEVICE_FATAL, and then no
 * further events.
 */
static void read_pending(struct ibv_context *verbs)
{
	struct ibv_async_event event;
	bool fatal = false;

	pthread_mutex_lock(&state.reading);
	if (is_watched(verbs)) {
		while (ibv_get_async_event(verbs, &event) == 0) {
			keep(verbs, &event);
			if (event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED)
				shared_receives_limit_reached(event.element.srq);
			fatal |= event.event_type == IBV_EVENT_DEVICE_FATAL;
			ibv_ack_async_event(&event);
		}
		if (fatal || (errno != EAGAIN && errno != EINTR))
			stop_watching(verbs);
	}
	pthread_mutex_unlock(&state.reading);
}

static void *read_events(void *argument)
{
	static struct pollfd waiting[DEVICES_MAX + 1];
	static struct watched devices[DEVICES_MAX];
	unsigned int count;
	eventfd_t ignored;

	for (;;) {
		pthread_mutex_lock(&state.lock);
		count = state.device_count;
		memcpy(devices, state.devices, count * sizeof(devices[0]));
		pthread_mutex_unlock(&state.lock);
		waiting[0] = (struct pollfd){.fd = state.changed, .events = POLLIN};
		for (unsigned int i = 0; i < count; i++)
			waiting[i + 1] = (struct pollfd){.fd = devices[i].fd, .events = POLLIN};
		if (poll(waiting, count + 1, -1) < 0) {
			if (errno != EINTR)
				poll(NULL, 0, PAUSE_MS);
			continue;
		}
		if (waiting[0].revents)
			eventfd_read(state.changed, &ignored);
		for (unsigned int i = 0; i < count; i++)
			if (waiting[i + 1].revents)
				read_pending(devices[i].verbs);
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

int device_events_watch(struct ibv_context *verbs)
{
	int error = 0;

	pthread_mutex_lock(&state.lock);
	if (!find(verbs) && state.device_count < DEVICES_MAX) {
		error = fcntl(verbs->async_fd, F_SETFL, O_NONBLOCK) ? -errno : start();
		if (!error) {
			state.devices[state.device_count++] =
				(struct watched){.verbs = verbs, .fd = verbs->async_fd};
			eventfd_write(state.changed, 1);
		}
	}
	pthread_mutex_unlock(&state.lock);
	return error;
}

void device_events_unwatch(const struct ibv_context *verbs)
{
	pthread_mutex_lock(&state.reading);
	stop_watching(verbs);
	pthread_mutex_unlock(&state.reading);
	/* poll(2) keeps the file open, and thereby the kernel from removing a software device. */
	if (state.changed >= 0)
		eventfd_write(state.changed, 1);
}

void device_events_forget(const struct ibv_qp *qp)
{
	const char *device = ibv_get_device_name(qp->context->device);

	pthread_mutex_lock(&state.lock);
	for (size_t i = 0; i < DEVICE_EVENTS_KEPT; i++) {
		struct device_event *event = &state.queue_pairs.kept[i];

		if (event->queue_pair == qp->qp_num && strcmp(event->device, device) == 0)
			*event = (struct device_event){0};
	}
	pthread_mutex_unlock(&state.lock);
}

static bool is_of_queue(size_t kind)
{
	return kinds[kind].subject == SUBJECT_QUEUE_PAIR ||
	       kinds[kind].subject == SUBJECT_OTHER_QUEUE;
}

/* True if the events of this total are counted on this port. */
static bool counts_on(const struct total *total, unsigned int port)
{
	return is_of_queue(total->kind) ? port == 1 : !total->port || total->port == port;
}

void device_events_count(const char *device, unsigned int port, struct counters *counters)
{
	uint64_t counts[COUNT(kinds)] = {0};

	pthread_mutex_lock(&state.lock);
	for (size_t i = 0; i < state.total_count; i++) {
		const struct total *total = &state.totals[i];

		if (strcmp(total->device, device) == 0 && counts_on(total, port))
			counts[total->kind] += total->count;
	}
	pthread_mutex_unlock(&state.lock);
	for (size_t kind = 0; kind < COUNT(kinds); kind++)
		if (!is_of_queue(kind) || counts[kind] > 0)
			counters_add(counters, kinds[kind].counter, counts[kind]);
}

/* True if the event concerns the wanted port or queue pair and can explain its failure. */
static bool explains(const struct device_event *event, const struct device_event *wanted)
{
	return strcmp(event->device, wanted->device) == 0 &&
	       event->queue_pair == wanted->queue_pair &&
	       (!event->port || event->port == wanted->port) && event->time >= wanted->time &&
	       event->type != IBV_EVENT_PORT_ACTIVE;
}

/* Other events, such as address changes, may follow from these. */
static bool is_serious(const struct device_event *event)
{
	return event->type == IBV_EVENT_PORT_ERR || event->type == IBV_EVENT_DEVICE_FATAL;
}

/*
 * Describes the event that best explains a failure: the latest serious one, otherwise the latest.
 * Returns false if no event matches.
 */
static bool describe_best(
	const struct ring *ring, const struct device_event *wanted, char *text, size_t size)
{
	const struct device_event *event, *best = NULL;

	*text = '\0';
	pthread_mutex_lock(&state.lock);
	for (uint64_t i = 1; i <= DEVICE_EVENTS_KEPT && i <= ring->count; i++) {
		event = &ring->kept[(ring->count - i) % DEVICE_EVENTS_KEPT];
		if (explains(event, wanted) && (!best || (is_serious(event) && !is_serious(best))))
			best = event;
	}
	if (best)
		snprintf(text, size, "%s %.1f s ago", device_event_name(best->type),
			(double)(deadline_now() - best->time) / 1000);
	pthread_mutex_unlock(&state.lock);
	return best;
}

bool device_events_describe(
	struct ibv_context *verbs, unsigned int port, deadline_t since, char *text, size_t size)
{
	struct device_event wanted = {.port = port, .time = since};

	read_pending(verbs);
	snprintf(wanted.device, sizeof(wanted.device), "%s", ibv_get_device_name(verbs->device));
	return describe_best(&state.ports, &wanted, text, size);
}

bool device_events_describe_queue_pair(const struct ibv_qp *qp, char *text, size_t size)
{
	struct device_event wanted = {.queue_pair = qp->qp_num};

	read_pending(qp->context);
	snprintf(wanted.device, sizeof(wanted.device), "%s",
		ibv_get_device_name(qp->context->device));
	return describe_best(&state.queue_pairs, &wanted, text, size);
}

/*
 * Watching: one process for each device, because the kernel cannot remove a software device while a
 * process has it open, and librdmacm keeps devices open until the process exits. A process exits
 * when its device is removed. The parent opens no device; it starts a process for each device that
 * appears, and stops them all at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/signals.h"
#include "cli/startup.h"
#include "diagnose/watch.h"
#include "host/device-address.h"
#include "host/sysfs.h"
#include "verbs/cm.h"
#include "verbs/device-events.h"

/* Interval between looks at the counters and at the list of devices, in milliseconds. */
#define LOOK_MS 500

/* Time for the kernel to remove a device that is no longer open, in milliseconds. */
#define REMOVAL_MS 1000

/* Maximum number of devices watched at a time. */
#define DEVICES_MAX 64

struct watched {
	char name[64];
	pid_t process;    /* 0: it has exited */
	deadline_t until; /* then a device of this name is a new one */
};

struct watch {
	const struct options *options;
	struct output output;
	struct watched devices[DEVICES_MAX];
	size_t count;
};

/* A device that this process watches. */
struct device_watch {
	const struct watch *watch;
	const char *name;
	struct ibv_context *verbs;
	struct rdma_event_channel
		*channel;          /* reports the removal; NULL: the device has no address */
	struct counters before[8]; /* of each port, from 1 */
	unsigned int ports;
};

/* Prints a line with the local time. */
__attribute__((format(printf, 4, 5))) static void say(
	const struct watch *watch, const char *device, unsigned int port, const char *format, ...)
{
	char text[512], clock[32], where[24] = "";
	struct timespec now;
	struct tm local;
	va_list args;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &local);
	strftime(clock, sizeof(clock), "%F %T", &local);
	if (port)
		snprintf(where, sizeof(where), " port %u", port);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	output_line(&watch->output, "%s.%03ld %s%s: %s", clock, now.tv_nsec / 1000000, device,
		where, text);
}

/* Watching one device, in its own process. */

/* Returns false once the device is being removed. */
static bool take_events(const struct device_watch *device)
{
	struct ibv_async_event read;
	struct device_event event;
	bool fatal = false;

	while (ibv_get_async_event(device->verbs, &read) == 0) {
		ibv_ack_async_event(&read);
		if (!device_event_decode(device->verbs, &read, &event))
			continue;
		say(device->watch, device->name, event.port, "%s", device_event_name(event.type));
		fatal |= event.type == IBV_EVENT_DEVICE_FATAL;
	}
	return !fatal && errno == EAGAIN;
}

/* Returns false once rdmacm has reported the removal of the device. */
static bool take_cm_events(const struct device_watch *device)
{
	struct rdma_cm_event *event;
	bool removed = false;

	while (device->channel && rdma_get_cm_event(device->channel, &event) == 0) {
		removed |= event->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
		rdma_ack_cm_event(event);
	}
	return !removed;
}

static bool has_faults(const struct counters *increase)
{
	for (enum counter_class class = 0; class < COUNTER_OTHER; class ++)
		if (counters_total(increase, class) > 0)
			return true;
	return false;
}

/* Prints the error counters that have increased. */
static void look_at_counters(struct device_watch *device)
{
	struct counters after, increase;
	char text[400];

	for (unsigned int port = 1; port <= device->ports; port++) {
		if (counters_read("", device->name, port, &after))
			continue;
		counters_difference(&device->before[port - 1], &after, &increase);
		device->before[port - 1] = after;
		if (!has_faults(&increase))
			continue;
		counters_describe(&increase, text, sizeof(text));
		say(device->watch, device->name, port, "counters: %s", text);
	}
}

/* Binds an id to the device, so that rdmacm reports its removal. */
static void bind_to_device(struct device_watch *device)
{
	struct sockaddr_storage address;
	struct rdma_cm_id *id;

	if (device_address_find("", device->name, AF_UNSPEC, &address) != HOST_READY)
		return;
	device->channel = rdma_create_event_channel();
	if (!device->channel || rdma_create_id(device->channel, &id, NULL, RDMA_PS_TCP) ||
		rdma_bind_addr(id, (struct sockaddr *)&address) ||
		fcntl(device->channel->fd, F_SETFL, O_NONBLOCK))
		device->channel = NULL;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *verbs = NULL;

	for (size_t i = 0; list && list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			verbs = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return verbs;
}

/* Watches until the device is removed. Everything is freed when the process exits. */
static void watch_device(const struct watch *watch, const char *name)
{
	struct device_watch device = {.watch = watch, .name = name, .verbs = open_device(name)};
	struct ibv_device_attr attributes = {0};
	struct pollfd waiting[2];

	if (!device.verbs || fcntl(device.verbs->async_fd, F_SETFL, O_NONBLOCK)) {
		say(watch, name, 0, "cannot open the device: %s", strerror(errno));
		return;
	}
	bind_to_device(&device);
	ibv_query_device(device.verbs, &attributes);
	for (; device.ports < attributes.phys_port_cnt && device.ports < 8; device.ports++)
		counters_read("", name, device.ports + 1, &device.before[device.ports]);
	say(watch, name, 0, "watching");
	waiting[0] = (struct pollfd){.fd = device.verbs->async_fd, .events = POLLIN};
	waiting[1] =
		(struct pollfd){.fd = device.channel ? device.channel->fd : -1, .events = POLLIN};
	do {
		look_at_counters(&device);
		poll(waiting, 2, LOOK_MS);
	} while (take_events(&device) && take_cm_events(&device));
	say(watch, name, 0, "removed");
}

/* The parent. */

static void start(struct watch *watch, const char *name)
{
	struct watched *device = &watch->devices[watch->count];
	sigset_t none;

	if (watch->count == DEVICES_MAX)
		return;
	/* The kernel limits names to 63 characters. */
	snprintf(device->name, sizeof(device->name), "%.63s", name);
	device->process = fork();
	if (device->process == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		watch_device(watch, name);
		_exit((int)output_finish(&watch->output, STATUS_OK));
	}
	if (device->process > 0)
		watch->count++;
}

static struct watched *find(struct watch *watch, const char *name)
{
	for (size_t i = 0; i < watch->count; i++)
		if (strcmp(watch->devices[i].name, name) == 0)
			return &watch->devices[i];
	return NULL;
}

/* Forgets removed devices, and starts watching devices that have appeared. */
static void look_at_devices(struct watch *watch)
{
	const char *only = watch->options->device;
	struct dirent **entries;
	int count = sysfs_list("", &entries, "/sys/class/infiniband");

	for (size_t i = 0; i < watch->count; i++)
		if (watch->devices[i].process == 0 && deadline_left(watch->devices[i].until) == 0)
			watch->devices[i--] = watch->devices[--watch->count];
	for (int i = 0; i < count; i++)
		if (!find(watch, entries[i]->d_name) &&
			(!only || strcmp(only, entries[i]->d_name) == 0))
			start(watch, entries[i]->d_name);
	sysfs_free(entries, count);
}

/* Takes the exit of processes whose device was removed. */
static void reap(struct watch *watch)
{
	pid_t process;

	while ((process = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < watch->count; i++)
			if (watch->devices[i].process == process) {
				watch->devices[i].process = 0;
				watch->devices[i].until = deadline_in(REMOVAL_MS);
			}
}

static void stop_all(const struct watch *watch)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->devices[i].process > 0) {
			kill(watch->devices[i].process, SIGTERM);
			waitpid(watch->devices[i].process, NULL, 0);
		}
}

enum exit_status watch_devices(const struct options *options, const char *program)
{
	struct watch watch = {
		.options = options,
		.output = startup_output(program, options),
	};
	struct pollfd signals = {.fd = signals_open(), .events = POLLIN};
	struct failure failure = {0};
	char text[OUTPUT_FAILURE_SIZE];

	if (signals.fd >= 0)
		look_at_devices(&watch);
	if (watch.count == 0) {
		failure_set(&failure, FAILURE_HOST, PHASE_OPEN,
			options->device ? HOST_NO_SUCH_DEVICE : HOST_NO_DEVICE, "diagnose --watch",
			"%s%s", options->device ? "--device " : "",
			options->device ? options->device : "");
		output_outcome(&watch.output, &failure, "", text);
		return output_finish(&watch.output, STATUS_FAILED);
	}
	while (poll(&signals, 1, LOOK_MS) <= 0) {
		reap(&watch);
		look_at_devices(&watch);
	}
	stop_all(&watch);
	return output_finish(&watch.output, STATUS_OK);
}

/*
 * Watching: one process for each device, so that a driver that hangs does not delay the others. A
 * process exits when its device fails or is being removed: the kernel cannot remove a software
 * device while a process has it open. The parent opens no device and prints no lines, which would
 * start a thread. It starts a process for each device that appears or is still there after a
 * failure, and stops them all at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/explain.h"
#include "base/signals.h"
#include "cli/startup.h"
#include "diagnose/watch.h"
#include "host/path-loss.h"
#include "host/rdma-netlink.h"
#include "host/readiness.h"
#include "host/sysfs.h"
#include "verbs/device-events.h"

/*
 * Polling interval for counters, the addresses of iWARP ports and the list of devices, in
 * milliseconds. Detecting a removal takes two polls, one of the device and one of the list, and
 * must take less than 1 s.
 */
#define POLL_MS 250

/* Time for the kernel to remove a device that is no longer open, in milliseconds. */
#define REMOVAL_MS 1000

/* Maximum number of devices watched at a time. */
#define DEVICES_MAX 1024

/* How a process ends: its exit status. */
enum ending {
	ENDED,      /* the device failed or was removed */
	NOT_OPENED, /* the device cannot be opened */
	OUTPUT_LOST,
};

struct watched {
	char name[64];
	pid_t process;    /* 0: it has exited */
	deadline_t until; /* then it may be started again */
	bool unopened;    /* the last process could not open the device */
};

struct watch {
	const struct options *options;
	struct output output;
	struct watched devices[DEVICES_MAX];
	size_t count;
	bool lost; /* output was lost */
};

/* The state of a port at the last poll. */
struct port_watch {
	struct counters counters;
	bool known;         /* iWARP: the addresses are known */
	uint64_t addresses; /* sum of the hashes of the network interface's IP addresses */
};

/* A device that this process watches. */
struct device_watch {
	const struct watch *watch;
	const char *name;
	struct ibv_context *verbs;
	struct port_watch ports[8]; /* ports[0] is port 1 */
	unsigned int port_count;
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

/* Returns false once the device has failed or is being removed. */
static bool take_events(const struct device_watch *device)
{
	struct ibv_async_event read;
	struct device_event event;
	bool fatal = false;

	while (ibv_get_async_event(device->verbs, &read) == 0) {
		if (device_event_decode(device->verbs, &read, &event))
			say(device->watch, device->name, event.port, "%s",
				device_event_name(event.type));
		fatal |= read.event_type == IBV_EVENT_DEVICE_FATAL;
		ibv_ack_async_event(&read);
	}
	return !fatal && errno == EAGAIN;
}

/*
 * Returns false once the kernel is removing the device. If the driver cannot disconnect programs
 * from the device, there is no event: the kernel only deletes the directory entry and waits.
 */
static bool is_present(const struct device_watch *device)
{
	char name[64];

	return sysfs_line("", name, sizeof(name), "/sys/class/infiniband_verbs/%s/ibdev",
		       device->verbs->device->dev_name) == 0 &&
	       strcmp(name, device->name) == 0;
}

bool watch_is_fault(const struct counters *increase)
{
	static const struct counters unknown;

	return path_loss_total(increase, &unknown) > 0 ||
	       counters_total(increase, COUNTER_LINK) > 0 ||
	       counters_total(increase, COUNTER_ERROR) > 0;
}

/* If an increase of a port's counters indicates a fault, prints all counters that increased. */
static void poll_counters(struct device_watch *device, unsigned int port)
{
	struct counters *before = &device->ports[port - 1].counters, after, increase;
	char text[400];

	if (counters_read("", device->name, port, &after))
		return;
	counters_difference(before, &after, &increase);
	*before = after;
	if (!watch_is_fault(&increase))
		return;
	counters_describe(&increase, text, sizeof(text));
	say(device->watch, device->name, port, "counters: %s", text);
}

/*
 * Sets *sum to the sum of the hashes of the interface's IP addresses, which does not depend on
 * their order. Returns false on error.
 */
static bool hash_addresses(const char *interface, uint64_t *sum)
{
	struct ifaddrs *list;

	if (getifaddrs(&list))
		return false;
	*sum = 0;
	for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next) {
		const struct sockaddr *address = entry->ifa_addr;

		if (!address || !inventory_names_interface(entry->ifa_name, interface))
			continue;
		if (address->sa_family == AF_INET)
			*sum += XXH3_64bits(address, sizeof(struct sockaddr_in));
		else if (address->sa_family == AF_INET6)
			*sum += XXH3_64bits(address, sizeof(struct sockaddr_in6));
	}
	freeifaddrs(list);
	return true;
}

/*
 * Only for iWARP: its GIDs contain no IP addresses, and the kernel reports only changes of GIDs.
 * The interface may have been renamed since the last poll.
 */
static void poll_addresses(struct device_watch *device, unsigned int port)
{
	struct port_watch *state = &device->ports[port - 1], before = *state;
	char interface[IF_NAMESIZE];

	if (device->verbs->device->transport_type != IBV_TRANSPORT_IWARP)
		return;
	state->known = rdma_netlink_interface(device->name, port, interface) == 0 &&
		       hash_addresses(interface, &state->addresses);
	if (before.known && state->known && state->addresses != before.addresses)
		say(device->watch, device->name, port, "%s",
			device_event_name(IBV_EVENT_GID_CHANGE));
}

static void poll_ports(struct device_watch *device)
{
	for (unsigned int port = 1; port <= device->port_count; port++) {
		poll_counters(device, port);
		poll_addresses(device, port);
	}
}

/* Enumerates the ports and records their initial state. */
static void init_ports(struct device_watch *device)
{
	struct ibv_device_attr attributes = {0};

	ibv_query_device(device->verbs, &attributes);
	while (device->port_count < attributes.phys_port_cnt && device->port_count < 8) {
		struct port_watch *port = &device->ports[device->port_count++];

		counters_read("", device->name, device->port_count, &port->counters);
		poll_addresses(device, device->port_count);
	}
}

/* Returns NULL, with the error stored, if the device cannot be opened. */
static struct ibv_context *open_device(const char *name, int *error)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *verbs = NULL;

	*error = list ? ENODEV : errno;
	for (size_t i = 0; list && list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0) {
			verbs = ibv_open_device(list[i]);
			*error = errno;
		}
	if (list)
		ibv_free_device_list(list);
	return verbs;
}

/* libibverbs reports a lack of permission as ENOENT, so the device's file is checked. */
static void say_why_unopened(const struct watch *watch, const char *name, int error)
{
	const struct inventory_device *device = NULL;
	struct inventory inventory;
	char evidence[320] = "";

	if (inventory_take("", name, &inventory) == 0) {
		device = inventory_device(&inventory, name);
		if (device)
			readiness_of_access(device, evidence, sizeof(evidence));
		inventory_free(&inventory);
	}
	say(watch, name, 0, "cannot open the device: %s", *evidence ? evidence : strerror(error));
}

/* Watches until the device fails or is removed. Everything is freed when the process exits. */
static enum ending watch_device(const struct watch *watch, const struct watched *watched)
{
	struct device_watch device = {.watch = watch, .name = watched->name};
	struct pollfd events;
	int error;

	device.verbs = open_device(device.name, &error);
	if (!device.verbs) {
		if (!watched->unopened)
			say_why_unopened(watch, device.name, error);
		return NOT_OPENED;
	}
	fcntl(device.verbs->async_fd, F_SETFL, O_NONBLOCK);
	init_ports(&device);
	say(watch, device.name, 0, "watching");
	events = (struct pollfd){.fd = device.verbs->async_fd, .events = POLLIN};
	do {
		poll_ports(&device);
		poll(&events, 1, POLL_MS);
	} while (!output_is_lost() && take_events(&device) && is_present(&device));
	return ENDED;
}

/* The parent. */

/* Forks. The child has no blocked signals and ends with its parent. */
static pid_t start_process(void)
{
	pid_t process = fork();
	sigset_t none;

	if (process == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
	}
	return process;
}

__attribute__((noreturn)) static void end_process(enum ending ending)
{
	if (!output_drain() || output_is_lost())
		ending = OUTPUT_LOST;
	_exit((int)ending);
}

/* Returns the device of this name, which is added if it is new, or NULL if there are too many. */
static struct watched *find_or_add(struct watch *watch, const char *name)
{
	struct watched *device = watch->devices;

	while (device < watch->devices + watch->count && strcmp(device->name, name) != 0)
		device++;
	if (device == watch->devices + DEVICES_MAX)
		return NULL;
	if (device == watch->devices + watch->count) {
		*device = (struct watched){0};
		/* The kernel limits names to 63 characters. */
		snprintf(device->name, sizeof(device->name), "%.63s", name);
		watch->count++;
	}
	return device;
}

/* Starts watching the device, unless it is being watched or has just stopped. */
static void start(struct watch *watch, const char *name)
{
	struct watched *device = find_or_add(watch, name);

	if (!device || device->process > 0 || deadline_left(device->until) > 0)
		return;
	device->process = start_process();
	if (device->process == 0)
		end_process(watch_device(watch, device));
	if (device->process < 0)
		device->process = 0;
}

/* Forgets a device that no longer exists. */
static void forget(struct watch *watch, struct watched *device)
{
	if (start_process() == 0) {
		say(watch, device->name, 0, "removed");
		end_process(ENDED);
	}
	*device = watch->devices[--watch->count];
}

static bool is_listed(struct dirent **entries, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (strcmp(entries[i]->d_name, name) == 0)
			return true;
	return false;
}

/* Forgets removed devices, and starts watching devices that have appeared. */
static void poll_devices(struct watch *watch)
{
	const char *only = watch->options->device;
	struct dirent **entries;
	int count = sysfs_list("", &entries, "/sys/class/infiniband");

	for (size_t i = watch->count; i-- > 0;)
		if (watch->devices[i].process == 0 &&
			!is_listed(entries, count, watch->devices[i].name))
			forget(watch, &watch->devices[i]);
	for (int i = 0; i < count; i++)
		if (!only || strcmp(only, entries[i]->d_name) == 0)
			start(watch, entries[i]->d_name);
	sysfs_free(entries, count);
}

/* Records the exit of a process. */
static void record_exit(struct watch *watch, pid_t process, int status)
{
	watch->lost |= WIFEXITED(status) && WEXITSTATUS(status) == OUTPUT_LOST;
	for (size_t i = 0; i < watch->count; i++)
		if (watch->devices[i].process == process) {
			watch->devices[i].process = 0;
			watch->devices[i].until = deadline_in(REMOVAL_MS);
			watch->devices[i].unopened =
				WIFEXITED(status) && WEXITSTATUS(status) == NOT_OPENED;
		}
}

/* Waits, then returns true unless watching must end: a signal arrived, or output was lost. */
static bool wait_to_poll(struct watch *watch, int signals)
{
	/* Without any events, poll(2) reports that nobody reads standard output any more. */
	struct pollfd waiting[] = {{.fd = signals, .events = POLLIN}, {.fd = STDOUT_FILENO}};
	pid_t process;
	int status;

	poll(waiting, 2, POLL_MS);
	while ((process = waitpid(-1, &status, WNOHANG)) > 0)
		record_exit(watch, process, status);
	watch->lost |= waiting[1].revents != 0;
	return waiting[0].revents == 0 && !watch->lost;
}

static void stop_all(const struct watch *watch)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->devices[i].process > 0) {
			kill(watch->devices[i].process, SIGTERM);
			waitpid(watch->devices[i].process, NULL, 0);
		}
}

/* Returns the descriptor for signals, or -1 with the failure recorded if there is no device. */
static int start_watching(struct watch *watch, struct failure *failure)
{
	const char *device = watch->options->device;
	int signals = signals_open();

	if (signals < 0)
		return failure_errno(failure, PHASE_OPEN, "signalfd", -signals);
	poll_devices(watch);
	if (watch->count > 0)
		return signals;
	return failure_set(failure, FAILURE_HOST, PHASE_OPEN,
		device ? HOST_NO_SUCH_DEVICE : HOST_NO_DEVICE, "diagnose --watch", "%s%s",
		device ? "--device " : "", device ? device : "");
}

enum exit_status watch_devices(const struct options *options, const char *program)
{
	struct watch watch = {
		.options = options,
		.output = startup_output(program, options),
	};
	struct failure failure = {0};
	int signals = start_watching(&watch, &failure);

	if (signals < 0) {
		output_failure(&watch.output, &failure, NULL);
		return output_finish(&watch.output, explain_status(&failure));
	}
	while (wait_to_poll(&watch, signals))
		poll_devices(&watch);
	stop_all(&watch);
	if (watch.lost)
		output_set_lost();
	return output_finish(&watch.output, STATUS_OK);
}

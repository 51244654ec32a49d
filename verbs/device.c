/*
 * Differences between transports and drivers, in one table. All other code checks a trait, never
 * the transport. A device owns only its completion channel.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/text.h"
#include "host/sysfs.h"
#include "verbs/device-events.h"
#include "verbs/device.h"
#include "verbs/send-errors.h"

/* Soft-RoCE has no vendor ID and reports this number instead. */
#define NO_VENDOR 0xffffff

/* Software iWARP's vendor ID. */
#define SIW_VENDOR 0x626d74

#define KIB 1024

/* An event explains a failure if it is at most this old, in milliseconds. */
#define EVENT_MS 60000

/*
 * The first match applies. Soft-RoCE slows down above 256 KiB; adapters need larger chunks.
 *
 * Linux's software iWARP completes work requests out of order: it completes one without waiting for
 * earlier READs, and still reads the memory of an unsignaled WRITE of a page or more after a later
 * request has completed. So each request is signaled, and completions are sorted. IBV_SEND_FENCE
 * would keep the order, but siw_activate_tx() answers no READ while a request waits for READs, so
 * two ends that wait for each other would wait forever. Nor does it answer READs while a posted
 * READ waits because of the limit of outstanding READs, so that limit must not be exceeded at
 * either end.
 *
 * Its passive side might leave the first message unread until more data arrives, because
 * siw_accept() replies to the peer before it starts to receive. The active side therefore writes 0
 * bytes until it receives something.
 *
 * A client does not know the server's driver, so the traits limits_reads and peer_wakes_late are
 * those of all iWARP devices. This is harmless: a device checks no key for a WRITE of 0 bytes, with
 * which drivers may even begin a connection (RFC 6581).
 *
 * If the connection ends during a send, siw_qp_sq_process() completes it with the status
 * IBV_WC_LOC_QP_OP_ERR.
 */
static const struct device_traits rows[] = {
	{
		.driver = "rdma_rxe",
		.transport = IBV_TRANSPORT_IB,
		.immediate = true,
		.own_queue_pairs = true,
		.retries_receives = true,
		.drains = true,
		.software = true,
		.flushes_unsent = LINUX(6, 10),
		.chunk = 256 * KIB,
	},
	{
		.driver = "siw",
		.transport = IBV_TRANSPORT_IWARP,
		.read_needs_remote_write = true,
		.peer_wakes_late = true,
		.limits_reads = true,
		.completes_out_of_order = true,
		.flushes_as_local_error = true,
		.invalid_mmap_key = true,
		.software = true,
		.chunk = 512 * KIB,
	},
	{
		.transport = IBV_TRANSPORT_IWARP,
		.read_needs_remote_write = true,
		.peer_wakes_late = true,
		.limits_reads = true,
		.chunk = 512 * KIB,
	},
	{
		.transport = IBV_TRANSPORT_IB,
		.immediate = true,
		.own_queue_pairs = true,
		.retries_receives = true,
		.chunk = 512 * KIB,
	},
};

/*
 * Finds the driver's name, empty if unknown. Only soft-RoCE and software iWARP lack a link to their
 * driver.
 */
static void find_driver(const struct ibv_context *verbs, const struct ibv_device_attr *attributes,
	char *driver, size_t size)
{
	const char *name = ibv_get_device_name(verbs->device);

	*driver = '\0';
	if (attributes->vendor_id == NO_VENDOR && verbs->device->transport_type == IBV_TRANSPORT_IB)
		snprintf(driver, size, "rdma_rxe");
	else if (attributes->vendor_id == SIW_VENDOR)
		snprintf(driver, size, "siw");
	else
		sysfs_link("", driver, size, "/sys/class/infiniband/%s/device/driver", name);
}

const struct device_traits *device_traits(
	const struct ibv_context *verbs, const struct ibv_device_attr *attributes)
{
	const struct device_traits *row = rows;
	char driver[64];

	find_driver(verbs, attributes, driver, sizeof(driver));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		row = &rows[i];
		if (row->transport == verbs->device->transport_type &&
			(!row->driver || strcmp(row->driver, driver) == 0))
			break;
	}
	return row;
}

/*
 * libsiw treats the mmap key 0x90000 (SIW_INVAL_UOBJ_KEY) as an error, but the kernel assigns keys
 * in order of creation, so with small queues, the 25th connection of a process fails. So the first
 * object is a completion queue that spans this key, and is never destroyed. An entry takes 32 bytes
 * in the kernel.
 */
#define SIW_ENTRIES 32768
#define SIW_DEVICES 16

static void cover_invalid_key(struct ibv_context *verbs)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct ibv_cq *covered[SIW_DEVICES];
	size_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < SIW_DEVICES && covered[i] && covered[i]->context != verbs)
		i++;
	if (i < SIW_DEVICES && !covered[i])
		covered[i] = ibv_create_cq(verbs, SIW_ENTRIES, NULL, NULL, 0);
	pthread_mutex_unlock(&lock);
}

/*
 * The first vector of a device. If every process and every control connection began with vector 0,
 * all clients, which create only one completion queue, would share it.
 */
static unsigned int first_vector(void)
{
	static atomic_uint opened;

	return (unsigned int)getpid() + atomic_fetch_add(&opened, 1);
}

int device_next_vector(struct device *device)
{
	unsigned int queue = atomic_fetch_add(&device->queues, 1);
	int vectors = device->verbs->num_comp_vectors;

	return vectors > 0 ? (int)(queue % (unsigned int)vectors) : 0;
}

int device_data_access(const struct device *device, enum ordering ordering)
{
	bool relaxed = ordering == ORDERING_AUTO ? !device->traits->software
						 : ordering == ORDERING_RELAXED;

	return relaxed ? IBV_ACCESS_RELAXED_ORDERING : 0;
}

int device_open(struct device *device, struct ibv_context *verbs, struct failure *failure)
{
	device->verbs = verbs;
	locality_find("", device_name(device), &device->locality);
	atomic_init(&device->queues, first_vector());
	ibv_query_device(verbs, &device->attributes);
	device->traits = device_traits(verbs, &device->attributes);
	if (device->traits->invalid_mmap_key)
		cover_invalid_key(verbs);
	/* Best effort: events only add evidence to the causes of failures. */
	device_events_watch(verbs);
	device->channel = ibv_create_comp_channel(verbs);
	if (!device->channel)
		return failure_errno(failure, PHASE_QUEUE_PAIR, "ibv_create_comp_channel", errno);
	/* read() must not block: destroying a queue after poll() may withdraw its event. */
	if (fcntl(device->channel->fd, F_SETFL, O_NONBLOCK) == 0)
		return 0;
	failure_errno(failure, PHASE_QUEUE_PAIR, "fcntl", errno);
	device_close(device);
	return -1;
}

bool device_has_atomics(const struct device *device)
{
	return device->attributes.atomic_cap != IBV_ATOMIC_NONE;
}

bool device_has_windows(const struct device *device)
{
	return device->attributes.device_cap_flags &
	       (IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2A |
		       IBV_DEVICE_MEM_WINDOW_TYPE_2B);
}

void device_close(struct device *device)
{
	if (device->channel)
		ibv_destroy_comp_channel(device->channel);
	device->channel = NULL;
}

const char *device_name(const struct device *device)
{
	return ibv_get_device_name(device->verbs->device);
}

uint32_t device_message_max(const struct device *device, uint8_t port)
{
	struct ibv_port_attr attributes = {0};

	return ibv_query_port(device->verbs, port, &attributes) == 0 && attributes.max_msg_sz > 0
		       ? attributes.max_msg_sz
		       : device->traits->chunk;
}

uint64_t device_port_rate(const struct device *device, uint8_t port)
{
	/* By the bit that is set in active_width, and in active_speed, from SDR to NDR. */
	static const unsigned int lanes[] = {1, 4, 8, 12, 2};
	static const unsigned int megabits[] = {
		2500, 5000, 10000, 10000, 14062, 25781, 50000, 100000};
	struct ibv_port_attr attributes = {0};
	int width, speed;

	if (ibv_query_port(device->verbs, port, &attributes))
		return 0;
	width = ffs(attributes.active_width);
	speed = ffs(attributes.active_speed);
	if (width < 1 || width > (int)(sizeof(lanes) / sizeof(lanes[0])) || speed < 1 ||
		speed > (int)(sizeof(megabits) / sizeof(megabits[0])))
		return 0;
	return (uint64_t)lanes[width - 1] * megabits[speed - 1] * 1000000 / 8;
}

unsigned int device_mtu_bytes(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << mtu : 0;
}

unsigned int device_mtu(const struct device *device, uint8_t port)
{
	struct ibv_port_attr attributes = {0};

	return ibv_query_port(device->verbs, port, &attributes) == 0
		       ? device_mtu_bytes(attributes.active_mtu)
		       : 0;
}

/*
 * True if a failure may be a consequence of this host's port being down. Software iWARP closes the
 * connections of a port that goes down, as if the peer had.
 */
static bool may_be_port(const struct rdma_cm_id *id, const struct failure *failure)
{
	if (failure->kind == FAILURE_GONE)
		return id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	if (failure->kind == FAILURE_COMPLETION)
		return failure->code == IBV_WC_LOC_QP_OP_ERR ||
		       failure->code == IBV_WC_RETRY_EXC_ERR ||
		       failure->code == IBV_WC_WR_FLUSH_ERR || failure->code == IBV_WC_GENERAL_ERR;
	return failure->kind == FAILURE_DEADLINE ||
	       (failure->kind == FAILURE_ERRNO && failure->code == ETIMEDOUT);
}

static const char *separator(const struct failure *failure)
{
	return *failure->evidence ? "; " : "";
}

void device_blame(const struct rdma_cm_id *id, struct failure *failure)
{
	struct ibv_port_attr attributes = {0};
	struct failure down = {0};
	unsigned int port = id->port_num;
	bool suspects_port;
	const char *name;
	char event[64];

	if (failure->phase != PHASE_EXCHANGE)
		return;
	suspects_port = may_be_port(id, failure);
	if (!suspects_port && failure->kind != FAILURE_GONE)
		return;
	name = ibv_get_device_name(id->verbs->device);
	if (id->qp && device_events_describe_queue_pair(id->qp, event, sizeof(event)))
		text_append(failure->evidence, sizeof(failure->evidence), "%s%s queue pair %u: %s",
			separator(failure), name, id->qp->qp_num, event);
	if (!suspects_port)
		return;
	if (device_events_describe(
		    id->verbs, port, deadline_now() - EVENT_MS, event, sizeof(event)))
		text_append(failure->evidence, sizeof(failure->evidence), "%s%s port %u: %s",
			separator(failure), name, port, event);
	if (ibv_query_port(id->verbs, id->port_num, &attributes) ||
		attributes.state != IBV_PORT_DOWN)
		return;
	failure_set(&down, FAILURE_HOST, PHASE_EXCHANGE, HOST_PORT_DOWN, failure->call,
		"%s port %u%s%s", name, port, separator(failure), failure->evidence);
	*failure = down;
}

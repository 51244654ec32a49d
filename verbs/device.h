/*
 * An open RDMA device, shared by its users: the verbs context, its limits, the traits of its
 * transport or driver, and the wakeup queue of the thread that polls its completions.
 * serve/devices.h and, at a client, rdma-client.c handle its removal.
 */
#ifndef VERBS_DEVICE_H
#define VERBS_DEVICE_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "base/ordering.h"
#include "base/wakeup-queue.h"
#include "host/locality.h"

/*
 * The requirements and limitations of a transport or driver. verbs/device.c has one row for each,
 * and explains those of software iWARP.
 */
struct device_traits {
	const char *driver; /* kernel driver; NULL: any */
	enum ibv_transport_type transport;
	bool immediate;               /* supports RDMA WRITE with immediate data */
	bool read_needs_remote_write; /* the local buffer of a READ needs IBV_ACCESS_REMOTE_WRITE */
	bool own_queue_pairs;         /* can connect queue pairs without rdmacm */
	bool retries_receives; /* sends again if no receive is posted (RNR); else disconnects */
	bool drains; /* may raise the event of a destroyed completion queue: drain it first */
	bool peer_wakes_late; /* a server might not read the first message until more data arrives */
	bool limits_reads;    /* do not post more READs than the two ends allow to be outstanding */
	bool completes_out_of_order; /* signal every send, and hold completions that overtake */
	bool flushes_as_local_error; /* a flushed send may have the status IBV_WC_LOC_QP_OP_ERR */
	bool invalid_mmap_key;       /* its library rejects a key that the kernel assigns */
	bool software;               /* no hardware, so no PCI bus */
	unsigned int flushes_unsent; /* version of Linux since which a packet that its interface
					does not take breaks the queue pair; 0: none */
	uint32_t chunk;              /* efficient size of a WRITE or READ in bytes */
};

struct device {
	struct ibv_context *verbs; /* librdmacm's: open until the process exits */
	struct ibv_device_attr attributes;
	const struct device_traits *traits;
	struct locality locality;         /* where its threads run and its memory is placed */
	struct ibv_comp_channel *channel; /* for all completion queues of the device */
	atomic_uint queues;               /* counts completion queues: device_next_vector() */

	/* Used by the exchange in rdma-common.c, not by control connections. */
	struct wakeup_queue wakeups; /* of the thread that polls the channel */
};

/*
 * Reads the limits and traits of the device and creates its non-blocking completion channel.
 * Returns 0, or -1 with the failure recorded. ibv_query_device(3), ibv_create_comp_channel(3).
 */
int device_open(struct device *device, struct ibv_context *verbs, struct failure *failure);

/* True if it serves and initiates atomic operations. Any thread. ibv_query_device(3). */
bool device_has_atomics(const struct device *device);

/* True if it has memory windows of type 1 or 2. Any thread. ibv_query_device(3). */
bool device_has_windows(const struct device *device);

/* Destroys the completion channel, if any. Its completion queues must be destroyed first. */
void device_close(struct device *device);

/*
 * Chooses the completion vector of another completion queue: each vector in turn, so that all
 * processors that handle the device's interrupts share the work. Any thread. ibv_create_cq(3).
 */
int device_next_vector(struct device *device);

/*
 * Returns IBV_ACCESS_RELAXED_ORDERING if regions for data should have it, otherwise 0. The device
 * may then write the data in any order, so only a completion shows that data has arrived: memory
 * that is polled must not have it. The flag is optional: libibverbs removes it if the kernel is too
 * old, and drivers ignore it if the device lacks it; neither says so. Any thread. ibv_reg_mr(3).
 */
int device_data_access(const struct device *device, enum ordering ordering);

/* Returns the traits of this device, which are static. Any thread. ibv_query_device(3). */
const struct device_traits *device_traits(
	const struct ibv_context *verbs, const struct ibv_device_attr *attributes);

/* The device's name, as in `rdma link`. Any thread. */
const char *device_name(const struct device *device);

/*
 * Adds events of the connection's queue pair and port to the evidence of a failure that they can
 * explain, and records that the port is down, if it is: for a work request that failed locally or
 * was not acknowledged, for a timeout and, on iWARP, for a disconnect. On other transports, only
 * events of the queue pair explain a disconnect. Any thread. ibv_query_port(3).
 */
void device_blame(const struct rdma_cm_id *id, struct failure *failure);

/*
 * The rate of this port in bytes per second, as its width and speed say; 0 if unknown. Software
 * devices make it up. Any thread. ibv_query_port(3).
 */
uint64_t device_port_rate(const struct device *device, uint8_t port);

/* The maximum message size on this port, in bytes. Any thread. ibv_query_port(3). */
uint32_t device_message_max(const struct device *device, uint8_t port);

/*
 * Converts an enum ibv_mtu to bytes; 0 if it is unknown. InfiniBand specification, volume 1, 9.1.2.
 */
unsigned int device_mtu_bytes(enum ibv_mtu mtu);

/* The active MTU of this port, in bytes; 0 if it is unknown. Any thread. ibv_query_port(3). */
unsigned int device_mtu(const struct device *device, uint8_t port);

#endif

/*
 * What this host has for RDMA: devices, ports, GIDs, network interfaces, and what a process needs
 * to use them. Read from sysfs, /proc, /dev and the network interfaces at one moment; nothing is
 * kept open. Texts are as the kernel gave them, cut where they are too long, and "" where there is
 * none. What is missing: host/readiness.h.
 */
#ifndef HOST_INVENTORY_H
#define HOST_INVENTORY_H

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "host/sysfs.h"

/* An entry of a port's GID table. Entries of zeros are left out. */
struct inventory_gid {
	unsigned int index;
	char text[INET6_ADDRSTRLEN]; /* "fe80::1", "::ffff:10.0.0.1" */
	char type[24];               /* "RoCE v2", "IB/RoCE v1" */
	char interface[IF_NAMESIZE]; /* network interface */
	bool link_local;             /* fe80::/10: no IP address that can be routed */
};

struct inventory_address {
	struct sockaddr_storage address; /* IPv4 or IPv6, port 0 */
	char text[ADDRESS_TEXT_SIZE];    /* "10.0.0.1", "fe80::1%eth0" */
	bool link_local;                 /* of IPv6 */
};

struct inventory_interface {
	char name[IF_NAMESIZE];
	char state[24];   /* operstate: "up", "down" */
	unsigned int mtu; /* bytes, 0 if not known */
	size_t address_count;
	struct inventory_address *addresses; /* IPv4 and IPv6 */
};

struct inventory_port {
	unsigned int number;     /* from 1 */
	char state[24];          /* "ACTIVE", "DOWN", "INIT" */
	char physical_state[32]; /* "LinkUp", "Polling" */
	char link_layer[24];     /* "InfiniBand", "Ethernet" */
	char rate[48];           /* "100 Gb/sec (4X EDR)" */
	uint64_t megabits;       /* the same in Mb/s, 0 if not known */
	unsigned int rdma_mtu;   /* bytes of data in a packet; 0 until it is set from verbs */
	unsigned int lid;        /* of InfiniBand: the port's address, 0: none */
	unsigned int sm_lid;     /* and that of the subnet manager */
	size_t gid_count, interface_count;
	struct inventory_gid *gids; /* by index */
	struct inventory_interface *interfaces;
};

struct inventory_device {
	char name[64];            /* "mlx5_0", "rxe0" */
	char type[24];            /* node_type: "CA", "RNIC" */
	char description[65];     /* node_desc: often host and device name */
	char firmware[48];        /* fw_ver */
	char driver[32];          /* kernel driver: "mlx5_core"; soft-RoCE: "rdma_rxe" */
	char parent[IF_NAMESIZE]; /* soft-RoCE: the network interface that it is made on */
	char uverbs[32];          /* its file in /dev/infiniband: "uverbs0" */
	enum sysfs_access access; /* to that file */
	size_t port_count;
	struct inventory_port *ports; /* by number */
};

/* ib_core's netns_mode: which network namespaces have an RDMA device. rdma-system(8). */
enum inventory_netns {
	INVENTORY_NETNS_UNKNOWN = 0,
	INVENTORY_NETNS_SHARED,    /* all namespaces have all devices */
	INVENTORY_NETNS_EXCLUSIVE, /* each device is in one namespace */
};

struct inventory {
	enum sysfs_access rdma_cm; /* to /dev/infiniband/rdma_cm */
	bool ib_core, rdma_ucm;    /* these kernel modules are loaded */
	enum inventory_netns netns;
	uint64_t locked_max; /* bytes that may be locked, UINT64_MAX: no limit. getrlimit(2) */
	bool ipc_lock;       /* the process has CAP_IPC_LOCK, for which there is no limit */
	size_t device_count;
	struct inventory_device *devices; /* by name */
};

/*
 * Takes the inventory with all devices or, unless that is NULL, the one of that name; files that
 * cannot be read are left out. root: see host/sysfs.h. Returns 0 and the caller frees it, or
 * -errno, such as -ENOMEM, and there is nothing to free. Any thread.
 */
int inventory_take(const char *root, const char *device, struct inventory *inventory);

/* The same with a list of interface addresses in place of getifaddrs(3), for tests. */
int inventory_take_with(const char *root, const char *device, const struct ifaddrs *addresses,
	struct inventory *inventory);

/* Mb/s of a rate like "2.5 Gb/sec (1X SDR)"; 0 if the text is none, or NULL. */
uint64_t inventory_megabits(const char *rate);

/* Frees what it owns and makes it empty. An empty one may be freed again. */
void inventory_free(struct inventory *inventory);

/* The device of that name, NULL if there is none. It belongs to the inventory. */
const struct inventory_device *inventory_device(
	const struct inventory *inventory, const char *name);

/* The port of that device, NULL if there is none. It belongs to the inventory. */
const struct inventory_port *inventory_port(
	const struct inventory *inventory, const char *device, unsigned int port);

/* The network interface of that name, NULL if the port has none. It belongs to the inventory. */
const struct inventory_interface *inventory_interface(
	const struct inventory_port *port, const char *name);

#endif

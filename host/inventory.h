/*
 * The RDMA resources of this host: devices, ports, GIDs, network interfaces, and the permissions
 * and limits of this process. Read once from sysfs, /proc, /dev and the network interfaces; no file
 * stays open. Strings are stored as the kernel reports them, truncated if too long, and "" if
 * missing. host/readiness.h checks the inventory for missing items.
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

/* An entry of a port's GID table. Empty entries are skipped. */
struct inventory_gid {
	unsigned int index;
	char text[INET6_ADDRSTRLEN]; /* "fe80::1", "::ffff:10.0.0.1" */
	char type[24];               /* "RoCE v2", "IB/RoCE v1", "iWARP" */
	char interface[IF_NAMESIZE]; /* network interface */
	bool link_local;             /* fe80::/10: not a routable IP address */
};

struct inventory_address {
	struct sockaddr_storage address; /* IPv4 or IPv6, port 0 */
	char text[ADDRESS_TEXT_SIZE];    /* "10.0.0.1", "fe80::1%eth0" */
	bool link_local;                 /* IPv6 only */
};

struct inventory_interface {
	char name[IF_NAMESIZE];
	char state[24];        /* operstate: "up", "down" */
	unsigned int mtu;      /* bytes, 0: unknown */
	char vrf[IF_NAMESIZE]; /* the VRF to which it belongs, "": none */
	bool elsewhere;        /* in another network namespace: only its name is known */
	size_t address_count;
	struct inventory_address *addresses; /* IPv4 and IPv6 */
};

struct inventory_port {
	unsigned int number;     /* from 1 */
	char state[24];          /* "ACTIVE", "DOWN", "INIT" */
	char physical_state[32]; /* "LinkUp", "Polling" */
	char link_layer[24];     /* "InfiniBand", "Ethernet" */
	char rate[48];           /* "100 Gb/sec (4X EDR)" */
	uint64_t megabits;       /* the rate in Mb/s, 0: unknown */
	unsigned int rdma_mtu;   /* payload bytes per packet; 0 until set from verbs */
	unsigned int lid;        /* InfiniBand: the port's address, 0: none */
	unsigned int sm_lid;     /* InfiniBand: LID of the subnet manager */
	size_t gid_count, interface_count;
	struct inventory_gid *gids; /* by index */
	struct inventory_interface *interfaces;
};

struct inventory_device {
	char name[64];            /* "mlx5_0", "rxe0" */
	char type[24];            /* node_type: "CA", "RNIC" */
	char description[65];     /* node_desc: usually host and device name */
	char firmware[48];        /* fw_ver */
	char driver[32];          /* "mlx5_core"; soft-RoCE "rdma_rxe", software iWARP "siw" */
	char parent[IF_NAMESIZE]; /* soft-RoCE: the underlying network interface */
	char uverbs[32];          /* its file in /dev/infiniband: "uverbs0" */
	enum sysfs_access access; /* to that file */
	size_t port_count;
	struct inventory_port *ports; /* by number */
};

/* ib_core's netns_mode: which network namespaces see an RDMA device. rdma-system(8). */
enum inventory_netns {
	INVENTORY_NETNS_UNKNOWN = 0,
	INVENTORY_NETNS_SHARED,    /* all namespaces see all devices */
	INVENTORY_NETNS_EXCLUSIVE, /* each device belongs to one namespace */
};

struct inventory {
	enum sysfs_access rdma_cm; /* to /dev/infiniband/rdma_cm */
	bool ib_core, rdma_ucm;    /* these kernel modules are loaded */
	enum inventory_netns netns;
	bool roce_absent;    /* routing_domains_lack_roce() */
	uint64_t locked_max; /* lockable memory in bytes, UINT64_MAX: no limit. getrlimit(2) */
	bool ipc_lock;       /* CAP_IPC_LOCK lifts the limit: locked_memory_is_exempt() */
	size_t device_count;
	struct inventory_device *devices; /* by name */
};

/*
 * Reads the inventory of all devices or, unless device is NULL, of the named device. Skips files
 * that cannot be read. root: see host/sysfs.h. Returns 0 and an inventory that the caller frees, or
 * -errno, for example -ENOMEM, with nothing to free. Any thread.
 */
int inventory_take(const char *root, const char *device, struct inventory *inventory);

/* Does the same with a list of interface addresses instead of getifaddrs(3), for tests. */
int inventory_take_with(const char *root, const char *device, const struct ifaddrs *addresses,
	struct inventory *inventory);

/*
 * True if the name that getifaddrs(3) returns is the interface's, "eth0", or the label of one of
 * its addresses, "eth0:1".
 */
bool inventory_names_interface(const char *name, const char *interface);

/* Converts a rate such as "2.5 Gb/sec (1X SDR)" to Mb/s. Returns 0 for other text or NULL. */
uint64_t inventory_megabits(const char *rate);

/* Frees the contents and clears the inventory, which may be empty. */
void inventory_free(struct inventory *inventory);

/* Returns the named device, owned by the inventory, or NULL. */
const struct inventory_device *inventory_device(
	const struct inventory *inventory, const char *name);

/* True if the device uses iWARP. */
bool inventory_is_iwarp(const struct inventory_device *device);

/* Returns the port of the named device, owned by the inventory, or NULL. */
const struct inventory_port *inventory_port(
	const struct inventory *inventory, const char *device, unsigned int port);

/* Returns the named network interface of the port, owned by the inventory, or NULL. */
const struct inventory_interface *inventory_interface(
	const struct inventory_port *port, const char *name);

#endif

/*
 * What an inventory consists of: the RDMA devices, ports, GIDs and network interfaces of this host.
 * host/inventory.h reads it.
 */
#ifndef HOST_INVENTORY_RECORDS_H
#define HOST_INVENTORY_RECORDS_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "host/interface-stack.h"
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
	char state[24];               /* operstate: "up", "down" */
	unsigned int mtu;             /* bytes, 0: unknown */
	char vrf[IF_NAMESIZE];        /* the VRF to which it belongs, "": none */
	bool elsewhere;               /* in another network namespace: only its name is known */
	struct interface_stack stack; /* from this interface to the port's own, if known */
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
	char own[IF_NAMESIZE];   /* the network interface of the port itself; "": unknown */
	bool own_elsewhere;      /* Ethernet: that interface is in another network namespace */
	size_t gid_count, interface_count;
	struct inventory_gid *gids; /* by index */
	struct inventory_interface *interfaces;
	struct inventory_interface unserved; /* iWARP: see inventory_has_unserved() */
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
	bool sysfs_absent;         /* /sys is not mounted: what only it shows is unknown */
	bool ib_core, rdma_ucm;    /* these kernel modules are loaded */
	enum inventory_netns netns;
	bool roce_absent;    /* routing_domains_lack_roce() */
	uint64_t locked_max; /* lockable memory in bytes, UINT64_MAX: no limit. getrlimit(2) */
	bool ipc_lock;       /* CAP_IPC_LOCK lifts the limit: locked_memory_is_exempt() */
	size_t device_count;
	struct inventory_device *devices; /* by name */
};

#endif

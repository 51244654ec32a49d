/*
 * What this host has for RDMA: devices, ports, GIDs, network interfaces, and what a process needs to
 * use them; what of it is missing, and how it is shown to people and programs. Read from sysfs,
 * /proc, /dev and the network interfaces at one moment; nothing of it is kept open.
 *
 * All texts are as the kernel gave them, cut where they are too long, and "" where there is none.
 * inventory.c reads, inventory-judge.c judges, inventory-text.c shows.
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
#include "host/readiness.h"
#include "host/sysfs.h"

/* Less locked memory than this, in bytes, is too little for a queue pair and its buffers. */
#define INVENTORY_LOCKED_MIN UINT64_C(65536)

/* One entry of a port's GID table. Those that are all zero are left out. */
struct inventory_gid {
	unsigned int index;
	char text[INET6_ADDRSTRLEN]; /* "fe80::1", "::ffff:10.0.0.1" */
	char type[24];               /* "RoCE v2", "IB/RoCE v1" */
	char interface[IF_NAMESIZE]; /* the network interface that it belongs to */
	bool link_local;             /* fe80::/10: no IP address that can be routed */
};

struct inventory_address {
	char text[ADDRESS_TEXT_SIZE]; /* "10.0.0.1", "fe80::1%eth0" */
	bool link_local;              /* of IPv6 */
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
	unsigned int rdma_mtu;   /* bytes of data in a packet, 0: not told by sysfs, but by verbs */
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

/* ib_core's netns_mode: whether RDMA devices are seen from all network namespaces. rdma-system(8). */
enum inventory_netns {
	INVENTORY_NETNS_UNKNOWN = 0,
	INVENTORY_NETNS_SHARED,    /* each is seen from all */
	INVENTORY_NETNS_EXCLUSIVE, /* each belongs to one */
};

struct inventory {
	enum readiness host;       /* what host_rdma() found */
	char host_evidence[160];   /* and saw */
	enum sysfs_access rdma_cm; /* to /dev/infiniband/rdma_cm */
	bool ib_core, rdma_ucm;    /* these kernel modules are there */
	enum inventory_netns netns;
	uint64_t locked_max; /* bytes that may be locked, UINT64_MAX: no limit. getrlimit(2) */
	bool ipc_lock;       /* the process has CAP_IPC_LOCK, for which there is no limit */
	size_t device_count;
	struct inventory_device *devices; /* by name */
};

/*
 * Takes the inventory; what cannot be read is left out. root: see host/sysfs.h. Returns 0, and the
 * caller frees it; or -errno, -ENOMEM among them, and there is nothing to free. Any thread.
 */
int inventory_take(const char *root, struct inventory *inventory);

/*
 * The same, with these addresses of network interfaces instead of getifaddrs(3)'s, which tests make
 * up.
 */
int inventory_take_with(
	const char *root, const struct ifaddrs *addresses, struct inventory *inventory);

/* Mb/s of a rate like "2.5 Gb/sec (1X SDR)"; 0 if the text is none, or NULL. */
uint64_t inventory_megabits(const char *rate);

/* Frees what it owns and makes it empty. An empty one may be freed again. */
void inventory_free(struct inventory *inventory);

/* The device of that name, NULL if there is none. It belongs to the inventory. */
const struct inventory_device *inventory_device(
	const struct inventory *inventory, const char *name);

/* The port of that device, NULL if there is none. It belongs to the inventory. */
const struct inventory_port *inventory_find(
	const struct inventory *inventory, const char *device, unsigned int port);

/*
 * Finds the first thing that keeps this host from using RDMA: what is missing for all devices, or
 * what is missing at the port that lacks least. Returns HOST_READY, or what is missing, and says in
 * evidence (may be cut at size) what was seen; "" if nothing is missing. Knows only the inventory.
 */
enum readiness inventory_judge(const struct inventory *inventory, char *evidence, size_t size);

/* The same for one port of a device, as far as that depends on the device and the port. */
enum readiness inventory_judge_port(const struct inventory_device *device,
	const struct inventory_port *port, char *evidence, size_t size);

/* Takes a line without its end, which is valid during the call. */
typedef void inventory_line(const char *line, void *context);

/*
 * Shows the inventory: a line for the host, then for each port one and one for each GID:
 *
 *   rdma_cm usable, ib_core loaded, rdma_ucm loaded, netns shared, locked memory 8.4 MB
 *   rxe0/1: ACTIVE, LinkUp, Ethernet, 2.5 Gb/sec (1X), rdma_rxe, uverbs0 usable; eth0: up, ...
 *   rxe0/1 GID 1: ::ffff:10.0.0.1, RoCE v2, eth0
 *
 * They are safe to print: control characters and bytes that are not UTF-8 are \xHH. What is longer
 * than INVENTORY_LINE is cut before that.
 */
#define INVENTORY_LINE 1024
void inventory_print(const struct inventory *inventory, inventory_line *line, void *context);

struct json_object;

/*
 * The inventory as a JSON object with members like the fields of the structs, texts made safe as in
 * base/json-document.h; what is not known is null. The caller frees it with json_object_put(); NULL: there
 * is no memory.
 */
struct json_object *inventory_json(const struct inventory *inventory);

#endif

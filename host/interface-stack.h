/*
 * The network interfaces between an address and an RDMA device: 10.0.0.5 is on br0, a bridge over
 * eth0, the interface of mlx5_0. Sends nothing. Any thread.
 */
#ifndef HOST_INTERFACE_STACK_H
#define HOST_INTERFACE_STACK_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "host/netlink.h"

/* Interfaces of a stack; deeper ones end at the last. */
#define INTERFACE_STACK_LAYERS 6

struct interface_layer {
	char name[IF_NAMESIZE];
	char kind[16]; /* "bridge", "macvlan", as in struct netlink_link; "" for a physical one */
	char hardware[NETLINK_HARDWARE_SIZE]; /* its MAC address, "": unknown */
};

/* Interfaces from the address down. */
struct interface_stack {
	size_t count; /* 0: unknown */
	struct interface_layer layers[INTERFACE_STACK_LAYERS];
	bool complete;  /* the last layer is the interface that was searched for */
	bool elsewhere; /* the interface below the last layer is in another network namespace */
};

/*
 * Finds the way from the interface `top` down to the interface `bottom`: through the ports and
 * slaves of a bridge, bond, team or VRF, and the interfaces below a VLAN, macvlan, ipvlan or
 * tunnel. If there is none, or bottom is "", the stack is incomplete and contains the interfaces
 * below top for as long as each has exactly one. links are those of netlink_list_links().
 */
void interface_stack_find(const struct netlink_link *links, size_t count, const char *top,
	const char *bottom, struct interface_stack *stack);

/* Returns the place of the first layer of this kind, or -1. */
int interface_stack_kind(const struct interface_stack *stack, const char *kind);

/*
 * True if neighbours are told another MAC address than that of the interface at the bottom of a
 * complete stack, because the interface at its top has another one.
 */
bool interface_stack_changes_mac(const struct interface_stack *stack);

/*
 * Writes the layers, truncated to size: "br0 (bridge) over bond0 (bond) over eth0", "eth0", or
 * "net1 (macvlan) over an interface of another network namespace".
 */
void interface_stack_describe(const struct interface_stack *stack, char *text, size_t size);

#endif

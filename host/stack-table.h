/*
 * Which stacks of network interfaces can carry RDMA, for each driver: a table, which
 * docs/troubleshooting.md also shows. Any thread.
 */
#ifndef HOST_STACK_TABLE_H
#define HOST_STACK_TABLE_H

#include "host/inventory.h"

enum stack_verdict {
	STACK_UNKNOWN = 0, /* never tried, or it depends on the adapter's settings */
	STACK_CARRIES,     /* the device exchanges packets for addresses of that interface */
	STACK_OWN_MAC,     /* only if the interface above has the MAC address of the device's own */
	STACK_LOSES,       /* the device never receives the packets for such an address */
};

/* One case: an address on an interface of this kind, above the device's own interface. */
struct stack_row {
	const char *driver; /* as in struct inventory_device */
	const char *kind;   /* as in struct interface_layer */
	enum stack_verdict verdict;
	const char *basis; /* how it is known */
};

/* Returns the row at this index, NULL past the end of the table. For tests and documents. */
const struct stack_row *stack_table_row(size_t index);

/*
 * Returns the verdict for a stack that ends at the device's own interface: the worst of its layers
 * above that interface. An incomplete stack is unknown. An address on the device's own interface is
 * carried.
 */
enum stack_verdict stack_table_verdict(const char *driver, const struct interface_stack *stack);

/*
 * True if the verdict is STACK_OWN_MAC, and the interface above has another MAC address than the
 * device's own: the device may not receive packets for its addresses.
 */
bool stack_table_needs_mac(const char *driver, const struct interface_stack *stack);

/*
 * Writes "10.0.0.5 on br0 (bridge) over eth0 (mlx5_0)", truncated to size. address may be "".
 */
void stack_table_describe(const char *address, const struct inventory_interface *interface,
	const char *device, char *text, size_t size);

/*
 * True if the device does not receive packets for this address of this host: STACK_LOSES. Writes
 * the description, "" if false. Takes its own inventory; root: see host/sysfs.h.
 */
bool stack_table_loses(const char *root, const char *device, const struct sockaddr *address,
	char *text, size_t size);

#endif

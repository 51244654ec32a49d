/*
 * The table of stacks, and its use. To add a driver or a kind of interface, add rows. Rows of
 * software devices were tried; rows of adapters were read in their drivers. The driver of bnxt_re
 * is bnxt_en, that of irdma is ice: those of the PCI device.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "host/stack-table.h"

#define TRIED "tried, Linux 6.1 and 6.12"

static const struct stack_row rows[] = {
	/*
	 * Soft-RoCE receives from the interface to which the kernel delivers the packet, and looks
	 * for a device on that interface or, for a VLAN, on the one below: rxe_udp_encap_recv().
	 */
	{"rdma_rxe", "bridge", STACK_LOSES, TRIED}, {"rdma_rxe", "bond", STACK_LOSES, TRIED},
	{"rdma_rxe", "team", STACK_LOSES, TRIED}, {"rdma_rxe", "macvlan", STACK_LOSES, TRIED},
	{"rdma_rxe", "ipvlan", STACK_LOSES, TRIED}, {"rdma_rxe", "vxlan", STACK_LOSES, TRIED},
	{"rdma_rxe", "vlan", STACK_CARRIES, TRIED},
	/*
	 * Software iWARP uses sockets of the kernel. The connection manager of Linux 6.1 finds the
	 * device by the MAC address of the interface, which its GID contains; that of Linux 6.12 by
	 * the interface itself, so it uses no iWARP device for an address above, except on a VLAN:
	 * such an interface is none of the device's, and not asked for here. cma_validate_port().
	 */
	{"siw", "bridge", STACK_OWN_MAC, TRIED}, {"siw", "bond", STACK_OWN_MAC, TRIED},
	{"siw", "team", STACK_OWN_MAC, TRIED}, {"siw", "ipvlan", STACK_OWN_MAC, TRIED},
	{"siw", "vlan", STACK_OWN_MAC, TRIED},
	/*
	 * Adapters have a GID for each address above their interface, by
	 * is_eth_port_of_netdev_filter(). Its entry in the device contains the VLAN and the MAC
	 * address of the GID's interface, by rdma_read_gid_l2_fields(); that of bnxt_re always the
	 * adapter's, by bnxt_re_add_gid(). Which MAC addresses they receive depends on more.
	 * macvlans are documented for containers.
	 */
	{"mlx5_core", "vlan", STACK_CARRIES, "mlx5_ib_add_gid(), set_roce_addr()"},
	{"mlx5_core", "macvlan", STACK_CARRIES, "k8s-rdma-shared-dev-plugin"},
	{"mlx5_core", "bond", STACK_OWN_MAC, "drivers/net/ethernet/mellanox/mlx5/core/lag"},
	{"mlx5_core", "team", STACK_OWN_MAC, "as bond"},
	{"mlx5_core", "bridge", STACK_OWN_MAC, "set_roce_addr()"},
	{"mlx5_core", "ipvlan", STACK_OWN_MAC, "set_roce_addr()"},
	{"mlx4_core", "vlan", STACK_CARRIES, "__mlx4_ib_modify_qp(): rdma_read_gid_l2_fields()"},
	{"mlx4_core", "bond", STACK_OWN_MAC, "mlx4_bond()"},
	{"mlx4_core", "bridge", STACK_OWN_MAC, "__mlx4_ib_modify_qp(): rdma_read_gid_l2_fields()"},
	{"bnxt_en", "vlan", STACK_CARRIES, "bnxt_re_add_gid()"},
	{"bnxt_en", "bond", STACK_OWN_MAC, "bnxt_re_add_gid()"},
	{"bnxt_en", "bridge", STACK_OWN_MAC, "bnxt_re_add_gid()"},
	{"bnxt_en", "macvlan", STACK_OWN_MAC, "bnxt_re_add_gid()"},
	{"bnxt_en", "ipvlan", STACK_OWN_MAC, "bnxt_re_add_gid()"},
	{"ice", "vlan", STACK_CARRIES, "irdma_create_ah(): rdma_read_gid_l2_fields()"},
	{"ice", "bridge", STACK_OWN_MAC, "irdma_create_ah(): rdma_read_gid_l2_fields()"},
	/* Not ice and bond: ice removes the RDMA device of a bond's slave, ice_lag_link(). */
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct stack_row *stack_table_row(size_t index)
{
	return index < COUNT(rows) ? &rows[index] : NULL;
}

static enum stack_verdict verdict_of_layer(const char *driver, const char *kind)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (strcmp(rows[i].driver, driver) == 0 && strcmp(rows[i].kind, kind) == 0)
			return rows[i].verdict;
	return STACK_UNKNOWN;
}

/* Returns the verdict that decides if a stack has a layer of each. */
static enum stack_verdict worse(enum stack_verdict a, enum stack_verdict b)
{
	if (a == STACK_LOSES || b == STACK_LOSES)
		return STACK_LOSES;
	if (a == STACK_UNKNOWN || b == STACK_UNKNOWN)
		return STACK_UNKNOWN;
	return a > b ? a : b;
}

enum stack_verdict stack_table_verdict(const char *driver, const struct interface_stack *stack)
{
	enum stack_verdict verdict = STACK_CARRIES;

	if (!stack->complete)
		return STACK_UNKNOWN;
	for (size_t i = 0; i + 1 < stack->count; i++)
		verdict = worse(verdict, verdict_of_layer(driver, stack->layers[i].kind));
	return verdict;
}

bool stack_table_needs_mac(const char *driver, const struct interface_stack *stack)
{
	return stack_table_verdict(driver, stack) == STACK_OWN_MAC &&
	       interface_stack_changes_mac(stack);
}

void stack_table_describe(const char *address, const struct inventory_interface *interface,
	const char *device, char *text, size_t size)
{
	char layers[160];

	interface_stack_describe(&interface->stack, layers, sizeof(layers));
	snprintf(text, size, "%s%s%s (%s)", address, *address ? " on " : "",
		*layers ? layers : interface->name, device);
}

/* Returns the interface of the device that has this address, NULL if none has. */
static const struct inventory_interface *find_owner(
	const struct inventory_device *device, const struct sockaddr *address)
{
	for (size_t i = 0; i < device->port_count; i++)
		for (size_t j = 0; j < device->ports[i].interface_count; j++) {
			const struct inventory_interface *interface =
				&device->ports[i].interfaces[j];

			for (size_t k = 0; k < interface->address_count; k++)
				if (address_equal((const struct sockaddr *)&interface->addresses[k]
							  .address,
					    address))
					return interface;
		}
	return NULL;
}

bool stack_table_loses(const char *root, const char *device, const struct sockaddr *address,
	char *text, size_t size)
{
	const struct inventory_interface *interface = NULL;
	const struct inventory_device *found;
	char address_name[ADDRESS_TEXT_SIZE];
	struct inventory inventory;
	bool loses;

	*text = '\0';
	if (inventory_take(root, device, &inventory))
		return false;
	found = inventory_device(&inventory, device);
	if (found)
		interface = find_owner(found, address);
	loses = interface && stack_table_verdict(found->driver, &interface->stack) == STACK_LOSES;
	if (loses) {
		address_text(address, address_name);
		stack_table_describe(address_name, interface, device, text, size);
	}
	inventory_free(&inventory);
	return loses;
}

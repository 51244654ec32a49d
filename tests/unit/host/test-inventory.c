/* The inventory of a host's RDMA devices, read from fake sysfs trees and address lists. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/readiness.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

#define NOBODY  65534
#define DEVICES "/sys/class/infiniband"
#define VERBS   "/sys/class/infiniband_verbs"
#define NET     "/sys/class/net"

/* An address list as returned by getifaddrs(3). */
struct addresses {
	struct ifaddrs list[8];
	struct sockaddr_storage storage[8];
	char names[8][32];
	size_t count;
};

static void add_interface(struct addresses *addresses, const char *interface, sa_family_t family)
{
	struct ifaddrs *added = &addresses->list[addresses->count];

	assert_true(addresses->count < COUNT(addresses->list));
	snprintf(addresses->names[addresses->count], sizeof(addresses->names[0]), "%s", interface);
	added->ifa_name = addresses->names[addresses->count];
	added->ifa_addr = (struct sockaddr *)&addresses->storage[addresses->count];
	added->ifa_addr->sa_family = family;
	if (addresses->count)
		added[-1].ifa_next = added;
	addresses->count++;
}

static void add_address(struct addresses *addresses, const char *interface, const char *text)
{
	struct sockaddr_storage *storage = &addresses->storage[addresses->count];
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)storage;
	struct sockaddr_in *four = (struct sockaddr_in *)storage;

	add_interface(addresses, interface, strchr(text, ':') ? AF_INET6 : AF_INET);
	if (strchr(text, ':'))
		assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
	else
		assert_int_equal(inet_pton(AF_INET, text, &four->sin_addr), 1);
}

/* Creates a file in a port's folder; port is DEVICE/ports/NUMBER. */
static void put_port(
	const struct tree *tree, const char *port, const char *file, const char *content)
{
	char path[256];

	snprintf(path, sizeof(path), DEVICES "/%s/%s", port, file);
	put(tree, path, content);
}

static void put_gid(const struct tree *tree, const char *port, unsigned int index, const char *gid,
	const char *type, const char *interface)
{
	char file[64];

	snprintf(file, sizeof(file), "gids/%u", index);
	put_port(tree, port, file, gid);
	snprintf(file, sizeof(file), "gid_attrs/types/%u", index);
	if (type)
		put_port(tree, port, file, type);
	snprintf(file, sizeof(file), "gid_attrs/ndevs/%u", index);
	if (interface)
		put_port(tree, port, file, interface);
}

static void put_interface(
	const struct tree *tree, const char *name, const char *state, const char *mtu)
{
	char path[128];

	snprintf(path, sizeof(path), NET "/%s/operstate", name);
	put(tree, path, state);
	snprintf(path, sizeof(path), NET "/%s/mtu", name);
	put(tree, path, mtu);
}

/* Creates a port's state files. */
static void put_state(const struct tree *tree, const char *port, const char *state,
	const char *physical_state, const char *link_layer, const char *rate)
{
	put_port(tree, port, "state", state);
	put_port(tree, port, "phys_state", physical_state);
	put_port(tree, port, "link_layer", link_layer);
	put_port(tree, port, "rate", rate);
}

static void put_rxe(const struct tree *tree)
{
	put(tree, DEVICES "/rxe0/node_type", "1: CA\n");
	put(tree, DEVICES "/rxe0/node_desc", "rxe\n");
	put(tree, DEVICES "/rxe0/fw_ver", "\n");
	put(tree, DEVICES "/rxe0/parent", "eth0\n");
	put_state(tree, "rxe0/ports/1", "4: ACTIVE\n", "5: LinkUp\n", "Ethernet\n",
		"2.5 Gb/sec (1X)\n");
	put_gid(tree, "rxe0/ports/1", 0, "fe80:0000:0000:0000:5054:00ff:fe12:3456\n", "RoCE v2\n",
		"eth0\n");
	put_gid(tree, "rxe0/ports/1", 1, "0000:0000:0000:0000:0000:ffff:0a00:0001\n", "RoCE v2\n",
		"eth0\n");
	put_gid(tree, "rxe0/ports/1", 2, "0000:0000:0000:0000:0000:0000:0000:0000\n", NULL, NULL);
	put_interface(tree, "eth0", "up\n", "1500\n");
	put(tree, VERBS "/uverbs0/ibdev", "rxe0\n");
	put(tree, VERBS "/abi_version", "6\n");
	put(tree, "/dev/infiniband/uverbs0", "");
	put(tree, "/dev/infiniband/rdma_cm", "");
}

static void lists_soft_roce(void **state)
{
	const struct tree *tree = *state;
	struct addresses addresses = {0};
	const struct inventory_device *device;
	const struct inventory_port *port;
	struct inventory inventory;

	put_rxe(tree);
	add_interface(&addresses, "eth0", AF_PACKET);
	add_address(&addresses, "lo", "127.0.0.1");
	add_address(&addresses, "eth0", "10.0.0.1");
	add_address(&addresses, "eth0:1", "10.0.1.1");
	add_address(&addresses, "eth01", "10.9.9.9");
	add_address(&addresses, "eth0", "fe80::5054:ff:fe12:3456");
	assert_int_equal(inventory_take_with(tree->path, NULL, addresses.list, &inventory), 0);
	assert_int_equal(inventory.device_count, 1);

	device = inventory_device(&inventory, "rxe0");
	assert_non_null(device);
	assert_string_equal(device->type, "CA");
	assert_string_equal(device->description, "rxe");
	assert_string_equal(device->firmware, "");
	assert_string_equal(device->driver, "rdma_rxe");
	assert_string_equal(device->parent, "eth0");
	assert_string_equal(device->uverbs, "uverbs0");
	assert_int_equal(device->access, SYSFS_GRANTED);

	port = inventory_port(&inventory, "rxe0", 1);
	assert_non_null(port);
	assert_string_equal(port->state, "ACTIVE");
	assert_string_equal(port->physical_state, "LinkUp");
	assert_string_equal(port->link_layer, "Ethernet");
	assert_string_equal(port->rate, "2.5 Gb/sec (1X)");
	assert_int_equal(port->megabits, 2500);
	assert_int_equal(port->gid_count, 2);
	assert_string_equal(port->gids[0].text, "fe80::5054:ff:fe12:3456");
	assert_true(port->gids[0].link_local);
	assert_int_equal(port->gids[1].index, 1);
	assert_string_equal(port->gids[1].text, "::ffff:10.0.0.1");
	assert_string_equal(port->gids[1].type, "RoCE v2");
	assert_string_equal(port->gids[1].interface, "eth0");
	assert_false(port->gids[1].link_local);
	assert_int_equal(port->interface_count, 1);
	assert_string_equal(port->interfaces[0].name, "eth0");
	assert_string_equal(port->interfaces[0].state, "up");
	assert_int_equal(port->interfaces[0].mtu, 1500);
	assert_int_equal(port->interfaces[0].address_count, 3);
	assert_string_equal(port->interfaces[0].addresses[0].text, "10.0.0.1");
	assert_memory_equal(&port->interfaces[0].addresses[0].address, addresses.list[2].ifa_addr,
		sizeof(struct sockaddr_in));
	assert_string_equal(port->interfaces[0].addresses[1].text, "10.0.1.1");
	assert_false(port->interfaces[0].addresses[1].link_local);
	assert_true(port->interfaces[0].addresses[2].link_local);

	assert_null(inventory_port(&inventory, "rxe0", 2));
	assert_null(inventory_port(&inventory, "rxe1", 1));
	assert_null(inventory_device(&inventory, ""));
	inventory_free(&inventory);
	assert_int_equal(inventory.device_count, 0);
	inventory_free(&inventory);
}

/* RoCE v1 and v2 GIDs, holes in the GID table, a network interface per port, and a VLAN. */
static void lists_an_adapter_with_two_ports(void **state)
{
	const struct tree *tree = *state;
	static const char *const ports[] = {"mlx5_0/ports/1", "mlx5_0/ports/2"};
	static const char *const interfaces[] = {"eth2\n", "eth3\n"};
	struct addresses addresses = {0};
	struct inventory inventory;

	put_link(tree, DEVICES "/mlx5_0/device/driver", "../../../../bus/pci/drivers/mlx5_core");
	put(tree, DEVICES "/mlx5_0/fw_ver", "16.35.2000\n");
	for (size_t i = 0; i < COUNT(ports); i++) {
		put_state(tree, ports[i], "4: ACTIVE\n", "5: LinkUp\n", "Ethernet\n",
			"100 Gb/sec (4X EDR)\n");
		put_gid(tree, ports[i], 10, "0000:0000:0000:0000:0000:ffff:0a00:0003\n",
			"RoCE v2\n", "eth2.7\n");
		put_gid(tree, ports[i], 2, "0000:0000:0000:0000:0000:ffff:0a00:0002\n",
			"IB/RoCE v1\n", interfaces[i]);
		put_gid(tree, ports[i], 3, "0000:0000:0000:0000:0000:ffff:0a00:0002\n", "RoCE v2\n",
			interfaces[i]);
	}
	put(tree, DEVICES "/mlx5_0/device/net/eth2/dev_port", "0\n");
	put(tree, DEVICES "/mlx5_0/device/net/eth3/dev_port", "1\n");
	put(tree, DEVICES "/mlx5_0/device/net/eth4/dev_port", "1\n");
	put(tree, NET "/eth2/dev_port", "0\n");
	put(tree, NET "/eth3/dev_port", "1\n");
	put(tree, NET "/eth4/dev_port", "1\n");
	put(tree, VERBS "/uverbs0/ibdev", "other\n");
	put(tree, VERBS "/uverbs1/ibdev", "mlx5_0\n");
	add_address(&addresses, "eth2.7", "fd00::1");
	assert_int_equal(inventory_take_with(tree->path, NULL, addresses.list, &inventory), 0);
	assert_int_equal(inventory.device_count, 1);
	assert_string_equal(inventory.devices[0].driver, "mlx5_core");
	assert_string_equal(inventory.devices[0].uverbs, "uverbs1");
	assert_int_equal(inventory.devices[0].access, SYSFS_MISSING);
	assert_int_equal(inventory.devices[0].port_count, 2);
	for (unsigned int i = 0; i < 2; i++) {
		const struct inventory_port *port = inventory_port(&inventory, "mlx5_0", i + 1);

		assert_non_null(port);
		assert_int_equal(port->megabits, 100000);
		assert_int_equal(port->gid_count, 3);
		assert_int_equal(port->gids[0].index, 2);
		assert_string_equal(port->gids[0].type, "IB/RoCE v1");
		assert_int_equal(port->gids[1].index, 3);
		assert_string_equal(port->gids[1].type, "RoCE v2");
		assert_int_equal(port->gids[2].index, 10);
		assert_int_equal(port->interface_count, i == 0 ? 2 : 3);
		assert_string_equal(port->interfaces[0].name, i == 0 ? "eth2" : "eth3");
		assert_int_equal(port->interfaces[0].mtu, 0);
		assert_string_equal(port->interfaces[1].name, "eth2.7");
		assert_string_equal(port->interfaces[1].addresses[0].text, "fd00::1");
		assert_false(port->interfaces[1].addresses[0].link_local);
	}
	inventory_free(&inventory);
}

static void reports_a_port_that_is_down(void **state)
{
	const struct tree *tree = *state;
	struct inventory inventory;
	char evidence[128];

	put_rxe(tree);
	put_state(tree, "rxe0/ports/1", "1: DOWN\n", "3: Disabled\n", "Ethernet\n", "\n");
	put_interface(tree, "eth0", "down\n", "1500\n");
	assert_int_equal(inventory_take_with(tree->path, NULL, NULL, &inventory), 0);
	assert_int_equal(
		readiness_check(&inventory, NULL, evidence, sizeof(evidence)), HOST_PORT_DOWN);
	assert_string_equal(
		evidence, "port rxe0/1 is DOWN (Disabled), network interface eth0 is down");
	inventory_free(&inventory);
}

static void lists_infiniband(void **state)
{
	const struct tree *tree = *state;
	struct addresses addresses = {0};
	const struct inventory_port *port;
	struct inventory inventory;

	put_state(tree, "mlx5_0/ports/1", "4: ACTIVE\n", "5: LinkUp\n", "InfiniBand\n",
		"400 Gb/sec (4X NDR)\n");
	put_port(tree, "mlx5_0/ports/1", "lid", "0x1c\n");
	put_port(tree, "mlx5_0/ports/1", "sm_lid", "0x1\n");
	put_gid(tree, "mlx5_0/ports/1", 0, "fe80:0000:0000:0000:ec0d:9a03:0096:d2c0\n",
		"IB/RoCE v1\n", NULL);
	put_folder(tree, DEVICES "/mlx5_0/device/net/ib0");
	put_interface(tree, "ib0", "up\n", "2044\n");
	add_address(&addresses, "ib0", "10.1.0.1");
	assert_int_equal(inventory_take_with(tree->path, NULL, addresses.list, &inventory), 0);
	port = inventory_port(&inventory, "mlx5_0", 1);
	assert_non_null(port);
	assert_int_equal(port->lid, 28);
	assert_int_equal(port->sm_lid, 1);
	assert_int_equal(port->megabits, 400000);
	assert_string_equal(port->gids[0].interface, "");
	assert_int_equal(port->interface_count, 1);
	assert_ptr_equal(inventory_interface(port, "ib0"), &port->interfaces[0]);
	assert_null(inventory_interface(port, "ib"));
	assert_int_equal(port->interfaces[0].mtu, 2044);
	assert_string_equal(port->interfaces[0].addresses[0].text, "10.1.0.1");
	inventory_free(&inventory);
}

static void lists_nothing_on_an_empty_host(void **state)
{
	const struct tree *tree = *state;
	struct inventory inventory;

	memset(&inventory, 0xa5, sizeof(inventory));
	assert_int_equal(inventory_take_with(tree->path, NULL, NULL, &inventory), 0);
	assert_int_equal(inventory.device_count, 0);
	assert_int_equal(inventory.rdma_cm, SYSFS_MISSING);
	assert_false(inventory.ib_core);
	assert_false(inventory.rdma_ucm);
	assert_int_equal(inventory.netns, INVENTORY_NETNS_UNKNOWN);
	assert_false(inventory.ipc_lock);
	inventory_free(&inventory);
	/* inventory_take() uses the real addresses of this host. */
	put_rxe(tree);
	assert_int_equal(inventory_take(tree->path, "rxe0", &inventory), 0);
	assert_non_null(inventory_port(&inventory, "rxe0", 1));
	inventory_free(&inventory);
	assert_int_equal(inventory_take(tree->path, "rxe", &inventory), 0);
	assert_int_equal(inventory.device_count, 0);
	inventory_free(&inventory);
}

static void reads_host_settings(void **state)
{
	const struct tree *tree = *state;
	static const struct {
		const char *mode;
		enum inventory_netns netns;
	} modes[] = {
		{"Y\n", INVENTORY_NETNS_SHARED},
		{"N\n", INVENTORY_NETNS_EXCLUSIVE},
		{"", INVENTORY_NETNS_UNKNOWN},
		{"Yes, and more than that\n", INVENTORY_NETNS_UNKNOWN},
	};
	struct inventory inventory;

	put_folder(tree, "/sys/module/rdma_ucm");
	for (size_t i = 0; i < COUNT(modes); i++) {
		put(tree, "/sys/module/ib_core/parameters/netns_mode", modes[i].mode);
		assert_int_equal(inventory_take_with(tree->path, NULL, NULL, &inventory), 0);
		check_case(modes[i].mode, inventory.netns == modes[i].netns);
		assert_true(inventory.ib_core);
		assert_true(inventory.rdma_ucm);
		inventory_free(&inventory);
	}
	put(tree, "/proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\n");
	put(tree, "/proc/self/uid_map", "         0          0 4294967295\n");
	assert_int_equal(inventory_take_with(tree->path, NULL, NULL, &inventory), 0);
	assert_true(inventory.ipc_lock);
	inventory_free(&inventory);
}

/* Root bypasses permission checks, so a child process checks as the user nobody. */
static void reports_inaccessible_devices(void **state)
{
	const struct tree *tree = *state;
	struct inventory inventory;
	char path[128];
	int status;
	pid_t child;

	put_rxe(tree);
	snprintf(path, sizeof(path), "%s/dev/infiniband/uverbs0", tree->path);
	assert_int_equal(chmod(path, 0444), 0);
	snprintf(path, sizeof(path), "%s" DEVICES "/rxe0/ports/1/rate", tree->path);
	assert_int_equal(chmod(path, 0), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int result = 0;

		if ((getuid() == 0 && setuid(NOBODY)) ||
			inventory_take_with(tree->path, NULL, NULL, &inventory))
			_exit(99);
		result |= inventory.devices[0].access == SYSFS_DENIED ? 1 : 0;
		result |= inventory.devices[0].ports[0].rate[0] == '\0' ? 2 : 0;
		result |= strcmp(inventory.devices[0].ports[0].state, "ACTIVE") == 0 ? 4 : 0;
		inventory_free(&inventory);
		_exit(result);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

static void reads_rates(void **state)
{
	const struct tree *tree = *state;
	static const struct {
		const char *rate;
		uint64_t megabits;
	} cases[] = {
		{"100 Gb/sec (4X EDR)\n", 100000},
		{"2.5 Gb/sec (1X)", 2500},
		{"0 Gb/sec\n", 0},
		{"999999999 Gb/sec\n", UINT64_C(999999999000)},
		{"1000000000 Gb/sec\n", 0},
		{"-1 Gb/sec\n", 0},
		{"1. Gb/sec\n", 0},
		{"1.23 Gb/sec\n", 0},
		{"100 Mb/sec\n", 0},
		{"100", 0},
		{"", 0},
		{"nonsense\n", 0},
	};
	struct inventory inventory;

	for (size_t i = 0; i < COUNT(cases); i++) {
		put_port(tree, "rxe0/ports/1", "rate", cases[i].rate);
		assert_int_equal(inventory_take_with(tree->path, NULL, NULL, &inventory), 0);
		check_case(
			cases[i].rate, inventory.devices[0].ports[0].megabits == cases[i].megabits);
		inventory_free(&inventory);
	}
}

static void survives_malformed_files(void **state)
{
	const struct tree *tree = *state;
	const struct inventory_port *port;
	struct inventory inventory;
	char long_text[9000], long_name[200];

	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	memset(long_name, 'd', sizeof(long_name) - 1);
	memcpy(long_name, DEVICES "/", strlen(DEVICES "/"));
	long_name[sizeof(long_name) - 1] = '\0';
	put_folder(tree, long_name);
	put(tree, DEVICES "/rxe0/node_desc", long_text);
	put(tree, DEVICES "/rxe0/parent", "../../../etc/passwd\n");
	put_state(tree, "rxe0/ports/1", "4: \x1b[2J", "-1: \xff\n", long_text, "\n");
	put_port(tree, "rxe0/ports/1", "lid", "-5\n");
	put_port(tree, "rxe0/ports/1", "sm_lid", "0xfffffffff\n");
	put_gid(tree, "rxe0/ports/1", 0, "no GID\n", NULL, NULL);
	put_gid(tree, "rxe0/ports/1", 1, long_text, NULL, NULL);
	put_gid(tree, "rxe0/ports/1", 2, "fd00::1", long_text, "../eth0");
	put_gid(tree, "rxe0/ports/1", 3, "fd00::2", NULL, long_text);
	put_port(tree, "rxe0/ports/1", "gids/-4", "fd00::4\n");
	put_port(tree, "rxe0/ports/1", "gids/99999999999", "fd00::5\n");
	put_folder(tree, DEVICES "/rxe0/ports/one");
	put_folder(tree, DEVICES "/rxe0/ports/99999999999999999999");
	put_interface(tree, "eth9", "", "-1500\n");
	put_folder(tree, DEVICES "/rxe0/device/net/eth9");
	put(tree, NET "/eth9/dev_port", "0\n");
	put(tree, VERBS "/uverbs0/ibdev", long_text);
	put_folder(tree, VERBS "/uverbs1/ibdev");
	assert_int_equal(inventory_take_with(tree->path, NULL, NULL, &inventory), 0);
	assert_int_equal(inventory.device_count, 1);
	assert_int_equal(strlen(inventory.devices[0].description), 64);
	assert_string_equal(inventory.devices[0].uverbs, "");
	assert_int_equal(inventory.devices[0].port_count, 1);
	port = &inventory.devices[0].ports[0];
	assert_string_equal(port->state, "\x1b[2J");
	assert_string_equal(port->physical_state, "-1: \xff");
	assert_int_equal(port->lid, 0);
	assert_int_equal(port->sm_lid, 0);
	assert_int_equal(port->gid_count, 2);
	assert_int_equal(port->gids[0].index, 2);
	assert_int_equal(port->gids[1].index, 3);
	/*
	 * The long name is truncated to the maximum length of an interface name; invalid names are
	 * ignored.
	 */
	assert_int_equal(port->interface_count, 2);
	assert_string_equal(port->interfaces[0].name, "xxxxxxxxxxxxxxx");
	assert_string_equal(port->interfaces[1].name, "eth9");
	assert_int_equal(port->interfaces[1].mtu, 0);
	inventory_free(&inventory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(lists_soft_roce),
		with_tree(lists_an_adapter_with_two_ports),
		with_tree(reports_a_port_that_is_down),
		with_tree(lists_infiniband),
		with_tree(lists_nothing_on_an_empty_host),
		with_tree(reads_host_settings),
		with_tree(reports_inaccessible_devices),
		with_tree(reads_rates),
		with_tree(survives_malformed_files),
	};

	return cmocka_run_group_tests_name("inventory", tests, NULL, NULL);
}

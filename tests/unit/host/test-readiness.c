/* Readiness checks: host-wide requirements in fake sysfs trees, and fake inventories. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/readiness.h"
#include "tests/unit/common/inventory-fixture.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

#define NOBODY  65534
#define DEVICES "/sys/class/infiniband"

static void assert_host_lacks(const struct tree *root, enum readiness lacking, const char *seen)
{
	char evidence[256] = "";

	assert_int_equal(readiness_of_host(root->path, evidence, sizeof(evidence)), lacking);
	assert_string_equal(evidence, seen);
}

static void finds_missing_parts(void **state)
{
	const struct tree *root = *state;

	assert_host_lacks(root, HOST_NO_DEVICE, "no entries in " DEVICES);
	put_folder(root, DEVICES);
	assert_host_lacks(root, HOST_NO_DEVICE, "no entries in " DEVICES);
	put_folder(root, DEVICES "/.hidden");
	assert_host_lacks(root, HOST_NO_DEVICE, "no entries in " DEVICES);
	put(root, "/sys/module/ib_core/parameters/netns_mode", "Y\n");
	assert_host_lacks(root, HOST_NO_DEVICE, "no entries in " DEVICES);
	put(root, "/sys/module/ib_core/parameters/netns_mode", "N\n");
	assert_host_lacks(root, HOST_DEVICES_HIDDEN,
		"no entries in " DEVICES "; ib_core netns_mode is exclusive");
	put_folder(root, DEVICES "/rxe0");
	assert_host_lacks(
		root, HOST_NO_RDMA_CM, "found rxe0, but /dev/infiniband/rdma_cm is missing");
	put(root, "/dev/infiniband/rdma_cm", "");
	assert_host_lacks(root, HOST_NO_UVERBS, "no entry for rxe0 in /sys/class/infiniband_verbs");
	put(root, "/sys/class/infiniband_verbs/uverbs0/ibdev", "rxe0\n");
	assert_host_lacks(
		root, HOST_NO_UVERBS, "found rxe0, but /dev/infiniband/uverbs0 is missing");
	put(root, "/dev/infiniband/uverbs0", "");
	assert_host_lacks(root, HOST_READY, "");
}

/* Root bypasses permission checks, so a child process checks as the user nobody. */
static void finds_inaccessible_devices(void **state)
{
	const struct tree *root = *state;
	char path[128], evidence[256];
	int status;
	pid_t child;

	put_folder(root, DEVICES "/rxe0");
	put(root, "/dev/infiniband/rdma_cm", "");
	snprintf(path, sizeof(path), "%s/dev/infiniband/rdma_cm", root->path);
	assert_int_equal(chmod(path, 0), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (getuid() == 0 && setuid(NOBODY))
			_exit(99);
		_exit((int)readiness_of_host(root->path, evidence, sizeof(evidence)));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), HOST_NO_ACCESS);
}

/* An allocation of exactly that size exposes a write past its end. */
static void truncates_long_evidence(void **state)
{
	const struct tree *root = *state;

	for (unsigned int i = 0; i < 8; i++) {
		char folder[64];

		snprintf(folder, sizeof(folder), DEVICES "/device-with-a-long-name-%u", i);
		put_folder(root, folder);
	}
	for (size_t size = 1; size < 200; size++) {
		char *text = malloc(size);

		assert_non_null(text);
		assert_int_equal(readiness_of_host(root->path, text, size), HOST_NO_RDMA_CM);
		assert_true(strlen(text) < size);
		free(text);
	}
}

static void assert_lacks(const struct host *host, enum readiness lacks, const char *seen)
{
	char evidence[320] = "rubbish";

	assert_int_equal(
		readiness_check(&host->inventory, NULL, evidence, sizeof(evidence)), lacks);
	assert_string_equal(evidence, seen);
}

static void one_good_port_is_enough(void **state)
{
	struct host host;

	(void)state;
	make_host(&host);
	assert_lacks(&host, HOST_READY, "");
	strcpy(host.ports[0].state, "DOWN");
	host.ports[1].interface_count = 0;
	assert_lacks(&host, HOST_READY, "");
	strcpy(host.ports[2].state, "ACTIVE_DEFER");
	assert_lacks(&host, HOST_READY, "");
	/* Port 2 of the first device is the closest to being ready, so its problem is reported. */
	host.devices[1].access = SYSFS_DENIED;
	assert_lacks(&host, HOST_NO_INTERFACE,
		"port mlx5_0/2 of link type Ethernet has none in this network namespace");
}

static void missing_host_parts_come_first(void **state)
{
	struct host host;

	(void)state;
	make_host(&host);
	strcpy(host.ports[2].state, "DOWN");
	host.inventory.rdma_cm = SYSFS_MISSING;
	assert_lacks(&host, HOST_NO_RDMA_CM,
		"found mlx5_0 rxe0, but /dev/infiniband/rdma_cm is missing");
	host.inventory.rdma_cm = SYSFS_DENIED;
	assert_lacks(&host, HOST_NO_ACCESS, "no read/write permission on /dev/infiniband/rdma_cm");
	host.inventory.device_count = 0;
	assert_lacks(&host, HOST_NO_DEVICE, "no entries in /sys/class/infiniband");
	host.inventory.netns = INVENTORY_NETNS_EXCLUSIVE;
	assert_lacks(&host, HOST_DEVICES_HIDDEN,
		"no entries in /sys/class/infiniband; ib_core netns_mode is exclusive");
}

static void a_device_needs_its_uverbs_file(void **state)
{
	struct host host;

	(void)state;
	make_small_host(&host);
	host.devices[1].access = SYSFS_DENIED;
	assert_lacks(&host, HOST_NO_ACCESS, "no read/write permission on /dev/infiniband/uverbs1");
	host.devices[1].access = SYSFS_MISSING;
	assert_lacks(&host, HOST_NO_UVERBS, "found rxe0, but /dev/infiniband/uverbs1 is missing");
	host.devices[1].uverbs[0] = '\0';
	assert_lacks(&host, HOST_NO_UVERBS, "no entry for rxe0 in /sys/class/infiniband_verbs");
	host.devices[1].port_count = 0;
	assert_lacks(&host, HOST_NO_UVERBS, "no entry for rxe0 in /sys/class/infiniband_verbs");
}

/* Without the other requirements, such as an active port. */
static void access_is_checked_alone(void **state)
{
	struct host host;
	char evidence[128];

	(void)state;
	make_small_host(&host);
	host.inventory.rdma_cm = SYSFS_DENIED;
	host.devices[1].port_count = 0;
	assert_int_equal(
		readiness_of_access(&host.devices[1], evidence, sizeof(evidence)), HOST_READY);
	assert_string_equal(evidence, "");
	host.devices[1].access = SYSFS_DENIED;
	assert_int_equal(
		readiness_of_access(&host.devices[1], evidence, sizeof(evidence)), HOST_NO_ACCESS);
	assert_string_equal(evidence, "no read/write permission on /dev/infiniband/uverbs1");
}

static void a_port_must_be_active(void **state)
{
	struct host host;

	(void)state;
	make_small_host(&host);
	strcpy(host.ports[2].state, "DOWN");
	strcpy(host.ports[2].physical_state, "Disabled");
	strcpy(host.interfaces[2].state, "down");
	assert_lacks(&host, HOST_PORT_DOWN,
		"port rxe0/1 is DOWN (Disabled), network interface eth0 is down");
	host.ports[2].state[0] = '\0';
	host.ports[2].physical_state[0] = '\0';
	host.interfaces[2].state[0] = '\0';
	assert_lacks(&host, HOST_PORT_DOWN,
		"port rxe0/1 is in an unknown state, network interface eth0 is in an unknown state");
	host.ports[2].interface_count = 0;
	assert_lacks(&host, HOST_PORT_DOWN, "port rxe0/1 is in an unknown state");
	host.devices[1].port_count = 0;
	assert_lacks(&host, HOST_PORT_DOWN, "device rxe0 has no ports");
}

static void infiniband_needs_a_subnet_manager(void **state)
{
	struct host host;

	(void)state;
	make_small_host(&host);
	strcpy(host.ports[2].state, "INIT");
	strcpy(host.ports[2].link_layer, "InfiniBand");
	assert_lacks(&host, HOST_NO_SUBNET, "port rxe0/1 is INIT, subnet manager LID 0");
	/* As of an adapter that is set to InfiniBand in an Ethernet network. */
	strcpy(host.ports[2].state, "DOWN");
	strcpy(host.ports[2].physical_state, "Polling");
	assert_lacks(&host, HOST_PORT_DOWN,
		"port rxe0/1 is DOWN (Polling), link type InfiniBand, network interface eth0 is "
		"up");
	strcpy(host.ports[2].state, "INIT");
	strcpy(host.ports[2].physical_state, "LinkUp");
	strcpy(host.ports[2].link_layer, "Ethernet");
	assert_lacks(&host, HOST_PORT_DOWN,
		"port rxe0/1 is INIT (LinkUp), network interface eth0 is up");
	strcpy(host.ports[2].state, "ACTIVE");
	strcpy(host.ports[2].link_layer, "InfiniBand");
	/* InfiniBand GIDs are not derived from IP addresses. */
	host.gids[2].link_local = true;
	assert_lacks(&host, HOST_READY, "");
}

static void a_port_needs_an_address(void **state)
{
	struct host host;

	(void)state;
	make_small_host(&host);
	host.addresses[2].link_local = true;
	strcpy(host.addresses[2].text, "fe80::1%eth0");
	assert_lacks(
		&host, HOST_LINK_LOCAL, "port rxe0/1 has only link-local address fe80::1%eth0");
	host.interfaces[2].address_count = 0;
	assert_lacks(&host, HOST_NO_DEVICE_ADDRESS,
		"port rxe0/1: network interface eth0 has no address");
	host.ports[2].interface_count = 0;
	assert_lacks(&host, HOST_NO_INTERFACE,
		"port rxe0/1 of link type Ethernet has none in this network namespace");
	/* An iWARP device without a known interface may still have an address. */
	strcpy(host.devices[1].type, "RNIC");
	assert_lacks(&host, HOST_READY, "");
}

static void roce_needs_a_gid_for_its_address(void **state)
{
	struct host host;

	(void)state;
	make_small_host(&host);
	host.gids[2].link_local = true;
	assert_lacks(
		&host, HOST_NO_DEVICE_ADDRESS, "port rxe0/1 has no GID for its address 10.0.0.1");
	host.ports[2].gid_count = 0;
	assert_lacks(
		&host, HOST_NO_DEVICE_ADDRESS, "port rxe0/1 has no GID for its address 10.0.0.1");
	strcpy(host.devices[1].type, "RNIC");
	assert_lacks(&host, HOST_READY, "");
}

static void memory_must_be_lockable(void **state)
{
	struct host host;

	(void)state;
	make_small_host(&host);
	host.inventory.locked_max = READINESS_LOCKED_MIN - 1;
	assert_lacks(&host, HOST_LOCKED_MEMORY, "the limit is 65.5 kB");
	host.inventory.locked_max = 0;
	assert_lacks(&host, HOST_LOCKED_MEMORY, "the limit is 0 B");
	strcpy(host.ports[2].state, "DOWN");
	host.ports[2].interface_count = 0;
	assert_lacks(&host, HOST_PORT_DOWN, "port rxe0/1 is DOWN (LinkUp)");
	strcpy(host.ports[2].state, "ACTIVE");
	make_small_host(&host);
	host.inventory.locked_max = 0;
	host.inventory.ipc_lock = true;
	assert_lacks(&host, HOST_READY, "");
}

static void checks_only_the_named_device(void **state)
{
	char evidence[320] = "rubbish";
	struct host host;

	(void)state;
	make_host(&host);
	strcpy(host.ports[2].state, "DOWN");
	assert_int_equal(
		readiness_check(&host.inventory, "mlx5_0", evidence, sizeof(evidence)), HOST_READY);
	assert_string_equal(evidence, "");
	assert_int_equal(readiness_check(&host.inventory, "rxe0", evidence, 9), HOST_PORT_DOWN);
	assert_string_equal(evidence, "port rxe");
	assert_int_equal(readiness_check(&host.inventory, "rxe", evidence, sizeof(evidence)),
		HOST_NO_SUCH_DEVICE);
	assert_string_equal(evidence, "--device rxe");
	host.inventory.rdma_cm = SYSFS_DENIED;
	assert_int_equal(readiness_check(&host.inventory, "mlx5_0", evidence, sizeof(evidence)),
		HOST_NO_ACCESS);
}

static void finds_soft_roce_that_receives_nothing(void **state)
{
	struct host host;

	(void)state;
	make_small_host(&host);
	strcpy(host.inventory.devices[0].parent, "eth0");
	strcpy(host.inventory.devices[0].ports[0].interfaces[0].vrf, "blue");
	assert_lacks(&host, HOST_VRF, "device rxe0, network interface eth0, VRF blue");
	host.inventory.roce_absent = true;
	assert_lacks(&host, HOST_NAMESPACE,
		"device rxe0; no UDP socket has port 4791 in this namespace");
	/* Adapters need no such socket, and may support VRFs. */
	strcpy(host.inventory.devices[0].driver, "mlx5_core");
	assert_lacks(&host, HOST_READY, "");
}

static void finds_interfaces_in_other_namespaces(void **state)
{
	struct host host;

	(void)state;
	make_small_host(&host);
	host.inventory.devices[0].ports[0].interfaces[0].elsewhere = true;
	host.inventory.devices[0].ports[0].interfaces[0].address_count = 0;
	assert_lacks(&host, HOST_INTERFACE_ELSEWHERE,
		"port rxe0/1 belongs to network interface eth0 of another network namespace");
	/* Of software iWARP, sysfs of Linux 6.1 shows no name. */
	strcpy(host.inventory.devices[0].type, "RNIC");
	host.inventory.devices[0].ports[0].interface_count = 0;
	assert_lacks(&host, HOST_READY, "");
	host.inventory.devices[0].ports[0].own_elsewhere = true;
	assert_lacks(&host, HOST_INTERFACE_ELSEWHERE,
		"port rxe0/1 belongs to a network interface of another network namespace");
}

/* An iWARP device has no address of its own, but its interface is part of a bridge that has one. */
static void finds_iwarp_devices_below_addresses(void **state)
{
	struct host host;
	struct inventory_port *port;
	struct inventory_address bridge = {.text = "10.0.0.5"}, local = {.text = "fe80::1%eth0"};

	(void)state;
	make_small_host(&host);
	strcpy(host.inventory.devices[0].type, "RNIC");
	port = &host.inventory.devices[0].ports[0];
	port->unserved = (struct inventory_interface){
		.name = "br0",
		.stack = {.count = 2,
			.layers = {{.name = "br0", .kind = "bridge"}, {.name = "eth0"}},
			.complete = true},
		.address_count = 1,
		.addresses = &bridge,
	};
	/* Its own address suffices. */
	assert_lacks(&host, HOST_READY, "");
	local.link_local = true;
	port->interfaces[0].addresses = &local;
	assert_lacks(&host, HOST_STACK, "10.0.0.5 on br0 (bridge) over eth0 (rxe0)");
	port->unserved = (struct inventory_interface){0};
	assert_lacks(
		&host, HOST_LINK_LOCAL, "port rxe0/1 has only link-local address fe80::1%eth0");
}

static void finds_devices_below_their_addresses(void **state)
{
	struct host host;
	struct interface_stack *stack;

	(void)state;
	make_small_host(&host);
	stack = &host.inventory.devices[0].ports[0].interfaces[0].stack;
	*stack = (struct interface_stack){
		.count = 2,
		.layers = {{.name = "eth0", .kind = "bridge"}, {.name = "eth1"}},
		.complete = true,
	};
	assert_lacks(&host, HOST_STACK, "10.0.0.1 on eth0 (bridge) over eth1 (rxe0)");
	strcpy(stack->layers[0].kind, "vlan");
	assert_lacks(&host, HOST_READY, "");
	/* What was never tried is no fault. */
	strcpy(stack->layers[0].kind, "unheard");
	assert_lacks(&host, HOST_READY, "");
	strcpy(stack->layers[0].kind, "bridge");
	strcpy(host.inventory.devices[0].driver, "mlx5_core");
	assert_lacks(&host, HOST_READY, "");
	strcpy(host.inventory.devices[0].driver, "rdma_rxe");
	stack->complete = false;
	assert_lacks(&host, HOST_READY, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(finds_missing_parts),
		with_tree(finds_inaccessible_devices),
		with_tree(truncates_long_evidence),
		cmocka_unit_test(one_good_port_is_enough),
		cmocka_unit_test(missing_host_parts_come_first),
		cmocka_unit_test(a_device_needs_its_uverbs_file),
		cmocka_unit_test(access_is_checked_alone),
		cmocka_unit_test(a_port_must_be_active),
		cmocka_unit_test(infiniband_needs_a_subnet_manager),
		cmocka_unit_test(a_port_needs_an_address),
		cmocka_unit_test(roce_needs_a_gid_for_its_address),
		cmocka_unit_test(memory_must_be_lockable),
		cmocka_unit_test(checks_only_the_named_device),
		cmocka_unit_test(finds_soft_roce_that_receives_nothing),
		cmocka_unit_test(finds_interfaces_in_other_namespaces),
		cmocka_unit_test(finds_devices_below_their_addresses),
		cmocka_unit_test(finds_iwarp_devices_below_addresses),
	};

	return cmocka_run_group_tests_name("readiness", tests, NULL, NULL);
}

/* What is missing of an inventory, and how it is shown: from inventories that are made up. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/inventory.h"
#include "tests/unit/unit.h"

/* An inventory with room for two ports at one device and one at another, which need not be freed. */
struct host {
	struct inventory inventory;
	struct inventory_device devices[2];
	struct inventory_port ports[3];
	struct inventory_interface interfaces[3];
	struct inventory_address addresses[3];
	struct inventory_gid gids[3];
};

static void make_port(struct host *host, size_t i, unsigned int number)
{
	host->addresses[i] = (struct inventory_address){.text = "10.0.0.1"};
	host->interfaces[i] = (struct inventory_interface){
		.name = "eth0",
		.state = "up",
		.mtu = 1500,
		.address_count = 1,
		.addresses = &host->addresses[i],
	};
	host->gids[i] = (struct inventory_gid){
		.index = 1,
		.text = "::ffff:10.0.0.1",
		.type = "RoCE v2",
		.interface = "eth0",
	};
	host->ports[i] = (struct inventory_port){
		.number = number,
		.state = "ACTIVE",
		.physical_state = "LinkUp",
		.link_layer = "Ethernet",
		.rate = "2.5 Gb/sec (1X)",
		.megabits = 2500,
		.rdma_mtu = 1024,
		.gid_count = 1,
		.gids = &host->gids[i],
		.interface_count = 1,
		.interfaces = &host->interfaces[i],
	};
}

/* A host that lacks nothing: mlx5_0 with two ports, rxe0 with one. */
static void make_host(struct host *host)
{
	memset(host, 0, sizeof(*host));
	make_port(host, 0, 1);
	make_port(host, 1, 2);
	make_port(host, 2, 1);
	host->devices[0] = (struct inventory_device){
		.name = "mlx5_0",
		.type = "CA",
		.firmware = "16.35",
		.driver = "mlx5_core",
		.uverbs = "uverbs0",
		.access = SYSFS_GRANTED,
		.port_count = 2,
		.ports = host->ports,
	};
	host->devices[1] = (struct inventory_device){
		.name = "rxe0",
		.type = "CA",
		.driver = "rdma_rxe",
		.uverbs = "uverbs1",
		.access = SYSFS_GRANTED,
		.port_count = 1,
		.ports = &host->ports[2],
	};
	host->inventory = (struct inventory){
		.rdma_cm = SYSFS_GRANTED,
		.ib_core = true,
		.rdma_ucm = true,
		.netns = INVENTORY_NETNS_SHARED,
		.locked_max = INVENTORY_LOCKED_MIN,
		.device_count = 2,
		.devices = host->devices,
	};
}

/* A host with rxe0 only. */
static void make_small_host(struct host *host)
{
	make_host(host);
	host->inventory.devices = &host->devices[1];
	host->inventory.device_count = 1;
}

static void assert_lacks(const struct host *host, enum readiness lacks, const char *seen)
{
	char evidence[320] = "rubbish";

	assert_int_equal(inventory_judge(&host->inventory, evidence, sizeof(evidence)), lacks);
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
	/* The second port of the first device lacks least. */
	host.devices[1].access = SYSFS_DENIED;
	assert_lacks(&host, HOST_NO_DEVICE_ADDRESS, "port mlx5_0/2 has no network interface");
}

static void what_the_host_lacks_comes_first(void **state)
{
	struct host host;

	(void)state;
	make_host(&host);
	strcpy(host.ports[2].state, "DOWN");
	host.inventory.host = HOST_NO_RDMA_CM;
	strcpy(host.inventory.host_evidence, "seen");
	assert_lacks(&host, HOST_NO_RDMA_CM, "seen");
	host.inventory.host = HOST_DEVICES_HIDDEN;
	assert_lacks(&host, HOST_DEVICES_HIDDEN, "seen");
	host.inventory.host = HOST_NO_DEVICE;
	assert_lacks(&host, HOST_NO_DEVICE, "seen");
	host.inventory.host = HOST_READY;
	host.inventory.device_count = 0;
	assert_lacks(&host, HOST_NO_DEVICE, "no device has a name that it can have");
}

static void a_device_needs_its_file(void **state)
{
	struct host host;

	(void)state;
	make_small_host(&host);
	host.devices[1].access = SYSFS_DENIED;
	assert_lacks(&host, HOST_NO_ACCESS, "no right to read and write /dev/infiniband/uverbs1");
	host.devices[1].access = SYSFS_MISSING;
	assert_lacks(&host, HOST_NO_UVERBS, "rxe0 is there, /dev/infiniband/uverbs1 is not");
	host.devices[1].uverbs[0] = '\0';
	assert_lacks(&host, HOST_NO_UVERBS, "/sys/class/infiniband_verbs does not name rxe0");
	host.devices[1].port_count = 0;
	assert_lacks(&host, HOST_NO_UVERBS, "/sys/class/infiniband_verbs does not name rxe0");
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
		"port rxe0/1 is in no known state, network interface eth0 is unknown");
	host.ports[2].interface_count = 0;
	assert_lacks(&host, HOST_PORT_DOWN, "port rxe0/1 is in no known state");
	host.devices[1].port_count = 0;
	assert_lacks(&host, HOST_PORT_DOWN, "device rxe0 has no port");
}

static void infiniband_needs_a_subnet_manager(void **state)
{
	struct host host;

	(void)state;
	make_small_host(&host);
	strcpy(host.ports[2].state, "INIT");
	strcpy(host.ports[2].link_layer, "InfiniBand");
	assert_lacks(&host, HOST_NO_SUBNET, "port rxe0/1 is INIT, its subnet manager's LID is 0");
	strcpy(host.ports[2].link_layer, "Ethernet");
	assert_lacks(&host, HOST_PORT_DOWN,
		"port rxe0/1 is INIT (LinkUp), network interface eth0 is up");
	strcpy(host.ports[2].state, "ACTIVE");
	strcpy(host.ports[2].link_layer, "InfiniBand");
	/* Its GIDs are not made of IP addresses. */
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
	assert_lacks(&host, HOST_LINK_LOCAL, "port rxe0/1 has only fe80::1%eth0");
	host.interfaces[2].address_count = 0;
	assert_lacks(&host, HOST_NO_DEVICE_ADDRESS,
		"port rxe0/1: network interface eth0 has no address");
	host.ports[2].interface_count = 0;
	assert_lacks(&host, HOST_NO_DEVICE_ADDRESS, "port rxe0/1 has no network interface");
	/* Whose interface is not known may have one. */
	strcpy(host.devices[1].type, "RNIC");
	assert_lacks(&host, HOST_READY, "");
}

static void roce_needs_a_gid_of_its_address(void **state)
{
	struct host host;

	(void)state;
	make_small_host(&host);
	host.gids[2].link_local = true;
	assert_lacks(
		&host, HOST_NO_DEVICE_ADDRESS, "port rxe0/1 has no GID of its address 10.0.0.1");
	host.ports[2].gid_count = 0;
	assert_lacks(
		&host, HOST_NO_DEVICE_ADDRESS, "port rxe0/1 has no GID of its address 10.0.0.1");
	strcpy(host.devices[1].type, "RNIC");
	assert_lacks(&host, HOST_READY, "");
}

static void memory_must_be_lockable(void **state)
{
	struct host host;

	(void)state;
	make_small_host(&host);
	host.inventory.locked_max = INVENTORY_LOCKED_MIN - 1;
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

static void judges_a_port_that_is_asked_for(void **state)
{
	char evidence[320] = "rubbish";
	struct host host;

	(void)state;
	make_host(&host);
	assert_int_equal(
		inventory_judge_port(&host.devices[0], &host.ports[1], evidence, sizeof(evidence)),
		HOST_READY);
	assert_string_equal(evidence, "");
	strcpy(host.ports[1].state, "DOWN");
	assert_int_equal(inventory_judge_port(&host.devices[0], &host.ports[1], evidence, 9),
		HOST_PORT_DOWN);
	assert_string_equal(evidence, "port mlx");
}

/* All lines that are shown, each with its end. */
struct shown {
	char text[16384];
	size_t used, lines;
};

static void take_line(const char *line, void *context)
{
	struct shown *shown = context;

	shown->used += (size_t)snprintf(
		shown->text + shown->used, sizeof(shown->text) - shown->used, "%s\n", line);
	assert_true(shown->used < sizeof(shown->text));
	shown->lines++;
}

static void shows_lines_for_people(void **state)
{
	struct shown shown = {0};
	struct host host;

	(void)state;
	make_host(&host);
	host.inventory.locked_max = 8388608;
	strcpy(host.ports[0].link_layer, "InfiniBand");
	host.ports[0].lid = 28;
	host.ports[0].sm_lid = 1;
	host.ports[0].gid_count = 0;
	host.ports[1].gid_count = 0;
	host.ports[1].rate[0] = '\0';
	host.interfaces[1] = (struct inventory_interface){.name = "eth1"};
	host.devices[1].access = SYSFS_DENIED;
	inventory_print(&host.inventory, take_line, &shown);
	assert_string_equal(shown.text,
		"rdma_cm usable, ib_core loaded, rdma_ucm loaded, netns shared, locked memory 8.4 MB\n"
		"mlx5_0/1: ACTIVE, LinkUp, InfiniBand, 2.5 Gb/sec (1X), LID 28, subnet manager's LID 1, "
		"mlx5_core, firmware 16.35, uverbs0 usable; eth0: up, MTU 1500, 10.0.0.1\n"
		"mlx5_0/2: ACTIVE, LinkUp, Ethernet, mlx5_core, firmware 16.35, uverbs0 usable; eth1: "
		"state unknown, no address\n"
		"rxe0/1: ACTIVE, LinkUp, Ethernet, 2.5 Gb/sec (1X), rdma_rxe, uverbs1 denied; eth0: up, "
		"MTU 1500, 10.0.0.1\n"
		"rxe0/1 GID 1: ::ffff:10.0.0.1, RoCE v2, eth0\n");
}

static void shows_what_is_missing(void **state)
{
	struct shown shown = {0};
	struct inventory nothing = {.locked_max = UINT64_MAX};
	struct host host;

	(void)state;
	inventory_print(&nothing, take_line, &shown);
	assert_string_equal(shown.text, "rdma_cm missing, ib_core not loaded, rdma_ucm not loaded, "
					"locked memory without limit\n");
	make_small_host(&host);
	host.devices[1].port_count = 0;
	host.devices[1].uverbs[0] = '\0';
	shown = (struct shown){0};
	inventory_print(&host.inventory, take_line, &shown);
	assert_non_null(strstr(shown.text, "\nrxe0: no port, rdma_rxe, no uverbs device\n"));
}

static void lines_are_safe_and_bounded(void **state)
{
	static struct inventory_address many[200];
	struct shown shown = {0};
	struct host host;

	(void)state;
	make_small_host(&host);
	strcpy(host.ports[2].state, "\x1b[2J\n\xff");
	inventory_print(&host.inventory, take_line, &shown);
	assert_non_null(strstr(shown.text, "rxe0/1: \\x1b[2J\\x0a\\xff, LinkUp"));
	assert_int_equal(shown.lines, 3);

	for (size_t i = 0; i < COUNT(many); i++)
		memset(many[i].text, '\x01', sizeof(many[i].text) - 1);
	host.interfaces[2].addresses = many;
	host.interfaces[2].address_count = COUNT(many);
	shown = (struct shown){0};
	inventory_print(&host.inventory, take_line, &shown);
	assert_int_equal(shown.lines, 3);
	assert_true(strlen(shown.text) < 4 * INVENTORY_LINE + 256);
}

static void becomes_json(void **state)
{
	struct json_object *object;
	struct host host;

	(void)state;
	make_small_host(&host);
	strcpy(host.devices[1].description, "two\nlines");
	object = inventory_json(&host.inventory);
	assert_non_null(object);
	assert_string_equal(json_object_to_json_string_ext(object,
				    JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
		"{\"rdma_cm\":\"usable\",\"ib_core\":true,\"rdma_ucm\":true,\"netns\":\"shared\","
		"\"locked_max\":65536,\"ipc_lock\":false,\"devices\":[{\"name\":\"rxe0\","
		"\"type\":\"CA\",\"description\":\"two\\\\x0alines\",\"firmware\":null,"
		"\"driver\":\"rdma_rxe\",\"parent\":null,\"uverbs\":\"uverbs1\","
		"\"access\":\"usable\",\"ports\":[{\"number\":1,\"state\":\"ACTIVE\","
		"\"physical_state\":\"LinkUp\",\"link_layer\":\"Ethernet\","
		"\"rate\":\"2.5 Gb/sec (1X)\",\"megabits\":2500,\"rdma_mtu\":1024,"
		"\"lid\":null,\"sm_lid\":null,"
		"\"gids\":[{\"index\":1,\"gid\":\"::ffff:10.0.0.1\",\"type\":\"RoCE v2\","
		"\"interface\":\"eth0\"}],\"interfaces\":[{\"name\":\"eth0\",\"state\":\"up\","
		"\"mtu\":1500,\"addresses\":[\"10.0.0.1\"]}]}]}]}");
	json_object_put(object);
	memset(&host.inventory, 0, sizeof(host.inventory));
	host.inventory.locked_max = UINT64_MAX;
	object = inventory_json(&host.inventory);
	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
		"{\"rdma_cm\":\"missing\",\"ib_core\":false,\"rdma_ucm\":false,\"netns\":null,"
		"\"locked_max\":null,\"ipc_lock\":false,\"devices\":[]}");
	json_object_put(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_good_port_is_enough),
		cmocka_unit_test(what_the_host_lacks_comes_first),
		cmocka_unit_test(a_device_needs_its_file),
		cmocka_unit_test(a_port_must_be_active),
		cmocka_unit_test(infiniband_needs_a_subnet_manager),
		cmocka_unit_test(a_port_needs_an_address),
		cmocka_unit_test(roce_needs_a_gid_of_its_address),
		cmocka_unit_test(memory_must_be_lockable),
		cmocka_unit_test(judges_a_port_that_is_asked_for),
		cmocka_unit_test(shows_lines_for_people),
		cmocka_unit_test(shows_what_is_missing),
		cmocka_unit_test(lines_are_safe_and_bounded),
		cmocka_unit_test(becomes_json),
	};

	return cmocka_run_group_tests_name("inventory-judge", tests, NULL, NULL);
}

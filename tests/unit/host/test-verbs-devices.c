/* The devices as libibverbs, whose functions are replaced here, reports them. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "host/inventory.h"
#include "host/verbs-devices.h"
#include "tests/unit/unit.h"

static struct ibv_device devices[2] = {
	{.name = "rxe0", .dev_name = "uverbs0", .transport_type = IBV_TRANSPORT_IB},
	{.name = "siw0", .dev_name = "uverbs1", .transport_type = IBV_TRANSPORT_IWARP},
};
static struct ibv_context contexts[2];
static bool no_list, can_open = true;
static int opened;

struct ibv_device **ibv_get_device_list(int *number)
{
	static struct ibv_device *list[] = {&devices[0], &devices[1], NULL};

	*number = no_list ? 0 : 2;
	return no_list ? NULL : list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	assert_non_null(list);
}

/* cppcheck-suppress constParameter ; the library defines the signature */
const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

/* cppcheck-suppress constParameter ; the library defines the signature */
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	opened += can_open;
	return can_open ? &contexts[device - devices] : NULL;
}

int ibv_close_device(struct ibv_context *closed)
{
	assert_non_null(closed);
	opened--;
	return 0;
}

int ibv_query_device(struct ibv_context *asked, struct ibv_device_attr *attributes)
{
	assert_non_null(asked);
	attributes->phys_port_cnt = 1;
	strcpy(attributes->fw_ver, "1.2");
	return 0;
}

#undef ibv_query_port
int ibv_query_port(
	struct ibv_context *asked, uint8_t number, struct _compat_ibv_port_attr *compatible)
{
	struct ibv_port_attr *attributes = (struct ibv_port_attr *)compatible;

	assert_non_null(asked);
	assert_int_equal(number, 1);
	attributes->state = IBV_PORT_ACTIVE;
	attributes->gid_tbl_len = 4;
	attributes->link_layer = IBV_LINK_LAYER_ETHERNET;
	return 0;
}

/* One GID, ::ffff:10.0.0.1, on lo. */
ssize_t _ibv_query_gid_table(struct ibv_context *asked, struct ibv_gid_entry *entries,
	size_t max_entries, uint32_t flags, size_t entry_size)
{
	static const uint8_t address[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};

	assert_non_null(asked);
	assert_int_equal(flags, 0);
	assert_int_equal(entry_size, sizeof(*entries));
	assert_true(max_entries >= 4);
	entries[0] = (struct ibv_gid_entry){
		.gid_index = 1,
		.port_num = 1,
		.gid_type = IBV_GID_TYPE_ROCE_V2,
		.ndev_ifindex = if_nametoindex("lo"),
	};
	memcpy(entries[0].gid.raw, address, sizeof(address));
	return 1;
}

static void reads_devices_and_gids(void **state)
{
	struct inventory inventory = {0};
	const struct inventory_port *port;

	(void)state;
	assert_int_equal(verbs_devices_read(NULL, &inventory), 0);
	assert_int_equal(inventory.device_count, 2);
	assert_string_equal(inventory.devices[0].name, "rxe0");
	assert_string_equal(inventory.devices[0].uverbs, "uverbs0");
	assert_string_equal(inventory.devices[0].type, "CA");
	assert_string_equal(inventory.devices[0].firmware, "1.2");
	assert_string_equal(inventory.devices[1].type, "RNIC");
	port = &inventory.devices[0].ports[0];
	assert_string_equal(port->state, "ACTIVE");
	assert_string_equal(port->link_layer, "Ethernet");
	assert_int_equal(port->gid_count, 1);
	assert_int_equal(port->gids[0].index, 1);
	assert_string_equal(port->gids[0].text, "::ffff:10.0.0.1");
	assert_string_equal(port->gids[0].type, "RoCE v2");
	assert_string_equal(port->gids[0].interface, "lo");
	assert_string_equal(inventory.devices[1].ports[0].gids[0].type, "iWARP");
	assert_int_equal(opened, 0);
	inventory_free(&inventory);
}

static void reads_one_device(void **state)
{
	struct inventory inventory = {0};

	(void)state;
	assert_int_equal(verbs_devices_read("siw0", &inventory), 0);
	assert_int_equal(inventory.device_count, 1);
	assert_string_equal(inventory.devices[0].name, "siw0");
	inventory_free(&inventory);
}

/* As sysfs names them: host/device-support.c. */
static void names_the_types(void **state)
{
	static const struct {
		enum ibv_node_type type;
		const char *name;
	} cases[] = {
		{IBV_NODE_CA, "CA"},
		{IBV_NODE_USNIC, "usNIC"},
		{IBV_NODE_USNIC_UDP, "usNIC UDP"},
		{IBV_NODE_UNSPECIFIED, "unspecified"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct inventory inventory = {0};

		devices[0].node_type = cases[i].type;
		assert_int_equal(verbs_devices_read("rxe0", &inventory), 0);
		assert_string_equal(inventory.devices[0].type, cases[i].name);
		inventory_free(&inventory);
	}
}

static void a_device_that_cannot_be_opened_has_no_ports(void **state)
{
	struct inventory inventory = {0};

	(void)state;
	can_open = false;
	assert_int_equal(verbs_devices_read(NULL, &inventory), 0);
	can_open = true;
	assert_int_equal(inventory.device_count, 2);
	assert_int_equal(inventory.devices[0].port_count, 0);
	inventory_free(&inventory);
	no_list = true;
	assert_int_equal(verbs_devices_read(NULL, &inventory), 0);
	assert_int_equal(inventory.device_count, 0);
	inventory_free(&inventory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_devices_and_gids),
		cmocka_unit_test(reads_one_device),
		cmocka_unit_test(names_the_types),
		cmocka_unit_test(a_device_that_cannot_be_opened_has_no_ports),
	};

	return cmocka_run_group_tests_name("verbs-devices", tests, NULL, NULL);
}

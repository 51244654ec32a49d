/* The report of a synthetic inventory, as text and as JSON. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/inventory-report.h"
#include "tests/unit/common/inventory-fixture.h"
#include "tests/unit/unit.h"

/* All lines of the report, each with a newline. */
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

static void formats_text(void **state)
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
	inventory_lines(&host.inventory, true, take_line, &shown);
	assert_string_equal(shown.text,
		"rdma_cm usable, ib_core loaded, rdma_ucm loaded, netns shared, locked memory 8.4 MB\n"
		"mlx5_0/1: ACTIVE, LinkUp, InfiniBand, 2.5 Gb/sec (1X), LID 28, subnet manager LID 1, "
		"mlx5_core, firmware 16.35, uverbs0 usable; eth0: up, MTU 1500, 10.0.0.1\n"
		"mlx5_0/2: ACTIVE, LinkUp, Ethernet, mlx5_core, firmware 16.35, uverbs0 usable; eth1: "
		"state unknown, no address\n"
		"rxe0/1: ACTIVE, LinkUp, Ethernet, 2.5 Gb/sec (1X), rdma_rxe, uverbs1 denied; eth0: up, "
		"MTU 1500, 10.0.0.1\n"
		"rxe0/1 GID 1: ::ffff:10.0.0.1, RoCE v2, eth0\n");
}

static void shows_missing_parts(void **state)
{
	struct shown shown = {0};
	struct inventory nothing = {.locked_max = UINT64_MAX};
	struct host host;

	(void)state;
	inventory_lines(&nothing, true, take_line, &shown);
	assert_string_equal(shown.text, "rdma_cm missing, ib_core not loaded, rdma_ucm not loaded, "
					"locked memory unlimited\n");
	make_small_host(&host);
	host.devices[1].port_count = 0;
	host.devices[1].uverbs[0] = '\0';
	shown = (struct shown){0};
	inventory_lines(&host.inventory, true, take_line, &shown);
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
	inventory_lines(&host.inventory, true, take_line, &shown);
	assert_non_null(strstr(shown.text, "rxe0/1: \\x1b[2J\\x0a\\xff, LinkUp"));
	assert_int_equal(shown.lines, 3);

	for (size_t i = 0; i < COUNT(many); i++)
		memset(many[i].text, '\x01', sizeof(many[i].text) - 1);
	host.interfaces[2].addresses = many;
	host.interfaces[2].address_count = COUNT(many);
	shown = (struct shown){0};
	inventory_lines(&host.inventory, true, take_line, &shown);
	assert_int_equal(shown.lines, 3);
	assert_true(strlen(shown.text) < 4 * INVENTORY_LINE + 256);
}

/* A bridge's port in a virtual machine's host. */
static void shows_stacks(void **state)
{
	struct interface_stack *stack;
	struct json_object *object;
	struct shown shown = {0};
	struct host host;
	const char *text;

	(void)state;
	make_small_host(&host);
	stack = &host.interfaces[2].stack;
	*stack = (struct interface_stack){
		.count = 2,
		.layers = {{"eth0", "bridge", "02:00:00:00:00:01"},
			{"eth1", "", "02:00:00:00:00:02"}},
		.complete = true,
	};
	inventory_lines(&host.inventory, true, take_line, &shown);
	assert_non_null(strstr(shown.text, "\n10.0.0.1 on eth0 (bridge) over eth1 (rxe0)\n"));
	object = inventory_json(&host.inventory);
	text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
	assert_non_null(
		strstr(text, "\"stack\":[{\"interface\":\"eth0\",\"kind\":\"bridge\","
			     "\"mac\":\"02:00:00:00:00:01\"},{\"interface\":\"eth1\",\"kind\":null,"
			     "\"mac\":\"02:00:00:00:00:02\"}],\"carries\":\"no\"}"));
	json_object_put(object);
}

static void formats_json(void **state)
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
		"\"mtu\":1500,\"addresses\":[\"10.0.0.1\"],\"elsewhere\":false,\"stack\":[],"
		"\"carries\":null}]}]}]}");
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
		cmocka_unit_test(formats_text),
		cmocka_unit_test(shows_missing_parts),
		cmocka_unit_test(lines_are_safe_and_bounded),
		cmocka_unit_test(formats_json),
		cmocka_unit_test(shows_stacks),
	};

	return cmocka_run_group_tests_name("inventory-report", tests, NULL, NULL);
}

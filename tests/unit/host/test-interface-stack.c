/* Walks through lists of interfaces such as hosts have. */
#include <stdio.h>
#include <string.h>

#include "host/interface-stack.h"
#include "tests/unit/unit.h"

/* Interfaces of one host, by index. */
static const struct netlink_link host[] = {
	{.name = "eth0", .index = 2, .master = 10},
	{.name = "eth1", .index = 3, .master = 10},
	{.name = "eth2", .index = 4},
	{.name = "bond0", .kind = "bond", .index = 10, .master = 12},
	{.name = "bond0.5", .kind = "vlan", .index = 11, .lower = 10, .master = 13},
	{.name = "br0", .kind = "bridge", .index = 12},
	{.name = "br5", .kind = "bridge", .index = 13},
	{.name = "mv2", .kind = "macvlan", .index = 14, .lower = 4},
	{.name = "v1", .kind = "veth", .index = 15, .lower = 16},
	{.name = "v0", .kind = "veth", .index = 16, .lower = 15, .master = 12},
	{.name = "net1", .kind = "macvlan", .index = 17, .lower = 2, .lower_elsewhere = true},
	{.name = "loop", .kind = "vlan", .index = 18, .lower = 18},
	/* Two interfaces above each other, which the kernel does not allow. */
	{.name = "up", .kind = "vlan", .index = 19, .lower = 20},
	{.name = "down", .kind = "vlan", .index = 20, .lower = 19},
};

struct walk_case {
	const char *top, *bottom, *text;
	bool complete;
};

static const struct walk_case cases[] = {
	{"eth2", "eth2", "eth2", true},
	{"br0", "eth0", "br0 (bridge) over bond0 (bond) over eth0", true},
	{"br0", "eth1", "br0 (bridge) over bond0 (bond) over eth1", true},
	{"br5", "eth1", "br5 (bridge) over bond0.5 (vlan) over bond0 (bond) over eth1", true},
	{"br0", "bond0", "br0 (bridge) over bond0 (bond)", true},
	{"mv2", "eth2", "mv2 (macvlan) over eth2", true},
	/* Not below each other. */
	{"mv2", "eth0", "mv2 (macvlan) over eth2", false},
	{"eth0", "br0", "eth0", false},
	{"br0", "", "br0 (bridge)", false},
	/* The peer of a veth is not below it. */
	{"v1", "v0", "v1 (veth)", false},
	{"v1", "v1", "v1 (veth)", true},
	/* An index of another namespace means nothing here. */
	{"net1", "eth0", "net1 (macvlan) over an interface of another network namespace", false},
	{"loop", "eth0", "loop (vlan)", false},
	{"up", "eth0",
		"up (vlan) over down (vlan) over up (vlan) over down (vlan) over up (vlan) over "
		"down (vlan)",
		false},
	{"none", "eth0", "", false},
};

static void walks_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct walk_case *one = &cases[i];
		struct interface_stack stack;
		char text[256];

		interface_stack_find(host, COUNT(host), one->top, one->bottom, &stack);
		interface_stack_describe(&stack, text, sizeof(text));
		assert_string_equal(text, one->text);
		assert_int_equal(stack.complete, one->complete);
	}
}

static void finds_kinds(void **state)
{
	struct interface_stack stack;

	(void)state;
	interface_stack_find(host, COUNT(host), "br5", "eth1", &stack);
	assert_int_equal(interface_stack_kind(&stack, "bridge"), 0);
	assert_int_equal(interface_stack_kind(&stack, "bond"), 2);
	assert_int_equal(interface_stack_kind(&stack, "team"), -1);
}

/* The MAC address that neighbours are told, and the one of the device's interface. */
static void compares_mac_addresses(void **state)
{
	static const struct netlink_link links[] = {
		{.name = "eth0", .index = 2, .master = 3, .hardware = "02:00:00:00:00:02"},
		{.name = "br0", .index = 3, .kind = "bridge", .hardware = "02:00:00:00:00:03"},
		{.name = "eth1", .index = 4, .master = 5, .hardware = "02:00:00:00:00:04"},
		{.name = "bond0", .index = 5, .kind = "bond", .hardware = "02:00:00:00:00:04"},
		{.name = "tun0", .index = 6, .kind = "tun", .lower = 2},
	};
	struct interface_stack stack;

	(void)state;
	interface_stack_find(links, COUNT(links), "br0", "eth0", &stack);
	assert_true(interface_stack_changes_mac(&stack));
	interface_stack_find(links, COUNT(links), "br0", "eth1", &stack);
	assert_false(interface_stack_changes_mac(&stack));
	interface_stack_find(links, COUNT(links), "bond0", "eth1", &stack);
	assert_false(interface_stack_changes_mac(&stack));
	interface_stack_find(links, COUNT(links), "eth0", "eth0", &stack);
	assert_false(interface_stack_changes_mac(&stack));
	interface_stack_find(links, COUNT(links), "tun0", "eth0", &stack);
	assert_false(interface_stack_changes_mac(&stack));
}

static void truncates(void **state)
{
	struct interface_stack stack;
	char text[8];

	(void)state;
	interface_stack_find(host, COUNT(host), "br5", "eth1", &stack);
	interface_stack_describe(&stack, text, sizeof(text));
	assert_string_equal(text, "br5 (br");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_down),
		cmocka_unit_test(finds_kinds),
		cmocka_unit_test(compares_mac_addresses),
		cmocka_unit_test(truncates),
	};

	return cmocka_run_group_tests_name("interface-stack", tests, NULL, NULL);
}

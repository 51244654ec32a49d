/* Capabilities and user namespaces, as /proc shows them. */
#include "host/locked-memory.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

#define STATUS      "/proc/self/status"
#define MAP         "/proc/self/uid_map"
#define INITIAL_MAP "         0          0 4294967295\n"
#define HAS_LOCK    "Name:\tx\nCapPrm:\t0000000000004000\nCapEff:\t0000000000004000\n"

static void the_capability_must_be_effective(void **state)
{
	const struct tree *tree = *state;
	static const struct {
		const char *status;
		bool exempt;
	} table[] = {
		{HAS_LOCK, true},
		{"Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000003fff\n", false},
		{"Name:\tx\nCapEff:\t000001ffffffffff", true},
		{"Name:\tx\nCapEff:\t\n", false},
		{"Name:\tx\nCapEff:\tnonsense\n", false},
		{"", false},
	};

	put(tree, MAP, INITIAL_MAP);
	assert_false(locked_memory_is_exempt(tree->path));
	for (size_t i = 0; i < COUNT(table); i++) {
		put(tree, STATUS, table[i].status);
		check_case(table[i].status, locked_memory_is_exempt(tree->path) == table[i].exempt);
	}
}

static void the_user_namespace_must_be_the_initial_one(void **state)
{
	const struct tree *tree = *state;
	static const struct {
		const char *map;
		bool exempt;
	} table[] = {
		{INITIAL_MAP, true},
		{"0 0 4294967295", true},
		{"         0       1000          1\n", false},
		{"         0     100000      65536\n", false},
		{"         0          0      65536\n", false},
		{"         1          0 4294967295\n", false},
		{"         0          0          1\n         1          1 4294967294\n", false},
		{INITIAL_MAP INITIAL_MAP, false},
		{"0 0\n", false},
		{"nonsense\n", false},
		{"", false},
	};

	put(tree, STATUS, HAS_LOCK);
	assert_false(locked_memory_is_exempt(tree->path));
	for (size_t i = 0; i < COUNT(table); i++) {
		put(tree, MAP, table[i].map);
		check_case(table[i].map, locked_memory_is_exempt(tree->path) == table[i].exempt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(the_capability_must_be_effective),
		with_tree(the_user_namespace_must_be_the_initial_one),
	};

	return cmocka_run_group_tests_name("locked-memory", tests, NULL, NULL);
}

/*
 * The processors and the memory of a device's NUMA node, with a fake sysfs and the processors that
 * this test may use.
 */
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/locality.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

#define DEVICE "/sys/class/infiniband/mlx5_0/device/"

static cpu_set_t all;
static int first, second; /* processors that this test may use; equal if there is only one */

static int find_processors(void **state)
{
	(void)state;
	if (sched_getaffinity(0, sizeof(all), &all))
		return -1;
	first = locality_next(&all, CPU_SETSIZE - 1);
	second = locality_next(&all, first);
	return 0;
}

static struct locality find(const struct tree *tree, const char *node, const char *list)
{
	struct locality locality;

	put(tree, DEVICE "numa_node", node);
	put(tree, DEVICE "local_cpulist", list);
	locality_find(tree->path, "mlx5_0", &locality);
	return locality;
}

static void skip_if_single(void)
{
	if (first != second)
		return;
	print_message("skipped: this process may use only one processor\n");
	skip();
}

static void finds_the_processors_of_the_node(void **state)
{
	struct locality locality;
	char list[64], text[64];

	skip_if_single();
	snprintf(list, sizeof(list), "%d,%d-1023\n", second, CPU_SETSIZE - 1);
	locality = find(*state, "1\n", list);
	assert_int_equal(locality.node, 1);
	assert_true(locality.restricted);
	assert_ptr_equal(locality_processors(&locality), &locality.processors);
	assert_int_equal(CPU_COUNT(&locality.processors), 1);
	assert_true(CPU_ISSET((unsigned int)second, &locality.processors));
	locality_text(&locality, text, sizeof(text));
	snprintf(list, sizeof(list), "%d", second);
	assert_string_equal(text, list);
}

/* Unknown nodes, malformed lists, and lists that contain all or none of our processors. */
static void restricts_nothing_otherwise(void **state)
{
	static const struct {
		const char *node, *list;
		int found;
	} cases[] = {
		{"-1\n", "0\n", -1},
		{"1024\n", "0\n", -1},
		{"", "0\n", -1},
		{"0\n", "0-1023\n", 0},
		{"0\n", "0-18446744073709551615\n", 0},
		{"0\n", "1023\n", 0},
		{"0\n", "2000-3000\n", 0},
		{"0\n", "\n", 0},
		{"0\n", "1-0\n", 0},
		{"0\n", "0-\n", 0},
		{"0\n", "-1\n", 0},
		{"0\n", "0,,1\n", 0},
		{"0\n", "0 1\n", 0},
		{"0\n", "0-1-2\n", 0},
	};
	struct locality locality;
	char text[16];

	for (size_t i = 0; i < COUNT(cases); i++) {
		locality = find(*state, cases[i].node, cases[i].list);
		check_case(cases[i].list, locality.node == cases[i].found);
		check_case(cases[i].list, !locality_processors(&locality));
		locality_text(&locality, text, sizeof(text));
		assert_string_equal(text, "");
	}
	/* A software device. */
	locality_find(((const struct tree *)*state)->path, "rxe0", &locality);
	assert_int_equal(locality.node, -1);
	assert_null(locality_processors(&locality));
}

static void formats_ranges(void **state)
{
	struct locality locality = {.restricted = true};
	static const int processors[] = {0, 1, 2, 5, 7, 8, 1023};
	char text[32];

	(void)state;
	for (size_t i = 0; i < COUNT(processors); i++)
		CPU_SET((unsigned int)processors[i], &locality.processors);
	locality_text(&locality, text, sizeof(text));
	assert_string_equal(text, "0-2,5,7-8,1023");
	assert_int_equal(locality_next(&locality.processors, 2), 5);
	assert_int_equal(locality_next(&locality.processors, 1023), 0);
}

static void *bind_and_look(void *argument)
{
	static cpu_set_t bound;

	locality_bind(argument);
	return sched_getaffinity(0, sizeof(bound), &bound) ? NULL : &bound;
}

static void binds_only_the_calling_thread(void **state)
{
	cpu_set_t wanted, *bound, still;
	pthread_t thread;

	(void)state;
	skip_if_single();
	CPU_ZERO(&wanted);
	CPU_SET((unsigned int)second, &wanted);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			pthread_create(&thread, NULL, bind_and_look, i ? &wanted : NULL), 0);
		pthread_join(thread, (void **)&bound);
		assert_non_null(bound);
		assert_true(CPU_EQUAL(bound, i ? &wanted : &all));
	}
	assert_int_equal(sched_getaffinity(0, sizeof(still), &still), 0);
	assert_true(CPU_EQUAL(&still, &all));
}

/* Returns the policy of the memory, or -1 if the system does not report it. */
static int policy_of(void *memory)
{
	int policy;

	return syscall(SYS_get_mempolicy, &policy, NULL, 0, memory, MPOL_F_ADDR) ? -1 : policy;
}

static void places_memory_on_the_node(void **state)
{
	struct locality locality = {.node = 0, .restricted = true};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	if (policy_of(memory) != MPOL_DEFAULT ||
		syscall(SYS_mbind, memory, page, MPOL_DEFAULT, NULL, 0, 0)) {
		print_message("skipped: memory policies are not available\n");
		skip();
	}
	locality.restricted = false;
	locality_place(&locality, memory, page);
	assert_int_equal(policy_of(memory), MPOL_DEFAULT);
	locality.restricted = true;
	locality_place(&locality, memory, page);
	assert_int_equal(policy_of(memory), MPOL_PREFERRED);
	munmap(memory, page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(finds_the_processors_of_the_node),
		with_tree(restricts_nothing_otherwise),
		cmocka_unit_test(formats_ranges),
		cmocka_unit_test(binds_only_the_calling_thread),
		cmocka_unit_test(places_memory_on_the_node),
	};

	return cmocka_run_group_tests_name("locality", tests, find_processors, NULL);
}

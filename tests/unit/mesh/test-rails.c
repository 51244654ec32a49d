/* Rails: which there are, and what is accused if some or all rails of a host are bad. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/device-list.h"
#include "mesh/judgement.h"
#include "mesh/rails.h"
#include "tests/unit/unit.h"

#define HOSTS 6

static struct host_list list;
static struct topology topology;
static struct options options;
static struct coordinator coordinator;
static struct rails rails;
static struct mesh_results *results;
static struct judgement judgement;
static char address[] = "192.0.2.1";

static void add_device(unsigned int number, const char *name, const char *problem)
{
	struct mesh_host *host = &coordinator.hosts[number];
	struct mesh_device *device = &host->devices[host->device_count++];

	strcpy(device->facts.device, name);
	strcpy(device->problem, problem);
	device->addresses = address;
}

/* Makes hosts h1 to h6, each with the devices a, b and c. */
static int make(void **state)
{
	char why[MESH_REASON_SIZE];

	(void)state;
	assert_int_equal(host_list_expand(&list, "h[1-6]", why), 0);
	coordinator = (struct coordinator){.options = &options, .list = &list};
	coordinator.hosts = calloc(HOSTS, sizeof(coordinator.hosts[0]));
	for (unsigned int i = 0; i < HOSTS; i++) {
		coordinator.hosts[i].state = MESH_HOST_READY;
		coordinator.hosts[i].devices =
			calloc(MESH_DEVICES_MAX, sizeof(coordinator.hosts[i].devices[0]));
		add_device(i, "a", "");
		add_device(i, "b", "");
		add_device(i, "c", "");
	}
	return 0;
}

static int clean(void **state)
{
	(void)state;
	judgement_free(&judgement);
	for (unsigned int i = 0; results && i < rails.count; i++)
		results_free(&results[i]);
	free(results);
	results = NULL;
	rails_free(&rails);
	for (unsigned int i = 0; i < HOSTS; i++)
		free(coordinator.hosts[i].devices);
	free(coordinator.hosts);
	host_list_free(&list);
	options = (struct options){0};
	return 0;
}

/* Chooses the rails. Returns their names, with blanks between them. */
static const char *choose(void)
{
	static char names[1024];

	rails_free(&rails);
	assert_int_equal(rails_choose(&rails, &coordinator), 0);
	coordinator.rails = rails.list;
	coordinator.rail_count = rails.count;
	*names = '\0';
	for (unsigned int i = 0; i < rails.count; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? " " : "",
			rails.list[i].name);
	return names;
}

static char printed[1024];

static void print(void *context, const char *line)
{
	(void)context;
	snprintf(printed + strlen(printed), sizeof(printed) - strlen(printed), "%s\n", line);
}

static void test_devices_of_all_hosts(void **state)
{
	(void)state;
	assert_string_equal(choose(), "a b c");
	strcpy(coordinator.hosts[1].devices[2].problem, "cannot use RDMA: it is down (c); look");
	coordinator.hosts[4].device_count = 2;
	assert_string_equal(choose(), "a b");
	*printed = '\0';
	rails_print_left_out(&rails, &coordinator, print, NULL);
	assert_string_equal(printed,
		"c is left out: h2: cannot use RDMA: it is down; h5: it has no such device\n");
	/* A host that is not ready does not count. */
	coordinator.hosts[4].state = MESH_HOST_UNUSABLE;
	coordinator.hosts[1].state = MESH_HOST_ABSENT;
	assert_string_equal(choose(), "a b c");
	*printed = '\0';
	rails_print_left_out(&rails, &coordinator, print, NULL);
	assert_string_equal(printed, "");
}

/* Without a common device, the routes decide. */
static void test_any_device(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		coordinator.hosts[i].devices[i].addresses = NULL;
	assert_string_equal(choose(), "");
	assert_int_equal(rails.count, 1);
	assert_true(coordinator_is_ready(&coordinator, 0, rails.list, MESH_FROM));
	assert_string_equal(
		coordinator_rail_device(&coordinator, 0, rails.list, MESH_TO)->facts.device, "a");
}

static void test_named_devices(void **state)
{
	(void)state;
	options.device = "c,x,a";
	assert_string_equal(choose(), "c x a");
	assert_true(coordinator_is_ready(&coordinator, 0, &rails.list[0], MESH_TO));
	assert_string_equal(coordinator_reason(&coordinator, 0, &rails.list[1], MESH_TO),
		"it has no such device");
	options.device = "a,b";
	options.mesh.cross_rail = true;
	assert_string_equal(choose(), "a b a->b b->a");
	assert_string_equal(rails.list[3].device[MESH_FROM], "b");
	assert_string_equal(rails.list[3].device[MESH_TO], "a");
}

/* More devices than a mesh has rails. */
static void test_many_devices(void **state)
{
	char name[16];

	(void)state;
	for (unsigned int i = 0; i < HOSTS; i++)
		for (unsigned int j = 3; j < MESH_DEVICES_MAX; j++) {
			snprintf(name, sizeof(name), "%c%u", i < 3 ? 'x' : 'y', j);
			add_device(i, name, "");
		}
	assert_string_equal(choose(), "a b c");
	options.mesh.cross_rail = true;
	choose();
	assert_int_equal(rails.count, 9);
}

/* Makes healthy results of all rails: 100 MB/s, 2 us. */
static void measure(void)
{
	choose();
	results = calloc(rails.count, sizeof(results[0]));
	for (unsigned int rail = 0; rail < rails.count; rail++) {
		assert_int_equal(results_make(&results[rail], &list, &topology), 0);
		results[rail].rail = &rails.list[rail];
		results[rail].number = rail;
		results[rail].named = true;
		for (unsigned int from = 0; from < HOSTS; from++)
			for (unsigned int to = 0; to < HOSTS; to++) {
				struct mesh_outcome outcome = {.measured = true,
					.good = true,
					.bytes_per_second = 99000000 + from * 7000 + to * 3000,
					.median_ns = 2000};

				if (from == to)
					continue;
				results_add(&results[rail],
					&(struct mesh_test){from, to, false, rail}, &outcome);
				results_add(&results[rail],
					&(struct mesh_test){from, to, true, rail}, &outcome);
			}
	}
}

/* Makes what a host sends and, if it is so, receives on a rail slow. */
static void slow(unsigned int rail, unsigned int host, bool receives)
{
	for (unsigned int other = 0; other < HOSTS; other++) {
		results_bandwidth(&results[rail], host, other)->bytes_per_second = 50000000;
		if (receives)
			results_bandwidth(&results[rail], other, host)->bytes_per_second = 50000000;
	}
}

static void judge(void)
{
	judgement_free(&judgement);
	assert_int_equal(judgement_make(&judgement, results, &coordinator), 0);
}

static void test_one_rail_is_bad(void **state)
{
	(void)state;
	measure();
	judge();
	assert_int_equal(judgement.count, 0);
	assert_int_equal(judgement.directions, 3 * HOSTS * (HOSTS - 1));
	slow(1, 2, false);
	judge();
	assert_int_equal(judgement.count, 1);
	assert_string_equal(judgement.findings[0].text,
		"h3/b is slow when it sends: 5 of 5 directions at 50 % of the typical 99.0 MB/s");
	assert_string_equal(judgement_rail(&judgement, &judgement.findings[0]), "b");
	assert_int_equal(judgement.drained[2], 1);
	/* Two of three are not all. */
	slow(0, 2, false);
	judge();
	assert_int_equal(judgement.count, 2);
	assert_int_equal(judgement.findings[0].rail, 0);
	assert_int_equal(judgement.findings[1].rail, 1);
}

static void test_all_rails_are_bad(void **state)
{
	(void)state;
	measure();
	slow(0, 2, false);
	slow(1, 2, true);
	slow(2, 2, false);
	slow(2, 4, false);
	judge();
	assert_int_equal(judgement.count, 2);
	assert_non_null(strstr(judgement.findings[0].text,
		"h3 is slow in both directions, on all its rails: a: 5 of 5 directions at 50 % of "
		"the typical 99.0 MB/s; b: 10 of 10 directions at "));
	assert_null(judgement_rail(&judgement, &judgement.findings[0]));
	assert_int_equal(judgement.findings[0].accusation.low, 20);
	assert_non_null(strstr(judgement.findings[1].text, "h5/c is slow when it sends: "));
}

/* A host counts by the rails in which it takes part, and one that never came is named once. */
static void test_hosts_without_a_rail(void **state)
{
	(void)state;
	options.device = "a,b,c";
	coordinator.hosts[2].device_count = 2;
	coordinator.hosts[5].state = MESH_HOST_ABSENT;
	measure();
	for (unsigned int other = 0; other < HOSTS; other++)
		for (unsigned int rail = 0; rail < 3; rail++) {
			results_bandwidth(&results[2], 2, other)->state = MESH_NOT_MEASURED;
			results_bandwidth(&results[2], other, 2)->state = MESH_NOT_MEASURED;
			results_bandwidth(&results[rail], 5, other)->state = MESH_NOT_MEASURED;
			results_bandwidth(&results[rail], other, 5)->state = MESH_NOT_MEASURED;
		}
	slow(0, 2, false);
	slow(1, 2, false);
	judge();
	assert_int_equal(judgement.count, 3);
	assert_string_equal(
		judgement.findings[0].text, "h6 was not tested: no agent has connected");
	assert_non_null(
		strstr(judgement.findings[1].text, "h3 is slow when it sends, on all its "));
	assert_string_equal(
		judgement.findings[2].text, "h3/c was not tested: it has no such device");
}

static void test_directions_across_rails(void **state)
{
	(void)state;
	options.device = "a,b";
	options.mesh.cross_rail = true;
	measure();
	results_bandwidth(&results[2], 0, 1)->bytes_per_second = 9000000;
	slow(3, 4, true);
	judge();
	assert_int_equal(judgement.count, 2);
	assert_string_equal(judgement.findings[0].text,
		"the direction h1/a -> h2/b is slow: at 9 % of the typical 99.0 MB/s");
	assert_non_null(strstr(judgement.findings[1].text, "h5/b->a is slow in both directions: "));
}

static void test_typical(void **state)
{
	char text[256];

	(void)state;
	options.device = "a,b";
	measure();
	judge();
	judgement_typical(&judgement, text, sizeof(text));
	assert_string_equal(text, "a: 99.0 MB/s, 2.00 us; b: 99.0 MB/s, 2.00 us");
}

/* The rail whose rates vary most is told, and from where on a direction counts as slow. */
static void test_limit(void **state)
{
	const char *rail;

	(void)state;
	options.device = "a,b";
	measure();
	judge();
	assert_true(judgement_limit(&judgement, &rail) > 0.79);
	for (unsigned int from = 0; from < HOSTS; from++)
		for (unsigned int to = 0; to < HOSTS; to++)
			results_bandwidth(&results[1], from, to)->bytes_per_second =
				50000000 + (from * 31 + to * 17) * 7919 % 50 * 1000000;
	judge();
	assert_true(judgement_limit(&judgement, &rail) < 0.5);
	assert_string_equal(rail, "b");
	assert_int_equal(judgement.count, 0);
}

static void test_lists(void **state)
{
	static const struct {
		const char *list;
		bool valid, all;
		const char *single;
	} cases[] = {{NULL, true, true, NULL}, {"all", true, true, NULL}, {"a", true, false, "a"},
		{"a,b", true, false, NULL}, {"a,b,c", false, false, NULL},
		{"a,a", false, false, NULL}, {"a,", false, false, NULL}, {",a", false, false, NULL},
		{"a,,b", false, false, NULL}, {"", false, false, ""}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(device_list_is_valid(cases[i].list, 2), cases[i].valid);
		assert_int_equal(device_list_is_all(cases[i].list), cases[i].all);
		if (!cases[i].single)
			assert_null(device_list_single(cases[i].list));
		else
			assert_string_equal(device_list_single(cases[i].list), cases[i].single);
	}
	assert_true(device_list_has("mlx5_1,mlx5_0", "mlx5_0"));
	assert_false(device_list_has("mlx5_1,mlx5_0", "mlx5_"));
	assert_true(device_list_has("all", "mlx5_0"));
}

#define WITH_HOSTS(test) cmocka_unit_test_setup_teardown(test, make, clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_HOSTS(test_devices_of_all_hosts),
		WITH_HOSTS(test_any_device),
		WITH_HOSTS(test_named_devices),
		WITH_HOSTS(test_many_devices),
		WITH_HOSTS(test_one_rail_is_bad),
		WITH_HOSTS(test_all_rails_are_bad),
		WITH_HOSTS(test_hosts_without_a_rail),
		WITH_HOSTS(test_directions_across_rails),
		WITH_HOSTS(test_typical),
		WITH_HOSTS(test_limit),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The rounds of a mesh: every pair once, no host twice in a round. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/schedule.h"
#include "tests/unit/unit.h"

static unsigned char met[MESH_HOSTS_MAX][MESH_HOSTS_MAX];

/* Takes all rounds. Returns the number of pairs; fails if a host or a pair occurs twice. */
static unsigned int take_rounds(unsigned int hosts, bool quick)
{
	struct mesh_pair pairs[MESH_HOSTS_MAX / 2];
	unsigned int all = 0, firsts = 0;

	memset(met, 0, sizeof(met));
	for (unsigned int round = 0; round < schedule_rounds(hosts, quick); round++) {
		bool busy[MESH_HOSTS_MAX] = {0};
		unsigned int count = schedule_round(hosts, quick, round, pairs);

		assert_int_equal(count, hosts / 2);
		for (unsigned int i = 0; i < count; i++) {
			unsigned int one = pairs[i].first, other = pairs[i].second;

			assert_true(one < hosts && other < hosts && one != other);
			assert_false(busy[one] || busy[other] || met[one][other]);
			busy[one] = busy[other] = true;
			met[one][other] = met[other][one] = 1;
			firsts += one < other;
		}
		all += count;
	}
	if (hosts > 8)
		assert_in_range(firsts, all / 3, 2 * all / 3);
	return all;
}

static void test_complete(void **state)
{
	static const unsigned int sizes[] = {2, 3, 4, 5, 6, 7, 8, 63, 64, 65, 1023, 1024};

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++)
		assert_int_equal(take_rounds(sizes[i], false), sizes[i] * (sizes[i] - 1) / 2);
}

static void test_quick(void **state)
{
	static const struct {
		unsigned int hosts, rounds;
	} cases[] = {{2, 1}, {3, 3}, {4, 3}, {8, 4}, {9, 5}, {64, 7}, {65, 8}, {1024, 11}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(schedule_rounds(cases[i].hosts, true), cases[i].rounds);
		assert_int_equal(
			take_rounds(cases[i].hosts, true), cases[i].rounds * (cases[i].hosts / 2));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

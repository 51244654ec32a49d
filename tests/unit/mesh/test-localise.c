/* Who is accused of the faults of a mesh, and what must not be accused. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mesh/localise.h"
#include "tests/unit/mesh/synthetic.h"
#include "tests/unit/unit.h"

#define NOISE 0.05

static struct localisation run(const struct synthetic *table, const unsigned int *groups)
{
	struct localisation result = {.hosts = table->hosts,
		.values = table->values,
		.groups = groups,
		.group_count = groups ? 3 : 0,
		.floor = -INFINITY,
		.tolerance = log(1 / 0.8)};

	assert_int_equal(localisation_run(&result), 0);
	return result;
}

static const struct accusation *only(const struct localisation *result)
{
	assert_int_equal(result->accusation_count, 1);
	return &result->accusations[0];
}

static void test_healthy(void **state)
{
	(void)state;
	for (unsigned int hosts = 2; hosts <= 64; hosts = hosts * 3 / 2 + 1)
		for (uint64_t seed = 0; seed < 50; seed++) {
			struct synthetic table;
			struct localisation result;

			synthetic_make(&table, hosts, false, NOISE, seed);
			result = run(&table, NULL);
			assert_int_equal(result.accusation_count, 0);
			localisation_free(&result);
			synthetic_free(&table);
		}
}

/*
 * Hosts with much noise, as emulated ones, are rarely accused: without repeated tests, by chance.
 */
static void test_noisy(void **state)
{
	unsigned int accused = 0, runs = 0;

	(void)state;
	for (unsigned int hosts = 4; hosts <= 12; hosts++)
		for (uint64_t seed = 0; seed < 200; seed++, runs++) {
			struct synthetic table;
			struct localisation result;

			synthetic_make(&table, hosts, false, 0.5, seed);
			result = run(&table, NULL);
			accused += result.accusation_count > 0;
			localisation_free(&result);
			synthetic_free(&table);
		}
	printf("# noise of 50 %%: %u of %u healthy tables accused\n", accused, runs);
	assert_true(accused * 25 < runs);
}

/* A host that is bad and noisy, among others that are less so. */
static void test_noisy_host(void **state)
{
	static const double rates[4][4] = {
		{0, 6.0, 6.9, 1.8}, {4.6, 0, 2.2, 7.1}, {0.5, 0.8, 0, 0.6}, {7.5, 3.0, 6.2, 0}};
	struct synthetic table;
	struct localisation result;

	(void)state;
	synthetic_make(&table, 4, false, 0, 1);
	for (unsigned int from = 0; from < 4; from++)
		for (unsigned int to = 0; to < 4; to++)
			if (from != to)
				table.values[from * 4 + to] = log(rates[from][to]);
	result = run(&table, NULL);
	assert_int_equal(only(&result)->kind, ACCUSED_EGRESS);
	assert_int_equal(only(&result)->one, 2);
	localisation_free(&result);
	synthetic_free(&table);
}

static void test_host(void **state)
{
	(void)state;
	for (unsigned int hosts = 4; hosts <= 32; hosts++) {
		struct synthetic table;
		struct localisation result;

		synthetic_make(&table, hosts, false, NOISE, hosts);
		synthetic_slow_egress(&table, 2, 0.3);
		result = run(&table, NULL);
		assert_int_equal(only(&result)->kind, ACCUSED_EGRESS);
		assert_int_equal(only(&result)->one, 2);
		assert_int_equal(only(&result)->low, hosts - 1);
		assert_true(only(&result)->level > 0.25 && only(&result)->level < 0.36);
		localisation_free(&result);
		synthetic_slow_ingress(&table, 2, 0);
		result = run(&table, NULL);
		assert_int_equal(only(&result)->kind, ACCUSED_HOST);
		assert_int_equal(only(&result)->failed, hosts - 1);
		localisation_free(&result);
		synthetic_free(&table);
	}
}

static void test_pair(void **state)
{
	struct synthetic table;
	struct localisation result;

	(void)state;
	synthetic_make(&table, 6, false, NOISE, 1);
	synthetic_slow(&table, 1, 4, 0.2);
	result = run(&table, NULL);
	assert_int_equal(only(&result)->kind, ACCUSED_DIRECTION);
	assert_int_equal(only(&result)->one, 1);
	assert_int_equal(only(&result)->other, 4);
	assert_false(only(&result)->undecided);
	localisation_free(&result);
	synthetic_slow(&table, 4, 1, 0);
	result = run(&table, NULL);
	assert_int_equal(only(&result)->kind, ACCUSED_PAIR);
	assert_int_equal(only(&result)->failed, 1);
	localisation_free(&result);
	synthetic_free(&table);
}

/* With two or three hosts, a host can never be accused. */
static void test_undecided(void **state)
{
	struct synthetic table;
	struct localisation result;

	(void)state;
	synthetic_make(&table, 2, false, NOISE, 1);
	synthetic_slow(&table, 0, 1, 0.2);
	result = run(&table, NULL);
	assert_int_equal(only(&result)->kind, ACCUSED_DIRECTION);
	assert_true(only(&result)->undecided);
	assert_int_equal(only(&result)->suspect, 2);
	localisation_free(&result);
	synthetic_free(&table);
	synthetic_make(&table, 3, false, NOISE, 1);
	synthetic_slow_egress(&table, 1, 0);
	synthetic_slow_ingress(&table, 1, 0);
	result = run(&table, NULL);
	assert_int_equal(result.accusation_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(result.accusations[i].kind, ACCUSED_PAIR);
		assert_true(result.accusations[i].undecided);
		assert_int_equal(result.accusations[i].suspect, 1);
	}
	localisation_free(&result);
	synthetic_free(&table);
}

/* Nothing is healthy: no host is accused rather than another. */
static void test_all_failed(void **state)
{
	struct synthetic table;
	struct localisation result;

	(void)state;
	synthetic_make(&table, 6, false, NOISE, 1);
	for (unsigned int host = 0; host < 6; host++)
		synthetic_slow_egress(&table, host, 0);
	result = run(&table, NULL);
	assert_int_equal(result.accusation_count, 15);
	for (size_t i = 0; i < result.accusation_count; i++)
		assert_int_equal(result.accusations[i].kind, ACCUSED_PAIR);
	localisation_free(&result);
	synthetic_free(&table);
}

/* Three groups of three hosts. */
static const unsigned int groups[] = {0, 0, 0, 1, 1, 1, 2, 2, 2};

enum { GROUPED_HOSTS = COUNT(groups), ANY = 3 };

/* Slows what one group sends to another one; ANY: to or from all other groups. */
static void slow_between(struct synthetic *table, unsigned int sender, unsigned int receiver)
{
	for (unsigned int from = 0; from < GROUPED_HOSTS; from++)
		for (unsigned int to = 0; to < GROUPED_HOSTS; to++)
			if (groups[from] != groups[to] &&
				(sender == ANY || groups[from] == sender) &&
				(receiver == ANY || groups[to] == receiver))
				synthetic_slow(table, from, to, 0.3);
}

/* The uplink of a group is bad: with the groups known, it is accused; without, no host is. */
static void test_group(void **state)
{
	struct synthetic table;
	struct localisation result;

	(void)state;
	synthetic_make(&table, GROUPED_HOSTS, false, NOISE, 1);
	slow_between(&table, 1, ANY);
	result = run(&table, groups);
	assert_int_equal(only(&result)->kind, ACCUSED_GROUP_EGRESS);
	assert_int_equal(only(&result)->one, 1);
	assert_int_equal(only(&result)->low, 18);
	localisation_free(&result);
	slow_between(&table, ANY, 1);
	result = run(&table, groups);
	assert_int_equal(only(&result)->kind, ACCUSED_GROUP);
	localisation_free(&result);
	synthetic_free(&table);
}

/*
 * The uplink of a group of two is bad, and one of the two directions inside, measured while a
 * processor was busy, is slow, too, but by far not as slow: rates of a series in bytes per second.
 */
static void test_group_with_a_slow_direction(void **state)
{
	static const double rates[6][6] = {
		{0, 4493039, 4443769, 5256697, 1103779, 1107325},
		{4969078, 0, 4229444, 4503161, 1102614, 1060830},
		{5129825, 4031413, 0, 4746472, 1062700, 1098348},
		{4291298, 4852272, 5422236, 0, 1085025, 1101445},
		{1099196, 1094724, 975634, 1106016, 0, 3583869},
		{1108584, 1108587, 1095048, 1008158, 4367122, 0},
	};
	static const unsigned int twos[] = {0, 0, 1, 1, 2, 2};
	struct synthetic table;
	struct localisation result;

	(void)state;
	synthetic_make(&table, COUNT(twos), false, NOISE, 1);
	for (unsigned int from = 0; from < COUNT(twos); from++)
		for (unsigned int to = 0; to < COUNT(twos); to++)
			if (from != to)
				table.values[from * COUNT(twos) + to] = log(rates[from][to]);
	result = run(&table, twos);
	assert_int_equal(only(&result)->kind, ACCUSED_GROUP);
	assert_int_equal(only(&result)->one, 2);
	localisation_free(&result);
	/* As slow as the others: the hosts are bad. */
	for (unsigned int from = 4; from < COUNT(twos); from++)
		table.values[from * COUNT(twos) + 9 - from] = log(1100000);
	result = run(&table, twos);
	assert_int_equal(result.accusation_count, 2);
	assert_int_equal(result.accusations[0].kind, ACCUSED_HOST);
	localisation_free(&result);
	synthetic_free(&table);
}

/* What is between one pair of groups only, is no fault of either. */
static void test_between_groups(void **state)
{
	struct synthetic table;
	struct localisation result;

	(void)state;
	synthetic_make(&table, GROUPED_HOSTS, false, NOISE, 1);
	slow_between(&table, 1, 2);
	result = run(&table, groups);
	assert_int_equal(only(&result)->kind, ACCUSED_GROUPS);
	assert_int_equal(only(&result)->one, 1);
	assert_int_equal(only(&result)->other, 2);
	localisation_free(&result);
	synthetic_free(&table);
}

/* One row of the table of docs/fleet.md: faults of random kinds and hosts. */
struct score {
	unsigned int right, wrong, faults;
	double seconds;
};

/* Makes a fault in the host's egress, ingress or both: 20 to 70 % of the rate, or nothing. */
static enum accused make_fault(struct synthetic *table, unsigned int host)
{
	enum accused kind = ACCUSED_HOST + synthetic_random(table, 3);
	double factor = synthetic_random(table, 8) ? 0.2 + synthetic_random(table, 50) / 100.0 : 0;

	if (kind != ACCUSED_INGRESS)
		synthetic_slow_egress(table, host, factor);
	if (kind != ACCUSED_EGRESS)
		synthetic_slow_ingress(table, host, factor);
	return kind;
}

static void try_faults(
	unsigned int hosts, unsigned int faults, bool quick, uint64_t seed, struct score *score)
{
	unsigned int culprits[8];
	enum accused kinds[8];
	struct synthetic table;
	struct localisation result;
	clock_t start;

	synthetic_make(&table, hosts, quick, NOISE, seed + 1);
	for (unsigned int i = 0; i < faults; i++) {
		bool again;

		do {
			again = false;
			culprits[i] = synthetic_random(&table, hosts);
			for (unsigned int j = 0; j < i; j++)
				again |= culprits[j] == culprits[i];
		} while (again);
		kinds[i] = make_fault(&table, culprits[i]);
	}
	start = clock();
	result = run(&table, NULL);
	score->seconds += (double)(clock() - start) / CLOCKS_PER_SEC;
	score->faults += faults;
	for (size_t i = 0; i < result.accusation_count; i++) {
		bool right = false;

		for (unsigned int j = 0; j < faults; j++)
			right |= result.accusations[i].kind == kinds[j] &&
				 result.accusations[i].one == culprits[j];
		score->right += right;
		score->wrong += !right;
	}
	localisation_free(&result);
	synthetic_free(&table);
}

/* Prints precision, recall and time, and requires them. */
static void check_scores(bool quick)
{
	static const unsigned int sizes[] = {8, 16, 64, 256, 1024}, faults[] = {1, 2, 4, 8};

	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t j = 0; j < COUNT(faults); j++) {
			unsigned int runs = sizes[i] < 256 ? 100 : sizes[i] < 1024 ? 10 : 3;
			struct score score = {0};
			double precision, recall;

			if (faults[j] * 4 > sizes[i])
				continue;
			for (uint64_t seed = 0; seed < runs; seed++)
				try_faults(sizes[i], faults[j], quick, seed * 64 + j, &score);
			precision = 100.0 * score.right / (score.right + score.wrong);
			recall = 100.0 * score.right / score.faults;
			printf("# %s %5u hosts %u faults: precision %5.1f %% recall %5.1f %% "
			       "time %.4f s\n",
				quick ? "quick" : "full ", sizes[i], faults[j], precision, recall,
				score.seconds / runs);
			assert_true(precision >= 98);
			assert_true(recall >= 98);
		}
}

static void test_scores(void **state)
{
	(void)state;
	check_scores(false);
}

static void test_scores_quick(void **state)
{
	(void)state;
	check_scores(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy),
		cmocka_unit_test(test_noisy),
		cmocka_unit_test(test_noisy_host),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_pair),
		cmocka_unit_test(test_undecided),
		cmocka_unit_test(test_all_failed),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_group_with_a_slow_direction),
		cmocka_unit_test(test_between_groups),
		cmocka_unit_test(test_scores),
		cmocka_unit_test(test_scores_quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The circle method: one host stands still, the others stand on a circle and move by one place from
 * round to round; opposite hosts are a pair. For an odd number of hosts, the one that stands still
 * does not exist, and its partner rests.
 */
#include "mesh/schedule.h"

/* The rounds of the complete schedule, which is the number of places on the circle. */
static unsigned int places(unsigned int hosts)
{
	return hosts % 2 ? hosts : hosts - 1;
}

static unsigned int logarithm(unsigned int hosts)
{
	unsigned int result = 0;

	while (1U << result < hosts)
		result++;
	return result;
}

unsigned int schedule_rounds(unsigned int hosts, bool quick)
{
	unsigned int all = places(hosts), few = logarithm(hosts) + 1;

	return quick && few < all ? few : all;
}

static struct mesh_pair pair_of(unsigned int one, unsigned int other)
{
	unsigned int low = one < other ? one : other, high = one < other ? other : one;

	return (low + high) % 2 ? (struct mesh_pair){low, high} : (struct mesh_pair){high, low};
}

unsigned int schedule_round(
	unsigned int hosts, bool quick, unsigned int round, struct mesh_pair pairs[])
{
	unsigned int all = places(hosts), count = 0;
	unsigned int turn = round * all / schedule_rounds(hosts, quick);

	if (hosts % 2 == 0)
		pairs[count++] = pair_of(turn, all);
	for (unsigned int i = 1; i <= (all - 1) / 2; i++)
		pairs[count++] = pair_of((turn + i) % all, (turn + all - i) % all);
	return count;
}

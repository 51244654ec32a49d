/* See tests/unit/mesh/synthetic.h. */
#include <math.h>
#include <stdlib.h>

#include "mesh/schedule.h"
#include "tests/unit/mesh/synthetic.h"

/* xorshift64* */
static double uniform(struct synthetic *table)
{
	table->random ^= table->random >> 12;
	table->random ^= table->random << 25;
	table->random ^= table->random >> 27;
	return (double)((table->random * UINT64_C(2685821657736338717)) >> 11) * 0x1p-53;
}

static double normal(struct synthetic *table)
{
	double radius = sqrt(-2 * log(1 - uniform(table)));

	return radius * cos(6.283185307179586 * uniform(table));
}

void synthetic_make(
	struct synthetic *table, unsigned int hosts, bool quick, double noise, uint64_t seed)
{
	struct mesh_pair pairs[MESH_HOSTS_MAX / 2];
	const size_t cells = (size_t)hosts * hosts;

	*table = (struct synthetic){hosts, calloc(cells, sizeof(double)), seed * 2 + 1};
	for (size_t i = 0; i < cells; i++)
		table->values[i] = MESH_UNMEASURED;
	for (unsigned int round = 0; round < schedule_rounds(hosts, quick); round++) {
		unsigned int count = schedule_round(hosts, quick, round, pairs);

		for (unsigned int i = 0; i < count; i++) {
			unsigned int one = pairs[i].first, other = pairs[i].second;

			table->values[one * hosts + other] = log(1e10) + noise * normal(table);
			table->values[other * hosts + one] = log(1e10) + noise * normal(table);
		}
	}
}

void synthetic_free(struct synthetic *table)
{
	free(table->values);
}

unsigned int synthetic_random(struct synthetic *table, unsigned int limit)
{
	return (unsigned int)(uniform(table) * limit);
}

void synthetic_slow(struct synthetic *table, unsigned int from, unsigned int to, double factor)
{
	double *value = &table->values[from * table->hosts + to];

	if (*value <= MESH_UNMEASURED)
		return;
	if (factor > 0 && *value > MESH_FAILED)
		*value += log(factor);
	else
		*value = MESH_FAILED;
}

void synthetic_slow_egress(struct synthetic *table, unsigned int host, double factor)
{
	for (unsigned int to = 0; to < table->hosts; to++)
		synthetic_slow(table, host, to, factor);
}

void synthetic_slow_ingress(struct synthetic *table, unsigned int host, double factor)
{
	for (unsigned int from = 0; from < table->hosts; from++)
		synthetic_slow(table, from, host, factor);
}

/* Made-up rates of a mesh, with faults. One thread. */
#ifndef TESTS_UNIT_MESH_SYNTHETIC_H
#define TESTS_UNIT_MESH_SYNTHETIC_H

#include <stdbool.h>
#include <stdint.h>

#include "mesh/localise.h"

struct synthetic {
	unsigned int hosts;
	double *values;
	uint64_t random; /* the state of the generator */
};

/* Makes a table of hosts with this noise, as a standard deviation; a quick one has fewer pairs. */
void synthetic_make(
	struct synthetic *table, unsigned int hosts, bool quick, double noise, uint64_t seed);
void synthetic_free(struct synthetic *table);

/* A random number below the limit. */
unsigned int synthetic_random(struct synthetic *table, unsigned int limit);

/* Multiplies the rates of what a host sends, or receives, or of one direction; 0: it fails. */
void synthetic_slow_egress(struct synthetic *table, unsigned int host, double factor);
void synthetic_slow_ingress(struct synthetic *table, unsigned int host, double factor);
void synthetic_slow(struct synthetic *table, unsigned int from, unsigned int to, double factor);

#endif

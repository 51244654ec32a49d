/*
 * Which hosts of a mesh measure with each other at the same time: rounds of pairs in which no host
 * occurs twice, by the circle method for round-robin tournaments. All rounds together contain each
 * unordered pair exactly once. Pure functions; any thread.
 */
#ifndef MESH_SCHEDULE_H
#define MESH_SCHEDULE_H

#include <stdbool.h>

/* The most hosts of a mesh. */
#define MESH_HOSTS_MAX 1024

/* Two hosts, numbered from 0. */
struct mesh_pair {
	unsigned int first, second;
};

/*
 * The number of rounds for this many hosts, at least 2: all of them, hosts - 1 or, for an odd
 * number, as many as hosts; or, if quick, at most ceil(log2(hosts)) + 1.
 */
unsigned int schedule_rounds(unsigned int hosts, bool quick);

/*
 * Stores the pairs of a round, from 0 to schedule_rounds() - 1, at most hosts / 2. Returns their
 * number. The rounds of a quick schedule are spread over those of the complete one. Which host of a
 * pair is the first alternates.
 */
unsigned int schedule_round(
	unsigned int hosts, bool quick, unsigned int round, struct mesh_pair pairs[]);

#endif

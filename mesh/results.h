/*
 * What a mesh has measured on one rail: for each ordered pair of hosts, its bandwidth; for each
 * unordered pair, its latency. The best of several tests counts: nothing makes a link faster
 * than it is. Main thread.
 */
#ifndef MESH_RESULTS_H
#define MESH_RESULTS_H

#include "mesh/coordinator.h"
#include "mesh/localise.h"
#include "mesh/topology.h"

enum mesh_state {
	MESH_UNTRIED,      /* not part of a quick schedule */
	MESH_NOT_MEASURED, /* an agent was missing or lost, or the run was interrupted */
	MESH_BROKEN,       /* nothing could be transferred */
	MESH_GOOD,         /* measured */
};

struct mesh_result {
	enum mesh_state state;
	unsigned int tests;
	uint64_t bytes_per_second, link_bytes_per_second; /* bandwidth */
	uint64_t first_bytes_per_second;                  /* of the first test that succeeded */
	double repeated;            /* logarithm of the next one relative to it; NAN: none */
	uint64_t median_ns, p99_ns; /* latency */
	char *message;              /* why it is not good; NULL: none */
};

struct mesh_results {
	const struct host_list *list;
	const struct topology *topology;
	const struct mesh_rail *rail;
	unsigned int number;                     /* of the rail, as in a test */
	bool named;                              /* sentences name the rail: it is one of several */
	struct mesh_result *bandwidth, *latency; /* [from * hosts + to] */
};

/* Makes empty results, of an only rail of any device. Returns 0 or -ENOMEM. */
int results_make(struct mesh_results *results, const struct host_list *list,
	const struct topology *topology);
void results_free(struct mesh_results *results);

/* The result of a direction. A latency is found from either end. */
struct mesh_result *results_bandwidth(
	const struct mesh_results *results, unsigned int from, unsigned int to);
struct mesh_result *results_latency(
	const struct mesh_results *results, unsigned int one, unsigned int other);

/*
 * Writes the name of a host or group that sentences use: "h3", or "h3/mlx5_2", with the device of
 * this end, if the rail is one of several. Returns text.
 */
#define MESH_LABEL_SIZE (MESH_NAME_SIZE + MESH_RAIL_SIZE)
const char *results_label(const struct mesh_results *results, const char *name, enum mesh_end end,
	char text[MESH_LABEL_SIZE]);

/* The same for what concerns both ends: with the name of the rail. */
const char *results_rail_label(
	const struct mesh_results *results, const char *name, char text[MESH_LABEL_SIZE]);

/* Adds the outcome of a test. */
void results_add(struct mesh_results *results, const struct mesh_test *test,
	const struct mesh_outcome *outcome);

/* Logarithms of the rates, for localisation; those of latencies are negative. */
double results_bandwidth_value(
	const struct mesh_results *results, unsigned int from, unsigned int to, bool of_link);
double results_latency_value(
	const struct mesh_results *results, unsigned int from, unsigned int to);

/*
 * What the rates of repeated tests differ by, as a standard deviation of their logarithm; 0: too
 * few tests were repeated.
 */
double results_repeatability(const struct mesh_results *results);

/* The number of directions in a state. */
unsigned int results_count(const struct mesh_results *results, enum mesh_state state);

/* Writes a rate, "12.34 GB/s" or "28.8 MB/s", and a latency, "1.85 us". */
#define MESH_RATE_SIZE 32
void results_rate_text(char text[MESH_RATE_SIZE], double bytes_per_second);
void results_latency_text(char text[MESH_RATE_SIZE], uint64_t nanoseconds);

#endif

/*
 * Finds out which host, direction, pair or group of a mesh is bad, from one number for each ordered
 * pair of hosts: the logarithm of its rate. A median polish splits these into a typical value, an
 * effect of each host as sender and one as receiver, and residuals, whose spread is the noise.
 *
 * A direction is low if it is below the typical value by more than the tolerance and five times the
 * noise; half of that is enough where most directions of a host or group are low. Low directions
 * are then explained by as few culprits as possible: first groups, then sending or receiving hosts,
 * then pairs. A host is accused only if at least two thirds of its directions are low, with at
 * least three partners that are not accused themselves.
 *
 * Pure functions; any thread.
 */
#ifndef MESH_LOCALISE_H
#define MESH_LOCALISE_H

#include <stdbool.h>
#include <stddef.h>

enum accused {
	ACCUSED_GROUP,         /* a group: what it sends to others and receives from them */
	ACCUSED_GROUP_EGRESS,  /* what it sends to other groups */
	ACCUSED_GROUP_INGRESS, /* what it receives from them */
	ACCUSED_GROUPS,        /* from one group to another */
	ACCUSED_HOST,          /* a host, in both directions */
	ACCUSED_EGRESS,        /* what a host sends */
	ACCUSED_INGRESS,       /* what it receives */
	ACCUSED_PAIR,          /* two hosts, in both directions */
	ACCUSED_DIRECTION,     /* from one host to another */
};

struct accusation {
	enum accused kind;
	unsigned int one, other; /* hosts or groups; other: of pairs only */
	unsigned int low, of;    /* low directions, of those that were measured */
	unsigned int failed;     /* those of them that transferred nothing */
	double level;            /* median of the low directions, relative to the typical value */
	/*
	 * A pair that may stand for one of its hosts: two thirds of all directions of `suspect`
	 * are low, but with fewer than three healthy partners that decides nothing.
	 */
	bool undecided;
	unsigned int suspect; /* both hosts of two, if it equals `hosts` */
};

/* What is known of a direction, in addition to numbers: the logarithm of the rate. */
#define MESH_UNMEASURED (-1e300) /* nothing */
#define MESH_FAILED     (-1e200) /* nothing could be transferred */

struct localisation {
	/* Set by the caller. */
	unsigned int hosts;
	const double *values;       /* of hosts * hosts directions, [from * hosts + to] */
	const unsigned int *groups; /* of each host, from 0; NULL: none */
	unsigned int group_count;
	double floor;       /* a value below this is low in any case; -INFINITY: none */
	double least_noise; /* what repeated tests differ by, as a standard deviation; 0: unknown */
	double tolerance; /* logarithm of the ratio that is always accepted, for example log(1/0.8) */

	/* Results. */
	double typical, noise;    /* logarithms */
	double limit;             /* below it, a direction is low */
	double line_limit;        /* below it, one is low if most of a host or group are */
	double *egress, *ingress; /* effects of each host */
	unsigned char *low;       /* of each direction: 1 if it is part of an accusation */
	unsigned int measured, failed, low_count;
	struct accusation *accusations;
	size_t accusation_count;
};

/* Computes the results, which localisation_free() frees. Returns 0 or -ENOMEM. */
int localisation_run(struct localisation *localisation);

/* Frees the results. */
void localisation_free(struct localisation *localisation);

#endif

/*
 * The verdict about a whole mesh: that about each rail, and all their findings together. A host
 * whose every rail is bad is accused once, as a host; otherwise its device is: "h3/mlx5_2". Main
 * thread.
 */
#ifndef MESH_JUDGEMENT_H
#define MESH_JUDGEMENT_H

#include "mesh/verdict.h"

struct judgement {
	const struct coordinator *coordinator;
	const struct mesh_results *results; /* of each rail */
	struct verdict *verdicts;           /* of each rail */
	unsigned int rail_count;
	struct finding *findings;
	unsigned int count;
	/* Of all rails together, as in a verdict. */
	unsigned int directions, good, slow, broken, unmeasured, untried;
	bool decided;
	char *drained;
};

/*
 * Judges the results of all rails of the coordinator. Returns 0, or -ENOMEM; judgement_free()
 * follows in either case.
 */
int judgement_make(struct judgement *judgement, const struct mesh_results *results,
	const struct coordinator *coordinator);
void judgement_free(struct judgement *judgement);

/* The name of the rail of a finding; NULL: it is about all of them, or any device. */
const char *judgement_rail(const struct judgement *judgement, const struct finding *finding);

/*
 * Writes what is typical: of an only rail "28.8 MB/s, 1.85 us", of several "mlx5_0: 12.1 GB/s, 1.85
 * us; mlx5_1: ...". "": nothing was measured, or the rates are parts of the links'.
 */
void judgement_typical(const struct judgement *judgement, char *text, size_t size);

/*
 * Returns below which part of the typical rate a direction counts as slow by itself, on the rail
 * whose rates vary most, and sets its name: "" if there is only one.
 */
double judgement_limit(const struct judgement *judgement, const char **rail);

#endif

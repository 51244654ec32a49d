/*
 * The verdict about a rail of a mesh: what is bad, with the evidence, in sentences; what should be
 * tested again before it is accused; and which hosts a scheduler should not use. Main thread.
 */
#ifndef MESH_VERDICT_H
#define MESH_VERDICT_H

#include <limits.h>

#include "mesh/results.h"

enum verdict_kind {
	VERDICT_BANDWIDTH, /* an accusation by bandwidth, or because nothing was transferred */
	VERDICT_LATENCY,   /* an accusation by latency */
	VERDICT_HOST,      /* a host that could not take part */
	VERDICT_LINK,      /* --expect is a percentage of an unknown link rate */
};

#define VERDICT_TEXT_SIZE 1024

/* A finding about all rails. */
#define VERDICT_ALL_RAILS UINT_MAX

struct finding {
	enum verdict_kind kind;
	struct accusation accusation; /* of a host that could not take part: ACCUSED_HOST */
	unsigned int rail;            /* set in a judgement: its number, or VERDICT_ALL_RAILS */
	size_t evidence;              /* where it begins in the text */
	char text[VERDICT_TEXT_SIZE]; /* one sentence without a full stop */
};

struct verdict {
	struct localisation bandwidth, latency;
	bool of_link; /* the rates are parts of the links' */
	double *bandwidth_values, *latency_values;
	struct finding *findings;
	unsigned int count, capacity;
	unsigned int directions, good, slow, broken, unmeasured, untried;
	bool decided;  /* all findings name a culprit */
	char *drained; /* of each host: 1 if it is bad as a whole, or its device of the rail is */
};

/*
 * Judges the results. In an interrupted run, what was slow once is not accused. Returns 0, or
 * -ENOMEM; verdict_free() follows in either case.
 */
int verdict_make(struct verdict *verdict, const struct mesh_results *results,
	const struct coordinator *coordinator);
void verdict_free(struct verdict *verdict);

/*
 * Stores the tests that should be repeated, at most this many: of each accused host or group, those
 * of a few directions, once; otherwise each that is low or late, until it was repeated three times.
 * Those that were tested least come first. Returns their number.
 */
unsigned int verdict_retests(const struct verdict *verdict, const struct mesh_results *results,
	struct mesh_test *tests, unsigned int size);

/* True if an accusation is of a host, as sender, receiver or both. */
bool verdict_is_of_host(const struct accusation *accusation);

/* Appends what is accused of this: "h3 is slow when it sends". */
void verdict_accuse(char text[VERDICT_TEXT_SIZE], enum accused kind, const char *one,
	const char *other, const char *of);

/* The name of an accused host or group, by its number. */
const char *verdict_culprit(const struct mesh_results *results, const struct accusation *accusation,
	unsigned int number);

/* The name of an accusation: "host", "egress". Constant. */
const char *verdict_kind_name(enum accused kind);

#endif

/*
 * The ladder of a diagnosis: what was tried, rung by rung, until one broke; the sentence that it
 * comes to, and the exit status. Pure: whoever climbs it tells what happened. Any thread; the caller
 * serialises.
 */
#ifndef LADDER_H
#define LADDER_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdio.h>

#include "failure.h"

enum rung {
	RUNG_HOST,       /* RDMA on this host */
	RUNG_NAME,       /* host name to addresses */
	RUNG_ROUTE,      /* which interface leads there, and whether it has RDMA */
	RUNG_NEIGHBOUR,  /* the next hop answers */
	RUNG_PATH,       /* IP packets of the interface's size get there */
	RUNG_CONNECTION, /* rdmacm: address, route, connect */
	RUNG_MESSAGE,    /* one message each way */
	RUNG_ENDS,       /* both ends fit each other */
	RUNG_DATA,       /* WRITE and READ, both ways, every byte checked */
	RUNG_BANDWIDTH,  /* both ways, against what the link promises */
	RUNG_COUNTERS,   /* what the devices counted meanwhile */
	RUNGS
};

enum rung_state {
	RUNG_SKIPPED = 0,
	RUNG_OK,
	RUNG_FAILED,
};

struct ladder {
	struct {
		enum rung_state state;
		char text[256]; /* what was measured, why it was skipped */
		struct failure failure;
		int milliseconds; /* that it took, 0 if it was not tried */
	} rungs[RUNGS];
	char host[256]; /* what HOST in a command stands for */
};

/* Begins with all rungs skipped. host is the other host's name or address, "" if there is none. */
void ladder_init(struct ladder *ladder, const char *host);

/* The host is called this from now on. */
void ladder_set_host(struct ladder *ladder, const char *host);

/* The rung holds; the format makes what was measured. */
void ladder_ok(struct ladder *ladder, enum rung rung, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The rung was left out, for this reason. */
void ladder_skip(struct ladder *ladder, enum rung rung, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The rung broke. Returns -1, for the caller to return. */
int ladder_fail(struct ladder *ladder, enum rung rung, const struct failure *failure);

/* It took so long. */
void ladder_took(struct ladder *ladder, enum rung rung, int milliseconds);

/*
 * The rung that decides, RUNGS if none broke: the first. But what only works badly below the data does
 * not explain why a later one up to there does not work at all, and a full server nothing else.
 */
enum rung ladder_broken(const struct ladder *ladder);

/* "this host" and so on, static. */
const char *ladder_name(enum rung rung);

/*
 * Writes the lines of one rung: its state and what was measured or, where it broke, the cause,
 * the evidence, after what time, the side and what to do next. Returns the length as snprintf(3).
 */
size_t ladder_lines(const struct ladder *ladder, enum rung rung, char *text, size_t size);

/* Writes the sentence that it all comes to. */
void ladder_verdict(const struct ladder *ladder, char *text, size_t size);

/* The exit status: of the rung that decides, STATUS_OK if there is none. */
enum exit_status ladder_status(const struct ladder *ladder);

/* An array with an object for each rung. NULL: no memory. */
struct json_object *ladder_json(const struct ladder *ladder);

#endif

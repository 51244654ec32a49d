/*
 * The ladder of a diagnosis: what was tried, rung by rung, until one broke; the sentence that it
 * comes to, and the exit status. Pure: whoever climbs it tells what happened. Any thread; the caller
 * serialises.
 */
#ifndef DIAGNOSE_CHECK_LIST_H
#define DIAGNOSE_CHECK_LIST_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdio.h>

#include "base/failure.h"

enum check {
	CHECK_HOST,       /* RDMA on this host */
	CHECK_NAME,       /* host name to addresses */
	CHECK_ROUTE,      /* which interface leads there, and whether it has RDMA */
	CHECK_NEIGHBOUR,  /* the next hop answers */
	CHECK_PATH,       /* IP packets of the interface's size get there */
	CHECK_CONNECTION, /* rdmacm: address, route, connect */
	CHECK_MESSAGE,    /* one message each way */
	CHECK_ENDS,       /* both ends fit each other */
	CHECK_DATA,       /* WRITE and READ, both ways, every byte checked */
	CHECK_BANDWIDTH,  /* both ways, against what the link promises */
	CHECK_COUNTERS,   /* what the devices counted meanwhile */
	CHECKS
};

enum check_state {
	CHECK_SKIPPED = 0,
	CHECK_OK,
	CHECK_FAILED,
};

struct check_list {
	struct {
		enum check_state state;
		char text[256]; /* what was measured, why it was skipped */
		struct failure failure;
		int milliseconds; /* that it took, 0 if it was not tried */
	} checks[CHECKS];
	char host[256]; /* what HOST in a command stands for */
};

/* Begins with all rungs skipped. host is the other host's name or address, "" if there is none. */
void check_list_init(struct check_list *list, const char *host);

/* The host is called this from now on. */
void check_list_set_host(struct check_list *list, const char *host);

/* The rung holds; the format makes what was measured. */
void check_list_ok(struct check_list *list, enum check check, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The rung was left out, for this reason. */
void check_list_skip(struct check_list *list, enum check check, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The rung broke. Returns -1, for the caller to return. */
int check_list_fail(struct check_list *list, enum check check, const struct failure *failure);

/* It took so long. */
void check_list_took(struct check_list *list, enum check check, int milliseconds);

/*
 * The rung that decides, RUNGS if none broke: the first. But what only works badly below the data does
 * not explain why a later one up to there does not work at all, and a full server nothing else.
 */
enum check check_list_broken(const struct check_list *list);

/* "this host" and so on, static. */
const char *check_list_name(enum check check);

/*
 * Writes the lines of one rung: its state and what was measured or, where it broke, the cause,
 * the evidence, after what time, the side and what to do next. Returns the length as snprintf(3).
 */
size_t check_list_lines(const struct check_list *list, enum check check, char *text, size_t size);

/* Writes the sentence that it all comes to. */
void check_list_verdict(const struct check_list *list, char *text, size_t size);

/* The exit status: of the rung that decides, STATUS_OK if there is none. */
enum exit_status check_list_status(const struct check_list *list);

/* An array with an object for each rung. NULL: no memory. */
struct json_object *check_list_json(const struct check_list *list);

#endif

/*
 * The checks of a diagnosis as a list: what each has found, the verdict, and the exit status. Pure:
 * the caller carries the checks out. Any thread; the caller serialises.
 */
#ifndef DIAGNOSE_CHECK_LIST_H
#define DIAGNOSE_CHECK_LIST_H

#include <json-c/json.h>
#include <stddef.h>

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

struct diagnosis;

/* A check: its name, and the function that carries it out. diagnose/checks.c has the table. */
struct check_row {
	const char *name;
	int (*run)(struct diagnosis *diagnosis);
};

enum check_state {
	CHECK_SKIPPED = 0,
	CHECK_OK,
	CHECK_FAILED,
};

struct check_list {
	const struct check_row *rows;
	struct {
		enum check_state state;
		char text[256]; /* what was measured, why it was skipped */
		struct failure failure;
		int milliseconds; /* that it took, which the caller sets; 0 if it was not tried */
	} checks[CHECKS];
	char host[256]; /* what HOST in a command stands for */
};

/*
 * Begins with all checks skipped. The table outlives the list. host is the other host's name or
 * address, "" if there is none.
 */
void check_list_init(struct check_list *list, const struct check_row *rows, const char *host);

/* Sets the name or address of the other host. */
void check_list_set_host(struct check_list *list, const char *host);

/* The check is ok; the format makes what was measured. */
void check_list_ok(struct check_list *list, enum check check, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The check is skipped, for this reason. */
void check_list_skip(struct check_list *list, enum check check, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The check failed. Returns -1, for the caller to return. */
int check_list_fail(struct check_list *list, enum check check, const struct failure *failure);

/*
 * The failed check that decides, CHECKS if none failed: the first. But one below the data that
 * works, only badly, does not explain why a later one up to there does not work at all; and a full
 * server explains no other failure.
 */
enum check check_list_broken(const struct check_list *list);

/*
 * Writes the lines of one check: its state and what was measured or, if it failed, the cause, the
 * evidence, after what time, the side and what to do next. Returns the length as snprintf(3).
 */
size_t check_list_lines(const struct check_list *list, enum check check, char *text, size_t size);

/* Writes the verdict, one sentence. */
void check_list_verdict(const struct check_list *list, char *text, size_t size);

/* The exit status of the check that decides, STATUS_OK if there is none. */
enum exit_status check_list_status(const struct check_list *list);

/* An array with an object for each check. NULL: no memory. */
struct json_object *check_list_json(const struct check_list *list);

#endif

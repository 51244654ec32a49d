/*
 * The results of a diagnosis as a list of checks, with the verdict and the exit status. No I/O: the
 * caller runs the checks. Any thread; the caller serialises.
 */
#ifndef DIAGNOSE_CHECK_LIST_H
#define DIAGNOSE_CHECK_LIST_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"

/* Shorter forms of a result, for terminals on which the whole does not fit. */
#define CHECK_SHORTER      4
#define CHECK_SHORTER_SIZE 128

enum check {
	CHECK_HOST,       /* RDMA on this host */
	CHECK_MANAGER,    /* the connection manager of this host answers */
	CHECK_NAME,       /* resolve the host name */
	CHECK_ROUTE,      /* the outgoing interface, and whether it has RDMA */
	CHECK_NEIGHBOUR,  /* the next hop replies */
	CHECK_PATH,       /* IP packets of the interface's MTU arrive */
	CHECK_CONNECTION, /* by rdmacm or, with --bootstrap tcp, without it */
	CHECK_MESSAGE,    /* one message in each direction */
	CHECK_ENDS,       /* compare the two ends */
	CHECK_DATA,       /* WRITE and READ in both directions, every byte compared */
	CHECK_BANDWIDTH,  /* both directions, compared with the link rate */
	CHECK_COUNTERS,   /* changes of the device counters during the diagnosis */
	CHECK_OPERATIONS, /* one of each operation */
	CHECK_MULTICAST,  /* a group of this host, and a datagram to itself */
	CHECK_OTHER_WAY,  /* a connection and a message in the other of these two ways */
	CHECKS
};

struct diagnosis;

/* A check: its name and the function that runs it. The table is in diagnose/checks.c. */
struct check_row {
	const char *name;
	bool of_rdmacm; /* it concerns what only connections by rdmacm need */
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
		char text[256]; /* result of a passed check, or why it was skipped */
		/* Shorter forms of the result, the longest first; "": no more. */
		char shorter[CHECK_SHORTER][CHECK_SHORTER_SIZE];
		char warning[512]; /* what a passed check found that may be a fault; usually "" */
		struct failure failure;
		int milliseconds; /* run time, set by the caller; 0 if not run */
		bool reached;     /* the check began; set by the caller */
	} checks[CHECKS];
	const char *way, *other_way; /* to connect, as --bootstrap names them */
	bool same_host; /* HOST is this host, so nothing is elsewhere; set by the route's check */
	bool rdma_mtus_equal;   /* of both ends, as far as known: data that arrives fits both */
	bool ends_side_by_side; /* what both ends differ in is shown there, not as the evidence */
	char host[256];         /* replaces HOST in a command */
	char gateway[64];       /* replaces GATEWAY in a command; "": none */
};

/*
 * Initialises the list with all checks skipped. The table must outlive the list. host is the name
 * or address of the other host, "" if there is none.
 */
void check_list_init(struct check_list *list, const struct check_row *rows, const char *host);

/* Sets the name or address of the other host. */
void check_list_set_host(struct check_list *list, const char *host);

/* Sets the address of the gateway to the other host. */
void check_list_set_gateway(struct check_list *list, const char *gateway);

/* Marks the check as passed; the format produces its result. */
void check_list_ok(struct check_list *list, enum check check, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds a shorter form of the result of a check; the longest comes first. */
void check_list_shorten(struct check_list *list, enum check check, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Marks the check as skipped; the format produces the reason. */
void check_list_skip(struct check_list *list, enum check check, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds a warning to a check that passes: something that is not necessarily a fault. */
void check_list_warn(struct check_list *list, enum check check, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Marks the check as failed. Returns -1, which the caller can return. */
int check_list_fail(struct check_list *list, enum check check, const struct failure *failure);

/*
 * Returns the failed check that determines the verdict and the exit status, or CHECKS if none
 * failed. This is the first failed check, with three exceptions: an impairment found before the
 * data check does not explain a later check up to CHECK_ENDS that fails outright; a full server or
 * a long delay does not explain any other failure; and data that arrived refutes that packets are
 * too large for the path or for an interface with another MTU, if the RDMA MTUs are equal. A guess
 * that the path loses large packets gives way to the MTUs of both ends, too, if they differ.
 */
enum check check_list_broken(const struct check_list *list);

/* The columns before the result of a check, on a terminal of this many columns; 0: none. */
unsigned int check_list_indent(unsigned int columns);

/*
 * Writes the lines of one check: the state and either the result and the warnings or, if the check
 * failed, the cause, the evidence, the elapsed time, the side and the advice. For a terminal of
 * this many columns, the result is the longest form that fits, or the shortest; 0: the whole.
 * Returns the length as snprintf(3) does.
 */
size_t check_list_lines(const struct check_list *list, enum check check, unsigned int columns,
	char *text, size_t size);

/* Writes the verdict as one sentence. */
void check_list_verdict(const struct check_list *list, char *text, size_t size);

/* The same, but a good one is shortened to this many columns. */
void check_list_short_verdict(
	const struct check_list *list, unsigned int columns, char *text, size_t size);

/*
 * Returns the verdict as one word: "healthy" between two hosts, "ready" of this host, "incomplete"
 * if nothing failed, but data was not exchanged, "impaired", "broken" or "unknown". Constant.
 */
const char *check_list_verdict_word(const struct check_list *list);

/* Returns the exit status for the deciding check, STATUS_OK if none failed. */
enum exit_status check_list_status(const struct check_list *list);

/* Returns an array with one object per check, or NULL if out of memory. */
struct json_object *check_list_json(const struct check_list *list);

#endif

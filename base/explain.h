/*
 * Explanations of failures: a table with the cause, the remedy and the exit status for every way in
 * which a connection can fail. docs/troubleshooting.md has a section for each row. Any thread.
 */
#ifndef BASE_EXPLAIN_H
#define BASE_EXPLAIN_H

#include "base/failure.h"

/* Where the cause lies, as seen from this host. */
enum side {
	SIDE_HERE,
	SIDE_THERE,
	SIDE_BEYOND, /* at the peer or on the path */
	SIDE_EITHER,
	SIDE_TO,   /* this host's sending side, or the path from it */
	SIDE_FROM, /* the peer's sending side, or the path from it */
	SIDE_ANYWHERE,
};

struct explanation {
	enum failure_kind kind;
	enum phase phase; /* PHASE_ANY matches all */
	int code;         /* EXPLAIN_ANY matches all, EXPLAIN_LOCAL those of this host */
	enum exit_status status;
	enum side side;
	bool guess;          /* the cause is probable, not observed */
	const char *cause;   /* NULL: use the failure's evidence as the cause */
	const char *remedy;  /* NULL: none */
	const char *command; /* a diagnostic for that side; HOST stands for the peer; NULL: none */
};

#define EXPLAIN_ANY (-1)

/* The code of rows for every errno of this host alone: base/local-failure.h. */
#define EXPLAIN_LOCAL (-2)

/* Returns the first matching row, never NULL. The row is constant. */
const struct explanation *explain(enum failure_kind kind, enum phase phase, int code);

/* Returns the row with this index, NULL past the end of the table. For tests and documents. */
const struct explanation *explain_row(unsigned int index);

/*
 * Returns the library's name of a code: "ENODEV", "IBV_WC_RETRY_EXC_ERR", "invalid service ID".
 * Constant.
 */
const char *explain_name(enum failure_kind kind, int code);

/* Returns the words for a side: "this host". Constant. */
const char *explain_side(enum side side);

/*
 * Writes one line about the failure, truncated to size bytes: what failed, the peer (may be NULL),
 * the cause, the evidence and the remedy. `names` adds the library's names and numbers.
 */
void explain_failure(
	const struct failure *failure, const char *peer, bool names, char *text, size_t size);

/*
 * Returns the length of the start of such a line, up to the cause: "exchange with PEER failed: ". 0
 * if the line does not begin like this.
 */
size_t explain_attempt_length(const char *line);

/* Writes only the cause, truncated to size bytes. MSG_ABORT carries it to the peer. */
void explain_cause(const struct failure *failure, char *text, size_t size);

/* Returns the exit status of the failure, STATUS_OK if none is recorded. */
enum exit_status explain_status(const struct failure *failure);

#endif

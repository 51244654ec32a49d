/*
 * The explanations: one table that says, for every way in which a connection can fail, the cause
 * in plain words, what to do about it, and the exit status. docs/troubleshooting.md lists them.
 */
#ifndef BASE_EXPLAIN_H
#define BASE_EXPLAIN_H

#include "base/failure.h"

/* Where the cause lies, as seen from here. */
enum side {
	SIDE_HERE,
	SIDE_THERE,
	SIDE_BEYOND, /* there, or on the way */
	SIDE_EITHER,
};

struct explanation {
	enum failure_kind kind;
	enum phase phase; /* PHASE_ANY matches all */
	int code;         /* EXPLAIN_ANY matches all */
	enum exit_status status;
	enum side side;
	bool guess;        /* the cause is the most probable one; else it is what was seen */
	const char *cause; /* NULL: the failure's evidence is the cause */
	const char *cure;  /* NULL: nothing can be advised */
	const char
		*command; /* shows more, on that side; HOST stands for the peer; NULL: none does */
};

#define EXPLAIN_ANY (-1)

/*
 * Returns the row for a failure: the first that matches, and there always is one. Static. Any
 * thread.
 */
const struct explanation *explain(enum failure_kind kind, enum phase phase, int code);

/* The row at this place of the table, NULL past its end; for tests and documents. */
const struct explanation *explain_row(unsigned int index);

/* The library's name of a code: "ENODEV", "IBV_WC_RETRY_EXC_ERR", "invalid service ID". Static. */
const char *explain_name(enum failure_kind kind, int code);

#endif

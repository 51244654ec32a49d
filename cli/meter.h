/* Decides when to print a progress line, according to --progress. Main thread. */
#ifndef CLI_METER_H
#define CLI_METER_H

#include <stdbool.h>

#include "base/deadline.h"
#include "base/output.h"
#include "base/progress.h"
#include "cli/options.h"

struct meter {
	bool wanted, running;
	bool utf8;    /* the terminal shows UTF-8 */
	bool resumed; /* what was already there was printed */
	struct progress progress;
	deadline_t next;
};

void meter_init(struct meter *meter, const struct options *options);

/* Milliseconds until the next line is due, or -1 if no line is due. busy: data may be moving. */
int meter_next(struct meter *meter, bool busy);

/*
 * Prints a progress line and, before the first one of a transfer that resumes, a line with what was
 * already there.
 */
void meter_show(
	struct meter *meter, const struct output *output, const struct progress_state *state);

#endif

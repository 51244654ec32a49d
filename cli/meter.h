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
	bool utf8; /* the terminal shows UTF-8 */
	struct progress progress;
	deadline_t next;
};

void meter_init(struct meter *meter, const struct options *options);

/* Milliseconds until the next line is due, or -1 if no line is due. busy: data may be moving. */
int meter_next(struct meter *meter, bool busy);

/*
 * Prints what was already there of a transfer that resumes, when a line is due and before it. `all`
 * is the progress that this line shows: with that of other transfers, if there are any.
 */
void meter_note_resumed(struct meter *meter, const struct output *output,
	const struct progress_state *its, const struct progress_state *all);

/* Prints a progress line. */
void meter_show(
	struct meter *meter, const struct output *output, const struct progress_state *state);

#endif

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
	struct progress progress;
	deadline_t next;
};

void meter_init(struct meter *meter, const struct options *options);

/* Milliseconds until the next line is due, or -1 if no line is due. busy: data may be moving. */
int meter_next(struct meter *meter, bool busy);

/* Prints a progress line: bytes of total, which may be PROGRESS_UNKNOWN. */
void meter_show(struct meter *meter, const struct output *output, uint64_t bytes, uint64_t total);

#endif

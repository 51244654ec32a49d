/* --dry-run: lists what a client would send. Main thread. */
#ifndef EXCHANGE_DRY_RUN_H
#define EXCHANGE_DRY_RUN_H

#include "base/output.h"

/* What --input and --exclude say. */
struct dry_run_inputs {
	const char *const *paths;
	unsigned int count; /* at least 1 */
	const char *const *excluded;
	unsigned int excluded_count;
};

/*
 * Prints a line for each entry of the inputs, and what would be left out, as the exchange does; at
 * last, their number and size. No file is read, and no connection made. Returns the exit status:
 * that of the exchange, if it met nothing else.
 */
enum exit_status dry_run(const struct dry_run_inputs *inputs, const struct output *output);

#endif

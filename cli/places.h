/* SOURCE and DESTINATION of `copy`, as scp(1) has them. Main thread. */
#ifndef CLI_PLACES_H
#define CLI_PLACES_H

#include "cli/options.h"

/*
 * Takes places, of which the last is DESTINATION: files of this host as inputs or output, and the
 * others in options->copy. A place is at another host if it has a colon before the first slash:
 * [USER@]HOST:PATH, where an IPv6 address is in brackets. The words must outlive the options; some
 * are changed. Returns OPTIONS_RUN, or OPTIONS_WRONG with the error recorded.
 */
enum options_result places_take(struct options *options, const char **words, int count);

#endif

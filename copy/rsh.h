/* The program that runs commands at other hosts. Any thread. */
#ifndef COPY_RSH_H
#define COPY_RSH_H

#include "cli/options.h"

/* The most words of --rsh. */
#define RSH_WORDS_MAX 32

/* Returns --rsh, or else RDMA_RSH, or else ssh; words, which blanks separate. */
const char *rsh_of(const struct options *options);

/*
 * Splits such a text, which it changes, into at most RSH_WORDS_MAX words, of which the last is
 * followed by NULL. Returns their number, or -1 if there are too many.
 */
int rsh_split(char *rsh, char *words[RSH_WORDS_MAX + 1]);

#endif

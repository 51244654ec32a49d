/*
 * `rdma-client explain`: prints sections of docs/troubleshooting.md, which the program contains.
 * Main thread.
 */
#ifndef CLI_EXPLANATIONS_H
#define CLI_EXPLANATIONS_H

#include <stdio.h>

#include "base/output.h"

/* Maximum number of sections that are printed in full. */
#define EXPLANATIONS_MAX 3

/*
 * Prints the sections that explain the query: the section of this title; otherwise those whose
 * messages are most like it (cli/message-template.h), so that a whole line can be given; otherwise
 * those of the counters that it names; otherwise those that contain it. If these are more than
 * EXPLANATIONS_MAX, or if the query is empty, prints only their titles. Returns their number.
 */
unsigned int explanations_print(FILE *stream, const char *query);

/*
 * Reads a log, and prints the section for each kind of error in it once, after the first line of
 * that kind and its number. Skips normal output and what other programs print: a line names one of
 * our programs, is a line of a diagnosis, or begins with a message. Reports each error of either
 * program that no section explains. Returns the number of these lines, or
 * -errno if the log cannot be read.
 */
int explanations_print_log(FILE *stream, FILE *log, const struct output *output);

#endif

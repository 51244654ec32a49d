/*
 * Draws a measurement with gnuplot: the rate or the latency by message size. Main thread. Functions
 * that return int return 0, or -1 with the failure recorded.
 */
#ifndef MEASURE_PLOT_H
#define MEASURE_PLOT_H

#include <stdio.h>
#include <sys/types.h>

#include "base/replacement.h"
#include "measure/report.h"

/* A picture that is not drawn yet. All zero: none. */
struct plot {
	const char *file;           /* its name, from the command line */
	struct replacement picture; /* what gnuplot writes */
	FILE *commands;             /* for gnuplot */
	pid_t gnuplot;
};

/*
 * Starts gnuplot, which waits for commands, and creates a file next to `file`, whose ending
 * determines the format. Call it before memory is registered and signals are blocked, and
 * plot_end() later.
 */
int plot_begin(struct plot *plot, const char *file, struct failure *failure);

/* Writes the commands that draw the results. */
void plot_write(FILE *commands, const struct measurement *measurement, bool svg);

/* Draws the results, and renames the picture to its name. */
int plot_draw(struct plot *plot, const struct measurement *measurement, struct failure *failure);

/* Ends gnuplot and removes a picture that was not drawn. */
void plot_end(struct plot *plot);

#endif

/*
 * Tukey's median polish of a square table with missing entries: value = typical + egress of the row
 * + ingress of the column + residual. Pure; any thread.
 */
#ifndef MESH_POLISH_H
#define MESH_POLISH_H

#include <stddef.h>

struct polish {
	double typical; /* the median of all values */
	double spread;  /* standard deviation of the residuals, by their median; 0: unknown */
};

/* The value at this fraction, 0 to 1, of the sorted numbers, which are reordered. count > 0. */
double polish_quantile(double *numbers, size_t count, double fraction);

/*
 * The standard deviation of the numbers, by a quantile of their deviations from the median: they
 * are changed. count > 0.
 */
double polish_spread(double *numbers, size_t count);

/*
 * Polishes the values of size * size entries, of which those equal to `missing` are left out.
 * Stores the effects. scratch: space for size * size numbers.
 */
struct polish polish_table(const double *values, unsigned int size, double missing, double *egress,
	double *ingress, double *scratch);

#endif

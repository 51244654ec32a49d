/* See mesh/polish.h. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "mesh/polish.h"

/* Passes over rows and columns, and the change below which another one is of no use. */
#define PASSES_MAX 8
#define CHANGE_MIN 1e-4

/*
 * The absolute deviations from which the standard deviation of a normal distribution is computed:
 * the median or, in small tables, in which the polish makes half of the residuals nearly 0, the
 * third quartile.
 */
#define SMALL 8
static const struct {
	double fraction, factor;
} median = {0.5, 1.4826}, quartile = {0.75, 0.8693};

/* Hoare's selection: the number that has this position once they are sorted. */
static double nth(double *numbers, size_t count, size_t position)
{
	size_t first = 0, last = count - 1;

	while (first < last) {
		double pivot = numbers[first + (last - first) / 2];
		size_t i = first, j = last;

		for (;;) {
			while (numbers[i] < pivot)
				i++;
			while (numbers[j] > pivot)
				j--;
			if (i >= j)
				break;
			double swapped = numbers[i];

			numbers[i++] = numbers[j];
			numbers[j--] = swapped;
		}
		if (position <= j)
			last = j;
		else
			first = j + 1;
	}
	return numbers[position];
}

double polish_quantile(double *numbers, size_t count, double fraction)
{
	double place = fraction * (double)(count - 1);
	size_t below = (size_t)place;
	double low = nth(numbers, count, below);

	if (place <= (double)below)
		return low;
	return low + (place - (double)below) * (nth(numbers, count, below + 1) - low);
}

static double spread_by(double *deviations, size_t count, bool small)
{
	double fraction = small ? quartile.fraction : median.fraction;

	return (small ? quartile.factor : median.factor) *
	       polish_quantile(deviations, count, fraction);
}

double polish_spread(double *numbers, size_t count)
{
	double middle = polish_quantile(numbers, count, 0.5);

	for (size_t i = 0; i < count; i++)
		numbers[i] = fabs(numbers[i] - middle);
	return spread_by(numbers, count, count < (size_t)SMALL * SMALL);
}

/* Adds to the effect of each row, or column, the median of its residuals. Returns the change. */
static double sweep(const double *values, unsigned int size, double missing, double *ours,
	const double *others, double typical, size_t step, size_t stride, double *scratch)
{
	double most = 0;

	for (unsigned int i = 0; i < size; i++) {
		size_t count = 0;
		double middle;

		for (unsigned int j = 0; j < size; j++) {
			double value = values[i * step + j * stride];

			if (value > missing)
				scratch[count++] = value - typical - ours[i] - others[j];
		}
		if (count == 0)
			continue;
		middle = polish_quantile(scratch, count, 0.5);
		ours[i] += middle;
		if (fabs(middle) > most)
			most = fabs(middle);
	}
	return most;
}

/* The spread of the residuals, corrected for the effects, which take up degrees of freedom. */
static double spread_of(const double *values, unsigned int size, double missing,
	const double *egress, const double *ingress, double typical, double *scratch)
{
	size_t count = 0, parameters = 2 * (size_t)size - 1;

	for (size_t i = 0; i < size; i++)
		for (size_t j = 0; j < size; j++)
			if (values[i * size + j] > missing)
				scratch[count++] = fabs(
					values[i * size + j] - typical - egress[i] - ingress[j]);
	if (count <= parameters)
		return 0;
	return spread_by(scratch, count, size <= SMALL) *
	       sqrt((double)count / (double)(count - parameters));
}

struct polish polish_table(const double *values, unsigned int size, double missing, double *egress,
	double *ingress, double *scratch)
{
	struct polish polish = {0};
	size_t count = 0;

	memset(egress, 0, size * sizeof(*egress));
	memset(ingress, 0, size * sizeof(*ingress));
	for (size_t i = 0; i < (size_t)size * size; i++)
		if (values[i] > missing)
			scratch[count++] = values[i];
	if (count == 0)
		return polish;
	polish.typical = polish_quantile(scratch, count, 0.5);
	for (unsigned int pass = 0; pass < PASSES_MAX; pass++) {
		double change = sweep(
			values, size, missing, egress, ingress, polish.typical, size, 1, scratch);

		change += sweep(
			values, size, missing, ingress, egress, polish.typical, 1, size, scratch);
		if (change < CHANGE_MIN)
			break;
	}
	polish.spread = spread_of(values, size, missing, egress, ingress, polish.typical, scratch);
	return polish;
}

/*
 * The results of a measurement as comma-separated values: a line for each size, with the members of
 * its JSON object (docs/measurement.schema.json) as columns, in the same units. Pure functions. Any
 * thread.
 */
#ifndef MEASURE_CSV_H
#define MEASURE_CSV_H

#include <stdbool.h>

struct json_object;

/* Maximum size of a line, with terminator. */
#define CSV_LINE 1024

/* Formats the names of the columns. `latency`: of a latency test. */
void csv_head(char line[CSV_LINE], bool latency);

/* Formats a result, of measurement_json(). Unknown values are empty. */
void csv_row(char line[CSV_LINE], bool latency, struct json_object *result);

#endif

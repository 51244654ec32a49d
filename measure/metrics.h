/* The results of a measurement for Prometheus (base/metrics-file.h). Main thread. */
#ifndef MEASURE_METRICS_H
#define MEASURE_METRICS_H

#include "measure/report.h"

/*
 * Writes the file of --metrics, also for a measurement that failed: then with the results so far.
 * Prints an error if it cannot. Returns the exit status of the measurement, which is `status`
 * without such an error.
 */
enum exit_status measurement_metrics_write(
	const struct measurement *measurement, enum exit_status status);

#endif

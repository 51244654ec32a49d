/* The results of a diagnosis for Prometheus (base/metrics-file.h). Main thread. */
#ifndef DIAGNOSE_METRICS_H
#define DIAGNOSE_METRICS_H

#include "diagnose/diagnosis.h"

/*
 * Writes the file of --metrics, also for a diagnosis that failed. Prints an error if it cannot.
 * Returns the exit status of the diagnosis, which is `status` without such an error.
 */
enum exit_status diagnosis_metrics_write(
	const struct diagnosis *diagnosis, enum exit_status status);

#endif

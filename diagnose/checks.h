/*
 * The table of checks, run by diagnose/diagnose.c.
 *
 * To add a check, add
 *   - a constant to enum check in diagnose/check-list.h, in execution order;
 *   - its function, declared in diagnose/diagnosis.h, and a row of diagnose_checks[] in
 *     diagnose/checks.c;
 *   - its name to docs/diagnosis.schema.json and man/rdma-client.1;
 *   - a section and a table row to docs/diagnosis.md;
 *   - a row to base/explain.c for each new cause.
 * The position of a check also determines the verdict and the exit status: diagnose/check-list.c.
 */
#ifndef DIAGNOSE_CHECKS_H
#define DIAGNOSE_CHECKS_H

#include "diagnose/check-list.h"

/* All checks in execution order. */
extern const struct check_row diagnose_checks[CHECKS];

#endif

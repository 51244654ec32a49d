/*
 * The table of checks, which diagnose/diagnose.c carries out.
 *
 * A new check needs
 *   - a constant in enum check, at its place in the order: diagnose/check-list.h;
 *   - its function, declared in diagnose/diagnosis.h, and a row of diagnose_checks[] in
 *     diagnose/checks.c;
 *   - its name in docs/diagnosis.schema.json, and in man/rdma-client.1;
 *   - a section and a row of the table in docs/diagnosis.md.
 */
#ifndef DIAGNOSE_CHECKS_H
#define DIAGNOSE_CHECKS_H

#include "diagnose/check-list.h"

/* All checks, in their order. */
extern const struct check_row diagnose_checks[CHECKS];

#endif

/* The results of a diagnosis as a JSON document: docs/diagnosis.schema.json. Any thread. */
#ifndef DIAGNOSE_REPORT_H
#define DIAGNOSE_REPORT_H

#include "diagnose/diagnosis.h"

struct json_object;

/* Returns the document, which the caller frees with json_object_put(), or NULL if out of memory. */
struct json_object *diagnosis_report_json(const struct diagnosis *diagnosis);

#endif

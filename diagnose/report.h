/* The results of a diagnosis as a document for programs: docs/diagnosis.schema.json. Any thread. */
#ifndef DIAGNOSE_REPORT_H
#define DIAGNOSE_REPORT_H

#include "diagnose/diagnosis.h"

struct json_object;

/* The document. The caller frees it with json_object_put(). NULL: no memory. */
struct json_object *diagnosis_report_json(const struct diagnosis *diagnosis);

#endif

/*
 * What a diagnosis has found, as a document for programs: docs/diagnosis.schema.json says what is in
 * it. Pure. Any thread.
 */
#ifndef DIAGNOSE_REPORT_H
#define DIAGNOSE_REPORT_H

#include <stdint.h>

#include "diagnose/check-list.h"
#include "host/counters.h"
#include "host/facts.h"
#include "host/inventory.h"

struct json_object;

struct diagnosis_report {
	const char *program; /* its name */
	const char *host;    /* as it was given, NULL: this host alone */
	uint16_t port;       /* 0: none was given */
	const struct check_list *list;
	const struct facts *here, *there;
	const struct inventory *inventory;
	unsigned int path_mtu;          /* bytes of an IP packet that arrived, 0 if none is known */
	uint64_t rate_there, rate_back; /* bytes per second, 0 if not measured */
	/* what each has increased by; none if the device has none, or that was not found out */
	const struct counters *counted_here, *counted_there;
};

/* The document. The caller frees it with json_object_put(); NULL: there is no memory. */
struct json_object *diagnosis_report_json(const struct diagnosis_report *findings);

#endif

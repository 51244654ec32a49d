/*
 * What every JSON document of the programs begins with, whichever command prints it: the same
 * members in docs/report.schema.json, docs/measurement.schema.json, docs/diagnosis.schema.json,
 * docs/status.schema.json and docs/comparison.schema.json. Any thread.
 */
#ifndef BASE_ENVELOPE_H
#define BASE_ENVELOPE_H

#include "base/failure.h"

/*
 * Version of the documents. Even adding a member requires a new version, because the schemas allow
 * no unknown members.
 */
#define ENVELOPE_SCHEMA 5

struct envelope {
	const char *program, *command; /* "rdma-client", "bandwidth" */
	enum exit_status status;
	const char *verdict;           /* one word of the command's */
	const char *message;           /* a sentence; NULL: none */
	const struct failure *failure; /* NULL, or not set: nothing failed */
	bool same_host;                /* the peer is on this host, so a failure is, too */
};

struct json_object;

/*
 * Returns a document with these members and the time, in UTC, to which the caller adds the result
 * (base/json-document.h). The caller frees it with json_object_put().
 */
struct json_object *envelope_json(const struct envelope *envelope);

#endif

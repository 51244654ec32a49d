/*
 * What came of a session with one peer: a sentence for people, and a JSON document for programs,
 * which docs/report.schema.json describes.
 */
#ifndef EXCHANGE_REPORT_H
#define EXCHANGE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "exchange/settings.h"
#include "protocol/digest.h"

/* Of the document. Adding a member is a new version, too: the schema allows no others. */
#define REPORT_SCHEMA 2

/* What went in one direction. */
struct report_stream {
	uint64_t bytes;       /* that were moved, whether complete or not */
	struct digest digest; /* of all of them, if complete */
	const char *name;     /* base name of the file, NULL: none */
	bool complete;        /* all of it, with its digest */
};

/* Of one session with one peer. The strings belong to the caller and may hold any bytes. */
struct report {
	const char *program, *mode;
	const char *device, *peer; /* NULL if not known */
	enum exit_status status;
	bool secret;       /* both had to hold one: it is the key of the digests */
	const char *error; /* the sentence, NULL if it went well */
	double seconds;    /* that the streams took */
	uint32_t chunk;    /* bytes moved by one operation */
	uint32_t depth;    /* chunks under way at once */
	struct report_stream sent, received;
};

struct json_object;

/*
 * The report as a document. Control characters in strings and bytes that are not UTF-8 become \xHH.
 * The caller frees it; NULL: there is no memory. Any thread.
 */
struct json_object *report_json(const struct report *report);

/*
 * Writes a sentence without its end:
 *
 *   received 209715200 bytes (209.7 MB) in 2.5 s, 83.6 MB/s, XXH3 0123...cdef: big.iso
 *
 * "incomplete" stands in place of the digest if there is none. sent: or else received. Returns the
 * length that it has or, if that is not less than size, would have had: snprintf(3). Any thread.
 */
int report_summary(char *text, size_t size, const struct report *report, bool sent);

/* Prints the document of an exchange that did not begin, on standard output. */
void report_without_connection(const struct exchange_settings *settings, const struct mode *mode,
	const char *peer, enum exit_status status, const char *error);

#endif

/*
 * The result of a session with one peer: a summary line for people, and a JSON document for
 * programs, described by docs/report.schema.json.
 */
#ifndef EXCHANGE_REPORT_H
#define EXCHANGE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "exchange/settings.h"
#include "exchange/tuning.h"
#include "host/memory-budget.h"
#include "protocol/digest.h"
#include "stream/omitted.h"

/* One direction of an exchange. */
struct report_stream {
	uint64_t bytes;        /* moved so far, even if not complete */
	uint64_t from;         /* bytes of the file that the receiver already had */
	struct digest digest;  /* of the whole file, if complete */
	const char *name;      /* base name of the file, NULL: none */
	const char *path;      /* its path on this host, NULL: none */
	unsigned long entries; /* if a tree: its files and folders, the first of which path names */
	bool discarded;        /* received, but not stored */
	bool complete;         /* all bytes were moved, and the digest is known */
	uint64_t files;        /* if a complete tree: its files and links */
	uint64_t there;        /* those that the receiver had as they are */
	uint64_t contents;     /* the size of the others */
	double checked;        /* seconds in which both sides compared what the receiver had */
	bool resumes;          /* not complete; the client's same command moves the rest */
	bool kept;             /* by a server, which says that instead */
	const char *target;    /* if it is not complete, the path that it would have, NULL: none */
	const struct pace *pace; /* of the threads that read or write it; NULL: there are none */
	uint64_t ring;           /* bytes */
	/* Of a tree that is sent: FIFOs and the like, and what is unreadable; NULL: it is none. */
	struct omitted *skipped, *unreadable;
	struct omitted *lost; /* if attributes are kept: entries that lost some */
	/* Of a file: its bytes in holes that did not move, less what describes them. */
	int64_t left_out;
};

/* One session with one peer. The strings belong to the caller and may contain any bytes. */
struct report {
	const char *program, *mode;
	const char *device, *peer; /* NULL if unknown */
	const char *peer_device;   /* NULL: it did not say */
	enum exit_status status;
	const struct failure *failure;      /* NULL or not set: success */
	const char *message;                /* the sentence that explains it; NULL: none */
	bool secret;                        /* both sides hold a secret, which keys the digests */
	double seconds;                     /* duration of the streams, with these checks */
	uint32_t chunk;                     /* maximum bytes of one operation */
	uint32_t depth;                     /* maximum chunks in flight */
	const struct tuning *tuning;        /* NULL: there was no connection */
	const struct memory_budget *memory; /* of a server; NULL for a client */
	struct report_stream sent, received;
};

struct json_object;

/*
 * Returns the report as a document. In strings, control characters and invalid UTF-8 bytes become
 * \xHH. The caller frees it; NULL: out of memory. Any thread.
 */
struct json_object *report_json(const struct report *report);

/*
 * Formats the summary of one direction, without the final period:
 *
 *   received in/big.iso from 192.0.2.1:40312: 209715200 bytes (209.7 MB) by WRITE in 2.5 s,
 *   83.6 MB/s, verified, XXH3 0123...cdef
 *
 * on one line. If there is no digest, "incomplete" replaces it, with a reference to the same
 * command if that moves the rest; at a server, with whether what arrived is kept. A resumed
 * transfer adds where it started, and how long the check of what was there took, which time and
 * rate leave out. "already there" replaces the verb if the receiver had the whole file. `sent`
 * selects the direction.
 * Returns the length like snprintf(3). Any thread.
 */
int report_summary(char *text, size_t size, const struct report *report, bool sent);

/*
 * Formats the summary of two messages that both sides verified, without the final period:
 *
 *   verified both ways by WRITE with 192.0.2.1:40312 in 2 ms: mlx5_0/1 here, mlx5_1/1 there
 *
 * device: our device and its port. Returns the length like snprintf(3). Any thread.
 */
int report_messages(char *text, size_t size, const struct report *report, const char *device);

/*
 * Prints to standard output the JSON document of an exchange that never began, because of this
 * failure, which the message explains. A NULL mode is any; peer may be NULL.
 */
void report_without_connection(const struct exchange_settings *settings, const struct mode *mode,
	const char *peer, const struct failure *failure, const char *message);

/* Prints a warning for each of the first entries that a stream left out. Main thread. */
void report_omitted(const struct output *output, struct omitted *omitted);

#endif

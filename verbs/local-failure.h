/*
 * Recognises a failure to connect that no other host can have caused. Any thread.
 */
#ifndef VERBS_LOCAL_FAILURE_H
#define VERBS_LOCAL_FAILURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A failure of this host: an errno, and how soon after the request it must have come. */
struct local_failure {
	int error;
	int64_t within; /* milliseconds; 0: whenever */
	const char *reason;
};

/* Returns the row at this index, NULL past the end of the table. For tests. */
const struct local_failure *local_failure_row(size_t index);

/*
 * True if the kernel of this host alone can have failed a request to connect with this errno, after
 * this number of milliseconds. False means that it is unknown.
 */
bool local_failure_is(int error, int64_t milliseconds);

#endif

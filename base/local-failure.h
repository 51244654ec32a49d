/*
 * Recognises a failure that no other host can have caused: one rule and its table, used wherever an
 * errno decides on which side a fault lies. Any thread.
 */
#ifndef BASE_LOCAL_FAILURE_H
#define BASE_LOCAL_FAILURE_H

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

/* The time of a failure, if it is unknown. */
#define LOCAL_FAILURE_LATE INT64_MAX

/*
 * True if the kernel of this host alone can have failed a connection or a call of the RDMA
 * libraries with this errno, this number of milliseconds after the request. False means that it is
 * unknown.
 */
bool local_failure_is(int error, int64_t milliseconds);

#endif

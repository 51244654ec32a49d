/* The check that tries one of each operation between the two hosts, in words. Main thread. */
#ifndef DIAGNOSE_OPERATIONS_CHECK_H
#define DIAGNOSE_OPERATIONS_CHECK_H

#include <json-c/json.h>

#include "diagnose/check-list.h"
#include "protocol/operations.h"

/* Records the check's result: passed unless an operation has failed. Returns 0. */
int operations_check_judge(
	struct check_list *list, const struct operation_result results[OPERATIONS]);

/* Writes the operation's line, for --verbose. Returns false if it was not tried. */
#define OPERATIONS_CHECK_LINE (64 + OPERATION_REASON)
bool operations_check_line(const struct operation_result results[OPERATIONS],
	enum operation operation, char line[OPERATIONS_CHECK_LINE]);

/* Returns an array with one object for each operation, or NULL if out of memory. */
struct json_object *operations_check_json(const struct operation_result results[OPERATIONS]);

#endif

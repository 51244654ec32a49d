/* See diagnose/operations-check.h. control/operations.h tries the operations. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#include "base/json-document.h"
#include "base/text.h"
#include "diagnose/diagnosis.h"
#include "diagnose/operations-check.h"

static const char *const states[OPERATION_STATES] = {
	[OPERATION_SKIPPED] = "skipped",
	[OPERATION_OK] = "ok",
	[OPERATION_UNSUPPORTED] = "unsupported",
	[OPERATION_FAILED] = "failed",
};

/* True if a call failed because this host, or a limit of it, has too little of something. */
static bool is_shortage(unsigned int error)
{
	return error == ENOMEM || error == EAGAIN || error == ENOSPC || error == EMFILE ||
	       error == ENFILE;
}

/*
 * True if the operation failed in a way that proves nothing about the devices: lost packets or a
 * busy host can do the same, and what is unreliable may be lost on any path.
 */
static bool is_unknown(enum operation operation, const struct operation_result *result)
{
	if (result->state != OPERATION_FAILED)
		return false;
	switch (result->code) {
	case FAULT_LATE:
	case FAULT_CONNECT:
		return true;
	case FAULT_MISSING:
		return operation == OPERATION_UNRELIABLE || operation == OPERATION_DATAGRAM;
	case FAULT_COMPLETION:
		return result->detail == IBV_WC_RETRY_EXC_ERR ||
		       result->detail == IBV_WC_WR_FLUSH_ERR; /* the connection ended */
	case FAULT_CALL:
		return is_shortage(result->detail);
	default:
		return false;
	}
}

static const char *state_of(
	const struct operation_result results[OPERATIONS], enum operation operation)
{
	return is_unknown(operation, &results[operation]) ? "unknown"
							  : states[results[operation].state];
}

static unsigned int count(
	const struct operation_result results[OPERATIONS], enum operation_state state)
{
	unsigned int found = 0;

	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		found += results[operation].state == state &&
			 !is_unknown(operation, &results[operation]);
	return found;
}

/* True if no operation was tried for want of a connection: iWARP. */
static bool lacks_links(const struct operation_result results[OPERATIONS])
{
	bool found = false;

	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		if (results[operation].state == OPERATION_OK)
			return false;
		found |= results[operation].state == OPERATION_FAILED &&
			 results[operation].code == FAULT_CONNECT;
	}
	return found;
}

/* More operations than this are not named in the line of the check, but with --verbose. */
#define NAMED_MAX 3

/* The check passed, although this number did not work: names them if there is room. */
static void pass_with(struct check_list *list, const struct operation_result results[OPERATIONS],
	const char *state, unsigned int number)
{
	unsigned int worked = count(results, OPERATION_OK);
	char names[NAMED_MAX * 32] = "";

	if (number > NAMED_MAX) {
		check_list_ok(list, CHECK_OPERATIONS, "%u ok, %u %s", worked, number, state);
		return;
	}
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if (strcmp(state_of(results, operation), state) == 0)
			text_append(names, sizeof(names), "%s%s", *names ? ", " : "",
				operation_name(operation));
	check_list_ok(list, CHECK_OPERATIONS, "%u ok, %u %s: %s", worked, number, state, names);
	check_list_shorten(list, CHECK_OPERATIONS, "%u ok, %u %s", worked, number, state);
}

int operations_check_judge(
	struct check_list *list, const struct operation_result results[OPERATIONS])
{
	unsigned int worked = count(results, OPERATION_OK);
	unsigned int lacking = count(results, OPERATION_UNSUPPORTED);
	unsigned int skipped = count(results, OPERATION_SKIPPED);
	unsigned int unknown =
		OPERATIONS - worked - lacking - skipped - count(results, OPERATION_FAILED);
	struct failure failure = {0};
	char seen[sizeof(failure.evidence)] = "", reason[OPERATION_REASON];

	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		if (results[operation].state != OPERATION_FAILED ||
			is_unknown(operation, &results[operation]))
			continue;
		operation_reason(&results[operation], reason);
		text_append(seen, sizeof(seen), "%s%s: %s", *seen ? "; " : "",
			operation_name(operation), reason);
	}
	if (*seen) {
		failure_set(&failure, FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_OPERATION,
			"operations", "%s", seen);
		check_list_fail(list, CHECK_OPERATIONS, &failure);
	} else if (lacks_links(results)) {
		check_list_skip(list, CHECK_OPERATIONS, "no second connection");
	} else if (worked + lacking == 0) {
		check_list_skip(list, CHECK_OPERATIONS, "%s",
			unknown ? "no operation completed in time" : "no time was left");
	} else if (unknown > 0) {
		pass_with(list, results, "unknown", unknown);
	} else if (skipped > 0) {
		check_list_ok(list, CHECK_OPERATIONS, "%u ok, %u not tried", worked, skipped);
	} else if (lacking > 0) {
		pass_with(list, results, states[OPERATION_UNSUPPORTED], lacking);
	} else {
		check_list_ok(list, CHECK_OPERATIONS, "%u ok", worked);
	}
	return 0;
}

bool operations_check_line(const struct operation_result results[OPERATIONS],
	enum operation operation, char line[OPERATIONS_CHECK_LINE])
{
	char reason[OPERATION_REASON];

	operation_reason(&results[operation], reason);
	snprintf(line, OPERATIONS_CHECK_LINE, "%s %s%s%s", operation_name(operation),
		state_of(results, operation), *reason ? ", " : "", reason);
	return results[operation].state != OPERATION_SKIPPED;
}

struct json_object *operations_check_json(const struct operation_result results[OPERATIONS])
{
	struct json_object *array = json_object_new_array(), *object;
	char reason[OPERATION_REASON];

	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		operation_reason(&results[operation], reason);
		object = json_object_new_object();
		document_add_text(object, "operation", operation_name(operation));
		document_add_text(object, "state", state_of(results, operation));
		document_add_known_text(object, "reason", reason);
		document_append(array, object);
	}
	return document_filled(array);
}

int check_operations(struct diagnosis *diagnosis)
{
	struct control *control = &diagnosis->control;

	if (!control->tries || (!control->device.traits->own_queue_pairs && !control->links)) {
		check_list_skip(&diagnosis->list, CHECK_OPERATIONS, "older server");
		return 0;
	}
	if (diagnosis->list.checks[CHECK_COUNTERS].state == CHECK_FAILED) {
		check_list_skip(&diagnosis->list, CHECK_OPERATIONS, "the path loses packets");
		return 0;
	}
	if (operations_try(
		    control, check_deadline(diagnosis, COMMAND_MS, 0), diagnosis->operations))
		return check_control_failed(diagnosis, CHECK_OPERATIONS);
	return operations_check_judge(&diagnosis->list, diagnosis->operations);
}

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "base/failure.h"

int failure_set(struct failure *failure, enum failure_kind kind, enum phase phase, int code,
	const char *call, const char *format, ...)
{
	va_list args;

	if (failure_is_set(failure))
		return -1;
	failure->kind = kind;
	failure->phase = phase;
	failure->code = code;
	failure->call = call;
	va_start(args, format);
	vsnprintf(failure->evidence, sizeof(failure->evidence), format, args);
	va_end(args);
	return -1;
}

int failure_set_unauthenticated(struct failure *failure, const char *message)
{
	return failure_set(
		failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, PROTOCOL_UNAUTHENTICATED, message, "");
}

/* What could not be done, as the beginning of a sentence that goes on with the peer. */
static const char *const attempts[PHASE_COUNT] = {
	[PHASE_OPEN] = "cannot use RDMA on this host",
	[PHASE_NAME] = "cannot find the host",
	[PHASE_LISTEN] = "cannot listen on",
	[PHASE_ADDRESS] = "cannot reach",
	[PHASE_ROUTE] = "cannot find an RDMA path to",
	[PHASE_QUEUE_PAIR] = "cannot create a queue pair for",
	[PHASE_MEMORY] = "cannot register memory for",
	[PHASE_CONNECT] = "cannot connect to",
	[PHASE_EXCHANGE] = "the exchange failed with",
	[PHASE_DIAGNOSIS] = "the diagnosis failed with",
	[PHASE_MEASUREMENT] = "the measurement failed with",
};

void failure_explain(
	const struct failure *failure, const char *peer, bool names, char *text, size_t size)
{
	const struct explanation *row = explain(failure->kind, failure->phase, failure->code);
	const char *cause = row->cause, *evidence = failure->evidence;
	bool named = peer && failure->phase != PHASE_OPEN;
	char library[160] = "";

	if (!cause) {
		cause = evidence;
		evidence = "";
	}
	if (names)
		snprintf(library, sizeof(library), " [%s: %s %d]", failure->call,
			explain_name(failure->kind, failure->code), failure->code);
	snprintf(text, size, "%s%s%s: %s%s%s%s%s%s.%s", attempts[failure->phase], named ? " " : "",
		named ? peer : "", cause, *evidence ? " (" : "", evidence, *evidence ? ")" : "",
		row->cure ? "; " : "", row->cure ? row->cure : "", library);
}

void failure_tell(const struct failure *failure, char *text, size_t size)
{
	const char *cause = explain(failure->kind, failure->phase, failure->code)->cause;

	snprintf(text, size, "%s", cause ? cause : failure->evidence);
}

enum exit_status failure_status(const struct failure *failure)
{
	return failure_is_set(failure)
		       ? explain(failure->kind, failure->phase, failure->code)->status
		       : STATUS_OK;
}

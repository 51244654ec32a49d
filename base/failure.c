/* Records failures. Any thread; the caller owns the struct. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

int failure_errno(struct failure *failure, enum phase phase, const char *call, int error)
{
	return failure_set(failure, FAILURE_ERRNO, phase, error, call, "%s", strerror(error));
}

int failure_protocol(struct failure *failure, const char *call, const char *violation)
{
	return failure_set(
		failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO, call, "%s", violation);
}

int failure_set_unauthenticated(struct failure *failure, const char *message)
{
	return failure_set(
		failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, PROTOCOL_UNAUTHENTICATED, message, "");
}

bool failure_is_for_memory(const struct failure *failure)
{
	return failure->kind == FAILURE_LIMIT && failure->code == LIMIT_MEMORY;
}

bool failure_is_full(const struct failure *failure)
{
	if (failure->kind != FAILURE_REFUSED)
		return false;
	return failure->code == REFUSAL_CLIENTS || failure->code == REFUSAL_ADDRESS ||
	       failure->code == REFUSAL_BUSY || failure->code == REFUSAL_FULL ||
	       failure->code == REFUSAL_MEMORY;
}

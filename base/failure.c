/* Records a failure. Any thread; the struct belongs to the caller. */
#include <stdarg.h>
#include <stdio.h>

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

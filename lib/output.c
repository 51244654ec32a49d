#include <stdarg.h>
#include <stdio.h>

#include "output.h"

/* One line at most; longer ones are cut, which the longest message does not reach. */
#define LINE_MAX_SIZE 8192

static void __attribute__((format(printf, 3, 0)))
print(FILE *stream, const char *program, const char *format, va_list args)
{
	char line[LINE_MAX_SIZE];

	/* One call per line: stdio locks the stream for it. */
	vsnprintf(line, sizeof(line), format, args);
	fprintf(stream, "%s%s%s\n", program, *program ? ": " : "", line);
}

void output_start(void)
{
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	/* Whole lines here too, where each would otherwise be written in pieces. */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
}

void output_line(const struct output *output, const char *format, ...)
{
	va_list args;

	if (output->quiet)
		return;
	va_start(args, format);
	print(stdout, "", format, args);
	va_end(args);
}

void output_detail(const struct output *output, const char *format, ...)
{
	va_list args;

	if (!output->verbose)
		return;
	va_start(args, format);
	print(stderr, output->program, format, args);
	va_end(args);
}

void output_error(const struct output *output, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(stderr, output->program, format, args);
	va_end(args);
}

enum exit_status output_finish(const struct output *output, enum exit_status status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	output_error(output, "standard output was lost: it is closed or full");
	return status == STATUS_OK ? STATUS_FAILED : status;
}

/* See protocol/ready-line.h. */
#include <stdlib.h>
#include <string.h>

#include "protocol/ready-line.h"

const char *ready_line_read(const char *line, uint16_t *port)
{
	size_t start = strlen(READY_LINE_START), digits;
	unsigned long number;

	/* What precedes it on the line was printed without a newline. */
	line = strstr(line, READY_LINE_START " ");
	if (!line)
		return NULL;
	line += start + 1;
	digits = strspn(line, "0123456789");
	number = strtoul(line, NULL, 10);
	if (digits == 0 || digits > 5 || number == 0 || number > UINT16_MAX ||
		!strchr(" \r\n", line[digits]))
		return NULL;
	*port = (uint16_t)number;
	line += digits;
	return line + strspn(line, " ");
}

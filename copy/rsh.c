/* See copy/rsh.h. */
#include <stdlib.h>
#include <string.h>

#include "copy/rsh.h"

#define RSH_DEFAULT "ssh"

const char *rsh_of(const struct options *options)
{
	const char *rsh = options->copy.rsh ? options->copy.rsh : getenv("RDMA_RSH");

	return rsh && rsh[strspn(rsh, " ")] ? rsh : RSH_DEFAULT;
}

int rsh_split(char *rsh, char *words[RSH_WORDS_MAX + 1])
{
	char *rest = rsh;
	int count = 0;

	while ((words[count] = strtok_r(rest, " ", &rest)))
		if (++count > RSH_WORDS_MAX)
			return -1;
	return count;
}

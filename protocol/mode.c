/* The table of modes. */
#include <stddef.h>
#include <string.h>

#include "protocol/mode.h"

static const struct mode modes[MODE_COUNT] = {
	[MODE_WRITE] = {MODE_WRITE, "write", "WRITE", false, "writing message to"},
	[MODE_READ] = {MODE_READ, "read", "READ", true, "reading message from"},
};

const struct mode mode_any = {MODE_ANY, "any", NULL, false, NULL};

const struct mode *mode_by_name(const char *name)
{
	for (size_t i = 0; i < MODE_COUNT; i++)
		if (strcmp(modes[i].name, name) == 0)
			return &modes[i];
	return NULL;
}

const struct mode *mode_by_number(unsigned int number)
{
	return number < MODE_COUNT ? &modes[number] : NULL;
}

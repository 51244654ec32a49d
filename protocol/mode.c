/* The table of modes. */
#include <stddef.h>
#include <string.h>

#include "protocol/mode.h"

static const struct mode modes[MODE_COUNT] = {
	[MODE_WRITE] = {MODE_WRITE, "write", "WRITE", .tutorial = true, .takes_files = true,
		.doing = "writing message to"},
	[MODE_READ] = {MODE_READ, "read", "READ", .reads = true, .tutorial = true,
		.doing = "reading message from"},
	[MODE_SEND] = {MODE_SEND, "send", "SEND", .takes_files = true,
		.doing = "sending message to"},
};

const struct mode mode_any = {MODE_ANY, "any", .tutorial = true};

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

/* How a connection uses the hardware: see exchange/tuning.h. Only reads the connection. */
#include "exchange/tuning.h"
#include "base/text.h"
#include "exchange/internal.h"

static bool is_relaxed(const struct region *region)
{
	return region->access & IBV_ACCESS_RELAXED_ORDERING;
}

struct tuning tuning_of(const struct connection *connection)
{
	return (struct tuning){
		.dscp = connection->dscp,
		.relaxed_ordering =
			is_relaxed(&connection->outgoing) || is_relaxed(&connection->incoming),
		.huge_outgoing = connection->outgoing.huge,
		.huge_incoming = connection->incoming.huge,
		.locality = &connection->device->locality,
		.vector = connection->endpoint.vector,
	};
}

/* Appends the name and the number, or "unknown" if it is negative. */
static void append_number(char *text, const char *name, int number)
{
	if (number >= 0)
		text_append(text, TUNING_TEXT, "%s %d, ", name, number);
	else
		text_append(text, TUNING_TEXT, "%s unknown, ", name);
}

static const char *huge_pages(const struct tuning *tuning)
{
	if (tuning->huge_outgoing)
		return tuning->huge_incoming ? "on" : "for outgoing data";
	return tuning->huge_incoming ? "for incoming data" : "off";
}

void tuning_text(char text[TUNING_TEXT], const struct tuning *tuning)
{
	char processors[TUNING_PROCESSORS];

	locality_text(tuning->locality, processors, sizeof(processors));
	*text = '\0';
	append_number(text, "DSCP", tuning->dscp);
	text_append(text, TUNING_TEXT, "relaxed ordering %s, huge pages %s, ",
		tuning->relaxed_ordering ? "on" : "off", huge_pages(tuning));
	append_number(text, "NUMA node", tuning->locality->node);
	text_append(text, TUNING_TEXT, "processors %s, completion vector %d",
		*processors ? processors : "any", tuning->vector);
}

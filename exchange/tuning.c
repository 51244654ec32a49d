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

void tuning_text(char text[TUNING_TEXT], const struct tuning *tuning)
{
	char processors[TUNING_PROCESSORS];

	*text = '\0';
	if (tuning->dscp >= 0)
		text_append(text, TUNING_TEXT, "DSCP %d, ", tuning->dscp);
	if (tuning->relaxed_ordering)
		text_append(text, TUNING_TEXT, "relaxed ordering, ");
	if (tuning->huge_outgoing || tuning->huge_incoming)
		text_append(text, TUNING_TEXT, "huge pages for %s data, ",
			!tuning->huge_outgoing   ? "incoming"
			: !tuning->huge_incoming ? "outgoing"
						 : "all");
	if (tuning->locality->node >= 0)
		text_append(text, TUNING_TEXT, "NUMA node %d, ", tuning->locality->node);
	locality_text(tuning->locality, processors, sizeof(processors));
	if (*processors)
		text_append(text, TUNING_TEXT, "processors %s, ", processors);
	text_append(text, TUNING_TEXT, "completion vector %d", tuning->vector);
}

/* Counts what a server has done, and puts it into words: see serve/totals.h. */
#include <stdio.h>

#include "base/text.h"
#include "base/units.h"
#include "serve/totals.h"

/* Words of which some are listed: "3 measurements (1 failed)". */
struct part {
	const char *one, *many;
	struct totals_sessions sessions;
};

void totals_add(struct totals_sessions *sessions, bool failed, uint64_t *moved, uint64_t bytes)
{
	sessions->ended++;
	sessions->failed += failed;
	*moved = bytes > UINT64_MAX - *moved ? UINT64_MAX : *moved + bytes;
}

/* Appends the parts that are not 0, with commas and "and". Returns how many there were. */
static unsigned int append_parts(
	const struct part *parts, unsigned int count, char *text, size_t size)
{
	char number[UNITS_TEXT];
	unsigned int total = 0, done = 0;

	for (unsigned int i = 0; i < count; i++)
		total += parts[i].sessions.ended > 0;
	for (unsigned int i = 0; i < count; i++) {
		const struct totals_sessions *sessions = &parts[i].sessions;

		if (sessions->ended == 0)
			continue;
		done++;
		text_append(text, size, "%s%s %s",
			done == 1       ? ""
			: done == total ? " and "
					: ", ",
			units_format_count(number, sessions->ended),
			sessions->ended == 1 ? parts[i].one : parts[i].many);
		if (sessions->failed > 0)
			text_append(text, size, " (%s failed)",
				units_format_count(number, sessions->failed));
	}
	return total;
}

void totals_text(const struct totals *totals, deadline_t now, char text[TOTALS_TEXT])
{
	const struct part parts[] = {
		{"exchange", "exchanges", totals->exchanges},
		{"measurement", "measurements", totals->measurements},
		{"diagnosis", "diagnoses", totals->diagnoses},
	};
	char number[UNITS_TEXT];

	snprintf(text, TOTALS_TEXT, "served ");
	if (append_parts(parts, sizeof(parts) / sizeof(parts[0]), text, TOTALS_TEXT) == 0)
		text_append(text, TOTALS_TEXT, "no client");
	text_append(
		text, TOTALS_TEXT, " in %s", units_format_duration(number, now - totals->start));
	if (totals->exchanged > 0)
		text_append(text, TOTALS_TEXT, "; exchanged %s",
			units_format(number, totals->exchanged));
	if (totals->measured > 0)
		text_append(text, TOTALS_TEXT, "; moved %s in measurements",
			units_format(number, totals->measured));
	if (totals->refused > 0)
		text_append(text, TOTALS_TEXT, "; refused %s client%s",
			units_format_count(number, totals->refused),
			totals->refused == 1 ? "" : "s");
}

void totals_running_text(unsigned int exchanges, unsigned int measurements, unsigned int diagnoses,
	char text[TOTALS_RUNNING_TEXT])
{
	const struct part parts[] = {
		{"exchange", "exchanges", {.ended = exchanges}},
		{"measurement", "measurements", {.ended = measurements}},
		{"diagnosis", "diagnoses", {.ended = diagnoses}},
	};

	*text = '\0';
	append_parts(parts, sizeof(parts) / sizeof(parts[0]), text, TOTALS_RUNNING_TEXT);
}

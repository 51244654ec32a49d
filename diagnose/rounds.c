/* See diagnose/rounds.h. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "diagnose/rounds.h"

/*
 * The width of "ok" or "failed" in a line. Narrow terminals need its blanks for the text, and have
 * a short mark.
 */
#define STATE_WIDTH 6

/* The fewest columns for which a line is shortened, and those from which it is not narrow. */
#define COLUMNS_MIN  40
#define COLUMNS_WIDE 60

/* The widths of the columns of a good round, which end where those of HEADING do. */
static const int widths[ROUNDS_VALUES] = {
	[ROUNDS_TRIP] = 10, [ROUNDS_THERE] = 13, [ROUNDS_BACK] = 12};
#define HEADING "time      result  round trip  to the server       from it"

static const char *format_value(char text[UNITS_TEXT], enum rounds_value value, double amount)
{
	if (value != ROUNDS_TRIP)
		return units_format_rate(text, (uint64_t)(amount + 0.5));
	snprintf(text, UNITS_TEXT, "%.3f ms", amount / 1e6);
	return text;
}

/* Removes the unit of the first text if both have the same. Returns the text. */
static const char *without_equal_unit(char *text, const char *next)
{
	char *unit = strchr(text, ' ');
	const char *same = strchr(next, ' ');

	if (unit && same && strcmp(unit, same) == 0)
		*unit = '\0';
	return text;
}

const char *rounds_format_rates(char text[ROUNDS_LINE], uint64_t to, uint64_t from)
{
	char first[UNITS_TEXT], second[UNITS_TEXT];

	units_format_rate(second, from);
	snprintf(text, ROUNDS_LINE, "to %s from %s",
		without_equal_unit((char *)units_format_rate(first, to), second), second);
	return text;
}

/* Counts the verdict of a round that failed; the last entry counts those for which none is left. */
static void count_failure(struct rounds *rounds, const char *verdict)
{
	struct rounds_failure *failure = rounds->failures;

	while (failure < rounds->failures + ROUNDS_VERDICTS - 1 && failure->count > 0 &&
		strcmp(failure->verdict, verdict) != 0)
		failure++;
	if (failure->count == 0)
		snprintf(failure->verdict, sizeof(failure->verdict), "%s", verdict);
	else if (strcmp(failure->verdict, verdict) != 0)
		snprintf(failure->verdict, sizeof(failure->verdict), "other failures");
	failure->count++;
}

static void count_value(struct rounds_range *range, uint64_t value)
{
	if (value == 0)
		return;
	if (range->count == 0 || value < range->least)
		range->least = value;
	if (value > range->most)
		range->most = value;
	range->sum += (double)value;
	range->count++;
}

/* Counts a round. Returns true if the one before ended otherwise. */
static bool count(struct rounds *rounds, const struct round *round)
{
	char verdict[ROUNDS_VERDICT] = "";
	bool changed;

	if (!round->good)
		snprintf(verdict, sizeof(verdict), "%s", round->verdict);
	changed = rounds->count > 0 && strcmp(rounds->last, verdict) != 0;
	snprintf(rounds->last, sizeof(rounds->last), "%s", verdict);
	rounds->count++;
	rounds->good += round->good;
	rounds->changes += changed;
	if (!round->good)
		count_failure(rounds, verdict);
	for (enum rounds_value value = 0; round->good && value < ROUNDS_VALUES; value++)
		count_value(&rounds->values[value], round->values[value]);
	return changed;
}

/* True if good rounds stand in columns: on wide terminals, and where nothing limits a line. */
static bool has_columns(unsigned int columns)
{
	return columns == 0 || columns >= COLUMNS_WIDE;
}

const char *rounds_heading(unsigned int columns)
{
	return has_columns(columns) ? HEADING : NULL;
}

/*
 * Writes what a round found out, in at most this many columns: the shortest of a text's forms that
 * is still too long is cut.
 */
static void format_text(
	char text[ROUNDS_LINE], const struct round *round, bool in_columns, size_t room)
{
	char parts[ROUNDS_VALUES][UNITS_TEXT], rates[ROUNDS_LINE];
	const char *reason = strstr(round->verdict, ": ");
	bool has_rates =
		round->good && round->values[ROUNDS_THERE] > 0 && round->values[ROUNDS_BACK] > 0;
	size_t end;

	snprintf(text, ROUNDS_LINE, "%s", round->verdict);
	if (strlen(text) <= room && !(has_rates && in_columns))
		return;
	if (has_rates) {
		for (enum rounds_value value = 0; value < ROUNDS_VALUES; value++)
			format_value(parts[value], value, (double)round->values[value]);
		rounds_format_rates(rates, round->values[ROUNDS_THERE], round->values[ROUNDS_BACK]);
		snprintf(text, ROUNDS_LINE, "%*s  %*s  %*s", widths[ROUNDS_TRIP],
			parts[ROUNDS_TRIP], widths[ROUNDS_THERE], parts[ROUNDS_THERE],
			widths[ROUNDS_BACK], parts[ROUNDS_BACK]);
		if (!in_columns || strlen(text) > room)
			snprintf(text, ROUNDS_LINE, "%s, %.*s", parts[ROUNDS_TRIP],
				ROUNDS_LINE - UNITS_TEXT - 2, rates);
		if (strlen(text) > room)
			snprintf(text, ROUNDS_LINE, "%s", rates);
	} else if (!round->good && reason) {
		/* How the verdict begins repeats that the round failed. */
		snprintf(text, ROUNDS_LINE, "%s", reason + 2);
		if (strlen(text) > room && strchr(text, ';'))
			*strchr(text, ';') = '\0';
	}
	if (strlen(text) <= room)
		return;
	end = text_fit(text, room - 3);
	while (end > 0 && strchr(",:;", text[end - 1]))
		end--;
	snprintf(text + end, sizeof("..."), "...");
}

void rounds_add(struct rounds *rounds, const struct round *round, const struct tm *time,
	unsigned int columns, char line[ROUNDS_LINE])
{
	bool narrow = columns >= COLUMNS_MIN && columns < COLUMNS_WIDE;
	const char *mark = narrow ? " <-" : "  <-- changed";
	const char *state = round->good ? "ok" : "failed";
	char text[ROUNDS_LINE], before[64];

	if (!count(rounds, round))
		mark = "";
	snprintf(before, sizeof(before), "%02d:%02d:%02d  %-*s ", time->tm_hour, time->tm_min,
		time->tm_sec, narrow ? 0 : STATE_WIDTH + 1, state);
	format_text(text, round, has_columns(columns),
		columns >= COLUMNS_MIN ? columns - strlen(before) - strlen(mark) : ROUNDS_LINE);
	snprintf(line, ROUNDS_LINE, "%s%s%s", before, text, mark);
}

void rounds_summary(const struct rounds *rounds, const char *host, int64_t milliseconds, char *text,
	size_t size)
{
	static const char *const names[] = {"round trip", "to the server", "from the server"};
	char span[UNITS_TEXT], least[UNITS_TEXT], mean[UNITS_TEXT], most[UNITS_TEXT];

	*text = '\0';
	if (rounds->count == 0)
		return;
	text_append(text, size, "--- diagnosis of %s ---\n", host);
	text_append(text, size, "%u round%s in %s: %u ok, %u failed, %u change%s\n", rounds->count,
		rounds->count == 1 ? "" : "s", units_format_duration(span, milliseconds),
		rounds->good, rounds->count - rounds->good, rounds->changes,
		rounds->changes == 1 ? "" : "s");
	for (size_t i = 0; i < ROUNDS_VERDICTS && rounds->failures[i].count > 0; i++)
		text_append(text, size, "%u failed: %s\n", rounds->failures[i].count,
			rounds->failures[i].verdict);
	for (enum rounds_value value = 0; value < ROUNDS_VALUES; value++) {
		const struct rounds_range *range = &rounds->values[value];

		if (range->count == 0)
			continue;
		format_value(least, value, (double)range->least);
		format_value(mean, value, range->sum / range->count);
		format_value(most, value, (double)range->most);
		text_append(text, size, "%s: %s to %s, mean %s\n", names[value],
			without_equal_unit(least, most), most, mean);
	}
}

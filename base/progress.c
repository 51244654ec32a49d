/*
 * Computes rates from the samples in the caller's struct progress and formats them as one line.
 *
 * The parts of a line have minimum widths, so that they stay in place while the numbers change. The
 * name, which changes its width, is the last part.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/progress.h"
#include "base/text.h"
#include "base/units.h"

/* The rate is the average over this time: long enough to be steady, short enough for a stall. */
#define WINDOW_MS 2500

/* The minimum interval between samples, so that PROGRESS_SAMPLES of them span the window. */
#define SAMPLE_MS 250

/* A rate over a shorter time is meaningless, because data moves in chunks. */
#define RATE_MS_MIN 100

/* The longest remaining time shown: just under 100 hours. */
#define LEFT_SECONDS_MAX 359999

/* Shown for an unknown value. */
#define UNKNOWN "--"

/* Columns of the bar with its brackets; the fewest and the most of a name. */
#define BAR_MIN  12
#define BAR_MAX  42
#define NAME_MIN 8
#define NAME_MAX 60

/* Columns that a bar leaves to the number and name of the file. */
#define FILE_COLUMNS 34

/* Columns between two parts. */
#define GAP     2
#define BAR_GAP 1

_Static_assert((PROGRESS_SAMPLES - 1) * SAMPLE_MS > WINDOW_MS, "samples span the window");

/*
 * Formats minutes and seconds, with hours if needed: "0:52", "1:02:03". Unlike
 * units_format_duration(), it omits tenths, which would flicker.
 */
static void format_time(char text[UNITS_TEXT], uint64_t seconds)
{
	unsigned int minutes = (unsigned int)(seconds / 60 % 60);
	unsigned int rest = (unsigned int)(seconds % 60);

	if (seconds < 3600)
		snprintf(text, UNITS_TEXT, "%u:%02u", minutes, rest);
	else
		snprintf(text, UNITS_TEXT, "%" PRIu64 ":%02u:%02u", seconds / 3600, minutes, rest);
}

/* Returns bytes per second since `then`, negative if unknown, 0 if bytes did not increase. */
static double rate_since(const struct progress_sample *then, int64_t now_ms, uint64_t bytes)
{
	if (now_ms < then->at_ms + RATE_MS_MIN)
		return -1;
	if (bytes <= then->bytes)
		return 0;
	return (double)(bytes - then->bytes) * 1000 / (double)(now_ms - then->at_ms);
}

/* Caps the rate at UINT64_MAX. */
static const char *format_rate(char text[UNITS_TEXT], double rate)
{
	if (rate < 0)
		return UNKNOWN;
	return units_format_rate(text, rate < 0x1p64 ? (uint64_t)rate : UINT64_MAX);
}

static void take_sample(struct progress *progress, int64_t now_ms, uint64_t bytes)
{
	progress->samples[progress->count++ % PROGRESS_SAMPLES] =
		(struct progress_sample){now_ms, bytes};
}

/* Returns the latest sample from before the window, or the oldest sample if there is none. */
static const struct progress_sample *window_start(const struct progress *progress, int64_t now_ms)
{
	uint64_t kept = progress->count < PROGRESS_SAMPLES ? progress->count : PROGRESS_SAMPLES;
	const struct progress_sample *sample = &progress->samples[0];

	for (uint64_t back = 1; back <= kept; back++) {
		sample = &progress->samples[(progress->count - back) % PROGRESS_SAMPLES];
		if (now_ms - sample->at_ms >= WINDOW_MS)
			break;
	}
	return sample;
}

/* Returns 100 only when all bytes have been transferred, and never more. */
static unsigned int percent(uint64_t bytes, uint64_t total)
{
	if (bytes >= total)
		return 100;
	/* Exact unless 100 * bytes could overflow. */
	if (total < UINT64_MAX / 100)
		return (unsigned int)(bytes * 100 / total);
	return (unsigned int)(bytes / (total / 100 + 1));
}

/* Formats the time that the rest will take: "0:52 left". At the end, files are still stored. */
static void format_left(char text[UNITS_TEXT + 8], uint64_t bytes, uint64_t total, double rate)
{
	double seconds = bytes >= total ? 0 : (double)(total - bytes);
	char span[UNITS_TEXT] = UNKNOWN;

	/* Below 1 byte per second the remaining time is unknown. */
	if (seconds > 0)
		seconds = rate < 1 ? LEFT_SECONDS_MAX + 1.0 : seconds / rate;
	/* Round up: the last second counts in full. */
	if (seconds <= LEFT_SECONDS_MAX - 1)
		format_time(span, (uint64_t)seconds + (seconds > (double)(uint64_t)seconds));
	snprintf(text, UNITS_TEXT + 8, bytes >= total ? "finishing" : "%s left", span);
}

/* The parts of a line that are numbers, the most important first. */
enum part { PART_TIME, PART_PERCENT, PART_BYTES, PART_RATE, PART_FILE, PART_TOTAL, PARTS };

/* The order in which they are shown, and the columns that each takes at least. */
static const struct {
	enum part part;
	int columns;
} order[PARTS] = {
	{PART_PERCENT, 5},
	{PART_BYTES, 8},
	{PART_TOTAL, 0},
	{PART_RATE, 10},
	{PART_TIME, 10},
	{PART_FILE, 0},
};

/* A line being formatted: all parts are ASCII, and "" if they do not apply. */
struct line {
	char parts[PARTS][3 * UNITS_TEXT];
	bool has_bar;
	double done;                 /* of 1 */
	char prefix[3 * UNITS_TEXT]; /* before the name, which replaces PART_FILE */
	const char *name;            /* "": none */
};

static void format_parts(struct line *line, const struct progress *progress, int64_t now_ms,
	const struct progress_state *state, double rate)
{
	uint64_t bytes = state->moved + state->there;
	char text[UNITS_TEXT], files[UNITS_TEXT] = "", number[UNITS_TEXT];
	int64_t span = now_ms - progress->start_ms;

	units_format(line->parts[PART_BYTES], bytes);
	snprintf(line->parts[PART_RATE], sizeof(line->parts[0]), "%s", format_rate(text, rate));
	if (state->total == PROGRESS_UNKNOWN) {
		format_time(text, span < 0 ? 0 : (uint64_t)span / 1000);
		snprintf(line->parts[PART_TIME], sizeof(line->parts[0]), "%s so far", text);
	} else {
		line->has_bar = true;
		line->done = bytes < state->total ? (double)bytes / (double)state->total : 1;
		format_left(line->parts[PART_TIME], bytes, state->total, rate);
		snprintf(line->parts[PART_PERCENT], sizeof(line->parts[0]), "%u %%",
			percent(bytes, state->total));
		snprintf(line->parts[PART_TOTAL], sizeof(line->parts[0]), "of %s",
			units_format(text, state->total));
	}
	if (state->file == 0)
		return;
	units_format_count(number, state->file);
	if (state->files > 0)
		units_format_count(files, state->files);
	snprintf(line->parts[PART_FILE], sizeof(line->parts[0]), "file %s%s%s", number,
		*files ? " of " : "", files);
	snprintf(line->prefix, sizeof(line->prefix), "%s%s%s%s: ", *files ? "" : "file ", number,
		*files ? " of " : "", files);
}

/*
 * Joins the parts that are at least this important, each with its minimum width if `aligned`, and
 * without the number of the file if `named`, because its prefix has it. Returns the columns.
 */
static int join(const struct line *line, enum part last, bool aligned, bool named, char text[256])
{
	int used = 0;

	*text = '\0';
	for (size_t i = 0; i < PARTS; i++) {
		const char *part = line->parts[order[i].part];
		int gap = order[i].part == PART_TOTAL ? 1 : GAP;

		if (*part && order[i].part <= last && !(named && order[i].part == PART_FILE))
			used += snprintf(text + used, 256 - (size_t)used, "%*s%*s",
				used > 0 ? gap : 0, "", aligned ? order[i].columns : 0, part);
	}
	return used;
}

/* Appends a bar of this many columns: a partly done column is an eighth to seven of a block. */
static void append_bar(char text[PROGRESS_LINE_SIZE], double done, int columns, bool utf8)
{
	static const char *const blocks[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
	int inner = columns - 2;
	int eighths = (int)(done * inner * 8);

	text_append(text, PROGRESS_LINE_SIZE, "[");
	for (int i = 0; i < inner; i++, eighths -= 8) {
		const char *cell = utf8           ? blocks[eighths < 0    ? 0
							    : eighths > 8 ? 8
									  : eighths]
				   : eighths >= 8 ? "="
				   : eighths >= 0 ? ">"
						  : " ";

		text_append(text, PROGRESS_LINE_SIZE, "%s", cell);
	}
	text_append(text, PROGRESS_LINE_SIZE, "]%*s", BAR_GAP, "");
}

/*
 * The columns of a character of UTF-8 text by its first byte; 0: it is a later byte. Characters
 * from U+1000 on may be wide.
 */
static int width_of(char byte)
{
	unsigned char first = (unsigned char)byte;

	return (first & 0xc0) == 0x80 ? 0 : first > 0xe0 ? 2 : 1;
}

/* Appends the name, of which only the end is shown if it is longer than this many columns. */
static void append_name(char text[PROGRESS_LINE_SIZE], const char *name, int columns, bool utf8)
{
	const char *cut = utf8 ? "…" : "...";
	int room = columns - (utf8 ? 1 : 3), width = 0;
	const char *end = name + strlen(name), *start = end, *whole = end;

	while (whole > name && width + width_of(whole[-1]) <= columns) {
		width += width_of(*--whole);
		if (width <= room && width_of(*whole) > 0)
			start = whole;
	}
	if (whole == name)
		text_append(text, PROGRESS_LINE_SIZE, "%s", name);
	else
		text_append(text, PROGRESS_LINE_SIZE, "%s%s", cut, start);
}

/* Formats the line for a terminal of this many columns. */
static void fit(const struct line *line, int columns, bool utf8, char text[PROGRESS_LINE_SIZE])
{
	int named = line->name[0] ? GAP + (int)strlen(line->prefix) : 0, left, bar, rest = 0;
	enum part last = PARTS - 1;
	char numbers[256];

	if (named > 0 && join(line, last, true, true, numbers) + named + NAME_MIN > columns)
		named = 0;
	while (named == 0 && join(line, last, true, false, numbers) > columns &&
		join(line, last, false, false, numbers) > columns && last > PART_TIME)
		last--;
	left = columns - (int)strlen(numbers);
	if (named > 0)
		rest = named < FILE_COLUMNS - NAME_MIN ? GAP + FILE_COLUMNS : named + NAME_MIN;
	bar = left - BAR_GAP - rest;
	bar = bar > BAR_MAX ? BAR_MAX : bar;
	if (line->has_bar && bar >= BAR_MIN) {
		append_bar(text, line->done, bar, utf8);
		left -= bar + BAR_GAP;
	}
	text_append(text, PROGRESS_LINE_SIZE, "%.*s", columns, numbers);
	if (named == 0)
		return;
	text_append(text, PROGRESS_LINE_SIZE, "%*s%s", GAP, "", line->prefix);
	left -= named;
	append_name(text, line->name, left < NAME_MAX ? left : NAME_MAX, utf8);
}

void progress_start(struct progress *progress, int64_t now_ms, uint64_t moved)
{
	*progress = (struct progress){.start_ms = now_ms};
	take_sample(progress, now_ms, moved);
}

void progress_line(struct progress *progress, int64_t now_ms, const struct progress_state *state,
	const struct progress_style *style, char text[PROGRESS_LINE_SIZE])
{
	char name[TEXT_ESCAPED_SIZE(PROGRESS_NAME_SIZE)], numbers[256];
	double rate = rate_since(window_start(progress, now_ms), now_ms, state->moved);
	struct line line = {.name = name};

	text_escape_utf8(name, state->name, strnlen(state->name, PROGRESS_NAME_SIZE));
	if (!style->utf8)
		text_printable(name);
	format_parts(&line, progress, now_ms, state, rate);
	*text = '\0';
	if (style->columns == 0) {
		join(&line, PARTS - 1, false, *name, numbers);
		text_append(text, PROGRESS_LINE_SIZE, "%s", numbers);
		if (*name)
			text_append(text, PROGRESS_LINE_SIZE, "%*s%s%.600s", GAP, "", line.prefix,
				name);
	} else {
		fit(&line, (int)style->columns, style->utf8, text);
	}
	if (now_ms - progress->samples[(progress->count - 1) % PROGRESS_SAMPLES].at_ms >= SAMPLE_MS)
		take_sample(progress, now_ms, state->moved);
}

void progress_resumed(const struct progress_state *state, char text[PROGRESS_LINE_SIZE])
{
	const char *from = *state->peer ? " from " : "";
	char there[UNITS_TEXT], total[UNITS_TEXT];

	units_format(there, state->there);
	if (state->total == PROGRESS_UNKNOWN)
		snprintf(text, PROGRESS_LINE_SIZE, "resuming%s%s: %s already there", from,
			state->peer, there);
	else
		snprintf(text, PROGRESS_LINE_SIZE, "resuming%s%s at %u %%: %s of %s already there",
			from, state->peer, percent(state->there, state->total), there,
			units_format(total, state->total));
}

/* Computes rates from the samples in the caller's struct progress and formats them as one line. */
#include <inttypes.h>
#include <stdio.h>

#include "base/progress.h"
#include "base/units.h"

/* "now" is the average over this time: long enough to be steady, short enough to show a stall. */
#define WINDOW_MS 2500

/* The minimum interval between samples, so that PROGRESS_SAMPLES of them span the window. */
#define SAMPLE_MS 250

/* A rate over a shorter time is meaningless, because data moves in chunks. */
#define RATE_MS_MIN 100

/* The longest remaining time shown: just under 100 hours. */
#define LEFT_SECONDS_MAX 359999

/* Shown for an unknown value. */
#define UNKNOWN "--"

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

static void format_left(char text[UNITS_TEXT], uint64_t bytes, uint64_t total, double rate)
{
	double seconds = bytes >= total ? 0 : (double)(total - bytes);

	/* Below 1 byte per second the remaining time is unknown. */
	if (seconds > 0)
		seconds = rate < 1 ? LEFT_SECONDS_MAX + 1.0 : seconds / rate;
	/* Round up: the last second counts in full. */
	if (seconds <= LEFT_SECONDS_MAX - 1)
		format_time(text, (uint64_t)seconds + (seconds > (double)(uint64_t)seconds));
	else
		snprintf(text, UNITS_TEXT, UNKNOWN);
}

void progress_start(struct progress *progress, int64_t now_ms)
{
	*progress = (struct progress){.start_ms = now_ms};
	take_sample(progress, now_ms, 0);
}

void progress_line(struct progress *progress, int64_t now_ms, uint64_t bytes, uint64_t total,
	char *text, size_t size)
{
	const struct progress_sample start = {progress->start_ms, 0};
	double now = rate_since(window_start(progress, now_ms), now_ms, bytes);
	double average = rate_since(&start, now_ms, bytes);
	char moved[UNITS_TEXT], all[UNITS_TEXT], span[UNITS_TEXT], rates[2][UNITS_TEXT];
	char pace[2 * UNITS_TEXT + 32], line[7 * UNITS_TEXT + 32];

	snprintf(pace, sizeof(pace), "%s now, %s average", format_rate(rates[0], now),
		format_rate(rates[1], average));
	units_format(moved, bytes);
	if (total == PROGRESS_UNKNOWN) {
		format_time(
			span, now_ms <= start.at_ms ? 0 : (uint64_t)(now_ms - start.at_ms) / 1000);
		snprintf(line, sizeof(line), "%s  %s, %s so far", moved, pace, span);
	} else {
		format_left(span, bytes, total, now);
		snprintf(line, sizeof(line), "%s of %s  %u %%  %s, %s left", moved,
			units_format(all, total), percent(bytes, total), pace, span);
	}
	snprintf(text, size, "%.*s", PROGRESS_COLUMNS_MAX, line);
	if (now_ms - progress->samples[(progress->count - 1) % PROGRESS_SAMPLES].at_ms >= SAMPLE_MS)
		take_sample(progress, now_ms, bytes);
}

/* Parses and formats sizes, rates and durations as integers. The caller owns all buffers. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define SECOND UINT64_C(1000) /* milliseconds */
#define MINUTE UINT64_C(60)   /* seconds */
#define HOUR   UINT64_C(3600)

/* The suffixes of a size. */
static const struct unit {
	const char *name;
	uint64_t bytes;
} units[] = {
	{"", 1},
	{"K", UINT64_C(1) << 10},
	{"k", UINT64_C(1) << 10},
	{"KiB", UINT64_C(1) << 10},
	{"M", UINT64_C(1) << 20},
	{"m", UINT64_C(1) << 20},
	{"MiB", UINT64_C(1) << 20},
	{"G", UINT64_C(1) << 30},
	{"g", UINT64_C(1) << 30},
	{"GiB", UINT64_C(1) << 30},
	{"T", UINT64_C(1) << 40},
	{"t", UINT64_C(1) << 40},
	{"TiB", UINT64_C(1) << 40},
	{"KB", 1000},
	{"kB", 1000},
	{"MB", 1000000},
	{"GB", 1000000000},
	{"TB", UINT64_C(1000000000000)},
};

static const struct unit *unit_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].name, name) == 0)
			return &units[i];
	return NULL;
}

int units_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *bytes)
{
	const struct unit *unit = unit_by_name(text + strspn(text, "0123456789"));
	uint64_t number = 0;

	if (!unit || *text < '0' || *text > '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (unsigned int)(*text - '0'), &number))
			return -ERANGE;
	if (__builtin_mul_overflow(number, unit->bytes, &number) || number < minimum ||
		number > maximum)
		return -ERANGE;
	*bytes = number;
	return 0;
}

/* The output units. From GB up, a tenth of the unit is too coarse. */
static const struct scale {
	const char *name;
	uint64_t bytes;
	int decimals;
} scales[] = {
	{"kB", UINT64_C(1000), 1},
	{"MB", UINT64_C(1000000), 1},
	{"GB", UINT64_C(1000000000), 2},
	{"TB", UINT64_C(1000000000000), 2},
	{"PB", UINT64_C(1000000000000000), 2},
	{"EB", UINT64_C(1000000000000000000), 2},
};

#define LARGEST (&scales[sizeof(scales) / sizeof(scales[0]) - 1])

/* Uses integers, so that the result depends on neither the locale nor double precision. */
static const char *format(char text[UNITS_TEXT], uint64_t bytes, const char *end)
{
	const struct scale *scale = scales;

	if (bytes < scale->bytes) {
		snprintf(text, UNITS_TEXT, "%" PRIu64 " B%s", bytes, end);
		return text;
	}
	for (;; scale++) {
		uint64_t parts = scale->decimals == 1 ? 10 : 100; /* of a unit */
		uint64_t part = scale->bytes / parts;
		uint64_t rounded = bytes / part + (bytes % part >= part / 2);

		/* A value that rounds up to 1000 becomes 1 of the next unit. */
		if (rounded >= 1000 * parts && scale < LARGEST)
			continue;
		snprintf(text, UNITS_TEXT, "%" PRIu64 ".%0*" PRIu64 " %s%s", rounded / parts,
			scale->decimals, rounded % parts, scale->name, end);
		return text;
	}
}

const char *units_format(char text[UNITS_TEXT], uint64_t bytes)
{
	return format(text, bytes, "");
}

const char *units_format_rate(char text[UNITS_TEXT], uint64_t bytes_per_second)
{
	return format(text, bytes_per_second, "/s");
}

const char *units_format_count(char text[UNITS_TEXT], uint64_t number)
{
	char digits[UNITS_TEXT];
	size_t size = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number), used = 0;

	for (size_t i = 0; i < size; i++) {
		if (i > 0 && (size - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return text;
}

const char *units_format_duration(char text[UNITS_TEXT], int64_t milliseconds)
{
	uint64_t left = milliseconds > 0 ? (uint64_t)milliseconds : 0;
	uint64_t tenths = (left + SECOND / 20) / (SECOND / 10);
	uint64_t seconds = (left + SECOND / 2) / SECOND;

	if (left < SECOND)
		snprintf(text, UNITS_TEXT, "%" PRIu64 " ms", left);
	else if (tenths < MINUTE * 10)
		snprintf(text, UNITS_TEXT, "%" PRIu64 ".%" PRIu64 " s", tenths / 10, tenths % 10);
	else if (seconds < HOUR)
		snprintf(text, UNITS_TEXT, "%" PRIu64 ":%02" PRIu64, seconds / MINUTE,
			seconds % MINUTE);
	else
		snprintf(text, UNITS_TEXT, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / HOUR,
			seconds / MINUTE % 60, seconds % MINUTE);
	return text;
}

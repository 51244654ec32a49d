/*
 * Sizes, rates and durations as text. Any thread.
 *
 * Each system of units is used where readers expect it: users can give sizes in binary units,
 * because memory sizes are powers of two; amounts transferred are shown in powers of ten, as in
 * network and disk tools.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

/* Buffer size that the format functions need, including the terminator. */
#define UNITS_TEXT 28

/*
 * Parses a size: decimal digits followed by nothing (bytes); K, M, G or T in either case, or KiB,
 * MiB, GiB or TiB (powers of 1024); or kB, KB, MB, GB or TB (powers of 1000). Rejects signs,
 * blanks, fractions and other units, including "Mb", which may mean bits. Returns 0 and the size in
 * bytes, -EINVAL if the text is not a size, or -ERANGE if it is below the minimum, above the
 * maximum or overflows. On error *bytes is unchanged.
 */
int units_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *bytes);

/*
 * The format functions write to the caller's buffer, round to nearest and return the buffer.
 *
 * Formats a number of bytes: "0 B", "999 B", "1.5 kB", "209.7 MB", "5.37 GB".
 */
const char *units_format(char text[UNITS_TEXT], uint64_t bytes);

/* Formats a rate in bytes per second: "83.5 MB/s". */
const char *units_format_rate(char text[UNITS_TEXT], uint64_t bytes_per_second);

/* Formats a number with commas: "5,000". */
const char *units_format_count(char text[UNITS_TEXT], uint64_t number);

/* Formats a duration: "40 ms", "2.5 s", "1:05", "3:07:12". Negative durations count as 0. */
const char *units_format_duration(char text[UNITS_TEXT], int64_t milliseconds);

#endif

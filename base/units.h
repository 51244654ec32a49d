/*
 * Amounts of bytes, rates and times, as people write them. Any thread.
 *
 * Two systems of units, each where its readers expect it: memory comes in powers of two, so the
 * sizes that users give may be binary; what has gone over a network or into a file is shown in
 * powers of ten, as network and disk tools do.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

/* Room for what any of the format functions makes, with the terminator. */
#define UNITS_TEXT 24

/*
 * Reads a size: decimal digits, then nothing (bytes); K, M or G, in either case, or KiB, MiB or GiB
 * (powers of 1024); or kB, KB, MB or GB (powers of 1000). Signs, blanks, fractions and other units
 * are refused, among them "Mb", which may mean bits. Returns 0 and the size in bytes, -EINVAL if
 * the text is no size, or -ERANGE if it is below the minimum, above the maximum, or does not fit;
 * *bytes is then as it was.
 */
int units_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *bytes);

/*
 * Each of these fills the caller's text, rounding to the nearest, and returns it.
 *
 * An amount of bytes: "0 B", "999 B", "1.5 kB", "209.7 MB", "5.37 GB".
 */
const char *units_format(char text[UNITS_TEXT], uint64_t bytes);

/* A rate in bytes per second: "83.5 MB/s". */
const char *units_format_rate(char text[UNITS_TEXT], uint64_t bytes_per_second);

/* A length of time in milliseconds: "40 ms", "2.5 s", "1:05", "3:07:12". Negative ones are 0. */
const char *units_format_duration(char text[UNITS_TEXT], int64_t milliseconds);

#endif

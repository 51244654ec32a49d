/*
 * Patterns of paths, with the meaning that they have for rsync(1). Bytes are compared, whatever
 * the locale.
 *
 * "*" matches any bytes but "/", "**" any bytes, "?" one byte but "/", "[...]" one of a set as
 * for fnmatch(3), and next to them a backslash takes the special meaning from a byte. A pattern
 * that starts with "/" matches a whole path, any other one its last components. One that ends
 * with "/" or with "/" and "***" matches only folders.
 */
#ifndef BASE_PATH_PATTERN_H
#define BASE_PATH_PATTERN_H

#include <stdbool.h>

/* Returns NULL, or what a pattern must be instead of this one, in words. */
const char *path_pattern_required(const char *pattern);

/* True if the pattern, which must be valid, matches this relative path. Any thread. */
bool path_pattern_matches(const char *pattern, const char *path, bool is_folder);

#endif

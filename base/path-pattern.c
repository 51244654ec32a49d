/* Patterns of paths: see base/path-pattern.h. */
#include <fnmatch.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/path-pattern.h"

/* Bytes of the longest set. */
#define SET_MAX 255

/*
 * Returns the end of the set that starts here, behind its "]", or NULL. A "]" at the start belongs
 * to the set, as does one after a backslash or in a class such as [:alpha:].
 */
static const char *set_end(const char *set)
{
	const char *at = set + 1, *class_end;

	if (*at == '!' || *at == '^')
		at++;
	if (*at == ']')
		at++;
	for (; *at && *at != ']'; at++) {
		if (*at == '\\' && at[1]) {
			at++;
		} else if (at[0] == '[' && at[1] == ':') {
			class_end = strstr(at + 2, ":]");
			at = class_end ? class_end + 1 : at;
		}
	}
	return *at ? at + 1 : NULL;
}

/* True if a byte has a special meaning. In other patterns, a backslash has none either. */
static bool is_wild(const char *pattern)
{
	return strpbrk(pattern, "*?[") != NULL;
}

const char *path_pattern_required(const char *pattern)
{
	const char *end;

	if (!*pattern || strcmp(pattern, "/") == 0)
		return "a pattern that matches something";
	if (strlen(pattern) >= PATH_MAX)
		return "a shorter pattern";
	for (bool wild = is_wild(pattern); wild && *pattern; pattern = end) {
		end = pattern + 1;
		if (*pattern == '[')
			end = set_end(pattern);
		else if (*pattern == '\\')
			end = pattern[1] ? pattern + 2 : NULL;
		if (!end)
			return *pattern == '[' ? "a pattern with a ] for each ["
					       : "a pattern without a backslash at its end";
		if (end - pattern > SET_MAX)
			return "a pattern with shorter sets";
	}
	return NULL;
}

/* True if the set from here to the end contains the byte. No set contains "/". */
static bool set_contains(const char *set, const char *end, char byte)
{
	char text[SET_MAX + 1], one[2] = {byte, '\0'};

	memcpy(text, set, (size_t)(end - set));
	text[end - set] = '\0';
	return byte && fnmatch(text, one, FNM_PATHNAME) == 0;
}

/* True if the end of a pattern that is wild matches all of this text. */
static bool matches(const char *pattern, const char *text)
{
	const char *end;
	bool across;

	for (; *pattern; text++) {
		if (*pattern == '*') {
			across = pattern[1] == '*';
			pattern += strspn(pattern, "*");
			while (!matches(pattern, text))
				if (!*text || (*text++ == '/' && !across))
					return false;
			return true;
		}
		if (*pattern == '[') {
			end = set_end(pattern);
			if (!set_contains(pattern, end, *text))
				return false;
			pattern = end;
		} else if (*pattern == '?') {
			if (!*text || *text == '/')
				return false;
			pattern++;
		} else {
			pattern += *pattern == '\\';
			if (*pattern++ != *text)
				return false;
		}
	}
	return !*text;
}

/* Removes this text from the end. Returns true if it was there. */
static bool cut(char *text, const char *end)
{
	size_t length = strlen(text), size = strlen(end);

	if (length <= size || strcmp(text + length - size, end) != 0)
		return false;
	text[length - size] = '\0';
	return true;
}

static bool matches_all(const char *pattern, const char *text)
{
	return is_wild(pattern) ? matches(pattern, text) : strcmp(pattern, text) == 0;
}

bool path_pattern_matches(const char *pattern, const char *path, bool is_folder)
{
	size_t length = strnlen(pattern, PATH_MAX - 1);
	char text[PATH_MAX];

	memcpy(text, pattern, length);
	text[length] = '\0';
	if ((cut(text, "/***") || cut(text, "/")) && !is_folder)
		return false;
	if (*text == '/')
		return matches_all(text + 1, path);
	/* It may begin with any component, also with the first. */
	pattern = strncmp(text, "**/", 3) == 0 ? text + 3 : text;
	for (; path; path = strchr(path, '/') ? strchr(path, '/') + 1 : NULL)
		if (matches_all(pattern, path))
			return true;
	return false;
}

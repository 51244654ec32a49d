/*
 * Facts about one end of a connection: a short list of names and values, sent as lines of text, so
 * that both ends can be shown side by side. Any thread; the caller serialises.
 */
#ifndef HOST_FACTS_H
#define HOST_FACTS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#define FACTS_MAX       32
#define FACT_NAME_SIZE  32
#define FACT_VALUE_SIZE 96

struct fact {
	char name[FACT_NAME_SIZE]; /* lower-case words, as in "link layer" */
	char value[FACT_VALUE_SIZE];
};

struct facts {
	unsigned int count;
	struct fact facts[FACTS_MAX];
};

/*
 * Adds a fact, truncated to the array sizes; non-printable bytes become '?'. Facts beyond FACTS_MAX
 * are dropped.
 */
void facts_add(struct facts *facts, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the value of the named fact, NULL if there is none. */
const char *facts_value(const struct facts *facts, const char *name);

/* The same, but "unknown" if there is none. */
const char *facts_shown(const struct facts *facts, const char *name);

/* Returns the number at the start of the named fact, 0 if there is none. */
unsigned long facts_number(const struct facts *facts, const char *name);

/*
 * Writes a line "name: value" for each fact, as many as fit. Returns the length without the
 * terminator.
 */
size_t facts_encode(const struct facts *facts, char *text, size_t size);

/*
 * Decodes lines from an untrusted peer. Returns 0, or -EPROTO if a line has no name, there are more
 * than FACTS_MAX lines, or the text contains a NUL byte.
 */
int facts_decode(struct facts *facts, const char *text, size_t size);

/*
 * Returns an object with one member per fact; spaces in names become '_'. Numeric facts become
 * numbers, or null if malformed; a rate adds `megabits` per second. NULL: out of memory.
 */
struct json_object *facts_json(const struct facts *facts);

/*
 * Iterates over the names of both lists, local facts first. Returns the name at this index, from 0,
 * or NULL at the end. *our_value and *their_value are the values or NULL; *differ is true if both
 * are known, should be equal, and are not.
 */
const char *facts_compare(const struct facts *ours, const struct facts *theirs, unsigned int index,
	const char **our_value, const char **their_value, bool *differ);

#endif

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
 * Adds a fact, cut to its sizes; bytes that are not printable become '?'. Further facts than
 * FACTS_MAX are left out.
 */
void facts_add(struct facts *facts, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The value of the fact of that name, NULL if there is none. */
const char *facts_value(const struct facts *facts, const char *name);

/*
 * Writes a line "name: value" of each fact, as many as fit. Returns their size without the
 * terminator.
 */
size_t facts_encode(const struct facts *facts, char *text, size_t size);

/*
 * Reads the lines of an untrusted peer. Returns 0, or -EPROTO if a line has no name, if there are
 * more than FACTS_MAX, or if they hold a zero byte.
 */
int facts_decode(struct facts *facts, const char *text, size_t size);

/*
 * An object with a member of each fact, blanks in names as '_'. Numeric facts become numbers, or
 * null if they are none; a rate adds its `megabits` per second. NULL: no memory.
 */
struct json_object *facts_json(const struct facts *facts);

/*
 * The name at this index, from 0, of both lists, ours first. Returns NULL at the end. *our_value
 * and *their_value are the values or NULL; *differ is true if both are known, should be equal, and
 * are not.
 */
const char *facts_compare(const struct facts *ours, const struct facts *theirs, unsigned int index,
	const char **our_value, const char **their_value, bool *differ);

#endif

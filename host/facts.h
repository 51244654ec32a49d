/*
 * What one side of a connection is: a short list of names and values, which goes over the wire as
 * lines of text, so that both sides can be shown beside each other.
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
 * Adds a fact, cut to what fits; what cannot be printed becomes '?'. More than FACTS_MAX are left
 * out. Any thread, like all functions here; the caller serialises.
 */
void facts_add(struct facts *facts, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The value of that name, NULL if there is none. */
const char *facts_value(const struct facts *facts, const char *name);

/* Writes a line "name: value" for each, as many as fit. Returns their size, without a zero. */
size_t facts_encode(const struct facts *facts, char *text, size_t size);

/*
 * Reads such lines, which are not to be trusted. Returns 0, or -EPROTO if a line has no name, there
 * are more lines than FACTS_MAX, or a zero byte is in them.
 */
int facts_decode(struct facts *facts, const char *text, size_t size);

/*
 * An object with a member for each; blanks in names become '_'. Those that are numbers become numbers, or
 * null if they are not; beside a rate stand its `megabits` per second. NULL: no memory.
 */
struct json_object *facts_json(const struct facts *facts);

/*
 * Steps through the names of both, ours first: index counts from 0. Returns NULL at the end. *ours and
 * *theirs are the values or NULL, *differ tells if both are there and should be equal, and are not.
 */
const char *facts_compare(const struct facts *ours, const struct facts *theirs, unsigned int index,
	const char **our_value, const char **their_value, bool *differ);

#endif

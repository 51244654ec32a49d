/*
 * Builds JSON objects and arrays, and finds members of those that were read. Building fails only
 * if memory is exhausted, and the functions that add values do not report it. Instead, an object or
 * array that lacks a member is marked incomplete, as is every object to which it is added, and
 * document_filled() reports this once. Fill an object before adding it to another. Every function
 * accepts NULL for an object or array that could not be allocated. Any thread. json-c.
 */
#ifndef BASE_JSON_DOCUMENT_H
#define BASE_JSON_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;

/* Adds a member to the object, which takes ownership of the value. */
void document_add(struct json_object *object, const char *key, struct json_object *value);

void document_add_null(struct json_object *object, const char *key);
void document_add_number(struct json_object *object, const char *key, uint64_t number);
void document_add_boolean(struct json_object *object, const char *key, bool value);

/* Adds the number if it is known, otherwise null. */
void document_add_number_if(
	struct json_object *object, const char *key, bool known, uint64_t number);

/* Same, but the number 0 and the text "" mean unknown. */
void document_add_known(struct json_object *object, const char *key, uint64_t number);
void document_add_known_text(struct json_object *object, const char *key, const char *text);

/* Adds a number with this many digits after the decimal point, at most 20. */
void document_add_decimal(
	struct json_object *object, const char *key, double number, int fraction_digits);

/* Adds text; control characters and bytes that are not UTF-8 become \xHH. NULL becomes null. */
void document_add_text(struct json_object *object, const char *key, const char *text);

/* Appends a value to the array, which takes ownership of it. */
void document_append(struct json_object *array, struct json_object *value);

/* Appends text to the array, escaped as by document_add_text(). */
void document_append_text(struct json_object *array, const char *text);

/* Returns the member, owned by the object; NULL if there is none, or if this is no object. */
struct json_object *document_member(struct json_object *object, const char *key);

/*
 * Returns the value at this path of members, such as "here.seconds", owned by the object; NULL if
 * there is none.
 */
struct json_object *document_find(struct json_object *object, const char *path);

/* Returns the object or array if it is complete; otherwise frees it and returns NULL. */
struct json_object *document_filled(struct json_object *value);

/*
 * Returns the document as one line, owned by the object; NULL if there is no document or no memory.
 */
const char *document_line(struct json_object *object);

/* Prints the document as one line on standard output and frees it. */
void document_print(struct json_object *object);

#endif

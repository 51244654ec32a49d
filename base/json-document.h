/*
 * JSON objects and arrays in the making. The only failure is that memory is exhausted, and no
 * function reports it at once: an object or array that lacks a member stays marked as incomplete,
 * and so does everything that it is added to. document_filled() reports it, once. So a caller fills
 * an object before it adds the object to another one. NULL in place of an object or array is one
 * that there was no memory for. Any thread. json-c.
 */
#ifndef BASE_JSON_DOCUMENT_H
#define BASE_JSON_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;

/* Adds a member to the object, which takes the value over. */
void document_add(struct json_object *object, const char *key, struct json_object *value);

void document_add_null(struct json_object *object, const char *key);
void document_add_number(struct json_object *object, const char *key, uint64_t number);
void document_add_boolean(struct json_object *object, const char *key, bool value);

/* Adds the number if it is known, else null. */
void document_add_number_if(
	struct json_object *object, const char *key, bool known, uint64_t number);

/* The same for a number that is unknown if it is 0, and for a text that is unknown if it is "". */
void document_add_known(struct json_object *object, const char *key, uint64_t number);
void document_add_known_text(struct json_object *object, const char *key, const char *text);

/* Adds a number with that many digits after the point, at most 20. */
void document_add_decimal(
	struct json_object *object, const char *key, double number, int fraction_digits);

/*
 * Adds a text of any bytes: control characters, and what is not UTF-8, become \xHH. NULL becomes
 * null.
 */
void document_add_text(struct json_object *object, const char *key, const char *text);

/* Appends a value to the array, which takes ownership of it. */
void document_append(struct json_object *array, struct json_object *value);

/* Appends a text to the array, escaped as by document_add_text(). */
void document_append_text(struct json_object *array, const char *text);

/* The object or array if it is complete; else frees it and returns NULL. */
struct json_object *document_filled(struct json_object *value);

/* The document as one line, which belongs to the object; NULL if there is none, or no memory. */
const char *document_line(struct json_object *object);

/* Prints the document as a line of standard output, and frees it. */
void document_print(struct json_object *object);

#endif

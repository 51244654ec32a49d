/*
 * JSON objects in the making. Each function returns false when there is no memory, and the caller
 * then gives the whole object up. Any thread. json-c.
 */
#ifndef BASE_JSON_DOCUMENT_H
#define BASE_JSON_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;

/* Adds a member to the object and takes the value over; NULL is JSON's null. */
bool document_add(struct json_object *object, const char *key, struct json_object *value);

/* The same for a value just made, of which NULL says that it could not be. */
bool document_add_value(struct json_object *object, const char *key, struct json_object *value);

bool document_add_number(struct json_object *object, const char *key, uint64_t number);
bool document_add_boolean(struct json_object *object, const char *key, bool value);

/* The same for a number that is not known if it is 0: null then. */
bool document_add_known(struct json_object *object, const char *key, uint64_t number);

/* Adds an empty object, which belongs to the other, and returns it; NULL: there is no memory. */
struct json_object *document_add_object(struct json_object *object, const char *key);

/*
 * A text of any bytes: control characters, and what is not UTF-8, become \xHH. NULL becomes null.
 */
bool document_add_text(struct json_object *object, const char *key, const char *text);

/* Adds an empty array, which belongs to the object, and returns it; NULL: there is no memory. */
struct json_object *document_add_array(struct json_object *object, const char *key);

/* Appends an empty object, which belongs to the array, and returns it; NULL: there is no memory. */
struct json_object *document_append_object(struct json_object *array);

/* Appends a text to the array, as document_add_text() does. */
bool document_append_text(struct json_object *array, const char *text);

/* The object, if it was filled; else gives it up and returns NULL. NULL stays NULL. */
struct json_object *document_filled(struct json_object *object, bool filled);

/* The document as one line, which belongs to the object; NULL if there is none, or no memory. */
const char *document_line(struct json_object *object);

#endif

/*
 * Builds JSON objects with json-c. A value belongs to the object that it is added to, and is freed
 * if it cannot be added; the caller owns the outermost object.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-document.h"
#include "base/text.h"

bool document_add(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, value) == 0)
		return true;
	json_object_put(value);
	return false;
}

bool document_add_value(struct json_object *object, const char *key, struct json_object *value)
{
	return value && document_add(object, key, value);
}

bool document_add_number(struct json_object *object, const char *key, uint64_t number)
{
	return document_add_value(object, key, json_object_new_uint64(number));
}

bool document_add_boolean(struct json_object *object, const char *key, bool value)
{
	return document_add_value(object, key, json_object_new_boolean(value));
}

bool document_add_known(struct json_object *object, const char *key, uint64_t number)
{
	return number ? document_add_number(object, key, number) : document_add(object, key, NULL);
}

struct json_object *document_add_object(struct json_object *object, const char *key)
{
	struct json_object *child = json_object_new_object();

	return document_add_value(object, key, child) ? child : NULL;
}

/* The text made safe as a value, NULL if there is no memory. */
static struct json_object *make_text(const char *text)
{
	char *escaped = malloc(TEXT_ESCAPED_SIZE(strlen(text)));
	struct json_object *value;

	if (!escaped)
		return NULL;
	text_escape_utf8(escaped, text, strlen(text));
	value = json_object_new_string(escaped);
	free(escaped);
	return value;
}

bool document_add_text(struct json_object *object, const char *key, const char *text)
{
	return text ? document_add_value(object, key, make_text(text))
		    : document_add(object, key, NULL);
}

struct json_object *document_add_array(struct json_object *object, const char *key)
{
	struct json_object *array = json_object_new_array();

	return document_add_value(object, key, array) ? array : NULL;
}

/* Appends a value just made and takes it over; NULL says that it could not be. */
static bool append(struct json_object *array, struct json_object *value)
{
	if (!value)
		return false;
	if (json_object_array_add(array, value) == 0)
		return true;
	json_object_put(value);
	return false;
}

struct json_object *document_append_object(struct json_object *array)
{
	struct json_object *object = json_object_new_object();

	return append(array, object) ? object : NULL;
}

bool document_append_text(struct json_object *array, const char *text)
{
	return append(array, make_text(text));
}

struct json_object *document_filled(struct json_object *object, bool filled)
{
	if (filled)
		return object;
	json_object_put(object);
	return NULL;
}

const char *document_line(struct json_object *object)
{
	return object ? json_object_to_json_string_ext(
				object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
		      : NULL;
}

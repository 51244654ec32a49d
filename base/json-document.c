/*
 * Builds JSON objects with json-c. An object owns the values added to it; a value that cannot be
 * added is freed. The caller owns the outermost object.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-document.h"
#include "base/output.h"
#include "base/text.h"

/* Size of a member of a path, with terminator. */
#define MEMBER_SIZE 64

/* The user data of an incomplete object or array points to this variable. */
static char incomplete;

static bool is_complete(struct json_object *value)
{
	return value && json_object_get_userdata(value) != &incomplete;
}

/* json_object_put() of json-c 0.19 takes the user data of the freed object for its parent. */
static void discard(struct json_object *value)
{
	if (value)
		json_object_set_userdata(value, NULL, NULL);
	json_object_put(value);
}

/* Frees a value that cannot be added and marks its parent as incomplete. */
static void drop(struct json_object *parent, struct json_object *value)
{
	discard(value);
	if (parent)
		json_object_set_userdata(parent, &incomplete, NULL);
}

void document_add(struct json_object *object, const char *key, struct json_object *value)
{
	if (!object || !is_complete(value) || json_object_object_add(object, key, value))
		drop(object, value);
}

void document_add_null(struct json_object *object, const char *key)
{
	if (object && json_object_object_add(object, key, NULL))
		drop(object, NULL);
}

void document_add_number(struct json_object *object, const char *key, uint64_t number)
{
	document_add(object, key, json_object_new_uint64(number));
}

void document_add_number_if(
	struct json_object *object, const char *key, bool known, uint64_t number)
{
	if (known)
		document_add_number(object, key, number);
	else
		document_add_null(object, key);
}

void document_add_known(struct json_object *object, const char *key, uint64_t number)
{
	document_add_number_if(object, key, number != 0, number);
}

void document_add_decimal(
	struct json_object *object, const char *key, double number, int fraction_digits)
{
	char text[340];

	snprintf(text, sizeof(text), "%.*f", fraction_digits, number);
	document_add(object, key, json_object_new_double_s(number, text));
}

void document_add_boolean(struct json_object *object, const char *key, bool value)
{
	document_add(object, key, json_object_new_boolean(value));
}

/* Returns the escaped text as a value, or NULL if out of memory. */
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

void document_add_text(struct json_object *object, const char *key, const char *text)
{
	if (text)
		document_add(object, key, make_text(text));
	else
		document_add_null(object, key);
}

void document_add_known_text(struct json_object *object, const char *key, const char *text)
{
	document_add_text(object, key, *text ? text : NULL);
}

void document_append(struct json_object *array, struct json_object *value)
{
	if (!array || !is_complete(value) || json_object_array_add(array, value))
		drop(array, value);
}

void document_append_text(struct json_object *array, const char *text)
{
	document_append(array, make_text(text));
}

struct json_object *document_member(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_is_type(object, json_type_object) &&
			       json_object_object_get_ex(object, key, &value)
		       ? value
		       : NULL;
}

struct json_object *document_find(struct json_object *object, const char *path)
{
	char member[MEMBER_SIZE];

	for (;;) {
		size_t size = strcspn(path, ".");

		snprintf(member, sizeof(member), "%.*s", (int)size, path);
		object = document_member(object, member);
		if (!object || !path[size])
			return object;
		path += size + 1;
	}
}

struct json_object *document_filled(struct json_object *value)
{
	if (is_complete(value))
		return value;
	discard(value);
	return NULL;
}

const char *document_line(struct json_object *object)
{
	return object ? json_object_to_json_string_ext(
				object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
		      : NULL;
}

void document_print(struct json_object *object)
{
	output_document(document_line(object));
	discard(object);
}

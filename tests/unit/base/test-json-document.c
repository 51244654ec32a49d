/* Building JSON documents, including when memory runs out. */
#include <json-c/json.h>
#include <string.h>

#include "base/json-document.h"
#include "tests/unit/unit.h"

static void assert_text(struct json_object *object, const char *expected)
{
	assert_string_equal(
		json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), expected);
	json_object_put(object);
}

static void adds_members(void **state)
{
	struct json_object *object = json_object_new_object();

	(void)state;
	document_add_null(object, "none");
	document_add_number(object, "number", UINT64_MAX);
	document_add_number_if(object, "known", true, 0);
	document_add_number_if(object, "unknown", false, 1);
	document_add_known(object, "one", 1);
	document_add_known(object, "zero", 0);
	document_add_decimal(object, "decimal", 2.5, 6);
	document_add_boolean(object, "yes", true);
	document_add_text(object, "text", "plain");
	document_add_text(object, "no text", NULL);
	document_add_known_text(object, "known text", "plain");
	document_add_known_text(object, "empty text", "");
	assert_ptr_equal(document_filled(object), object);
	assert_text(object, "{\"none\":null,\"number\":18446744073709551615,\"known\":0,"
			    "\"unknown\":null,\"one\":1,\"zero\":null,\"decimal\":2.500000,"
			    "\"yes\":true,\"text\":\"plain\",\"no text\":null,"
			    "\"known text\":\"plain\",\"empty text\":null}");
}

static void escapes_unsafe_text(void **state)
{
	struct json_object *object = json_object_new_object();

	(void)state;
	document_add_text(object, "text", "a\x1b[2J\xff\xc3\xa4\\");
	assert_text(object, "{\"text\":\"a\\\\x1b[2J\\\\xff\xc3\xa4\\\\\"}");
}

static void adds_arrays(void **state)
{
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();
	struct json_object *child = json_object_new_object();

	(void)state;
	document_append_text(array, "one\n");
	document_add_number(child, "two", 2);
	document_append(array, child);
	document_add(object, "array", array);
	assert_ptr_equal(document_filled(object), object);
	assert_text(object, "{\"array\":[\"one\\\\x0a\",{\"two\":2}]}");
}

/* NULL represents a value whose allocation failed. */
static void an_incomplete_value_is_freed(void **state)
{
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();

	(void)state;
	document_add(object, "no memory", NULL);
	document_add_number(object, "number", 1);
	assert_null(document_filled(object));
	document_append(array, NULL);
	document_append_text(array, "one");
	assert_null(document_filled(array));
	assert_null(document_filled(NULL));
}

/* An incomplete value makes every enclosing value incomplete, at any depth. */
static void an_incomplete_value_makes_its_parents_incomplete(void **state)
{
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();
	struct json_object *child = json_object_new_object();

	(void)state;
	document_add(child, "no memory", NULL);
	document_append(array, child);
	document_add(object, "array", array);
	assert_null(document_filled(object));
}

/* A NULL parent, whose allocation failed, still takes ownership of the values and frees them. */
static void adding_to_a_null_parent_frees_the_value(void **state)
{
	(void)state;
	document_add(NULL, "key", json_object_new_object());
	document_add_null(NULL, "key");
	document_add_number(NULL, "key", 1);
	document_add_boolean(NULL, "key", true);
	document_add_decimal(NULL, "key", 1, 1);
	document_add_text(NULL, "key", "text");
	document_append(NULL, json_object_new_object());
	document_append_text(NULL, "text");
	assert_null(document_line(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adds_members),
		cmocka_unit_test(escapes_unsafe_text),
		cmocka_unit_test(adds_arrays),
		cmocka_unit_test(an_incomplete_value_is_freed),
		cmocka_unit_test(an_incomplete_value_makes_its_parents_incomplete),
		cmocka_unit_test(adding_to_a_null_parent_frees_the_value),
	};

	return cmocka_run_group_tests_name("json-document", tests, NULL, NULL);
}

/* JSON objects in the making. */
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
	assert_true(document_add(object, "none", NULL));
	assert_false(document_add_value(object, "no memory", NULL));
	assert_true(document_add_number(object, "number", UINT64_MAX));
	assert_true(document_add_boolean(object, "yes", true));
	assert_true(document_add_text(object, "text", "plain"));
	assert_true(document_add_text(object, "no text", NULL));
	assert_text(object, "{\"none\":null,\"number\":18446744073709551615,\"yes\":true,"
			    "\"text\":\"plain\",\"no text\":null}");
}

static void makes_texts_safe(void **state)
{
	struct json_object *object = json_object_new_object();

	(void)state;
	assert_true(document_add_text(object, "text", "a\x1b[2J\xff\xc3\xa4\\"));
	assert_text(object, "{\"text\":\"a\\\\x1b[2J\\\\xff\xc3\xa4\\\\\"}");
}

static void adds_arrays(void **state)
{
	struct json_object *object = json_object_new_object(), *array, *child;

	(void)state;
	array = document_add_array(object, "array");
	assert_non_null(array);
	assert_true(document_append_text(array, "one\n"));
	child = document_append_object(array);
	assert_non_null(child);
	assert_true(document_add_number(child, "two", 2));
	assert_text(object, "{\"array\":[\"one\\\\x0a\",{\"two\":2}]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adds_members),
		cmocka_unit_test(makes_texts_safe),
		cmocka_unit_test(adds_arrays),
	};

	return cmocka_run_group_tests_name("json-document", tests, NULL, NULL);
}

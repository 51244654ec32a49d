/* The wire format of attributes, and those that are refused. */
#include <errno.h>
#include <string.h>

#include "protocol/attributes.h"
#include "tests/unit/unit.h"

#define NONE ATTRIBUTE_UNDEFINED

static const struct attribute items[] = {
	{.kind = ATTRIBUTE_OWNER, .bits = 5, .name = "ann", .name_size = 3, .number = 1000},
	{.kind = ATTRIBUTE_GROUP, .bits = 2, .number = 0},
	{.kind = ATTRIBUTE_ACCESS, .tag = ACL_TAG_USER_OBJ, .bits = 7, .number = NONE},
	{.kind = ATTRIBUTE_ACCESS,
		.tag = ACL_TAG_GROUP,
		.bits = 0,
		.name = "x",
		.name_size = 1,
		.number = 7},
	{.kind = ATTRIBUTE_DEFAULT, .tag = ACL_TAG_OTHER, .bits = 1, .number = NONE},
	{.kind = ATTRIBUTE_XATTR,
		.name = "user.a",
		.name_size = 6,
		.number = NONE,
		.value = "va\0ue",
		.value_size = 5},
	{.kind = ATTRIBUTE_XATTR, .name = "user.b", .name_size = 6, .number = NONE},
};

/* Encodes an item. Returns its size. */
static size_t encode(const struct attribute *item, uint8_t *bytes)
{
	return (size_t)(attribute_encode(item, bytes) - bytes);
}

static void items_survive_encoding(void **state)
{
	uint8_t bytes[512], *end = bytes;
	struct attribute got;
	size_t position = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(items); i++)
		end = attribute_encode(&items[i], end);
	for (size_t i = 0; i < COUNT(items); i++) {
		assert_int_equal(attribute_next(&got, bytes, (size_t)(end - bytes), &position), 1);
		assert_int_equal(got.kind, items[i].kind);
		assert_int_equal(got.tag, items[i].tag);
		assert_int_equal(got.bits, items[i].bits);
		assert_int_equal(got.number, items[i].number);
		assert_int_equal(got.name_size, items[i].name_size);
		assert_int_equal(got.value_size, items[i].value_size);
		if (got.name_size)
			assert_memory_equal(got.name, items[i].name, got.name_size);
		if (got.value_size)
			assert_memory_equal(got.value, items[i].value, got.value_size);
	}
	assert_int_equal(attribute_next(&got, bytes, (size_t)(end - bytes), &position), 0);
	assert_int_equal(attributes_check(bytes, (size_t)(end - bytes), KEPT_ALL), 0);
	/* No beginning of them is valid, except one that ends with an item. */
	for (size_t size = 0, item = 0, next = 0; size < (size_t)(end - bytes); size++) {
		bool whole = size == next;

		if (whole)
			next += attribute_size(&items[item++]);
		assert_int_equal(attributes_check(bytes, size, KEPT_ALL), whole ? 0 : -EPROTO);
	}
}

static void the_layout_is_the_published_one(void **state)
{
	static const uint8_t published[] = {5, 6, 0, 0, 0xff, 0xff, 0xff, 0xff, 5, 0, 0, 0, 'u',
		's', 'e', 'r', '.', 'a', 'v', 'a', 0, 'u', 'e'};
	static const uint8_t owner[] = {1, 3, 0, 5, 0xe8, 3, 0, 0, 0, 0, 0, 0, 'a', 'n', 'n'};
	uint8_t bytes[64];

	(void)state;
	assert_int_equal(encode(&items[5], bytes), sizeof(published));
	assert_memory_equal(bytes, published, sizeof(published));
	assert_int_equal(encode(&items[0], bytes), sizeof(owner));
	assert_memory_equal(bytes, owner, sizeof(owner));
}

static void invalid_items_are_refused(void **state)
{
	static const struct attribute invalid[] = {
		{.kind = 0, .number = NONE},
		{.kind = 6, .number = NONE},
		{.kind = ATTRIBUTE_OWNER, .bits = 2, .number = 1},
		{.kind = ATTRIBUTE_OWNER, .number = NONE},
		{.kind = ATTRIBUTE_OWNER, .number = 1, .name = "a:b", .name_size = 3},
		{.kind = ATTRIBUTE_OWNER, .number = 1, .name = "a\nb", .name_size = 3},
		{.kind = ATTRIBUTE_OWNER, .number = 1, .value = "x", .value_size = 1},
		{.kind = ATTRIBUTE_GROUP, .bits = 4, .number = 1},
		{.kind = ATTRIBUTE_GROUP, .tag = 1, .number = 1},
		{.kind = ATTRIBUTE_ACCESS, .tag = ACL_TAG_USER, .bits = 7, .number = NONE},
		{.kind = ATTRIBUTE_ACCESS, .tag = ACL_TAG_MASK, .bits = 7, .number = 1},
		{.kind = ATTRIBUTE_ACCESS, .tag = ACL_TAG_OTHER, .bits = 8, .number = NONE},
		{.kind = ATTRIBUTE_DEFAULT, .tag = 3, .number = NONE},
		{.kind = ATTRIBUTE_DEFAULT,
			.tag = ACL_TAG_OTHER,
			.number = NONE,
			.name = "a",
			.name_size = 1},
		{.kind = ATTRIBUTE_XATTR, .name = "user.", .name_size = 5, .number = NONE},
		{.kind = ATTRIBUTE_XATTR, .name = "user.a\0b", .name_size = 8, .number = NONE},
		{.kind = ATTRIBUTE_XATTR, .name = "userxa", .name_size = 6, .number = NONE},
		{.kind = ATTRIBUTE_XATTR, .name = "user.a", .name_size = 6, .number = 1},
		{.kind = ATTRIBUTE_XATTR,
			.name = "security.capability",
			.name_size = 19,
			.number = NONE},
		{.kind = ATTRIBUTE_XATTR, .name = "trusted.a", .name_size = 9, .number = NONE},
		{.kind = ATTRIBUTE_XATTR,
			.name = "system.posix_acl_access",
			.name_size = 23,
			.number = NONE},
	};
	uint8_t bytes[64];

	(void)state;
	for (size_t i = 0; i < COUNT(invalid); i++)
		if (attributes_check(bytes, encode(&invalid[i], bytes), KEPT_ALL) != -EPROTO)
			fail_msg("item %zu is accepted", i);
}

static void only_what_is_kept_is_accepted(void **state)
{
	static const unsigned int bits[] = {
		KEPT_OWNER, KEPT_GROUP, KEPT_ACLS, KEPT_ACLS, KEPT_ACLS, KEPT_XATTRS, KEPT_XATTRS};
	uint8_t bytes[64];

	(void)state;
	for (size_t i = 0; i < COUNT(items); i++) {
		size_t size = encode(&items[i], bytes);

		assert_int_equal(attributes_check(bytes, size, bits[i]), 0);
		assert_int_equal(attributes_check(bytes, size, KEPT_ALL & ~bits[i]), -EPROTO);
	}
}

static void there_is_one_owner(void **state)
{
	uint8_t bytes[64], *end = attribute_encode(&items[0], bytes);

	(void)state;
	end = attribute_encode(&items[0], end);
	assert_int_equal(attributes_check(bytes, (size_t)(end - bytes), KEPT_ALL), -EPROTO);
}

static void options_are_named(void **state)
{
	char text[ATTRIBUTES_OPTIONS_SIZE];

	(void)state;
	attributes_options(0, text);
	assert_string_equal(text, "");
	attributes_options(KEPT_ACLS, text);
	assert_string_equal(text, "--acls");
	attributes_options(KEPT_ALL, text);
	assert_string_equal(text, "--xattrs, --acls, --owner, --group");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_survive_encoding),
		cmocka_unit_test(the_layout_is_the_published_one),
		cmocka_unit_test(invalid_items_are_refused),
		cmocka_unit_test(only_what_is_kept_is_accepted),
		cmocka_unit_test(there_is_one_owner),
		cmocka_unit_test(options_are_named),
	};

	return cmocka_run_group_tests_name("attributes", tests, NULL, NULL);
}

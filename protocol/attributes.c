/* Encodes and decodes attributes item by item. Received items are validated here. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "protocol/attributes.h"
#include "protocol/little-endian.h"

enum {
	AT_KIND = 0,
	AT_NAME_SIZE = 1,
	AT_TAG = 2,
	AT_BITS = 3,
	AT_NUMBER = 4,
	AT_VALUE_SIZE = 8,
};

size_t attribute_size(const struct attribute *attribute)
{
	return ATTRIBUTE_HEADER_SIZE + attribute->name_size + attribute->value_size;
}

uint8_t *attribute_encode(const struct attribute *attribute, uint8_t *bytes)
{
	bytes[AT_KIND] = (uint8_t)attribute->kind;
	bytes[AT_NAME_SIZE] = (uint8_t)attribute->name_size;
	bytes[AT_TAG] = attribute->tag;
	bytes[AT_BITS] = attribute->bits;
	le_put32(bytes + AT_NUMBER, attribute->number);
	le_put32(bytes + AT_VALUE_SIZE, (uint32_t)attribute->value_size);
	bytes += ATTRIBUTE_HEADER_SIZE;
	if (attribute->name_size)
		memcpy(bytes, attribute->name, attribute->name_size);
	bytes += attribute->name_size;
	if (attribute->value_size)
		memcpy(bytes, attribute->value, attribute->value_size);
	return bytes + attribute->value_size;
}

bool attribute_is_account(const char *name, size_t size)
{
	if (size > ATTRIBUTE_NAME_MAX)
		return false;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f || name[i] == ':' ||
			name[i] == '/')
			return false;
	return true;
}

/* True if the number is one of a user or group. */
static bool is_account(const struct attribute *attribute)
{
	return attribute->number != ATTRIBUTE_UNDEFINED && attribute->value_size == 0 &&
	       attribute_is_account(attribute->name, attribute->name_size);
}

static bool is_acl_entry(const struct attribute *attribute)
{
	if (attribute->bits > 7 || attribute->value_size)
		return false;
	switch (attribute->tag) {
	case ACL_TAG_USER:
	case ACL_TAG_GROUP:
		return is_account(attribute);
	case ACL_TAG_USER_OBJ:
	case ACL_TAG_GROUP_OBJ:
	case ACL_TAG_MASK:
	case ACL_TAG_OTHER:
		return attribute->number == ATTRIBUTE_UNDEFINED && attribute->name_size == 0;
	default:
		return false;
	}
}

/* Names of other namespaces, such as "security." and "trusted.", are never accepted. */
static bool is_xattr(const struct attribute *attribute)
{
	const size_t prefix = strlen(ATTRIBUTE_PREFIX);

	return attribute->name_size > prefix &&
	       memcmp(attribute->name, ATTRIBUTE_PREFIX, prefix) == 0 &&
	       !memchr(attribute->name, '\0', attribute->name_size) && attribute->tag == 0 &&
	       attribute->bits == 0 && attribute->number == ATTRIBUTE_UNDEFINED;
}

static bool is_valid(const struct attribute *attribute)
{
	switch (attribute->kind) {
	case ATTRIBUTE_OWNER:
		return (attribute->bits & ~5) == 0 && attribute->tag == 0 && is_account(attribute);
	case ATTRIBUTE_GROUP:
		return (attribute->bits & ~2) == 0 && attribute->tag == 0 && is_account(attribute);
	case ATTRIBUTE_ACCESS:
	case ATTRIBUTE_DEFAULT:
		return is_acl_entry(attribute);
	case ATTRIBUTE_XATTR:
		return is_xattr(attribute);
	}
	return false;
}

int attribute_next(
	struct attribute *attribute, const uint8_t *attributes, size_t size, size_t *position)
{
	const uint8_t *bytes = attributes + *position;
	size_t left = size - *position;

	if (left == 0)
		return 0;
	if (left < ATTRIBUTE_HEADER_SIZE)
		return -EPROTO;
	*attribute = (struct attribute){
		.kind = bytes[AT_KIND],
		.name_size = bytes[AT_NAME_SIZE],
		.tag = bytes[AT_TAG],
		.bits = bytes[AT_BITS],
		.number = le_get32(bytes + AT_NUMBER),
		.value_size = le_get32(bytes + AT_VALUE_SIZE),
	};
	left -= ATTRIBUTE_HEADER_SIZE;
	if (attribute->name_size > left || attribute->value_size > left - attribute->name_size)
		return -EPROTO;
	attribute->name = (const char *)bytes + ATTRIBUTE_HEADER_SIZE;
	attribute->value = attribute->name + attribute->name_size;
	*position += attribute_size(attribute);
	return is_valid(attribute) ? 1 : -EPROTO;
}

/* The bit of what keeps an item of this kind. */
static unsigned int kept_by(enum attribute_kind kind)
{
	switch (kind) {
	case ATTRIBUTE_OWNER:
		return KEPT_OWNER;
	case ATTRIBUTE_GROUP:
		return KEPT_GROUP;
	case ATTRIBUTE_ACCESS:
	case ATTRIBUTE_DEFAULT:
		return KEPT_ACLS;
	case ATTRIBUTE_XATTR:
		return KEPT_XATTRS;
	}
	return 0;
}

int attributes_check(const uint8_t *attributes, size_t size, unsigned int kept)
{
	struct attribute attribute;
	size_t position = 0;
	unsigned int once = 0;
	int result;

	while ((result = attribute_next(&attribute, attributes, size, &position)) > 0) {
		unsigned int bit = kept_by(attribute.kind);

		if (!(kept & bit) || (once & bit))
			return -EPROTO;
		once |= bit & (KEPT_OWNER | KEPT_GROUP);
	}
	return result;
}

void attributes_options(unsigned int kept, char text[ATTRIBUTES_OPTIONS_SIZE])
{
	static const struct {
		unsigned int bit;
		const char *option;
	} options[] = {{KEPT_XATTRS, "--xattrs"}, {KEPT_ACLS, "--acls"}, {KEPT_OWNER, "--owner"},
		{KEPT_GROUP, "--group"}};

	*text = '\0';
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (kept & options[i].bit)
			text_append(text, ATTRIBUTES_OPTIONS_SIZE, "%s%s", *text ? ", " : "",
				options[i].option);
}

/*
 * The attributes of an entry of a tree stream (protocol/tree.h) besides its permissions and time:
 * owner, group, POSIX ACLs and extended attributes. They are a sequence of items, each a header of
 * ATTRIBUTE_HEADER_SIZE bytes, a name and a value. See docs/protocol.md, "Attributes". Any thread.
 */
#ifndef PROTOCOL_ATTRIBUTES_H
#define PROTOCOL_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATTRIBUTE_HEADER_SIZE 12
#define ATTRIBUTE_NAME_MAX    255                 /* bytes */
#define ATTRIBUTES_MAX        ((size_t)128 << 10) /* bytes of all items of an entry */
#define ATTRIBUTE_PREFIX      "user."             /* of the name of every extended attribute */
#define ATTRIBUTE_UNDEFINED   UINT32_MAX          /* the number of no user and no group */

/* What both ends keep: bits of MSG_MR, and of the permissions of TREE_START. */
enum attributes_kept {
	KEPT_XATTRS = 1 << 0, /* extended attributes of users */
	KEPT_ACLS = 1 << 1,
	KEPT_OWNER = 1 << 2, /* with the setuid bit, and the sticky bit of a folder */
	KEPT_GROUP = 1 << 3, /* with the setgid bit */
};

#define KEPT_ALL (KEPT_XATTRS | KEPT_ACLS | KEPT_OWNER | KEPT_GROUP)

enum attribute_kind {
	ATTRIBUTE_OWNER = 1,  /* at most once; number: of the user, `name` or unnamed */
	ATTRIBUTE_GROUP = 2,  /* likewise of the group */
	ATTRIBUTE_ACCESS = 3, /* an entry of the access ACL; number: of its user or group, if any */
	ATTRIBUTE_DEFAULT = 4, /* an entry of the default ACL of a folder */
	ATTRIBUTE_XATTR = 5,   /* an extended attribute */
};

/* Tags of entries of an ACL, as in system.posix_acl_access of Linux. */
enum acl_tag {
	ACL_TAG_USER_OBJ = 0x01,
	ACL_TAG_USER = 0x02,
	ACL_TAG_GROUP_OBJ = 0x04,
	ACL_TAG_GROUP = 0x08,
	ACL_TAG_MASK = 0x10,
	ACL_TAG_OTHER = 0x20,
};

struct attribute {
	enum attribute_kind kind;
	uint8_t tag;  /* of an entry of an ACL: enum acl_tag */
	uint8_t bits; /* of that: permissions, at most 7; of an owner: 4 setuid, 1 sticky bit; of
			   * a group: 2 setgid bit */
	const char *name;  /* not terminated; contains no zero byte */
	size_t name_size;  /* bytes */
	uint32_t number;   /* of a user or group; ATTRIBUTE_UNDEFINED: none */
	const void *value; /* of an extended attribute */
	size_t value_size; /* bytes */
};

/* Returns the size of the item in bytes. */
size_t attribute_size(const struct attribute *attribute);

/* Encodes the item into attribute_size() bytes. Returns the end of them. */
uint8_t *attribute_encode(const struct attribute *attribute, uint8_t *bytes);

/*
 * Decodes the item at this position of attributes of a known size, and moves the position behind
 * it. The texts stay in the attributes. Returns 1, 0 at the end, or -EPROTO if the item is invalid.
 */
int attribute_next(
	struct attribute *attribute, const uint8_t *attributes, size_t size, size_t *position);

/* Returns 0, or -EPROTO if an item is invalid or not one of these: enum attributes_kept. */
int attributes_check(const uint8_t *attributes, size_t size, unsigned int kept);

/* True if this can be the name of a user or group in the attributes: printable, without colon. */
bool attribute_is_account(const char *name, size_t size);

/* Formats what these bits mean: "--xattrs, --owner". */
#define ATTRIBUTES_OPTIONS_SIZE 40
void attributes_options(unsigned int kept, char text[ATTRIBUTES_OPTIONS_SIZE]);

#endif

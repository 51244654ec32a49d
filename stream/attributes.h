/*
 * Reads and sets the attributes of files and folders: protocol/attributes.h. Of extended
 * attributes, only those of the namespace "user." exist here, and of ACLs, only those of POSIX.
 * xattr(7), acl(5).
 *
 * Any thread. Functions that fail return -errno.
 */
#ifndef STREAM_ATTRIBUTES_H
#define STREAM_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "protocol/attributes.h"
#include "stream/id-names.h"
#include "stream/omitted.h"

/* What is kept, and how. Constant. */
struct keeping {
	unsigned int kept;      /* enum attributes_kept; 0: nothing */
	bool numeric;           /* users and groups have the same numbers at both ends */
	struct id_names *names; /* the owner's; may be NULL if nothing is kept */
	struct omitted *lost;   /* where entries are listed that lost something, or NULL */
};

/* Attributes: a sequence of items. */
struct attributes {
	size_t size; /* bytes */
	uint8_t bytes[];
};

/*
 * Reads the attributes of a file or folder, open in `file`, or with -1 only those that its status
 * contains, in an order that depends on nothing else. What the file system does not support does
 * not exist. Stores them, which the caller frees; NULL if there are none. -E2BIG: they are larger
 * than ATTRIBUTES_MAX.
 */
int attributes_read(const struct keeping *keeping, int file, const struct stat *status,
	struct attributes **attributes);

/*
 * Gives an open file or folder these attributes, which were checked, and these permissions; NULL:
 * it gets none, so that those that it has are removed. What cannot be set is listed with the path;
 * without the owner, there is no setuid bit, without the group no setgid bit.
 */
void attributes_set(const struct keeping *keeping, int file, mode_t permissions,
	const struct attributes *attributes, const char *path);

/* The same for owner and group of a symbolic link in a folder, which has no other attributes. */
void attributes_set_link(const struct keeping *keeping, int folder, const char *name,
	const struct attributes *attributes, const char *path);

/*
 * Gives an open folder the attributes of another one whose status, with the permissions, was this.
 */
void attributes_copy(const struct keeping *keeping, int from, const struct stat *status, int to,
	const char *path);

/* True if an open regular file with this status has these permissions and attributes. */
bool attributes_match(const struct keeping *keeping, int file, const struct stat *status,
	mode_t permissions, const struct attributes *attributes);

#endif

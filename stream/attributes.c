/*
 * See stream/attributes.h. ACLs are read and set as the extended attributes that the kernel makes
 * of them: a version, and entries of a tag, permissions and the number of a user or group, in
 * little-endian order; linux/posix_acl_xattr.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/worker.h"
#include "protocol/little-endian.h"
#include "stream/attributes.h"
#include "stream/tree-walk.h"

#define ACL_ACCESS      "system.posix_acl_access"
#define ACL_DEFAULT     "system.posix_acl_default"
#define ACL_VERSION     2
#define ACL_HEADER_SIZE 4
#define ACL_ENTRY_SIZE  8

/* How often a value that grows while it is read is read again. */
#define ATTEMPTS 4

/* Attributes that grow. */
struct builder {
	const struct keeping *keeping;
	struct attributes *attributes; /* or NULL */
	size_t room;                   /* bytes allocated for items */
};

/* True if the file system, or this kind of file, has no such attributes. */
static bool is_unsupported(int error)
{
	return error == -EOPNOTSUPP || error == -ENOSYS || error == -ENODATA;
}

/* Adds an item. Returns 0 or -errno. */
static int add(struct builder *builder, const struct attribute *attribute)
{
	size_t used = builder->attributes ? builder->attributes->size : 0;
	size_t size = used + attribute_size(attribute), room = builder->room ? builder->room : 256;
	struct attributes *larger;

	if (size > ATTRIBUTES_MAX)
		return -E2BIG;
	while (room < size)
		room *= 2;
	if (room > builder->room) {
		larger = realloc(builder->attributes, sizeof(*larger) + room);
		if (!larger)
			return -ENOMEM;
		builder->attributes = larger;
		builder->room = room;
	}
	attribute_encode(attribute, builder->attributes->bytes + used);
	builder->attributes->size = size;
	return 0;
}

/* Adds an item with the number of a user or group and, unless only numbers count, its name. */
static int add_account(struct builder *builder, struct attribute attribute, bool group)
{
	const struct keeping *keeping = builder->keeping;
	char name[ATTRIBUTE_NAME_MAX + 1] = "";

	/* 0 is root everywhere. */
	if (!keeping->numeric && attribute.number != 0)
		id_names_name(keeping->names, group, attribute.number, name);
	attribute.name = name;
	attribute.name_size = strlen(name);
	return add(builder, &attribute);
}

static int add_owners(struct builder *builder, const struct stat *status)
{
	unsigned int kept = builder->keeping->kept;
	unsigned int user_bits = (status->st_mode & S_ISUID && S_ISREG(status->st_mode) ? 4 : 0) |
				 (status->st_mode & S_ISVTX && S_ISDIR(status->st_mode) ? 1 : 0);
	unsigned int group_bits = !S_ISLNK(status->st_mode) && status->st_mode & S_ISGID ? 2 : 0;
	int error = 0;

	if (kept & KEPT_OWNER)
		error = add_account(builder,
			(struct attribute){.kind = ATTRIBUTE_OWNER,
				.number = status->st_uid,
				.bits = (uint8_t)user_bits},
			false);
	if (kept & KEPT_GROUP && !error)
		error = add_account(builder,
			(struct attribute){.kind = ATTRIBUTE_GROUP,
				.number = status->st_gid,
				.bits = (uint8_t)group_bits},
			true);
	return error;
}

/*
 * Reads an extended attribute, which the caller frees. Returns its size or -errno. A value of 0
 * bytes is one.
 */
static ssize_t read_value(int file, const char *name, uint8_t **value)
{
	ssize_t size = -ERANGE;

	for (int i = 0; i < ATTEMPTS && size == -ERANGE; i++) {
		ssize_t room = fgetxattr(file, name, NULL, 0);

		if (room < 0)
			return -errno;
		*value = malloc((size_t)room + 1);
		if (!*value)
			return -ENOMEM;
		size = fgetxattr(file, name, *value, (size_t)room + 1);
		if (size < 0) {
			size = -errno;
			free(*value);
		}
	}
	return size;
}

/*
 * Adds the entry of an ACL. Entries of the access ACL that are permissions of the status as well
 * are taken from there, because a merge has changed them: merge_folders(). Returns 0 or -errno.
 */
static int add_acl_entry(struct builder *builder, enum attribute_kind kind,
	const struct stat *status, const uint8_t *entry)
{
	struct attribute attribute = {.kind = kind,
		.tag = (uint8_t)le_get16(entry),
		.bits = (uint8_t)le_get16(entry + 2),
		.number = ATTRIBUTE_UNDEFINED};

	if (kind == ATTRIBUTE_ACCESS && attribute.tag == ACL_TAG_USER_OBJ)
		attribute.bits = status->st_mode >> 6 & 7;
	else if (kind == ATTRIBUTE_ACCESS && attribute.tag == ACL_TAG_MASK)
		attribute.bits = status->st_mode >> 3 & 7;
	else if (kind == ATTRIBUTE_ACCESS && attribute.tag == ACL_TAG_OTHER)
		attribute.bits = status->st_mode & 7;
	if (attribute.tag != ACL_TAG_USER && attribute.tag != ACL_TAG_GROUP)
		return add(builder, &attribute);
	attribute.number = le_get32(entry + 4);
	return add_account(builder, attribute, attribute.tag == ACL_TAG_GROUP);
}

static int add_acl(
	struct builder *builder, enum attribute_kind kind, int file, const struct stat *status)
{
	uint8_t *acl;
	ssize_t size = read_value(file, kind == ATTRIBUTE_ACCESS ? ACL_ACCESS : ACL_DEFAULT, &acl);
	int error = 0;

	if (size < 0)
		return is_unsupported((int)size) ? 0 : (int)size;
	if (size < ACL_HEADER_SIZE || le_get32(acl) != ACL_VERSION)
		error = -EINVAL;
	for (ssize_t at = ACL_HEADER_SIZE; !error && at + ACL_ENTRY_SIZE <= size;
		at += ACL_ENTRY_SIZE)
		error = add_acl_entry(builder, kind, status, acl + at);
	free(acl);
	return error;
}

/* Lists the names of all extended attributes, each terminated, which the caller frees. */
static ssize_t list_names(int file, char **names)
{
	ssize_t size = -ERANGE;

	for (int i = 0; i < ATTEMPTS && size == -ERANGE; i++) {
		ssize_t room = flistxattr(file, NULL, 0);

		if (room <= 0)
			return room < 0 ? -errno : 0;
		*names = malloc((size_t)room);
		if (!*names)
			return -ENOMEM;
		size = flistxattr(file, *names, (size_t)room);
		if (size < 0)
			size = -errno;
		if (size <= 0)
			free(*names);
	}
	return size;
}

static bool is_users(const char *name)
{
	return strncmp(name, ATTRIBUTE_PREFIX, strlen(ATTRIBUTE_PREFIX)) == 0 &&
	       name[strlen(ATTRIBUTE_PREFIX)];
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Lists the extended attributes of users in their order. Returns their number or -errno; the caller
 * frees the list and, if there are any, the names.
 */
static ssize_t list_xattrs(int file, char **names, const char ***list)
{
	ssize_t size = list_names(file, names), count = 0;

	if (size <= 0)
		return is_unsupported((int)size) ? 0 : size;
	/* The shortest names have one character. */
	*list = malloc((size_t)size / 2 * sizeof(**list) + sizeof(**list));
	if (!*list) {
		free(*names);
		return -ENOMEM;
	}
	for (const char *name = *names; name < *names + size; name += strlen(name) + 1)
		if (is_users(name))
			(*list)[count++] = name;
	qsort(*list, (size_t)count, sizeof(**list), compare);
	if (count == 0) {
		free(*list);
		free(*names);
	}
	return count;
}

static int add_xattr(struct builder *builder, int file, const char *name)
{
	uint8_t *value;
	ssize_t size = read_value(file, name, &value);
	int error;

	if (size < 0)
		return is_unsupported((int)size) ? 0 : (int)size; /* it was removed */
	error = add(builder, &(struct attribute){.kind = ATTRIBUTE_XATTR,
				     .name = name,
				     .name_size = strlen(name),
				     .number = ATTRIBUTE_UNDEFINED,
				     .value = value,
				     .value_size = (size_t)size});
	free(value);
	return error;
}

static int add_xattrs(struct builder *builder, int file)
{
	const char **list;
	char *names;
	ssize_t count = list_xattrs(file, &names, &list);
	int error = 0;

	if (count <= 0)
		return (int)count;
	for (ssize_t i = 0; i < count && !error; i++)
		error = add_xattr(builder, file, list[i]);
	free(list);
	free(names);
	return error;
}

int attributes_read(const struct keeping *keeping, int file, const struct stat *status,
	struct attributes **attributes)
{
	struct builder builder = {.keeping = keeping};
	int error = add_owners(&builder, status);

	if (file >= 0 && keeping->kept & KEPT_ACLS && !error)
		error = add_acl(&builder, ATTRIBUTE_ACCESS, file, status);
	if (file >= 0 && keeping->kept & KEPT_ACLS && S_ISDIR(status->st_mode) && !error)
		error = add_acl(&builder, ATTRIBUTE_DEFAULT, file, status);
	if (file >= 0 && keeping->kept & KEPT_XATTRS && !error)
		error = add_xattrs(&builder, file);
	if (error) {
		free(builder.attributes);
		builder.attributes = NULL;
	}
	*attributes = builder.attributes;
	return error;
}

/* What is being set, and the first thing that could not be. */
struct setting {
	const struct keeping *keeping;
	int file;
	mode_t type; /* S_IFREG or S_IFDIR */
	const struct attributes *attributes;
	const char *what; /* was lost, because of: */
	int error;
};

static void lose(struct setting *setting, const char *what, int error)
{
	if (setting->error)
		return;
	setting->what = what;
	setting->error = error;
}

/* Lists the entry if it lost something. */
static void report(const struct setting *setting, const char *path)
{
	char line[WORKER_WHY_SIZE];

	if (!setting->error || !setting->keeping->lost)
		return;
	tree_walk_describe(line, setting->what, path, strerror(-setting->error));
	omitted_add(setting->keeping->lost, line);
}

/* Finds the next item of this kind. Returns false if there is none. The items are valid. */
static bool next_of(const struct attributes *attributes, enum attribute_kind kind,
	struct attribute *attribute, size_t *position)
{
	while (attributes &&
		attribute_next(attribute, attributes->bytes, attributes->size, position) > 0)
		if (attribute->kind == kind)
			return true;
	return false;
}

/* The number here of the item's user or group. */
static uint32_t number_of(
	const struct keeping *keeping, const struct attribute *attribute, bool group)
{
	return id_names_number(keeping->names, group, attribute->name,
		keeping->numeric ? 0 : attribute->name_size, attribute->number);
}

/* The bits of the permissions that depend on whether owner and group are kept. */
static mode_t special_bits(const struct attribute *attribute, mode_t type)
{
	if (attribute->kind == ATTRIBUTE_GROUP)
		return attribute->bits & 2 ? S_ISGID : 0;
	if (type == S_IFREG)
		return attribute->bits & 4 ? S_ISUID : 0;
	return attribute->bits & 1 ? S_ISVTX : 0;
}

static const char owner_lost[] = "cannot keep the owner of";
static const char group_lost[] = "cannot keep the group of";

/* Sets owner and group. Returns the bits of the permissions that they allow. */
static mode_t set_owners(struct setting *setting)
{
	struct attribute attribute;
	size_t position = 0;
	mode_t special = 0;

	if (next_of(setting->attributes, ATTRIBUTE_GROUP, &attribute, &position)) {
		uint32_t number = number_of(setting->keeping, &attribute, true);

		if (fchown(setting->file, (uid_t)-1, (gid_t)number))
			lose(setting, group_lost, -errno);
		else
			special |= special_bits(&attribute, setting->type);
	}
	position = 0;
	if (next_of(setting->attributes, ATTRIBUTE_OWNER, &attribute, &position)) {
		uint32_t number = number_of(setting->keeping, &attribute, false);

		if (fchown(setting->file, (uid_t)number, (gid_t)-1))
			lose(setting, owner_lost, -errno);
		else
			special |= special_bits(&attribute, setting->type);
	}
	return special;
}

/* Finds the extended attribute with this name. Returns false if there is none. */
static bool find_xattr(
	const struct attributes *attributes, const char *name, struct attribute *attribute)
{
	size_t position = 0, size = strlen(name);

	while (next_of(attributes, ATTRIBUTE_XATTR, attribute, &position))
		if (attribute->name_size == size && memcmp(attribute->name, name, size) == 0)
			return true;
	return false;
}

static const char xattrs_lost[] = "cannot keep the extended attributes of";

/* Removes the extended attributes of users that are not to be kept. */
static void remove_xattrs(struct setting *setting)
{
	struct attribute attribute;
	const char **list;
	char *names;
	ssize_t count = list_xattrs(setting->file, &names, &list);

	if (count < 0)
		lose(setting, xattrs_lost, (int)count);
	if (count <= 0)
		return;
	for (ssize_t i = 0; i < count; i++)
		if (!find_xattr(setting->attributes, list[i], &attribute) &&
			fremovexattr(setting->file, list[i]) && errno != ENODATA)
			lose(setting, xattrs_lost, -errno);
	free(list);
	free(names);
}

/* Sets an extended attribute. Returns 0 or -errno. */
static int set_xattr(const struct setting *setting, const struct attribute *attribute)
{
	char name[ATTRIBUTE_NAME_MAX + 1];
	struct stat status;

	memcpy(name, attribute->name, attribute->name_size);
	name[attribute->name_size] = '\0';
	if (fsetxattr(setting->file, name, attribute->value, attribute->value_size, 0) == 0)
		return 0;
	/* The owner needs the permission to write, which is set as it should be behind this. */
	if (errno != EACCES || fstat(setting->file, &status) ||
		fchmod(setting->file, (status.st_mode & 07777) | S_IWUSR))
		return -errno;
	return fsetxattr(setting->file, name, attribute->value, attribute->value_size, 0) ? -errno
											  : 0;
}

static void set_xattrs(struct setting *setting)
{
	struct attribute attribute;
	size_t position = 0;

	remove_xattrs(setting);
	while (next_of(setting->attributes, ATTRIBUTE_XATTR, &attribute, &position)) {
		int error = set_xattr(setting, &attribute);

		if (error)
			lose(setting, xattrs_lost, error);
	}
}

/* Makes the kernel's form of an ACL, which the caller frees. Returns its size, 0 or -ENOMEM. */
static ssize_t make_acl(const struct setting *setting, enum attribute_kind kind, uint8_t **result)
{
	struct attribute attribute;
	size_t position = 0, count = 0;
	uint8_t *acl, *entry;

	while (next_of(setting->attributes, kind, &attribute, &position))
		count++;
	if (count == 0)
		return 0;
	acl = malloc(ACL_HEADER_SIZE + count * ACL_ENTRY_SIZE);
	if (!acl)
		return -ENOMEM;
	le_put32(acl, ACL_VERSION);
	entry = acl + ACL_HEADER_SIZE;
	position = 0;
	while (next_of(setting->attributes, kind, &attribute, &position)) {
		le_put16(entry, attribute.tag);
		le_put16(entry + 2, attribute.bits);
		le_put32(entry + 4, attribute.number == ATTRIBUTE_UNDEFINED
					    ? ATTRIBUTE_UNDEFINED
					    : number_of(setting->keeping, &attribute,
						      attribute.tag == ACL_TAG_GROUP));
		entry += ACL_ENTRY_SIZE;
	}
	*result = acl;
	return entry - acl;
}

/* Sets an ACL, or removes it if there is none to be kept. Returns 0 or -errno. */
static int set_acl(const struct setting *setting, enum attribute_kind kind)
{
	const char *name = kind == ATTRIBUTE_ACCESS ? ACL_ACCESS : ACL_DEFAULT;
	uint8_t *acl;
	ssize_t size = make_acl(setting, kind, &acl);
	int error = 0;

	if (size == 0)
		return fremovexattr(setting->file, name) && !is_unsupported(-errno) ? -errno : 0;
	if (size < 0)
		return (int)size;
	if (fsetxattr(setting->file, name, acl, (size_t)size, 0))
		error = -errno;
	free(acl);
	return error;
}

static const char acl_lost[] = "cannot keep the ACL of";

/*
 * With an ACL, the group's permissions are those of its mask. If it cannot be set, the group gets
 * no more than the ACL gave it.
 */
static mode_t without_acl(const struct attributes *attributes, mode_t mode)
{
	struct attribute attribute;
	size_t position = 0;

	while (next_of(attributes, ATTRIBUTE_ACCESS, &attribute, &position))
		if (attribute.tag == ACL_TAG_GROUP_OBJ)
			mode &= ~(mode_t)S_IRWXG | (mode_t)attribute.bits << 3;
	return mode;
}

static void set_acls(struct setting *setting, mode_t mode)
{
	int error = set_acl(setting, ATTRIBUTE_ACCESS);

	if (error) {
		lose(setting, acl_lost, error);
		fchmod(setting->file, without_acl(setting->attributes, mode));
	}
	error = setting->type == S_IFDIR ? set_acl(setting, ATTRIBUTE_DEFAULT) : 0;
	if (error)
		lose(setting, acl_lost, error);
}

void attributes_set(const struct keeping *keeping, int file, mode_t permissions,
	const struct attributes *attributes, const char *path)
{
	struct setting setting = {.keeping = keeping, .file = file, .attributes = attributes};
	struct stat status;
	mode_t mode;

	if (fstat(file, &status)) {
		lose(&setting, "cannot keep the attributes of", -errno);
	} else {
		setting.type = status.st_mode & S_IFMT;
		mode = permissions | set_owners(&setting);
		if (keeping->kept & KEPT_XATTRS)
			set_xattrs(&setting);
		/* A change of the owner removes these bits. */
		fchmod(file, mode);
		if (keeping->kept & KEPT_ACLS)
			set_acls(&setting, mode);
	}
	report(&setting, path);
}

void attributes_set_link(const struct keeping *keeping, int folder, const char *name,
	const struct attributes *attributes, const char *path)
{
	struct setting setting = {.keeping = keeping};
	struct attribute attribute;
	size_t position = 0;

	if (next_of(attributes, ATTRIBUTE_GROUP, &attribute, &position) &&
		fchownat(folder, name, (uid_t)-1, (gid_t)number_of(keeping, &attribute, true),
			AT_SYMLINK_NOFOLLOW))
		lose(&setting, group_lost, -errno);
	position = 0;
	if (next_of(attributes, ATTRIBUTE_OWNER, &attribute, &position) &&
		fchownat(folder, name, (uid_t)number_of(keeping, &attribute, false), (gid_t)-1,
			AT_SYMLINK_NOFOLLOW))
		lose(&setting, owner_lost, -errno);
	report(&setting, path);
}

void attributes_copy(const struct keeping *keeping, int from, const struct stat *status, int to,
	const char *path)
{
	struct keeping same = *keeping;
	struct attributes *attributes;
	int error;

	same.numeric = true;
	error = attributes_read(&same, from, status, &attributes);
	if (error)
		report(&(struct setting){.keeping = keeping,
			       .what = "cannot keep the attributes of",
			       .error = error},
			path);
	attributes_set(&same, to, status->st_mode & 0777, attributes, path);
	free(attributes);
}

bool attributes_match(const struct keeping *keeping, int file, const struct stat *status,
	mode_t permissions, const struct attributes *attributes)
{
	mode_t kept = (keeping->kept & KEPT_OWNER ? S_ISUID : 0) |
		      (keeping->kept & KEPT_GROUP ? S_ISGID : 0);
	size_t size = attributes ? attributes->size : 0;
	struct attributes *present;
	bool match;

	/* The bits beyond the permissions are in the attributes, if they are kept. */
	if ((status->st_mode & 0777) != permissions || (status->st_mode & ~kept & 07000) ||
		attributes_read(keeping, file, status, &present))
		return false;
	match = (present ? present->size : 0) == size &&
		(size == 0 || memcmp(present->bytes, attributes->bytes, size) == 0);
	free(present);
	return match;
}

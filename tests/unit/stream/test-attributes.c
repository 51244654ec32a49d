/* Attributes of files, as they are read and set, and in a tree stream. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "protocol/little-endian.h"
#include "stream/tree-input.h"
#include "stream/tree-output.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

#define ACCESS  "system.posix_acl_access"
#define DEFAULT "system.posix_acl_default"

static struct omitted lost;
static struct id_names *names;

static struct keeping keeping_of(unsigned int kept)
{
	return (struct keeping){.kept = kept, .names = names, .lost = &lost};
}

static int set_up(void **state)
{
	omitted_start(&lost);
	names = id_names_new();
	return output_file_fixture_set_up(state) || !names;
}

static int tear_down(void **state)
{
	omitted_end(&lost);
	id_names_free(names);
	return output_file_fixture_tear_down(state);
}

/* Sets an extended attribute. Skips the test where files have none. */
static void set(const char *path, const char *name, const char *value)
{
	if (setxattr(path, name, value, strlen(value), 0) == 0)
		return;
	assert_int_equal(errno, EOPNOTSUPP);
	skip();
}

/* Checks the value of an extended attribute; NULL: there is none. */
static void assert_value(const char *path, const char *name, const char *wanted)
{
	char value[64];
	ssize_t size = getxattr(path, name, value, sizeof(value));

	if (!wanted) {
		assert_int_equal(size, -1);
		assert_int_equal(errno, ENODATA);
		return;
	}
	assert_int_equal(size, strlen(wanted));
	assert_memory_equal(value, wanted, strlen(wanted));
}

/* Gives a user this permission, and the mask this one, in an ACL. */
static void set_acl(const char *path, const char *name, uint16_t user, uint16_t mask)
{
	static const uint16_t tags[] = {1, 2, 4, 16, 32};
	const uint16_t bits[] = {6, user, 4, mask, 0};
	uint8_t acl[44] = {2};

	for (size_t i = 0; i < COUNT(tags); i++) {
		le_put16(acl + 4 + 8 * i, tags[i]);
		le_put16(acl + 6 + 8 * i, bits[i]);
		le_put32(acl + 8 + 8 * i, tags[i] == 2 ? 54321 : UINT32_MAX);
	}
	if (setxattr(path, name, acl, sizeof(acl), 0) == 0)
		return;
	assert_int_equal(errno, EOPNOTSUPP);
	skip();
}

/* Checks that both have the same ACL. */
static void assert_same_acl(const char *a, const char *b, const char *name)
{
	uint8_t of_a[64], of_b[64];
	ssize_t size = getxattr(a, name, of_a, sizeof(of_a));

	assert_int_equal(size, 44);
	assert_int_equal(getxattr(b, name, of_b, sizeof(of_b)), size);
	assert_memory_equal(of_a, of_b, (size_t)size);
}

/* The last error of a tree input. */
static char input_why[WORKER_WHY_SIZE];

/* What a tree input sends. */
static uint8_t stream[1 << 20];
static size_t stream_size;

/* Reads the path into the stream. */
static void load(const char *path, unsigned int kept)
{
	const struct keeping keeping = keeping_of(kept);
	const char *const paths[] = {path};
	struct tree_input *input;
	ssize_t got;

	assert_int_equal(tree_input_open(&input, paths, 1, input_why), 0);
	tree_input_extend(input);
	tree_input_keep(input, &keeping);
	stream_size = 0;
	do {
		/* Small pieces, of which one ends anywhere in the attributes. */
		got = tree_input_read(input, stream + stream_size, 7, -1, input_why);
		assert_true(got >= 0);
		stream_size += (size_t)got;
		assert_true(stream_size + 7 <= sizeof(stream));
	} while (got > 0);
	tree_input_close(input);
}

/* Stores the stream in "in", in pieces of this size. Returns 0 or -errno. */
static int store(unsigned int kept, bool update, unsigned int workers, size_t piece)
{
	const struct tree_output_options options = {
		.force = update, .update = update, .keeping = keeping_of(kept)};
	int directory = open("in", O_PATH | O_DIRECTORY | O_CLOEXEC), error;
	struct tree_output *output;

	assert_true(directory >= 0);
	error = tree_output_open(&output, directory, "name", &options, why);
	assert_int_equal(error, 0);
	tree_output_use_workers(output, workers);
	for (size_t at = 0; !error && at < stream_size; at += piece)
		error = tree_output_write(output, stream + at,
			stream_size - at < piece ? stream_size - at : piece, why);
	if (!error)
		error = tree_output_end(output, true, why);
	if (!error)
		error = tree_output_commit(output, why);
	tree_output_close(output, false);
	close(directory);
	return error;
}

static void make_tree(void)
{
	assert_int_equal(mkdir("in", 0755), 0);
	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(mkdir("a/inner", 0755), 0);
	put("a/file", "contents");
	put("a/nothing", "");
	put("a/inner/file", "also");
	assert_int_equal(link("a/file", "a/inner/link"), 0);
	assert_int_equal(symlink("file", "a/soft"), 0);
}

static void extended_attributes_of_users_are_kept(void **state)
{
	static const struct {
		unsigned int workers;
		size_t piece;
	} runs[] = {{1, 1}, {1, 4096}, {2, 1}, {2, 4096}};

	(void)state;
	make_tree();
	set("a/file", "user.one", "1");
	set("a/file", "user.two", "");
	set("a/nothing", "user.n", "nothing");
	set("a/inner", "user.i", "inner");
	if (geteuid() == 0)
		set("a/file", "trusted.hidden", "from others");
	assert_int_equal(chmod("a/file", 0400), 0);
	for (size_t i = 0; i < COUNT(runs); i++) {
		load("a", KEPT_XATTRS);
		assert_int_equal(store(KEPT_XATTRS, false, runs[i].workers, runs[i].piece), 0);
		assert_value("in/a/file", "user.one", "1");
		assert_value("in/a/file", "user.two", "");
		assert_value("in/a/inner/link", "user.two", "");
		assert_value("in/a/nothing", "user.n", "nothing");
		assert_value("in/a/inner", "user.i", "inner");
		if (geteuid() == 0)
			assert_value("in/a/file", "trusted.hidden", NULL);
		sh("rm -r in/a");
	}
	assert_int_equal(omitted_count(&lost), 0);
}

static void a_large_value_is_kept_and_too_many_are_named(void **state)
{
	char name[32], value[3001] = "";

	(void)state;
	make_tree();
	memset(value, 'v', sizeof(value) - 1);
	if (setxattr("a/file", "user.large", value, sizeof(value) - 1, 0))
		skip();
	load("a", KEPT_XATTRS);
	assert_int_equal(store(KEPT_XATTRS, false, 2, 1000), 0);
	assert_int_equal(getxattr("in/a/file", "user.large", NULL, 0), sizeof(value) - 1);
	/* Not every file system has room for this many. */
	for (unsigned int i = 0; i < ATTRIBUTES_MAX / (sizeof(value) - 1) + 1; i++) {
		snprintf(name, sizeof(name), "user.%u", i);
		if (setxattr("a/nothing", name, value, sizeof(value) - 1, 0))
			return;
	}
	load("a", KEPT_XATTRS);
	assert_int_equal(omitted_count(&lost), 1);
	assert_string_equal(omitted_line(&lost, 0),
		"cannot keep the attributes of a/nothing: they are larger than 128 KiB");
}

static void acls_are_kept(void **state)
{
	struct stat status;

	(void)state;
	make_tree();
	set_acl("a/file", ACCESS, 7, 5);
	set_acl("a/inner", DEFAULT, 6, 7);
	set_acl("a/inner", ACCESS, 4, 1);
	load("a", KEPT_ACLS);
	/* What is created there inherits this, but is not to keep it. */
	set_acl("in", DEFAULT, 7, 7);
	for (unsigned int workers = 1; workers < 3; workers++) {
		assert_int_equal(store(KEPT_ACLS, false, workers, 4096), 0);
		assert_same_acl("a/file", "in/a/file", ACCESS);
		assert_same_acl("a/inner", "in/a/inner", ACCESS);
		assert_same_acl("a/inner", "in/a/inner", DEFAULT);
		assert_value("in/a/nothing", ACCESS, NULL);
		assert_value("in/a", DEFAULT, NULL);
		assert_int_equal(stat("in/a/file", &status), 0);
		assert_int_equal(status.st_mode & 07777, 0650);
		sh("rm -r in/a");
	}
}

static void a_merge_changes_attributes_of_what_exists(void **state)
{
	struct stat status;

	(void)state;
	make_tree();
	set("a/inner", "user.i", "inner");
	set("a/file", "user.f", "file");
	load("a", KEPT_XATTRS | KEPT_ACLS);
	assert_int_equal(store(KEPT_XATTRS | KEPT_ACLS, true, 1, 4096), 0);
	assert_value("in/a/inner", "user.i", "inner");
	set("a/inner", "user.i", "other");
	set("in/a/inner", "user.more", "more");
	set_acl("a/inner", ACCESS, 4, 1);
	assert_int_equal(removexattr("a/file", "user.f"), 0);
	load("a", KEPT_XATTRS | KEPT_ACLS);
	assert_int_equal(store(KEPT_XATTRS | KEPT_ACLS, true, 1, 4096), 0);
	assert_value("in/a/inner", "user.i", "other");
	assert_value("in/a/inner", "user.more", NULL);
	assert_value("in/a/file", "user.f", NULL);
	assert_same_acl("a/inner", "in/a/inner", ACCESS);
	assert_int_equal(stat("in/a/inner", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0610);
}

static void owners_and_their_bits_are_kept_together(void **state)
{
	struct stat status;

	(void)state;
	if (geteuid() != 0)
		skip();
	make_tree();
	assert_int_equal(chown("a/file", 54321, 54322), 0);
	assert_int_equal(lchown("a/soft", 54323, 54324), 0);
	assert_int_equal(chown("a/inner", 54325, 54326), 0);
	assert_int_equal(chmod("a/file", 06755), 0);
	assert_int_equal(chmod("a/inner", 03755), 0);
	load("a", KEPT_OWNER | KEPT_GROUP);
	assert_int_equal(store(KEPT_OWNER | KEPT_GROUP, false, 2, 4096), 0);
	assert_int_equal(lstat("in/a/file", &status), 0);
	assert_int_equal(status.st_uid, 54321);
	assert_int_equal(status.st_gid, 54322);
	assert_int_equal(status.st_mode & 07777, 06755);
	assert_int_equal(lstat("in/a/soft", &status), 0);
	assert_int_equal(status.st_uid, 54323);
	assert_int_equal(status.st_gid, 54324);
	assert_int_equal(lstat("in/a/inner", &status), 0);
	assert_int_equal(status.st_uid, 54325);
	assert_int_equal(status.st_mode & 07777, 03755);
	sh("rm -r in/a");
	/* With the group alone, neither the owner nor the setuid bit is. */
	load("a", KEPT_GROUP);
	assert_int_equal(store(KEPT_GROUP, false, 1, 4096), 0);
	assert_int_equal(lstat("in/a/file", &status), 0);
	assert_int_equal(status.st_uid, 0);
	assert_int_equal(status.st_gid, 54322);
	assert_int_equal(status.st_mode & 07777, 02755);
}

/* Appends an entry with contents to the stream. */
static void add(struct tree_entry entry, const char *name, const void *contents, size_t size)
{
	entry.name_size = (uint8_t)strlen(name);
	entry.size = size;
	tree_encode(&entry, stream + stream_size);
	stream_size += TREE_HEADER_SIZE;
	memcpy(stream + stream_size, name, entry.name_size);
	stream_size += entry.name_size;
	if (size)
		memcpy(stream + stream_size, contents, size);
	stream_size += size;
}

static void start(unsigned int kept)
{
	stream_size = 0;
	add((struct tree_entry){.kind = TREE_START, .mode = (uint16_t)kept}, "", NULL, 0);
}

static void add_xattr(const char *name)
{
	const struct attribute attribute = {.kind = ATTRIBUTE_XATTR,
		.name = name,
		.name_size = strlen(name),
		.number = ATTRIBUTE_UNDEFINED,
		.value = "v",
		.value_size = 1};
	uint8_t bytes[64];
	const uint8_t *end = attribute_encode(&attribute, bytes);

	add((struct tree_entry){.kind = TREE_ATTRIBUTES}, "", bytes, (size_t)(end - bytes));
}

static void assert_refused(unsigned int kept, const char *reason)
{
	assert_int_equal(store(kept, false, 1, 4096), -EPROTO);
	if (!strstr(why, reason))
		fail_msg("'%s' does not contain '%s'", why, reason);
	sh("[ -z \"$(ls -A in)\" ]");
}

static void hostile_attributes_are_refused(void **state)
{
	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	start(0);
	assert_refused(KEPT_XATTRS, "it lacks the attributes that were agreed on");
	start(KEPT_XATTRS);
	add_xattr("user.a");
	assert_refused(0, "it has attributes that are not kept");
	assert_refused(KEPT_ACLS, "it lacks the attributes that were agreed on");
	start(KEPT_ALL);
	add_xattr("user.a");
	assert_refused(KEPT_ACLS, "an attribute is invalid or not kept");
	start(KEPT_XATTRS);
	add_xattr("security.capability");
	assert_refused(KEPT_XATTRS, "an attribute is invalid or not kept");
	start(KEPT_XATTRS);
	add_xattr("trusted.overlay.opaque");
	assert_refused(KEPT_XATTRS, "an attribute is invalid or not kept");
	/* They belong to the next entry, which can have some. */
	start(KEPT_XATTRS);
	add((struct tree_entry){.kind = TREE_FILE}, "f", "", 0);
	add_xattr("user.a");
	add_xattr("user.a");
	assert_refused(KEPT_XATTRS, "it has attributes of no entry");
	start(KEPT_XATTRS);
	add((struct tree_entry){.kind = TREE_FILE}, "f", "", 0);
	add_xattr("user.a");
	add((struct tree_entry){.kind = TREE_HARD_LINK}, "g", "f", 1);
	assert_refused(KEPT_XATTRS, "it has attributes of no entry");
	start(KEPT_XATTRS);
	add((struct tree_entry){.kind = TREE_FILE}, "f", "", 0);
	add_xattr("user.a");
	assert_refused(KEPT_XATTRS, "it is incomplete");
	stream_size = 0;
	add_xattr("user.a");
	assert_refused(KEPT_XATTRS, "its first entry is misplaced");
}

/* /proc has no extended attributes of users, and its permissions are not ours. */
static void what_cannot_be_set_is_listed(void **state)
{
	const struct keeping keeping = keeping_of(KEPT_XATTRS);
	struct attributes *attributes;
	struct stat status;
	int from, to;

	(void)state;
	put("f", "");
	set("f", "user.a", "1");
	assert_int_equal(chmod("f", 0644), 0);
	from = open("f", O_RDONLY | O_CLOEXEC);
	to = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	assert_true(from >= 0 && to >= 0);
	assert_int_equal(fstat(from, &status), 0);
	assert_int_equal(attributes_read(&keeping, from, &status, &attributes), 0);
	assert_true(attributes_match(&keeping, from, &status, 0644, attributes));
	assert_false(attributes_match(&keeping, from, &status, 0600, attributes));
	assert_false(attributes_match(&keeping, from, &status, 0644, NULL));
	attributes_set(&keeping, to, 0444, attributes, "d/a\nfile");
	assert_int_equal(omitted_count(&lost), 1);
	assert_string_equal(omitted_line(&lost, 0),
		"cannot keep the extended attributes of d/a\\x0afile: Operation not supported");
	/* Without any, there is nothing to set. */
	attributes_set(&keeping, to, 0444, NULL, "other");
	assert_int_equal(omitted_count(&lost), 1);
	free(attributes);
	close(from);
	close(to);
}

#define ATTRIBUTES_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ATTRIBUTES_TEST(extended_attributes_of_users_are_kept),
		ATTRIBUTES_TEST(a_large_value_is_kept_and_too_many_are_named),
		ATTRIBUTES_TEST(acls_are_kept),
		ATTRIBUTES_TEST(a_merge_changes_attributes_of_what_exists),
		ATTRIBUTES_TEST(owners_and_their_bits_are_kept_together),
		ATTRIBUTES_TEST(hostile_attributes_are_refused),
		ATTRIBUTES_TEST(what_cannot_be_set_is_listed),
	};

	return cmocka_run_group_tests_name("attributes", tests, NULL, NULL);
}

/* Tests the walk of a tree: its order, what it follows, and what it keeps open. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/tree.h"
#include "stream/tree-walk.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

static char text[4096], walk_why[WORKER_WHY_SIZE];

/* Patterns of what is left out. */
static const char *const *excluded;
static unsigned int excluded_count;

/* Walks a path, and writes what is found to `text`, a word each. Returns 0 or -errno. */
static int walk_all(const char *path, size_t shown)
{
	static const char kinds[] = {[WALK_FOLDER] = '+',
		[WALK_LEAVE] = '-',
		[WALK_FILE] = 'f',
		[WALK_LINK] = 'l',
		[WALK_SPECIAL] = 's',
		[WALK_CLOSED] = '!'};
	struct tree_walk *walk = tree_walk_new();
	struct walked found;
	size_t used = 0;
	int result;

	assert_non_null(walk);
	tree_walk_exclude(walk, excluded, excluded_count);
	tree_walk_begin(walk, path, path + shown);
	text[0] = '\0';
	while ((result = tree_walk_next(walk, &found, walk_why)) > 0) {
		assert_int_equal(
			found.is_root, found.kind != WALK_LEAVE && strcmp(found.name, path) == 0);
		if (used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%c%s",
				used ? " " : "", kinds[found.kind], found.path);
	}
	tree_walk_free(walk);
	return result;
}

/* What is excluded is neither opened nor listed, nor is what it contains. */
static void what_a_pattern_matches_is_left_out(void **state)
{
	static const char *const patterns[] = {"*.o", "cache/", "/t/top", "/deep"};

	(void)state;
	excluded = patterns;
	excluded_count = COUNT(patterns);
	assert_int_equal(mkdir("t", 0755), 0);
	assert_int_equal(mkdir("t/cache", 0755), 0);
	assert_int_equal(mkdir("t/sub", 0755), 0);
	assert_int_equal(mkdir("t/sub/deep", 0755), 0);
	put("t/a.o", "");
	put("t/cache/kept", "");
	put("t/sub/cache", "");
	put("t/sub/top", "");
	put("t/top", "");
	put("t/z", "");
	assert_int_equal(walk_all("t", 0), 0);
	assert_string_equal(
		text, "+t +t/sub ft/sub/cache +t/sub/deep -t/sub/deep ft/sub/top -t/sub ft/z -t");
	/* The last entry of a folder, and what was named itself. */
	excluded_count = 1;
	assert_int_equal(walk_all("t/a.o", 2), 0);
	assert_string_equal(text, "");
	put("t/sub/zz.o", "");
	assert_int_equal(walk_all("t/sub", 2), 0);
	assert_string_equal(text, "+sub fsub/cache +sub/deep -sub/deep fsub/top -sub");
	excluded_count = 0;
}

static void entries_are_in_order(void **state)
{
	(void)state;
	assert_int_equal(mkdir("t", 0755), 0);
	assert_int_equal(mkdir("t/b", 0755), 0);
	assert_int_equal(mkdir("t/empty", 0755), 0);
	put("t/b/2", "");
	put("t/b/10", "");
	put("t/b-", "");
	put("t/a", "");
	put("t/.c", "");
	assert_int_equal(symlink("b", "t/link"), 0);
	assert_int_equal(walk_all("t", 0), 0);
	assert_string_equal(
		text, "+t ft/.c ft/a +t/b ft/b/10 ft/b/2 -t/b ft/b- +t/empty -t/empty lt/link -t");
	assert_int_equal(walk_all("t/b", 2), 0);
	assert_string_equal(text, "+b fb/10 fb/2 -b");
	assert_int_equal(walk_all("t/link", 2), 0);
	assert_string_equal(text, "+link flink/10 flink/2 -link");
	assert_int_equal(walk_all("t/a", 2), 0);
	assert_string_equal(text, "fa");
	assert_int_equal(mkfifo("t/empty/fifo", 0600), 0);
	assert_int_equal(mknod("t/empty/socket", S_IFSOCK | 0600, 0), 0);
	assert_int_equal(walk_all("t/empty", 2), 0);
	assert_string_equal(text, "+empty sempty/fifo sempty/socket -empty");
	assert_int_equal(walk_all("none", 0), -ENOENT);
	assert_string_equal(walk_why, "cannot read none: No such file or directory");
}

static void many_entries_are_sorted(void **state)
{
	struct tree_walk *walk;
	struct walked found;
	char name[300], last[300] = "";
	unsigned int count = 0;
	int result;

	(void)state;
	assert_int_equal(mkdir("t", 0755), 0);
	for (unsigned int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "t/%u-%0*u", i * 7919 % 500, (int)(i % 200), i);
		put(name, "");
	}
	walk = tree_walk_new();
	tree_walk_begin(walk, "t", "t");
	while ((result = tree_walk_next(walk, &found, walk_why)) > 0) {
		if (found.kind != WALK_FILE)
			continue;
		assert_true(strcmp(last, found.name) < 0);
		snprintf(last, sizeof(last), "%s", found.name);
		count++;
	}
	assert_int_equal(result, 0);
	assert_int_equal(count, 500);
	tree_walk_free(walk);
}

/* The walk does not enter a folder that was replaced with a link after it was listed. */
static void links_are_not_followed(void **state)
{
	struct tree_walk *walk = tree_walk_new();
	struct walked found;

	(void)state;
	assert_int_equal(mkdir("t", 0755), 0);
	assert_int_equal(mkdir("t/d", 0755), 0);
	tree_walk_begin(walk, "t", "t");
	assert_int_equal(tree_walk_next(walk, &found, walk_why), 1);
	assert_int_equal(rmdir("t/d"), 0);
	assert_int_equal(symlink("/", "t/d"), 0);
	assert_int_equal(tree_walk_next(walk, &found, walk_why), 1);
	assert_int_equal(found.kind, WALK_CLOSED);
	assert_int_equal(found.error, -ENOTDIR);
	assert_string_equal(found.path, "t/d");
	assert_int_equal(tree_walk_next(walk, &found, walk_why), 1);
	assert_int_equal(found.kind, WALK_LEAVE);
	tree_walk_free(walk);
}

static void depth_is_limited(void **state)
{
	char path[2 * TREE_DEPTH_MAX + 3] = "d";

	(void)state;
	assert_int_equal(mkdir(path, 0755), 0);
	for (int i = 1; i < TREE_DEPTH_MAX; i++) {
		strcat(path, "/d");
		assert_int_equal(mkdir(path, 0755), 0);
	}
	assert_int_equal(walk_all("./d", 2), 0);
	strcat(path, "/d");
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(walk_all("./d", 2), -ENAMETOOLONG);
	assert_non_null(strstr(walk_why, "its directories are nested too deeply"));
}

static void a_folder_stays_open_for_its_users(void **state)
{
	struct tree_walk *walk = tree_walk_new();
	struct walk_folder *used;
	struct walked found;
	struct stat status;

	(void)state;
	assert_int_equal(mkdir("t", 0755), 0);
	put("t/file", "x");
	tree_walk_begin(walk, "t", "t");
	assert_int_equal(tree_walk_next(walk, &found, walk_why), 1);
	used = walk_folder_use(found.folder);
	assert_null(walk_folder_use(NULL));
	tree_walk_free(walk);
	assert_int_equal(fstatat(used->descriptor, "file", &status, 0), 0);
	walk_folder_release(used);
	walk_folder_release(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(entries_are_in_order),
		OUTPUT_FILE_TEST(what_a_pattern_matches_is_left_out),
		OUTPUT_FILE_TEST(many_entries_are_sorted),
		OUTPUT_FILE_TEST(links_are_not_followed),
		OUTPUT_FILE_TEST(depth_is_limited),
		OUTPUT_FILE_TEST(a_folder_stays_open_for_its_users),
	};

	return cmocka_run_group_tests_name("tree-walk", tests, NULL, NULL);
}

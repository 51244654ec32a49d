/* Paths of a tree stream lead to no place outside, and through no symbolic link. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/tree-path.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

/* Opens the path from "here". Returns 0 or -errno; then the name and its folder were found. */
static int find(const char *path, bool ours, const char *wanted)
{
	char name[FILE_NAME_MAX + 1];
	int here = open("here", O_PATH | O_DIRECTORY | O_CLOEXEC), found;

	assert_true(here >= 0);
	found = tree_path_open(here, path, ours, name);
	close(here);
	if (found < 0)
		return found;
	assert_string_equal(name, wanted);
	assert_int_equal(faccessat(found, "mark", F_OK, 0), 0);
	close(found);
	return 0;
}

static void paths_are_followed_in_the_folder(void **state)
{
	char longest[300];

	(void)state;
	assert_int_equal(mkdir("here", 0700) | mkdir("here/a", 0700) | mkdir("here/a/b", 0700), 0);
	put("mark", "");
	put("here/mark", "");
	put("here/a/b/mark", "");
	assert_int_equal(symlink("..", "here/up") | symlink("a", "here/link"), 0);
	assert_int_equal(find("x", false, "x"), 0);
	assert_int_equal(find("a/b/x", false, "x"), 0);
	assert_int_equal(find("-x", false, "_x"), 0); /* as it is stored */
	assert_int_equal(find(".x/y", false, ""), -ENOENT);
	assert_int_equal(find("a/c/x", false, ""), -ENOENT);
	assert_int_equal(find("mark/x", false, ""), -ENOTDIR);
	assert_int_equal(find("up/mark", false, ""), -ENOTDIR);
	assert_int_equal(find("link/b/x", false, ""), -ENOTDIR);
	assert_int_equal(find("", false, ""), -EPROTO);
	assert_int_equal(find("/x", false, ""), -EPROTO);
	assert_int_equal(find("a//x", false, ""), -EPROTO);
	assert_int_equal(find("a/", false, ""), -EPROTO);
	assert_int_equal(find("..", false, ""), -EPROTO);
	assert_int_equal(find("a/../mark", false, ""), -EPROTO);
	assert_int_equal(find("a/./b/x", false, ""), -EPROTO);
	memset(longest, 'n', sizeof(longest));
	longest[256] = '\0';
	assert_int_equal(find(longest, false, ""), -EPROTO);
}

/* Only a folder of ours gets permissions, never what a link leads to. */
static void folders_of_ours_are_opened_up(void **state)
{
	struct stat status;

	(void)state;
	assert_int_equal(mkdir("here", 0700) | mkdir("here/a", 0700) | mkdir("other", 0700), 0);
	put("here/a/mark", "");
	assert_int_equal(symlink("../other", "here/link"), 0);
	assert_int_equal(chmod("here/a", 0555) | chmod("other", 0555), 0);
	assert_int_equal(find("a/x", false, "x"), 0);
	assert_int_equal(stat("here/a", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0555);
	assert_int_equal(find("a/x", true, "x"), 0);
	assert_int_equal(stat("here/a", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	assert_int_equal(find("link/x", true, ""), -ENOTDIR);
	assert_int_equal(stat("other", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0555);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(paths_are_followed_in_the_folder),
		OUTPUT_FILE_TEST(folders_of_ours_are_opened_up),
	};

	return cmocka_run_group_tests_name("tree-path", tests, NULL, NULL);
}

/* Merging a folder into another: what is replaced, what stays, what is refused. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/merge.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

static char path[PATH_MAX];

static int merge(void)
{
	int from = open("from", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int to = open("to", O_PATH | O_DIRECTORY | O_CLOEXEC), error;

	error = merge_folders(from, to, path, NULL);
	close(from);
	close(to);
	return error;
}

static void folders_are_merged_and_files_replaced(void **state)
{
	(void)state;
	sh("mkdir -p from/a/b from/new/deep to/a/b to/a/c; echo 1 >from/a/f; echo 1 >from/a/b/g;"
	   "echo 1 >from/new/deep/h; ln -s nowhere from/link; echo 2 >to/a/f; echo 2 >to/a/theirs;"
	   "echo 2 >to/link; touch -d @1000000000 from/a/b; chmod 555 from/a/b from/new; "
	   "chmod 711 from/a; chmod 500 to/a/b");
	assert_int_equal(merge(), 0);
	assert_string_equal(path, "");
	sh("test \"$(cat to/a/f to/a/b/g to/a/theirs to/new/deep/h | tr -d '\\n')\" = 1121");
	sh("test \"$(readlink to/link)\" = nowhere -a -d to/a/c");
	sh("test \"$(stat -c %a to/a to/a/b to/new | tr '\\n' ' ')\" = '711 555 555 '");
	sh("test $(stat -c %Y to/a/b) = 1000000000");
	sh("test \"$(find from -type f -o -type l)\" = ''; chmod 755 to/new to/a/b");
}

static void another_kind_is_refused(void **state)
{
	(void)state;
	sh("mkdir -p from/a/b to/a; echo 1 >to/a/b");
	assert_int_equal(merge(), -ENOTDIR);
	assert_string_equal(path, "a/b");
	sh("rm -r from/a/b to/a/b; echo 1 >from/a/b; mkdir to/a/b");
	assert_int_equal(merge(), -EISDIR);
	assert_string_equal(path, "a/b");
	/* A link to a folder is no folder. */
	sh("rm -r to/a; mkdir other; ln -s ../other to/a");
	assert_int_equal(merge(), -ENOTDIR);
	assert_string_equal(path, "a");
	sh("test ! -e other/b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(folders_are_merged_and_files_replaced),
		OUTPUT_FILE_TEST(another_kind_is_refused),
	};

	return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}

/* What --dry-run prints. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exchange/dry-run.h"
#include "tests/unit/base/output-fixture.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/dry-run-XXXXXX";
static const struct output client = {.program = "rdma-client"};
static struct dry_run_inputs listed;

static void make(const char *path, off_t size)
{
	int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(file >= 0 && ftruncate(file, size) == 0 && close(file) == 0);
}

static int list_inputs(void)
{
	return (int)output_finish(&client, dry_run(&listed, &client));
}

/* Lists these inputs, without what the pattern matches; NULL: none. */
static void list(const char *const inputs[], unsigned int count, const char *pattern)
{
	const char *patterns[] = {pattern};

	listed = (struct dry_run_inputs){
		.paths = inputs,
		.count = count,
		.excluded = patterns,
		.excluded_count = pattern ? 1 : 0,
	};
	run(list_inputs, NULL);
}

static void lists_every_entry_and_their_sum(void **state)
{
	static const char *const both[] = {"photos", "./note"};

	(void)state;
	list(both, 2, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_string_equal(printed.out, "           photos/\n"
					 "   1.2 MB  photos/a.jpg\n"
					 "           photos/b.jpg is the file photos/a.jpg\n"
					 "           photos/sub/\n"
					 "           photos/sub/link -> ../a.jpg\n"
					 "     12 B  note\n"
					 "would send 4 files, 1.2 MB; 1 skipped.\n");
	assert_string_equal(
		printed.error, "rdma-client: skipped photos/fifo: a FIFO, socket or device\n");
}

static void omits_what_is_excluded(void **state)
{
	static const char *const one[] = {"photos"};

	(void)state;
	list(one, 1, "[a-f]*");
	assert_string_equal(printed.out, "           photos/\n"
					 "           photos/sub/\n"
					 "           photos/sub/link -> ../a.jpg\n"
					 "would send 1 file, 0 B.\n");
	assert_string_equal(printed.error, "");
}

static void unreadable_entries_are_incomplete(void **state)
{
	static const char *const one[] = {"closed"};

	(void)state;
	if (geteuid() == 0)
		skip();
	list(one, 1, NULL);
	assert_int_equal(printed.status, STATUS_FAILED);
	assert_string_equal(printed.out, "           closed/\n"
					 "      1 B  closed/other\n"
					 "would send 1 file, 1 B; 1 unreadable.\n");
	assert_string_equal(
		printed.error, "rdma-client: cannot read closed/secret: Permission denied\n");
}

static void a_missing_input_is_an_error(void **state)
{
	static const char *const both[] = {"note", "nowhere"};

	(void)state;
	list(both, 2, NULL);
	assert_int_equal(printed.status, STATUS_FAILED);
	assert_string_equal(printed.out, "");
	assert_string_equal(
		printed.error, "rdma-client: cannot read nowhere: No such file or directory\n");
}

static int make_tree(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	assert_true(mkdir("photos", 0700) == 0 && mkdir("photos/sub", 0700) == 0 &&
		    mkdir("closed", 0700) == 0);
	make("photos/a.jpg", 1200000);
	make("note", 12);
	make("closed/other", 1);
	make("closed/secret", 1);
	assert_true(link("photos/a.jpg", "photos/b.jpg") == 0 &&
		    symlink("../a.jpg", "photos/sub/link") == 0 &&
		    mkfifo("photos/fifo", 0600) == 0 && chmod("closed/secret", 0) == 0);
	return 0;
}

static int remove_tree(void **state)
{
	static const char *const files[] = {"photos/a.jpg", "photos/b.jpg", "photos/fifo",
		"photos/sub/link", "note", "closed/other", "closed/secret"};

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++)
		unlink(files[i]);
	return rmdir("photos/sub") || rmdir("photos") || rmdir("closed") || chdir("/") ||
	       rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_every_entry_and_their_sum),
		cmocka_unit_test(omits_what_is_excluded),
		cmocka_unit_test(unreadable_entries_are_incomplete),
		cmocka_unit_test(a_missing_input_is_an_error),
	};

	return cmocka_run_group_tests_name("dry run", tests, make_tree, remove_tree);
}

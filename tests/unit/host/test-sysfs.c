/* Reads small files below a fake root folder, some with contents that sysfs never produces. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/sysfs.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

#define NOBODY 65534

static void reads_lines(void **state)
{
	const struct tree *tree = *state;
	static const struct {
		const char *content, *line;
	} cases[] = {
		{"ACTIVE\n", "ACTIVE"},
		{"no end", "no end"},
		{"", ""},
		{"\n", ""},
		{"\nsecond\n", ""},
		{"first\nsecond\n", "first"},
		{"blanks \t\r\n", "blanks"},
		{" \t ", ""},
		{"longer than there is room for", "longer than the"},
	};
	char text[16];

	for (size_t i = 0; i < COUNT(cases); i++) {
		put(tree, "/a/file", cases[i].content);
		check_case(cases[i].content,
			sysfs_line(tree->path, text, sizeof(text), "/%s/file", "a") == 0 &&
				strcmp(text, cases[i].line) == 0);
	}
	put_bytes(tree, "/a/file", "one\0two\n", 8);
	assert_int_equal(sysfs_line(tree->path, text, sizeof(text), "/a/file"), 0);
	assert_string_equal(text, "one");
}

static void reads_whole_files(void **state)
{
	const struct tree *tree = *state;
	char text[16];

	put(tree, "/file", "one\ntwo \n");
	assert_int_equal(sysfs_text(tree->path, text, sizeof(text), "/file"), 0);
	assert_string_equal(text, "one\ntwo \n");
	assert_int_equal(sysfs_text(tree->path, text, 1, "/file"), 0);
	assert_string_equal(text, "");
}

static void reports_why_it_cannot_read(void **state)
{
	const struct tree *tree = *state;
	char text[16] = "rubbish", long_name[8192];
	uint64_t number = 7;

	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	put_folder(tree, "/folder");
	assert_int_equal(sysfs_line(tree->path, text, sizeof(text), "/none"), -ENOENT);
	assert_string_equal(text, "");
	assert_int_equal(sysfs_text(tree->path, text, sizeof(text), "/folder"), -EISDIR);
	assert_int_equal(
		sysfs_line(tree->path, text, sizeof(text), "/%s", long_name), -ENAMETOOLONG);
	assert_int_equal(sysfs_line(long_name, text, sizeof(text), "/none"), -ENAMETOOLONG);
	assert_int_equal(sysfs_number(tree->path, &number, "/none"), -ENOENT);
	assert_int_equal(number, 0);
}

/* The pipe has no writer, and the reader must not wait for one. */
static void does_not_block_on_a_pipe(void **state)
{
	const struct tree *tree = *state;
	char path[128], text[16];

	snprintf(path, sizeof(path), "%s/pipe", tree->path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(sysfs_line(tree->path, text, sizeof(text), "/pipe"), 0);
	assert_string_equal(text, "");
}

static void reads_numbers(void **state)
{
	const struct tree *tree = *state;
	static const struct {
		const char *content;
		uint64_t number;
	} good[] = {
		{"0\n", 0},
		{"42", 42},
		{"18446744073709551615\n", UINT64_MAX},
		{"0x0\n", 0},
		{"0xFfFf\n", 0xffff},
		{"0xffffffffffffffff\n", UINT64_MAX},
		{"12 \n", 12},
	};
	static const char *const bad[] = {"", "\n", "-1\n", "+1", " 1", "1 2", "1k", "0x", "0x ",
		"0x-1", "x1", "N/A (no PMA)\n", "18446744073709551616", "0x10000000000000000",
		"99999999999999999999999999999999999999999999999999",
		"0000000000000000000000000000000000000000000000000001"};
	uint64_t number;

	for (size_t i = 0; i < COUNT(good); i++) {
		put(tree, "/number", good[i].content);
		check_case(good[i].content, sysfs_number(tree->path, &number, "/number") == 0 &&
						    number == good[i].number);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		put(tree, "/number", bad[i]);
		number = 7;
		check_case(bad[i],
			sysfs_number(tree->path, &number, "/number") == -EINVAL && number == 0);
	}
}

static void reads_a_given_number_of_digits(void **state)
{
	uint64_t number = 7;

	(void)state;
	assert_true(sysfs_decimal("123456", 3, &number));
	assert_int_equal(number, 123);
	assert_false(sysfs_decimal("123", 0, &number));
	assert_false(sysfs_decimal("12x", 3, &number));
	assert_false(sysfs_decimal("0x1", 3, &number));
	assert_int_equal(number, 123);
}

static void lists_in_numeric_order(void **state)
{
	const struct tree *tree = *state;
	struct dirent **entries;
	int count;

	put(tree, "/gids/10", "");
	put(tree, "/gids/9", "");
	put(tree, "/gids/.hidden", "");
	put(tree, "/gids/0", "");
	count = sysfs_list(tree->path, &entries, "/gids");
	assert_int_equal(count, 3);
	assert_string_equal(entries[0]->d_name, "0");
	assert_string_equal(entries[1]->d_name, "9");
	assert_string_equal(entries[2]->d_name, "10");
	sysfs_free(entries, count);
	count = sysfs_list(tree->path, &entries, "/none");
	assert_int_equal(count, -ENOENT);
	sysfs_free(entries, count);
}

/* Root bypasses permission checks, so a child process checks as the user nobody. */
static void checks_access_to_a_file(void **state)
{
	const struct tree *tree = *state;
	char path[128];
	int status;
	pid_t child;

	put(tree, "/dev/device", "");
	assert_int_equal(sysfs_access(tree->path, "/dev/%s", "device"), SYSFS_GRANTED);
	assert_int_equal(sysfs_access(tree->path, "/dev/%s", "none"), SYSFS_MISSING);
	snprintf(path, sizeof(path), "%s/dev/device", tree->path);
	assert_int_equal(chmod(path, 0444), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (getuid() == 0 && setuid(NOBODY))
			_exit(99);
		_exit((int)sysfs_access(tree->path, "/dev/device"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), SYSFS_DENIED);
}

static void reads_the_name_of_a_link_target(void **state)
{
	const struct tree *tree = *state;
	char text[16];

	put_link(tree, "/device/driver", "../../bus/pci/drivers/mlx5_core");
	put_link(tree, "/device/plain", "plain");
	sysfs_link(tree->path, text, sizeof(text), "/device/driver");
	assert_string_equal(text, "mlx5_core");
	sysfs_link(tree->path, text, sizeof(text), "/device/plain");
	assert_string_equal(text, "plain");
	sysfs_link(tree->path, text, sizeof(text), "/device/none");
	assert_string_equal(text, "");
	sysfs_link(tree->path, text, 4, "/device/driver");
	assert_string_equal(text, "mlx");
}

static void distinguishes_names_from_paths(void **state)
{
	(void)state;
	assert_true(sysfs_is_name("mlx5_0"));
	assert_true(sysfs_is_name("eth0.100"));
	assert_false(sysfs_is_name(""));
	assert_false(sysfs_is_name("."));
	assert_false(sysfs_is_name(".."));
	assert_false(sysfs_is_name("../eth0"));
	assert_false(sysfs_is_name("eth0/mtu"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(reads_lines),
		with_tree(reads_whole_files),
		with_tree(reports_why_it_cannot_read),
		with_tree(does_not_block_on_a_pipe),
		with_tree(reads_numbers),
		cmocka_unit_test(reads_a_given_number_of_digits),
		with_tree(lists_in_numeric_order),
		with_tree(checks_access_to_a_file),
		with_tree(reads_the_name_of_a_link_target),
		cmocka_unit_test(distinguishes_names_from_paths),
	};

	return cmocka_run_group_tests_name("sysfs", tests, NULL, NULL);
}

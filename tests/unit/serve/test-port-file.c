/* The port file: writing, replacing and removing it; symbolic links, devices and errors. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/port-file.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/test-port-file.XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void assert_contents(const char *path, const char *wanted)
{
	char contents[16] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_non_null(fgets(contents, sizeof(contents), file));
	fclose(file);
	assert_string_equal(contents, wanted);
}

static void writes_and_removes_a_plain_file(void **state)
{
	const char *path = in_folder("port");

	(void)state;
	assert_int_equal(port_file_write(path, 7471), 0);
	assert_contents(path, "7471\n");
	assert_int_equal(port_file_write(path, 9), 0);
	assert_contents(path, "9\n");
	port_file_remove(path);
	assert_int_equal(access(path, F_OK), -1);
}

static void writes_through_a_symbolic_link(void **state)
{
	char target[64];
	struct stat status;

	(void)state;
	snprintf(target, sizeof(target), "%s", in_folder("target"));
	assert_int_equal(symlink(target, in_folder("link")), 0);
	assert_int_equal(port_file_write(in_folder("link"), 7471), 0);
	assert_contents(target, "7471\n");
	port_file_remove(in_folder("link"));
	assert_int_equal(lstat(in_folder("link"), &status), 0);
	unlink(in_folder("link"));
	unlink(target);
}

static void leaves_a_device_in_place(void **state)
{
	struct stat status;

	(void)state;
	port_file_remove("/dev/null");
	assert_int_equal(port_file_write("/dev/null", 7471), 0);
	assert_int_equal(stat("/dev/null", &status), 0);
	assert_true(S_ISCHR(status.st_mode));
}

static void reports_errors_with_their_cause(void **state)
{
	(void)state;
	assert_int_equal(port_file_write("/nowhere/port", 1), -ENOENT);
	assert_int_equal(port_file_write("/dev/full", 1), -ENOSPC);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_and_removes_a_plain_file),
		cmocka_unit_test(writes_through_a_symbolic_link),
		cmocka_unit_test(leaves_a_device_in_place),
		cmocka_unit_test(reports_errors_with_their_cause),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* The entries of an open folder. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "stream/folder-list.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

static void all_entries_are_listed_each_time(void **state)
{
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;

	(void)state;
	put("a", "");
	put(".b", "");
	put("...", "");
	for (int i = 0; i < 2; i++) {
		DIR *list = folder_list_open(here);
		unsigned int count = 0;

		assert_non_null(list);
		while ((entry = folder_list_next(list))) {
			assert_int_not_equal(strcmp(entry->d_name, "."), 0);
			assert_int_not_equal(strcmp(entry->d_name, ".."), 0);
			count++;
		}
		assert_int_equal(count, 3);
		closedir(list);
	}
	close(here);
	assert_null(folder_list_open(-1));
	assert_int_equal(errno, EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(all_entries_are_listed_each_time),
	};

	return cmocka_run_group_tests_name("folder-list", tests, NULL, NULL);
}

/* The digest of the beginning of a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "stream/file-digest.h"
#include "tests/unit/common/digest-fixture.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

#define SIZE 600000

static void the_beginning_is_digested(void **state)
{
	static const uint8_t key[DIGEST_KEY_SIZE] = {1, 2, 3};
	static const uint64_t sizes[] = {0, 1, 4096, SIZE - 1, SIZE};
	static uint8_t data[SIZE];
	struct digester *keyed = digester_new();
	int file = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int stop = eventfd(1, EFD_CLOEXEC);
	struct digest digest, wanted;

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (uint8_t)(i / 7);
	assert_int_equal(write(file, data, SIZE), SIZE);
	for (int with_key = 0; with_key < 2; with_key++) {
		if (with_key)
			digester_set_key(keyed, key);
		for (size_t i = 0; i < COUNT(sizes); i++) {
			wanted = with_key ? reference_digest(key, data, sizes[i], DIGEST_EXISTING)
					  : digest_of(data, sizes[i]);
			assert_int_equal(file_digest(keyed, file, sizes[i], -1, &digest), 0);
			assert_true(digest_equal(&digest, &wanted));
		}
	}
	assert_int_equal(file_digest(keyed, file, SIZE + 1, -1, &digest), -EIO);
	assert_int_equal(file_digest(keyed, -1, 1, -1, &digest), -EIO);
	assert_int_equal(file_digest(keyed, file, SIZE, stop, &digest), -ECANCELED);
	digester_free(keyed);
	close(file);
	close(stop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(the_beginning_is_digested),
	};

	return cmocka_run_group_tests_name("file-digest", tests, NULL, NULL);
}

/* Loads secrets from files in memory. The caller frees them. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/unit.h"

struct secret *make_secret(char letter)
{
	int file = memfd_create("secret", MFD_CLOEXEC);
	char bytes[SECRET_MIN], path[32], why[SECRET_WHY_SIZE];
	struct secret *secret = NULL;

	assert_true(file >= 0);
	memset(bytes, letter, sizeof(bytes));
	assert_int_equal(write(file, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(fchmod(file, 0600), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (secret_load(&secret, path, why))
		fail_msg("cannot load the secret: %s", why);
	close(file);
	return secret;
}

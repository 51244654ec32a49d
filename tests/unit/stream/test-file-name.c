/* File names offered by a peer: harmless names are kept, others are made safe. */
#include <errno.h>
#include <string.h>

#include "stream/file-name.h"
#include "tests/unit/unit.h"

static void keeps_harmless_names(void **state)
{
	static const struct {
		const char *offered;
		size_t size;
		const char *wanted;
	} cases[] = {
#define CASE(offered, wanted) {offered, sizeof(offered) - 1, wanted}
		CASE("big.iso", "big.iso"),
		CASE("with space", "with space"),
		CASE("Gr\xc3\xb6\xc3\x9f"
		     "e.txt",
			"Gr\xc3\xb6\xc3\x9f"
			"e.txt"),
		CASE("\xff\xfe", "\xff\xfe"),
		CASE("back\\slash", "back\\slash"),
		CASE("a-b.c", "a-b.c"),
		/* Only the last component counts. */
		CASE("/etc/passwd", "passwd"),
		CASE("../../etc/passwd", "passwd"),
		CASE("a/.profile", "_profile"),
		/* Not a file name. */
		CASE("", "fallback"),
		CASE(".", "fallback"),
		CASE("..", "fallback"),
		CASE("/", "fallback"),
		CASE("a/", "fallback"),
		CASE("a/..", "fallback"),
		/* Hidden files, and names that look like options. */
		CASE("...", "_.."),
		CASE(".bashrc", "_bashrc"),
		CASE("-", "_"),
		CASE("-rf", "_rf"),
		/* Characters that a terminal or a C string interprets. */
		CASE("a\0b", "a_b"),
		CASE("a\nb\x1b[2J\x7f", "a_b_[2J_"),
		CASE("\0", "_"),
#undef CASE
	};
	char name[FILE_NAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(
			file_name_from_peer(name, cases[i].offered, cases[i].size, "fallback"), 0);
		assert_string_equal(name, cases[i].wanted);
	}
	assert_int_equal(file_name_from_peer(name, NULL, 0, "10.0.0.1-45678"), 0);
	assert_string_equal(name, "10.0.0.1-45678");
}

static void accepts_255_bytes_and_no_more(void **state)
{
	char offered[FILE_NAME_MAX + 3], name[FILE_NAME_MAX + 1];

	(void)state;
	memset(offered, 'a', sizeof(offered));
	assert_int_equal(file_name_from_peer(name, offered, FILE_NAME_MAX, ""), 0);
	assert_int_equal(strlen(name), FILE_NAME_MAX);
	assert_int_equal(file_name_from_peer(name, offered, FILE_NAME_MAX + 1, ""), -ENAMETOOLONG);
	/* The directories in front of the name do not count. */
	offered[1] = '/';
	assert_int_equal(file_name_from_peer(name, offered, FILE_NAME_MAX + 2, ""), 0);
	assert_int_equal(strlen(name), FILE_NAME_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_harmless_names),
		cmocka_unit_test(accepts_255_bytes_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

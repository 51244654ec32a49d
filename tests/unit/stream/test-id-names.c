/* Names and numbers of users and groups, compared with those of the system. */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "stream/id-names.h"
#include "tests/unit/unit.h"

static uint32_t number_of(struct id_names *names, bool group, const char *name, uint32_t number)
{
	return id_names_number(names, group, name, strlen(name), number);
}

static void names_are_those_of_the_system(void **state)
{
	struct id_names *names = id_names_new();
	char name[ATTRIBUTE_NAME_MAX + 1];

	(void)state;
	assert_non_null(names);
	/* The second time, they are remembered; 256 are more than can be. */
	for (uint32_t number = 0; number < 512; number++) {
		/* cppcheck-suppress getpwuidCalled ; there is one thread */
		const struct passwd *user = getpwuid(number % 256);
		/* cppcheck-suppress getgrgidCalled */
		const struct group *group = getgrgid(number % 256);

		id_names_name(names, false, number % 256, name);
		assert_string_equal(name, user ? user->pw_name : "");
		if (user)
			assert_int_equal(number_of(names, false, name, 1), user->pw_uid);
		id_names_name(names, true, number % 256, name);
		assert_string_equal(name, group ? group->gr_name : "");
		if (group)
			assert_int_equal(number_of(names, true, name, 1), group->gr_gid);
	}
	id_names_free(names);
}

static void unknown_names_keep_the_number(void **state)
{
	struct id_names *names = id_names_new();
	char longest[ATTRIBUTE_NAME_MAX + 1];

	(void)state;
	memset(longest, 'x', ATTRIBUTE_NAME_MAX);
	longest[ATTRIBUTE_NAME_MAX] = '\0';
	for (uint32_t number = 5; number < 8; number++) {
		assert_int_equal(number_of(names, false, "no such user", number), number);
		assert_int_equal(number_of(names, false, "nosuchuser", number), number);
		assert_int_equal(number_of(names, true, "nosuchuser", number), number);
		assert_int_equal(number_of(names, true, longest, number), number);
		assert_int_equal(number_of(names, false, "", number), number);
		/* A prefix of a name is another name. */
		assert_int_equal(id_names_number(names, false, "rootless", 4, number), 0);
		assert_int_equal(number_of(names, false, "ro\not", number), number);
	}
	id_names_free(names);
	id_names_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_the_system),
		cmocka_unit_test(unknown_names_keep_the_number),
	};

	return cmocka_run_group_tests_name("id-names", tests, NULL, NULL);
}

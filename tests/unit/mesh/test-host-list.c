/* The hosts of a mesh: ranges, files, and names that are refused. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mesh/host-list.h"
#include "tests/unit/unit.h"

/* Joins the names that a text expands to, or copies why not. */
static void expand(const char *text, char joined[1024])
{
	struct host_list list = {0};
	char why[MESH_REASON_SIZE];
	bool failed = host_list_expand(&list, text, why) != 0;

	snprintf(joined, 1024, "%s", failed ? why : "");
	for (unsigned int i = 0; !failed && i < list.count; i++)
		snprintf(joined + strlen(joined), 1024 - strlen(joined), "%s%s", i ? " " : "",
			list.names[i]);
	host_list_free(&list);
}

static void test_expand(void **state)
{
	static const struct {
		const char *text, *hosts;
	} cases[] = {
		{"h1", "h1"},
		{"h1,h2 h3\n", "h1 h2 h3"},
		{"h[1-3]", "h1 h2 h3"},
		{"h[08-11,3]x,b", "h08x h09x h10x h11x h3x b"},
		{"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
		{"192.0.2.1,fd00::1", "192.0.2.1 fd00::1"},
		{"h[1-", "'h[1-' has no valid range"},
		{"h[1-x]", "'h[1-x]' has no valid range"},
		{"h[3-1]", "'h[3-1]' has no valid range"},
		{"h[1-2000]", "'h[1-2000]' has no valid range"},
		{"h[]", "'h[]' has no valid range"},
		{"h1,h1", "h1 is named twice"},
		{"-oProxyCommand=x", "'-oProxyCommand=x' is no name of a host"},
		{"h1;reboot", "'h1;reboot' is no name of a host"},
		{"$(x)", "'$(x)' is no name of a host"},
	};
	char joined[1024];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		expand(cases[i].text, joined);
		if (strcmp(joined, cases[i].hosts) != 0)
			fail_msg("%s: %s", cases[i].text, joined);
	}
}

static void test_most(void **state)
{
	struct host_list list = {0};
	char why[MESH_REASON_SIZE];

	(void)state;
	assert_int_equal(host_list_expand(&list, "h[1-1024]", why), 0);
	assert_int_equal(list.count, MESH_HOSTS_MAX);
	assert_int_equal(host_list_expand(&list, "x", why), -1);
	assert_string_equal(why, "x exceeds the 1024 hosts that a mesh may have");
	host_list_free(&list);
}

static void test_file(void **state)
{
	char path[] = "/tmp/host-list-XXXXXX", why[MESH_REASON_SIZE];
	struct options options = {.mesh = {.hosts_file = path}};
	struct host_list list;
	int file = mkstemp(path);

	(void)state;
	dprintf(file, "# all\nh1 slots=4\nh2 slots=4 max-slots=8 # comment\n\nh3,h4\n");
	close(file);
	assert_int_equal(host_list_read(&options, &list, why), 0);
	assert_int_equal(list.count, 4);
	assert_string_equal(list.names[3], "h4");
	host_list_free(&list);
	unlink(path);
	assert_int_equal(host_list_read(&options, &list, why), -1);
	assert_string_equal(why, "--hosts-file cannot be read: No such file or directory");
}

static void test_sources(void **state)
{
	struct options options = {0};
	char why[MESH_REASON_SIZE];
	struct host_list list;

	(void)state;
	unsetenv("SLURM_JOB_NODELIST");
	assert_int_equal(host_list_read(&options, &list, why), -1);
	setenv("SLURM_JOB_NODELIST", "n1,n2,n3", 1);
	assert_int_equal(host_list_read(&options, &list, why), 0);
	assert_int_equal(list.count, 3);
	host_list_free(&list);
	options.mesh.hosts = "h1";
	assert_int_equal(host_list_read(&options, &list, why), -1);
	assert_string_equal(why, "a mesh needs at least two hosts");
	unsetenv("SLURM_JOB_NODELIST");
}

static void test_find(void **state)
{
	struct host_list list = {0};
	char why[MESH_REASON_SIZE];

	(void)state;
	assert_int_equal(host_list_expand(&list, "h1 h10 h2.site 192.0.2.1 192.0.2.2", why), 0);
	assert_int_equal(host_list_find(&list, "h1"), 0);
	assert_int_equal(host_list_find(&list, "h1.site"), 0);
	assert_int_equal(host_list_find(&list, "h10"), 1);
	assert_int_equal(host_list_find(&list, "h2"), 2);
	assert_int_equal(host_list_find(&list, "192.0.2.2"), 4);
	assert_int_equal(host_list_find(&list, "192.0.2.3"), -1);
	assert_int_equal(host_list_find(&list, "h"), -1);
	host_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expand),
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

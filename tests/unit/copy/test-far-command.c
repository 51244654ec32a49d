/* The command line of the server at the other host: what its shell makes of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy/far-command.h"
#include "protocol/attributes.h"
#include "tests/unit/unit.h"

static void check(const struct options *options, const char *wanted)
{
	char *command = far_command_of(options);

	assert_non_null(command);
	assert_string_equal(command, wanted);
	free(command);
}

static struct options copy_of(bool pulls, const char *path)
{
	static const char *paths[1];

	paths[0] = path;
	return (struct options){
		.mode = mode_by_name("write"),
		.timeout = 10000,
		.copy = {.pulls = pulls, .paths = paths, .path_count = 1},
	};
}

static void names_what_the_server_needs(void **state)
{
	static const char *patterns[] = {"*.o", "it's"};
	struct options options = copy_of(false, "/data/");

	(void)state;
	check(&options, "rdma-server --stdio --timeout 10 --force --output '/data/' write");
	options.excluded = patterns;
	options.excluded_count = 2;
	check(&options, "rdma-server --stdio --timeout 10 --force --output '/data/' write");
	options = copy_of(true, "a");
	options.excluded = patterns;
	options.excluded_count = 2;
	options.workers = 4;
	options.direct = true;
	options.timeout = 1500;
	options.mode = mode_by_name("read");
	options.copy.server_path = "/opt/my tools/rdma-server";
	check(&options, "'/opt/my tools/rdma-server' --stdio --timeout 1.5 --workers 4 --direct "
			"--exclude '*.o' --exclude 'it'\\''s' --input 'a' read");
	/* Attributes are kept by both ends, in either direction. */
	options = copy_of(false, "/data/");
	options.kept = KEPT_XATTRS;
	check(&options,
		"rdma-server --stdio --timeout 10 --xattrs --force --output '/data/' write");
	options = copy_of(true, "a");
	options.kept = KEPT_ALL;
	options.numeric_ids = true;
	check(&options, "rdma-server --stdio --timeout 10 --xattrs --acls --owner --group "
			"--numeric-ids --input 'a' write");
}

/* A shell splits the command into the words that were meant. */
static void a_shell_keeps_paths_whole(void **state)
{
	static const char *const paths[] = {"a b", "it's", "$HOME `id` \\ \"x\" ; & | *",
		"new\nline", "caf\xc3\xa9", "~", "~/", "~/a b", "~nobody/x", "~a b/c", "x~",
		"-dash", "-", "--", "host:x"};
	/* What the shell makes of them, where that differs. */
	static const char *const expanded[COUNT(paths)] = {[5] = "/home/me",
		[6] = "/home/me/",
		[7] = "/home/me/a b",
		[11] = "./-dash",
		[12] = "./-",
		[13] = "./--"};

	(void)state;
	setenv("HOME", "/home/me", 1);
	for (size_t i = 0; i < COUNT(paths); i++) {
		struct options options = copy_of(true, paths[i]);
		char *command = far_command_of(&options), script[1000], words[1000] = "",
		     wanted[1000];
		FILE *shell;
		size_t size;

		assert_non_null(command);
		if (strncmp(paths[i], "~nobody", 7) == 0) {
			assert_non_null(strstr(command, " --input ~nobody/'x' "));
			free(command);
			continue;
		}
		snprintf(script, sizeof(script),
			"for word in %s; do printf '<%%s>' \"$word\"; done", command);
		free(command);
		shell = popen(script, "r");
		assert_non_null(shell);
		size = fread(words, 1, sizeof(words) - 1, shell);
		words[size] = '\0';
		assert_int_equal(pclose(shell), 0);
		snprintf(wanted, sizeof(wanted),
			"<rdma-server><--stdio><--timeout><10><--input><%s><write>",
			expanded[i] ? expanded[i] : paths[i]);
		assert_string_equal(words, wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_what_the_server_needs),
		cmocka_unit_test(a_shell_keeps_paths_whole),
	};

	return cmocka_run_group_tests_name("far command", tests, NULL, NULL);
}

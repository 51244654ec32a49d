/* SOURCE and DESTINATION of `copy`. */
#include <stdio.h>
#include <string.h>

#include "cli/parse.h"
#include "tests/unit/unit.h"

#define WORDS_MAX 6

/* A HOST of 256 bytes. */
#define TEXT_16 "abcdefghijklmnop"
#define TEXT_64 TEXT_16 TEXT_16 TEXT_16 TEXT_16
#define LONG    TEXT_64 TEXT_64 TEXT_64 TEXT_64

static enum options_result parse(struct options *options, const char *const words[WORDS_MAX])
{
	char *argv[WORDS_MAX + 3] = {(char *)"rdma-client", (char *)"copy"};
	int argc = 2;

	for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
		argv[argc++] = (char *)words[i];
	return parse_command_line(options, PROGRAM_CLIENT, argc, argv);
}

static void takes_files_of_this_host_and_of_another(void **state)
{
	static const struct {
		const char *words[WORDS_MAX];
		const char *remote;
		bool pulls;
		const char *here[2], *there[2];
	} cases[] = {
		{{"big.iso", "host:/data/"}, "host", false, {"big.iso"}, {"/data/"}},
		{{"a", "b", "me@host:x"}, "me@host", false, {"a", "b"}, {"x"}},
		{{"a", "host:"}, "host", false, {"a"}, {"./"}},
		{{"./a:b", "host:x:y z"}, "host", false, {"./a:b"}, {"x:y z"}},
		{{"/a:b", "[2001:db8::1]:x"}, "2001:db8::1", false, {"/a:b"}, {"x"}},
		{{"a", "me@[fe80::1%eth0]:/x"}, "me@fe80::1%eth0", false, {"a"}, {"/x"}},
		{{"host:x", "."}, "host", true, {"."}, {"x"}},
		{{"me@host:x", "me@host:-y", "in/"}, "me@host", true, {"in/"}, {"x", "-y"}},
		{{"host:~/x", "./a:b"}, "host", true, {"./a:b"}, {"~/x"}},
		{{"--", "-a", "host:x"}, "host", false, {"-a"}, {"x"}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *name = cases[i].words[0];
		struct options options;
		const struct options_copy *copy = &options.copy;

		assert_int_equal(parse(&options, cases[i].words), OPTIONS_RUN);
		assert_string_equal(copy->remote, cases[i].remote);
		check_case(name, copy->pulls == cases[i].pulls);
		check_case(name, copy->path_count == (cases[i].there[1] ? 2 : 1));
		for (unsigned int j = 0; j < copy->path_count; j++)
			assert_string_equal(copy->paths[j], cases[i].there[j]);
		check_case(name, (options.output != NULL) == copy->pulls);
		check_case(name, options.force == copy->pulls);
		if (copy->pulls)
			assert_string_equal(options.output, cases[i].here[0]);
		for (unsigned int j = 0; j < options.input_count; j++)
			assert_string_equal(options.inputs[j], cases[i].here[j]);
		assert_string_equal(options.mode->name, "write");
		options_free(&options);
	}
}

static void refuses_other_places(void **state)
{
	static const struct {
		const char *words[WORDS_MAX];
		const char *error;
	} cases[] = {
		{{NULL},
			"SOURCE is missing; for example: rdma-client copy big.iso photos host:/data/"},
		{{"a"}, "DESTINATION is missing; for example: rdma-client copy a host:/data/"},
		{{"host:x"}, "DESTINATION is missing; for example: rdma-client copy host:x ."},
		{{"a", "b"},
			"'a' is at this host, as is DESTINATION 'b'; one of them needs HOST:, for "
			"example: rdma-client copy big.iso host:/data/"},
		{{"a", "/host:x"}, "one of them needs HOST:"},
		{{"a", "b", "c"}, "'a' is at this host, as is DESTINATION 'c'"},
		{{"one:x", "two:y"},
			"'one:x' and 'two:y' are both at other hosts; copy moves files between this host "
			"and another one, for example: rdma-client copy host:/data/big.iso ."},
		{{"a", "one:x", "two:y"}, "'one:x' and 'two:y' are both at other hosts"},
		{{"a", "one:x", "b"},
			"'one:x' is at another host, but 'a' at this one, as is DESTINATION; copy from one "
			"host at a time, for example: rdma-client copy host:/data/big.iso ."},
		{{"one:x", "a", "b"}, "'one:x' is at another host, but 'a' at this one"},
		{{"one:x", "two:y", "b"},
			"'one:x' and 'two:y' are at different hosts; copy from one host at a time, for "
			"example: rdma-client copy host:/data/big.iso ."},
		{{"one:x", "onemore:y", "b"}, "'one:x' and 'onemore:y' are at different hosts"},
		{{"one:x", "a", "two:y", "b"}, "'one:x' and 'two:y' are at different hosts"},
		{{"host:", "b"}, "PATH is missing; for example: host:."},
		{{"", "host:x"}, "must not be empty"},
		{{"a", ":x"}, "invalid HOST in ':x'"},
		{{"a", "me@:x"}, "invalid HOST in 'me@:x'"},
		{{"photos[1]:y", "b"}, "invalid HOST in 'photos[1]:y'"},
		{{"a", "[2001:db8::1:x"}, "invalid HOST in"},
		{{"a", "[]:x"}, "invalid HOST in '[]:x'"},
		{{"a", LONG ":x"}, "invalid HOST in"},
		{{"--", "a", "-oProxyCommand=id:x"}, "invalid HOST in '-oProxyCommand=id:x'"},
		{{"-", "host:x"}, "SOURCE must be a file or a directory, not '-'"},
		{{"host:x", "-"}, "DESTINATION must be a file or a directory, not '-'"},
		{{"-n", "host:x", "b"}, "--dry-run lists what this host would send"},
		{{"--mode", "push", "a", "host:x"},
			"--mode must be write, read or send, not 'push'"},
		{{"--secret-file", "s", "a", "host:x"}, "copy does not accept --secret-file"},
		{{"--output", "s", "a", "host:x"}, "copy does not accept --output"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct options options;

		check_case(cases[i].error, parse(&options, cases[i].words) == OPTIONS_WRONG);
		if (!strstr(options.error, cases[i].error))
			fail_msg("'%s' is not '%s'", options.error, cases[i].error);
		options_free(&options);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_files_of_this_host_and_of_another),
		cmocka_unit_test(refuses_other_places),
	};

	return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}

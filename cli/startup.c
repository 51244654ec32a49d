/* The first steps of both programs: see cli/startup.h. It owns nothing. */
#include <string.h>
#include <sys/resource.h>

#include "base/version.h"
#include "cli/help.h"
#include "cli/startup.h"

static void print_help(const struct options *options)
{
	if (options->command == CLI_COMMANDS)
		help_print_client(stdout);
	else
		help_print_command(stdout, &cli_commands[options->command]);
}

/*
 * Allows as many descriptors as an administrator does: the usual soft limit is meant for programs
 * that use select(2). getrlimit(2).
 */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit); /* may fail: then the limit stays */
}

/* Reports a usage error. Unless the error includes advice, also names the command's --help. */
static void print_usage_error(const struct options *options, const struct output *output)
{
	const char *name = NULL;

	if (options->command != CLI_COMMANDS)
		name = cli_commands[options->command].names;
	if (options->advised)
		output_error(output, "%s", options->error);
	else
		output_error(output, "%s; see %s%s%.*s --help", options->error, output->program,
			name ? " " : "", name ? (int)strcspn(name, "|") : 0, name ? name : "");
}

bool startup_options(struct options *options, enum program program, int argc, char *argv[],
	const struct output *output, enum exit_status *status)
{
	*status = STATUS_OK;
	raise_descriptor_limit();
	switch (parse_command_line(options, program, argc, argv)) {
	case OPTIONS_HELP:
		print_help(options);
		break;
	case OPTIONS_VERSION:
		printf("%s %s\n", output->program, PROJECT_VERSION);
		break;
	case OPTIONS_WRONG:
		print_usage_error(options, output);
		*status = STATUS_USAGE;
		break;
	case OPTIONS_RUN:
		output_set_coloring(options->color);
		output_set_timestamps(options->timestamps);
		return false;
	}
	options_free(options);
	*status = output_finish(output, *status);
	return true;
}

struct output startup_output(const char *program, const struct options *options)
{
	return (struct output){
		.program = program,
		.quiet = options->quiet || (options->json && !options->verbose),
		.verbose = options->verbose,
		.brief = !options->verbose &&
			 (options->input || options->output || options->discard),
		.lines_on_stderr =
			options->json || (options->output && output_is_standard(options->output)),
	};
}

int startup_secret(struct secret **secret, const char *path, struct failure *failure)
{
	char why[SECRET_WHY_SIZE];
	int error;

	if (!path)
		return 0;
	error = secret_load(secret, path, why);
	return error ? failure_set(failure, FAILURE_FILE, PHASE_START, -error, "--secret-file",
			       "%s", why)
		     : 0;
}

void startup_server_name(const struct options *options, char text[SERVER_NAME_SIZE])
{
	/* An IPv6 address contains colons, so it is bracketed. */
	snprintf(text, SERVER_NAME_SIZE, strchr(options->host, ':') ? "[%s]:%u" : "%s:%u",
		options->host, options->port);
}

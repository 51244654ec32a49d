/* What each program does first: see cli/startup.h. */
#include <string.h>

#include "base/version.h"
#include "cli/help.h"
#include "cli/startup.h"

bool startup_options(struct options *options, enum program program, int argc, char *argv[],
	const struct output *output, enum exit_status *status)
{
	switch (parse_command_line(options, program, argc, argv)) {
	case OPTIONS_HELP:
		help_print(stdout, program);
		break;
	case OPTIONS_VERSION:
		printf("%s %s\n", output->program, PROJECT_VERSION);
		break;
	case OPTIONS_WRONG:
		output_error(output, "%s; see %s --help", options->error, output->program);
		*status = output_finish(output, STATUS_USAGE);
		return true;
	case OPTIONS_RUN:
		return false;
	}
	*status = output_finish(output, STATUS_OK);
	return true;
}

struct output startup_output(const char *program, const struct options *options)
{
	return (struct output){
		.program = program,
		.quiet = options->quiet,
		.verbose = options->verbose,
		.lines_on_stderr =
			options->json || (options->output && output_is_standard(options->output)),
	};
}

int startup_secret(struct secret **secret, const char *path, const struct output *output)
{
	char why[SECRET_WHY_SIZE];

	if (!path || secret_load(secret, path, why) == 0)
		return 0;
	output_error(output, "%s", why);
	return -1;
}

void startup_server_name(const struct options *options, char text[SERVER_NAME_SIZE])
{
	/* An IPv6 address has colons of its own. */
	snprintf(text, SERVER_NAME_SIZE, strchr(options->host, ':') ? "[%s]:%u" : "%s:%u",
		options->host, options->port);
}

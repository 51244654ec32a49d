/* The table of commands: constant. */
#include "cli/commands.h"

const struct cli_command cli_commands[CLI_COMMANDS] = {
	[CLI_SERVE] =
		{
			.program = PROGRAM_SERVER,
			.usage = "write|read|any",
			.about =
				"Exchanges data with clients by one-sided RDMA, as many at once as come, until SIGINT or SIGTERM:\n"
				"short messages, or files and pipes of any size, every byte verified at both ends. `any` serves\n"
				"whichever mode a client asks for. `rdma-server --output incoming/ any` keeps what clients send.\n",
			.words_min = 1,
			.words_max = 1,
		},
	[CLI_EXCHANGE] =
		{
			.program = PROGRAM_CLIENT,
			.usage = "write|read HOST PORT",
			.about =
				"Exchanges data with rdma-server by one-sided RDMA: each side writes its own into the other's\n"
				"memory (write) or reads the other's out of it (read). The data is a short message or, of any\n"
				"size, a file or a pipe, and every byte is verified at both ends.\n"
				"`rdma-client write --input big.iso HOST PORT` sends a file.\n",
			.words_min = 3,
			.words_max = 3,
			.refusal = "an exchange: --bandwidth or --latency is missing",
		},
	[CLI_BANDWIDTH] =
		{
			.program = PROGRAM_CLIENT,
			.usage = "--bandwidth|--latency write|read HOST PORT",
			.about =
				"\nWith --bandwidth or --latency it measures WRITEs or READs from memory to memory instead; the\n"
				"server needs no option for that.\n",
			.words_min = 3,
			.words_max = 3,
			.refusal = "a measurement, which moves data of its own",
		},
	[CLI_LATENCY] =
		{
			.program = PROGRAM_CLIENT,
			.words_min = 3,
			.words_max = 3,
			.refusal = "a measurement, which moves data of its own",
		},
	[CLI_DIAGNOSE] =
		{
			.program = PROGRAM_CLIENT,
			.usage = "diagnose [HOST [PORT]]",
			.about =
				"\nWhere RDMA does not work, `rdma-client diagnose HOST PORT` says what is broken between this\n"
				"host and the rdma-server at HOST and PORT, on which side, and how to mend it. Without PORT or\n"
				"HOST it goes as far as it can. Of the options it heeds --device, --json, --quiet, --secret-file\n"
				"and --source.\n",
			.words_min = 1,
			.words_max = 3,
			.refusal = "diagnose, which moves data of its own in its own time",
		},
};

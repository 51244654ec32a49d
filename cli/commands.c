/* The constant table of commands. */
#include <limits.h>

#include "cli/choice.h"
#include "cli/commands.h"

const struct cli_command cli_commands[CLI_COMMANDS] = {
	[CLI_SERVE] =
		{
			.program = PROGRAM_SERVER,
			.words = "[write|read|send|any]",
			.about =
				"Serve clients until SIGINT or SIGTERM: exchange messages, files or pipes, all\n"
				"verified, and answer diagnoses and measurements. By default, all modes.\n",
			.example = "any",
			.mode = 0,
			.host = -1,
			.words_max = 1,
		},
	[CLI_STATUS] =
		{
			.program = PROGRAM_SERVER,
			.names = "status",
			.words = "status [PORT]",
			.about =
				"Ask the rdma-server on PORT, or without PORT each one in this network namespace,\n"
				"for its clients, its totals and its memory. It answers root and its own user.\n",
			.example = "status 7471",
			.mode = -1,
			.host = -1,
			.words_min = 1,
			.words_max = 2,
		},
	[CLI_RECEIVE_GROUP] =
		{
			.program = PROGRAM_SERVER,
			.names = "multicast",
			.words = "multicast GROUP",
			.about =
				"Receive what `rdma-client multicast GROUP` sends to a multicast group, and count\n"
				"what was lost, until SIGINT or SIGTERM.\n",
			.example = "multicast 239.1.2.3",
			.mode = -1,
			.host = 1,
			.words_min = 2,
			.words_max = 2,
		},
	[CLI_EXCHANGE] =
		{
			.program = PROGRAM_CLIENT,
			.names = "write|read|send",
			.words = "write|read|send HOST [PORT]",
			.also = "write|send FILE... HOST:[PORT]",
			.summary = "exchange a message, files or pipes",
			.about =
				"Exchange files or messages, verified, with rdma-server at HOST and PORT (7471).\n",
			.example = "write 192.0.2.1 7471",
			.mode = 0,
			.host = 1,
			.words_min = 2,
			.words_max = 3,
		},
	[CLI_COPY] =
		{
			.program = PROGRAM_CLIENT,
			.names = "copy",
			.words = "copy SOURCE... DESTINATION",
			.summary = "copy files as scp does",
			.about =
				"Copy files and directories to another host, or from it: SOURCE or DESTINATION is\n"
				"[USER@]HOST:PATH. rdma-server is started there through ssh, for this copy only.\n"
				"Existing files are replaced.\n",
			.example = "copy big.iso photos host:/data/",
			.mode = -1,
			.host = -1,
			.words_min = 2,
			.words_max = INT_MAX,
		},
	[CLI_BANDWIDTH] =
		{
			.program = PROGRAM_CLIENT,
			.names = "bandwidth",
			.words = "bandwidth OPERATION HOST [PORT]",
			.summary = "measure the bandwidth of an operation",
			/* No empty line follows: the help has as many lines as a screen. */
			.about =
				"OPERATION: write, read, send, write-imm, fetch-add or compare-swap. PORT: 7471.",
			.example = "bandwidth write 192.0.2.1 7471",
			.mode = 1,
			.host = 2,
			.words_min = 3,
			.words_max = 4,
		},
	[CLI_LATENCY] =
		{
			.program = PROGRAM_CLIENT,
			.names = "latency",
			.words = "latency OPERATION HOST [PORT]",
			.summary = "measure the latency of an operation",
			.about =
				"OPERATION: write, read, send, write-imm, fetch-add or compare-swap. PORT: 7471.\n",
			.example = "latency write 192.0.2.1 7471",
			.mode = 1,
			.host = 2,
			.words_min = 3,
			.words_max = 4,
		},
	[CLI_SEND_GROUP] =
		{
			.program = PROGRAM_CLIENT,
			.names = "multicast",
			.words = "multicast GROUP",
			.summary = "send datagrams to a multicast group",
			.about =
				"Send a message or, with --count, a stream of datagrams to a multicast group: any\n"
				"number of `rdma-server multicast GROUP` receive them and count what is lost.\n",
			.example = "multicast 239.1.2.3",
			.mode = -1,
			.host = 1,
			.words_min = 2,
			.words_max = 2,
		},
	[CLI_COMPARE] =
		{
			.program = PROGRAM_CLIENT,
			.names = "compare",
			.words = "compare A.json B.json",
			.summary = "compare two saved measurements",
			.about =
				"Compare two measurements that `bandwidth --json` or `latency --json` printed to\n"
				"files: print the results side by side, and mark differences beyond the noise.\n",
			.example = "compare before.json after.json",
			.mode = -1,
			.host = -1,
			.words_min = 3,
			.words_max = 3,
		},
	[CLI_DIAGNOSE] =
		{
			.program = PROGRAM_CLIENT,
			.names = "diagnose",
			.words = "diagnose [HOST [PORT]]",
			.summary = "find what is broken and how to fix it",
			.about =
				"Find what is broken between this host and the rdma-server at HOST and PORT, on\n"
				"which side, and how to fix it. Without PORT, 7471 is tried, but no server is\n"
				"needed. Without HOST, only this host is checked.\n",
			.example = "diagnose 192.0.2.1 7471",
			.mode = -1,
			.host = 1,
			.words_min = 1,
			.words_max = 3,
		},
	[CLI_MESH] =
		{
			.program = PROGRAM_CLIENT,
			.names = "mesh",
			.words = "mesh",
			.summary = "test all pairs of hosts, name what is bad",
			.about =
				"Measure every pair of hosts in both directions, and name the hosts, pairs or\n"
				"directions that are bad. An agent is started at each host, for this run only.\n",
			.example = "mesh --hosts h1,h2,h3,h4",
			.mode = -1,
			.host = -1,
			.words_min = 1,
			.words_max = 1,
		},
	[CLI_MESH_AGENT] =
		{
			.program = PROGRAM_CLIENT,
			.names = "mesh-agent",
			.words = "mesh-agent PORT ADDRESS...",
			.about =
				"Measure what `rdma-client mesh` at one of these addresses asks for. It usually\n"
				"starts the agents itself; with `mesh --via none`, start them at each host. The\n"
				"token is the first line of standard input, unless --secret-file is given.\n",
			.example = "mesh-agent 7472 192.0.2.1",
			.mode = -1,
			.host = -1,
			.words_min = 3,
			.words_max = INT_MAX,
		},
	[CLI_EXPLAIN] =
		{
			.program = PROGRAM_CLIENT,
			.names = "explain",
			.words = "explain [CAUSE|-]",
			.summary = "explain an error message",
			.about =
				"Explain an error message of either program: what it means and what to do. CAUSE\n"
				"is the message or a part of it, or the name of a counter; with '-', explain each\n"
				"message of the log on standard input. Without CAUSE, list all explanations.\n",
			.example = "explain nothing is listening",
			.mode = -1,
			.host = -1,
			.words_min = 1,
			.words_max = INT_MAX,
		},
};

const char *program_name(enum program program)
{
	return program == PROGRAM_SERVER ? "rdma-server" : "rdma-client";
}

const struct cli_command *command_find(enum program program, const char *word)
{
	const struct cli_command *nameless = NULL;

	for (unsigned int id = 0; id < CLI_COMMANDS; id++) {
		const struct cli_command *command = &cli_commands[id];

		if (command->program != program)
			continue;
		if (!command->names)
			nameless = command;
		else if (word && choice_find(command->names, word) >= 0)
			return command;
	}
	return nameless;
}

enum cli_command_id command_id(const struct cli_command *command)
{
	return (enum cli_command_id)(command - cli_commands);
}

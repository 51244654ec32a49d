/*
 * What each program does first, whatever it was started for: reads its command line, and the secret
 * that it names. Main thread.
 */
#ifndef CLI_STARTUP_H
#define CLI_STARTUP_H

#include "base/address.h"
#include "base/output.h"
#include "cli/parse.h"
#include "protocol/secret.h"

/*
 * Reads the command line. True if there is nothing left to do, after --help, --version or a
 * mistake: then *status is what to exit with.
 */
bool startup_options(struct options *options, enum program program, int argc, char *argv[],
	const struct output *output, enum exit_status *status);

/* Where lines go: not to standard output if that is for data or documents. */
struct output startup_output(const char *program, const struct options *options);

/* Reads the secret from that file; NULL: there is none. Returns 0, or -1 having said why not. */
int startup_secret(struct secret **secret, const char *path, const struct output *output);

/* The server, as the command line names it: "host:port". */
#define SERVER_NAME_SIZE (ADDRESS_TEXT_SIZE + 64)

void startup_server_name(const struct options *options, char text[SERVER_NAME_SIZE]);

#endif

/* The first steps of both programs: read the command line and the secret. Main thread. */
#ifndef CLI_STARTUP_H
#define CLI_STARTUP_H

#include "base/address.h"
#include "base/output.h"
#include "cli/parse.h"
#include "protocol/secret.h"

/*
 * Reads the command line. Returns true if the program must exit with *status: after --help,
 * --version or a usage error, which are printed here.
 */
bool startup_options(struct options *options, enum program program, int argc, char *argv[],
	const struct output *output, enum exit_status *status);

/*
 * Directs lines to standard error if standard output is used for data or JSON, and omits the
 * transcript if the options name files.
 */
struct output startup_output(const char *program, const struct options *options);

/*
 * Reads the secret from a file; does nothing if path is NULL. The caller frees it. Returns 0, or -1
 * with the failure recorded.
 */
int startup_secret(struct secret **secret, const char *path, struct failure *failure);

/* Writes the server as named on the command line: "host:port". */
#define SERVER_NAME_SIZE (ADDRESS_TEXT_SIZE + 64)

void startup_server_name(const struct options *options, char text[SERVER_NAME_SIZE]);

#endif

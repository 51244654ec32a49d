/*
 * The server of `rdma-client copy`: rdma-server --stdio at the other host, which this host starts
 * through ssh(1) or --rsh, and with it ends. A one-time secret goes to its standard input, and
 * never into an argument. What it prints to standard error appears here. Main thread.
 */
#ifndef COPY_FAR_SIDE_H
#define COPY_FAR_SIDE_H

#include <stdio.h>
#include <sys/types.h>

#include "base/output.h"
#include "cli/options.h"
#include "protocol/secret.h"

struct far_side {
	pid_t process; /* of --rsh; 0: none */
	int input;     /* its standard input, as long as the server may run */
	FILE *lines;   /* its standard output */
	int secret;    /* the file with the secret, and its path: */
	char secret_path[SECRET_PATH_SIZE];
	char address[OPTIONS_HOST_SIZE]; /* of the server, which this host's devices reach */
};

/*
 * Starts the server for what the options copy, and waits until it listens; there is no time limit,
 * because ssh(1) may ask for a password. Then makes the options those of an exchange with it: the
 * strings belong to *side. Returns STATUS_OK; or, after an error was printed, the exit status.
 */
enum exit_status far_side_start(
	struct far_side *side, struct options *options, const struct output *output);

/*
 * Ends the server's input, and so the server, and waits up to 10 seconds for it. What became of the
 * data, the exchange has told. A signal meanwhile ends both.
 */
void far_side_end(struct far_side *side);

#endif

/*
 * A server that another program has started, usually at another host through ssh(1), and that
 * serves one client: --stdio. The secret is the first line of standard input. Once the server
 * listens, it prints one line to standard output, with its port and the addresses of its RDMA
 * devices: protocol/ready-line.h. When standard input ends, the program that started it is gone,
 * and the server ends as after a signal. Main thread.
 */
#ifndef SERVE_STDIO_H
#define SERVE_STDIO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "protocol/secret.h"

/*
 * Reads the secret, and keeps it under this path: secret_keep(). Returns the file, which the caller
 * closes once the secret is loaded, or -1 with the failure recorded. Blocks until the line is
 * there.
 */
int stdio_take_secret(char path[SECRET_PATH_SIZE], struct failure *failure);

/*
 * Prints the line. list: the addresses, as device_address_list_of() writes them. Returns 0 or
 * -errno.
 */
int stdio_announce(uint16_t port, const char *list);

/* Reads what has arrived on standard input, which is ignored. True if that has ended. */
bool stdio_has_ended(void);

#endif

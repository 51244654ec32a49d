/* The file in which a server tells scripts its port. */
#ifndef SERVE_PORT_FILE_H
#define SERVE_PORT_FILE_H

#include <stdint.h>

/* Removes a port file of an earlier run, so that its port is not mistaken for ours. Any thread. */
void port_file_remove(const char *path);

/*
 * Writes the port and a newline. A regular file appears whole, by rename(2); what exists and is
 * none (a pipe, /dev/stdout, a symbolic link) is written to as it is. Returns 0 or -errno. Any
 * thread.
 */
int port_file_write(const char *path, uint16_t port);

#endif

/* The file in which a server publishes its port for scripts. */
#ifndef SERVE_PORT_FILE_H
#define SERVE_PORT_FILE_H

#include <stdint.h>

/* Removes the port file of an earlier run, so that no script uses the old port. Any thread. */
void port_file_remove(const char *path);

/*
 * Writes the port and a newline. A regular file is replaced atomically by rename(2); anything else
 * (a pipe, /dev/stdout, a symbolic link) is written in place. Returns 0 or -errno. Any thread.
 */
int port_file_write(const char *path, uint16_t port);

#endif

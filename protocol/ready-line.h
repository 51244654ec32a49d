/*
 * The line in which a server tells the program that started it, with --stdio, where it listens:
 * "rdma-server listens: PORT ADDRESS ...". A shell's start-up files may print other lines before.
 * Any thread.
 */
#ifndef PROTOCOL_READY_LINE_H
#define PROTOCOL_READY_LINE_H

#include <stdbool.h>
#include <stdint.h>

#define READY_LINE_START "rdma-server listens:"

/*
 * Returns the addresses, which are separated by blanks, and the port of such a line; NULL for any
 * other one.
 */
const char *ready_line_read(const char *line, uint16_t *port);

#endif

/* An inventory as text lines and as a JSON object. Any thread. */
#ifndef DIAGNOSE_INVENTORY_REPORT_H
#define DIAGNOSE_INVENTORY_REPORT_H

#include "host/inventory.h"

struct json_object;

/* Receives a line without its newline, valid only during the call. */
typedef void inventory_line(const char *line, void *context);

/*
 * Produces one line for the host, then one for each port and each of its GIDs; without `all`, only
 * those of the ports, and how each address that is not on a device's own interface reaches it:
 *
 *   rdma_cm usable, ib_core loaded, rdma_ucm loaded, netns shared, locked memory 8.4 MB
 *   rxe0/1: ACTIVE, LinkUp, Ethernet, 2.5 Gb/sec (1X), rdma_rxe, uverbs0 usable; eth0: up, ...
 *   rxe0/1 GID 1: ::ffff:10.0.0.1, RoCE v2, eth0
 *
 * The lines are safe to print: control characters and invalid UTF-8 are escaped as \xHH. Before
 * escaping, a line is truncated to INVENTORY_LINE bytes.
 */
#define INVENTORY_LINE 1024
void inventory_lines(
	const struct inventory *inventory, bool all, inventory_line *line, void *context);

/*
 * Returns an object whose members correspond to the fields of the structs. Strings are escaped as
 * described in base/json-document.h; unknown values are null. The caller frees it with
 * json_object_put(). NULL: out of memory.
 */
struct json_object *inventory_json(const struct inventory *inventory);

#endif

/* An inventory as lines for people and as a JSON object. Any thread. */
#ifndef DIAGNOSE_INVENTORY_REPORT_H
#define DIAGNOSE_INVENTORY_REPORT_H

#include "host/inventory.h"

struct json_object;

/* Takes a line without its end, which is valid during the call. */
typedef void inventory_line(const char *line, void *context);

/*
 * Makes a line of the host, then one of each port and of each of its GIDs:
 *
 *   rdma_cm usable, ib_core loaded, rdma_ucm loaded, netns shared, locked memory 8.4 MB
 *   rxe0/1: ACTIVE, LinkUp, Ethernet, 2.5 Gb/sec (1X), rdma_rxe, uverbs0 usable; eth0: up, ...
 *   rxe0/1 GID 1: ::ffff:10.0.0.1, RoCE v2, eth0
 *
 * They are safe to print: control characters and bytes that are not UTF-8 are \xHH. A line is cut
 * at INVENTORY_LINE bytes before that.
 */
#define INVENTORY_LINE 1024
void inventory_lines(const struct inventory *inventory, inventory_line *line, void *context);

/*
 * An object with members like the fields of the structs, texts made safe as in
 * base/json-document.h; unknown values are null. The caller frees it with json_object_put(). NULL:
 * no memory.
 */
struct json_object *inventory_json(const struct inventory *inventory);

#endif

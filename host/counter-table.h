/*
 * Classifies the counters of each driver. To support another driver, add rows to counter-table.c.
 */
#ifndef HOST_COUNTER_TABLE_H
#define HOST_COUNTER_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* What an increase indicates. */
enum counter_class {
	COUNTER_RETRANSMISSION, /* packets retransmitted, or not acknowledged in time */
	COUNTER_DUPLICATE,      /* packets retransmitted although the first copy arrived */
	COUNTER_OUT_OF_ORDER,   /* packets missing or reordered */
	COUNTER_RNR,            /* receiver not ready: no receive posted */
	COUNTER_CONGESTION,     /* the network or a port was congested */
	COUNTER_LINK,           /* the link went down or corrupted packets */
	COUNTER_ERROR,          /* work requests failed */
	COUNTER_OTHER,          /* traffic, and counters that the table does not list */
	COUNTER_CLASSES,
};

/*
 * Returns the class of a counter. A "vport_" prefix (mlx5, virtual ports) is ignored. Any thread.
 */
enum counter_class counter_class(const char *name);

/* True if the counter counts replies by which the peer reported missing packets. Any thread. */
bool counter_is_nak(const char *name);

/*
 * True if the counter counts packets that arrived out of order even if none is missing, because
 * packets take different paths (adaptive routing). Any thread.
 */
bool counter_is_reordering(const char *name);

/* The counters of one driver that belong to one class. */
struct counter_row {
	enum counter_class class;
	const char *names; /* separated by spaces */
};

/* Returns the row at this index, NULL past the end of the table; for tests. */
const struct counter_row *counter_row(size_t index);

#endif

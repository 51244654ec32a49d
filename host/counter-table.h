/*
 * What the counters of each driver point to. A new driver's counters are rows in counter-table.c.
 */
#ifndef HOST_COUNTER_TABLE_H
#define HOST_COUNTER_TABLE_H

#include <stddef.h>

/* What an increase points to. */
enum counter_class {
	COUNTER_RETRANSMISSION, /* packets were sent again, or not acknowledged in time */
	COUNTER_DUPLICATE,      /* packets arrived twice: sent again though the first had arrived */
	COUNTER_OUT_OF_ORDER,   /* packets were missing or overtaken */
	COUNTER_RNR,            /* receiver not ready: it had no receive posted */
	COUNTER_CONGESTION,     /* the network or a port was full */
	COUNTER_LINK,           /* the link went down, or damaged packets */
	COUNTER_ERROR,          /* work requests failed */
	COUNTER_OTHER,          /* traffic, and counters that the table does not have */
	COUNTER_CLASSES,
};

/*
 * The class of the counter of that name. mlx5's counters of a virtual port count as those without
 * "vport_". Any thread.
 */
enum counter_class counter_class(const char *name);

/* The counters of one driver that are of the same class. */
struct counter_row {
	enum counter_class class;
	const char *names; /* separated by blanks */
};

/* The row of the table at this index, NULL past its end; for tests. */
const struct counter_row *counter_row(size_t index);

#endif

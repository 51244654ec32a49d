/*
 * How a connection uses the hardware: the class of its packets, the memory of its data, and the
 * processors of its threads. For --verbose and the report.
 */
#ifndef EXCHANGE_TUNING_H
#define EXCHANGE_TUNING_H

#include <stdbool.h>
#include <stddef.h>

#include "host/locality.h"

struct connection;

/* Size of a list of processors, with terminator; longer lists are truncated. */
#define TUNING_PROCESSORS 256

/* Size of the whole text, with terminator. */
#define TUNING_TEXT (TUNING_PROCESSORS + 160)

struct tuning {
	int dscp;                          /* of its packets; -1: unknown */
	bool relaxed_ordering;             /* requested for the peer's and our data */
	bool huge_outgoing, huge_incoming; /* the memory for our and for the peer's data */
	const struct locality *locality;   /* the device's */
	int vector;                        /* completion vector */
};

/* Returns the tuning of an established connection, which owns the locality. Main thread. */
struct tuning tuning_of(const struct connection *connection);

/*
 * Formats the tuning: "DSCP 26, relaxed ordering on, huge pages for incoming data, NUMA node 1,
 * processors 0-7, completion vector 3". Any thread.
 */
void tuning_text(char text[TUNING_TEXT], const struct tuning *tuning);

#endif

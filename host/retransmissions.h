/*
 * Counts the packets that were sent again while a transfer ran, from the counters of the local
 * port. Other traffic of the port counts, too. Reads sysfs, which takes about a millisecond. Any
 * thread; the caller owns the struct.
 */
#ifndef HOST_RETRANSMISSIONS_H
#define HOST_RETRANSMISSIONS_H

#include <stdint.h>

#include "host/counters.h"

struct retransmissions {
	char device[64];
	unsigned int port; /* 0: not counting */
	struct counters before;
};

void retransmissions_begin(
	struct retransmissions *retransmissions, const char *device, unsigned int port);

/*
 * Returns how often packets were sent again, or found missing, since retransmissions_begin(); 0 if
 * that is normal for so many bytes, or unknown.
 */
uint64_t retransmissions_excess(const struct retransmissions *retransmissions, uint64_t bytes);

#endif

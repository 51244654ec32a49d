/* See host/retransmissions.h. The caller owns the struct. */
#include <stdio.h>

#include "host/retransmissions.h"

/*
 * Normal are this many, as from a busy host, plus one in this many packets, which are usually at
 * least this large.
 */
#define NORMAL_COUNT   10
#define NORMAL_DIVISOR 1000
#define PACKET_SIZE    4096

void retransmissions_begin(
	struct retransmissions *retransmissions, const char *device, unsigned int port)
{
	snprintf(retransmissions->device, sizeof(retransmissions->device), "%s", device);
	retransmissions->port = port;
	if (counters_read("", device, port, &retransmissions->before))
		retransmissions->port = 0;
}

uint64_t retransmissions_excess(const struct retransmissions *retransmissions, uint64_t bytes)
{
	struct counters counters;
	uint64_t count;

	if (retransmissions->port == 0 ||
		counters_read("", retransmissions->device, retransmissions->port, &counters))
		return 0;
	counters_difference(&retransmissions->before, &counters, &counters);
	count = counters_total(&counters, COUNTER_RETRANSMISSION) + counters_missing(&counters);
	return count > NORMAL_COUNT + bytes / PACKET_SIZE / NORMAL_DIVISOR ? count : 0;
}

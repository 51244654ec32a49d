/*
 * Finds out which side is at fault when no reply to a connection request arrives, as far as this
 * host can see it: packets of a soft-RoCE device that do not leave this host, and packets of the
 * peer that reach a network interface of this host, but not the device, are dropped here. Without
 * the privilege to see packets (CAP_NET_RAW), and for other devices, the port's counters are the
 * only evidence, and the fault may be on either side. One thread; the caller owns the struct.
 */
#ifndef VERBS_REPLY_WATCH_H
#define VERBS_REPLY_WATCH_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

#include "base/failure.h"
#include "host/counters.h"
#include "host/packet-tap.h"

struct reply_watch {
	const struct rdma_cm_id *id; /* NULL: not watching */
	bool complete;               /* the request was sent after the watch began */
	bool seen;                   /* packets can be seen */
	struct packet_tap tap;
	struct counters before;
};

/* The packets of the device's port since the watch began; known: the device counts them. */
struct reply_traffic {
	bool known;
	uint64_t sent, received;
};

/*
 * Begins to watch for the reply to this id's request. `complete` is true if the request is yet to
 * be sent. Takes some milliseconds.
 */
void reply_watch_begin(struct reply_watch *watch, const struct rdma_cm_id *id, bool complete);

/*
 * Ends the watch, if it began. If the failure is that no reply arrived, sets its code to
 * CODE_REPLY_DROPPED or CODE_REQUEST_DROPPED where this host is at fault, and adds what was seen to
 * its evidence. The id must still exist.
 */
void reply_watch_end(struct reply_watch *watch, struct failure *failure);

/*
 * The decision of reply_watch_end(): sets the code, and adds to the evidence, of a missing reply.
 * device is its name.
 */
void reply_watch_judge(const struct reply_watch *watch, const struct reply_traffic *traffic,
	const char *device, struct failure *failure);

#endif

/*
 * Packets that soft-RoCE could not hand over to its network interface, because the interface's
 * queue was full or a rule rejected them. Before Linux 6.10, the next packet takes its place with
 * later data, because rollback_state() does not restore the position in the data: the message ends
 * early, and unless it is retransmitted before that, the peer's device rejects it as an invalid
 * request, or accepts what the peer's program then rejects. Since Linux 6.10, one such packet
 * breaks its queue pair, and the work requests complete as flushed: rxe_requester(). Neither status
 * tells the cause. The counter is that of the port, to which other queue pairs contribute. Any
 * thread; the caller owns the struct. root: see host/sysfs.h.
 */
#ifndef VERBS_SEND_ERRORS_H
#define VERBS_SEND_ERRORS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

struct send_errors {
	char device[IBV_SYSFS_NAME_MAX];
	unsigned int port; /* 0: not counting */
	bool flushes;      /* one packet that is not sent breaks its queue pair */
	uint64_t before;
};

/* Begins to count, when a connection is created. Reads one file. */
void send_errors_begin(struct send_errors *errors, const char *root, const char *device,
	unsigned int port, bool flushes);

/*
 * If the failure can be the consequence of packets that were not sent, and the device could not
 * send packets since send_errors_begin(), sets its code to CODE_UNSENT. That is: work requests were
 * flushed, if one such packet breaks a queue pair; a request was rejected as invalid; the peer
 * closed the connection while nothing was acknowledged; or, if such packets do not break a queue
 * pair, the peer aborted because this side seemed to violate the protocol. The failure must be one
 * for which rdmacm has reported no other cause.
 */
void send_errors_blame(const struct send_errors *errors, const char *root, struct failure *failure);

/* A version of Linux as one number, which can be compared; 0 is earlier than all. */
#define LINUX(major, minor) ((major)*1000U + (minor))

/* Returns the version of a kernel release, "6.12.118+deb13-amd64"; 0 if it is no release. */
unsigned int linux_version(const char *release);

#endif

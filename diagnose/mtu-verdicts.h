/*
 * What the MTUs of the path and of both ends mean for RDMA: a fault only if RDMA packets, which are
 * smaller than the interface's MTU, may not fit. Main thread.
 */
#ifndef DIAGNOSE_MTU_VERDICTS_H
#define DIAGNOSE_MTU_VERDICTS_H

#include "diagnose/diagnosis.h"
#include "diagnose/path-mtu.h"

/* Records the result of a path check that passed. */
void mtu_verdicts_path_ok(struct check_list *list, const struct path_mtu *path);

/*
 * Records the result of the path check from a bad path: a warning if datagrams as large as RDMA
 * packets arrive, otherwise a failure.
 */
void mtu_verdicts_path(struct diagnosis *diagnosis, const struct path_mtu *path);

/*
 * Compares the MTUs that both ends report. Returns true if it recorded the failure of the check of
 * both ends. If RDMA packets fit both interfaces, different MTUs of these are only a warning. Over
 * iWARP, they mean nothing, because TCP adapts its segments.
 */
bool mtu_verdicts_ends(struct diagnosis *diagnosis);

/*
 * True if the other end's interface cannot send packets as large as those of the connection, whose
 * size this host chose. Soft-RoCE would send such a packet again and again, as fast as it can.
 */
bool mtu_verdicts_peer_cannot_send(const struct diagnosis *diagnosis);

#endif

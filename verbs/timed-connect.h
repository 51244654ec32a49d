/*
 * rdma_connect(3) with a deadline. It returns at once on all devices but software iWARP, where the
 * kernel waits until TCP has connected, for minutes where a firewall drops packets.
 */
#ifndef VERBS_TIMED_CONNECT_H
#define VERBS_TIMED_CONNECT_H

#include <rdma/rdma_cma.h>

#include "base/deadline.h"

/*
 * As rdma_connect(3), but at the deadline a signal of a timer interrupts the call: it then fails
 * with ETIMEDOUT. Returns 0, or -1 with errno set. Any thread.
 */
int timed_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters, deadline_t deadline);

#endif

/*
 * The way to connect to a server by rdmacm: rdma_resolve_addr(3) and rdma_resolve_route(3), then
 * rdma_connect(3).
 */
#ifndef VERBS_RDMACM_DIAL_H
#define VERBS_RDMACM_DIAL_H

#include "verbs/dial-steps.h"

extern const struct dial_way dial_by_rdmacm;

#endif

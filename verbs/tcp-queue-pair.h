/*
 * The queue pair of a connection without rdmacm: its attributes and transitions. Only the thread
 * that owns the id may call these functions. ibv_modify_qp(3).
 */
#ifndef VERBS_TCP_QUEUE_PAIR_H
#define VERBS_TCP_QUEUE_PAIR_H

#include "verbs/tcp-id.h"

/* Functions of the row bootstrap_tcp: verbs/bootstrap.h. */
int tcp_create_queue_pair(
	struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attributes);
void tcp_destroy_queue_pair(struct rdma_cm_id *id);
int tcp_attributes(struct rdma_cm_id *id, struct ibv_qp_attr *attributes, int *mask);

/* Fills in what the peer must know of the queue pair, with the depths of rdma_connect(3). */
void tcp_describe_queue_pair(struct tcp_id *tcp, const struct rdma_conn_param *parameters);

/*
 * Has a thread move the queue pair to RTR and RTS: the kernel may wait for a second for the peer's
 * hardware address. tcp->moved is readable when it is done, or almost. tcp_join_mover() waits for
 * it; if nothing was started, it does nothing. Returns 0 or -errno. See base/brief-job.h.
 */
int tcp_start_mover(struct tcp_id *tcp);
void tcp_join_mover(struct tcp_id *tcp);

/*
 * Moves the queue pair to RTR and RTS: the peer is described. Returns 0, or -1 with errno set and
 * the id's failure recorded.
 */
int tcp_connect_queue_pair(struct tcp_id *tcp);

#endif

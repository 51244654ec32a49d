/*
 * Membership in a multicast group: a UD queue pair that rdmacm attaches to it, with memory for its
 * datagrams. Everything belongs to the caller's thread. rdma_join_multicast(3),
 * ibv_attach_mcast(3).
 */
#ifndef MULTICAST_GROUP_H
#define MULTICAST_GROUP_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "base/deadline.h"
#include "base/failure.h"
#include "base/output.h"

/* Which group, and from where. */
struct group_settings {
	const char *name;   /* of the group: an IPv4 or IPv6 address */
	const char *device; /* NULL: any */
	const char *source; /* local address or host name; NULL: one of the device */
	const struct output *output;
	deadline_t deadline; /* of joining */
	int stop_fd;         /* readable: the user wants to stop; -1: none */
	unsigned int slots; /* datagrams in memory; one more is to send from if they are receives */
	bool receives;      /* the slots are posted as receives; otherwise they are sent from */
};

struct group {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct sockaddr_storage joined; /* its address; AF_UNSPEC: not joined */
	deadline_t since;               /* when it was joined */
	struct ibv_pd *pd;
	struct ibv_comp_channel *completions; /* non-blocking */
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_ah *address; /* of the group */
	uint8_t *memory;
	unsigned int slots;
	uint32_t slot_size;    /* of a receive: the GRH, then the largest datagram */
	uint32_t mtu;          /* largest datagram: that of the port, see group_join() */
	uint32_t qp_num, qkey; /* to send to */
	union ibv_gid mgid;
	uint16_t mlid; /* of InfiniBand */
};

/* The space before a received datagram for its global route header. ibv_post_recv(3). */
#define GROUP_GRH 40

/*
 * Joins the group and prints where. Returns 0, or -1 with the failure recorded; group_leave() frees
 * everything in either case. The MTU is that of the port: a group of InfiniBand has one of its own,
 * which may be smaller, but which the event of rdmacm does not contain (struct rdma_ud_param).
 * getaddrinfo(3), rdma_bind_addr(3), rdma_join_multicast(3).
 */
int group_join(struct group *group, const struct group_settings *settings, struct failure *failure);
void group_leave(struct group *group);

/*
 * Takes an event of the channel. Returns true if it ends the membership, with the failure recorded:
 * the device is removed, or the group is lost. rdma_get_cm_event(3).
 */
bool group_has_ended(struct group *group, struct failure *failure);

/* The memory of a slot. */
uint8_t *group_slot(const struct group *group, unsigned int slot);

/* Posts a receive or a send of a slot; the completion has the slot as its wr_id. 0 or -errno. */
int group_post_receive(struct group *group, unsigned int slot);
int group_post_send(struct group *group, unsigned int slot, uint32_t size);

#endif

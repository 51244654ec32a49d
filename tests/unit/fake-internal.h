/* What the files of the made-up RDMA device share and no test sees. */
#ifndef FAKE_INTERNAL_H
#define FAKE_INTERNAL_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake-verbs.h"

#define QUEUE_MAX  64
#define OBJECT_MAX 16

struct fake_cq {
	struct ibv_cq cq;
	struct ibv_wc queue[QUEUE_MAX];
	unsigned int added, polled;
	unsigned int events, got, acknowledged; /* raised and not got, got, acknowledged */
	bool armed;
};

struct fake_connection {
	struct rdma_cm_id id;
	struct ibv_qp qp;
	struct fake_cq *cq;
	struct ibv_recv_wr receives[QUEUE_MAX];
	struct ibv_sge pieces[QUEUE_MAX];
	unsigned int receives_posted, received;
	struct fake_send sends[QUEUE_MAX];
	unsigned int posted, completed, calls, markers;
	bool broken;
	struct fake_requests requests;
};

struct fake_mr {
	struct ibv_mr mr;
	int access;
	bool used;
};

/* One device for one test at a time. The CQ thread and the test share it. */
extern struct fake {
	pthread_mutex_t lock;
	pthread_cond_t slept;
	bool asleep;              /* the CQ thread, in poll() */
	struct pollfd watched[2]; /* what it polls */
	struct ibv_device device;
	struct ibv_context context;
	struct fake_cq *cqs[OBJECT_MAX];
	struct fake_mr regions[OBJECT_MAX];
	unsigned int objects;
	struct {
		const char *function;
		unsigned int after;
		int error;
	} failure;
	struct {
		uint64_t start;
		size_t length;
		uint32_t rkey;
	} peer;
	bool flush_on_disconnect;
} fake;

/* What ibv_post_send() and its like call through a context. */
extern const struct ibv_context_ops fake_ops;

/* Ends the process where the module does what no device would bear. */
void fake_rule(bool kept, const char *what);

void fake_lock(void);
void fake_unlock(void);

/*
 * Counts the objects that a call makes, or returns false and sets errno if it is to fail. Without
 * the lock.
 */
bool fake_make(const char *function, unsigned int objects);

/* Counts an object that was freed. Without the lock. */
void fake_unmake(void);

struct fake_connection *fake_of_qp(struct ibv_qp *qp);
struct fake_connection *fake_of_id(struct rdma_cm_id *id);

/* The region of that local or remote key, NULL if there is none. With the lock. */
const struct fake_mr *fake_find(uint32_t key);

/* Takes one work request. With the lock. */
void fake_take_send(struct fake_connection *connection, const struct ibv_send_wr *request);
void fake_take_receive(struct fake_connection *connection, const struct ibv_recv_wr *request);

/* The error state: everything that is posted completes as flushed. With the lock. */
void fake_flush(struct fake_connection *connection);

#endif

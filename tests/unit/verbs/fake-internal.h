/* What the files of the made-up RDMA device share and no test sees. */
#ifndef TESTS_UNIT_VERBS_FAKE_INTERNAL_H
#define TESTS_UNIT_VERBS_FAKE_INTERNAL_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/verbs/fake-verbs.h"

#define OBJECT_MAX 32

struct fake_completion {
	struct ibv_wc completion;
	struct fake_connection *connection;
	bool receive;
	unsigned int send; /* which */
};

struct fake_cq {
	struct ibv_cq cq;
	struct fake_completion *queue; /* of cq.cqe places */
	unsigned int added, polled;
	unsigned int events, got, acknowledged; /* raised and not got, got, acknowledged */
	bool armed;
};

struct fake_receive {
	uint64_t wr_id;
	struct ibv_sge piece;
};

struct fake_connection {
	struct rdma_cm_id id;
	struct ibv_qp qp;
	struct fake_cq *cq;
	struct ibv_qp_cap capacity;
	struct fake_connection *peer;  /* NULL: the test plays it */
	struct fake_receive *receives; /* of capacity.max_recv_wr places */
	unsigned int receives_posted, received, receives_freed;
	struct fake_send *sends; /* all that ever were */
	size_t room;
	unsigned int posted, completed, freed, drains;
	unsigned int reading, reads;
	unsigned int flood; /* messages of no bytes that come as fast as they are taken */
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
	atomic_int_least64_t now; /* milliseconds: what CLOCK_MONOTONIC shows */
	bool asleep;              /* the CQ thread, in poll() */
	int64_t wake;             /* until then */
	int tick;                 /* an eventfd that wakes it */
	int channel;              /* the descriptor by which its poll() is known */
	struct pollfd watched[3]; /* what it polls */
	struct ibv_device device;
	struct ibv_context context;
	struct ibv_device_attr attributes;
	struct fake_cq *cqs[OBJECT_MAX];
	struct fake_mr regions[OBJECT_MAX];
	size_t registered, registered_most; /* bytes in whole pages */
	size_t announced;                   /* RLIMIT_MEMLOCK; 0: none */
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
	unsigned int turn,
		longest_turn; /* completions that were polled since the CQ thread slept */
	unsigned int damage;  /* RDMA operations until one brings damaged data, 0: none will */
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

/* What so many bytes take when they are registered. */
size_t fake_pages(size_t bytes);

struct fake_connection *fake_of_qp(struct ibv_qp *qp);
struct fake_connection *fake_of_id(struct rdma_cm_id *id);

/* The region of that local or remote key, NULL if there is none. With the lock. */
const struct fake_mr *fake_find(uint32_t key);

/* Takes one work request. With the lock. */
void fake_take_send(struct fake_connection *connection, const struct ibv_send_wr *request);
void fake_take_receive(struct fake_connection *connection, const struct ibv_recv_wr *request);

/* Completes the oldest one. With the lock. */
void fake_complete_send(struct fake_connection *connection, enum ibv_wc_status status);
void fake_complete_receive(struct fake_connection *connection, const struct ibv_wc *completion);

/* What succeeds has an effect. With the lock. */
void fake_execute(struct fake_connection *connection);

/* A message comes in, or immediate data, if there are no bytes. With the lock. */
void fake_deliver(struct fake_connection *connection, const void *bytes, const struct ibv_wc *how);

/* What there is of a flood comes in, as far as there are receives. With the lock. */
void fake_pour(struct fake_connection *connection);

/* A completion was polled: its place in the queue, and those before, are free. With the lock. */
void fake_polled(const struct fake_completion *polled);

/* The error state: everything that is posted completes as flushed. With the lock. */
void fake_flush(struct fake_connection *connection);

#endif

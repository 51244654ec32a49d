/* Internals of the fake RDMA device, shared by its source files and hidden from tests. */
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
#define EVENT_MAX  256

struct fake_completion {
	struct ibv_wc completion;
	struct fake_connection *connection;
	bool receive;
	unsigned int send; /* index of the send */
};

struct fake_cq {
	struct ibv_cq cq;
	int vector;
	struct fake_completion *queue; /* cq.cqe slots */
	unsigned int added, polled;
	unsigned int events, got, acknowledged; /* events pending, retrieved, acknowledged */
	bool armed;
	struct fake_connection *flushing; /* its work requests are flushed when polled */
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
	struct fake_receive *receives; /* capacity.max_recv_wr slots */
	unsigned int receives_posted, received, receives_freed;
	struct fake_send *sends; /* all sends ever posted */
	size_t room;
	unsigned int posted, freed, drains;
	unsigned int first, completed; /* the oldest outstanding send; how many have completed */
	unsigned int reading, reads;
	unsigned int flood; /* empty messages that arrive as soon as a receive is posted */
	bool broken;
	struct fake_requests requests;
};

struct fake_mr {
	struct ibv_mr mr;
	int access;
	bool used;
};

/* There is one device, for one test at a time. The CQ thread and the test share it. */
extern struct fake {
	pthread_mutex_t lock;
	atomic_int_least64_t now; /* CLOCK_MONOTONIC in milliseconds */
	bool asleep;              /* the CQ thread is in poll() */
	int64_t wake;             /* when its timeout expires */
	int tick;                 /* eventfd that wakes it */
	int channel;              /* fd of the completion channel, which identifies its poll() */
	struct pollfd watched[3]; /* what it polls */
	struct ibv_device device;
	struct ibv_context context;
	struct ibv_device_attr attributes;
	uint32_t inline_most;                  /* most bytes of inline data, plus 1; 0: unlimited */
	const struct personality *personality; /* NULL: none in particular */
	unsigned int resets, overtakes;        /* the second counts chances to overtake */
	struct fake_cq *cqs[OBJECT_MAX];
	struct fake_mr regions[OBJECT_MAX];
	size_t registered, registered_most; /* bytes in whole pages */
	size_t announced;                   /* RLIMIT_MEMLOCK; 0: unlimited */
	bool may_lock;                      /* CAP_IPC_LOCK */
	size_t held;                        /* registrations of this size wait; 0: none */
	pthread_cond_t unheld;
	unsigned int objects, unused_entries;
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
	unsigned int turn, longest_turn; /* completions polled since the CQ thread last slept */
	unsigned int damage; /* RDMA operations up to the one that is corrupted; 0: none */
	bool flush_on_disconnect, posts_set_errno;
	uint8_t traffic_class; /* of every path; 0 after fake_start() */
	uint8_t port_width, port_speed;
	enum ibv_mtu port_mtu, path_mtu;          /* 0, which means nothing, after fake_start() */
	struct ibv_async_event events[EVENT_MAX]; /* a ring */
	unsigned int destroyed_armed;
	unsigned int events_raised, events_read, events_acknowledged;
	int events_fd; /* readable once for each event; 0: none yet */
} fake;

/* The functions that ibv_post_send() and similar inline functions call through a context. */
extern const struct ibv_context_ops fake_ops;

/* Unless `kept` is true, prints `what` and aborts. For misuse that no hardware accepts. */
void fake_rule(bool kept, const char *what);

void fake_lock(void);
void fake_unlock(void);

/* Counts the objects that a call creates. Returns false with errno set if the call must fail.
 * Called without the lock. */
bool fake_make(const char *function, unsigned int objects);

/* Counts a freed object. Called without the lock. */
void fake_unmake(void);

/* True on the CQ thread, once it has polled. */
bool fake_is_cq_thread(void);

/* Rounds bytes up to whole pages, as registration does. */
size_t fake_pages(size_t bytes);

struct fake_connection *fake_of_qp(struct ibv_qp *qp);
struct fake_connection *fake_of_id(struct rdma_cm_id *id);

/* Returns the region with this lkey or rkey, or NULL. Called with the lock. */
const struct fake_mr *fake_find(uint32_t key);

/* Accept one work request. Called with the lock. */
void fake_take_send(struct fake_connection *connection, const struct ibv_send_wr *request);
void fake_take_receive(struct fake_connection *connection, const struct ibv_recv_wr *request);

/* Returns the number of the outstanding send that completes next. Called with the lock. */
unsigned int fake_next_send(const struct fake_connection *connection);

/* Complete this send, or the oldest receive. Called with the lock. */
void fake_complete_send(
	struct fake_connection *connection, unsigned int number, enum ibv_wc_status status);
void fake_complete_receive(struct fake_connection *connection, const struct ibv_wc *completion);

/* Executes this send. Called with the lock. */
void fake_execute(struct fake_connection *connection, unsigned int number);

/* Delivers a message, or immediate data if bytes is NULL. Called with the lock. */
void fake_deliver(struct fake_connection *connection, const void *bytes, const struct ibv_wc *how);

/* Delivers the messages of a flood while receives are posted. Called with the lock. */
void fake_pour(struct fake_connection *connection);

/* Frees the queue slot of a polled completion and all earlier slots. Called with the lock. */
void fake_polled(const struct fake_completion *polled);

/* Enters the error state: everything posted completes as flushed. Called with the lock. */
void fake_flush(struct fake_connection *connection);

/* Completes what is posted on the queue pair in the error state, without an event. Called with the
 * lock. */
void fake_flush_in_poll(struct fake_cq *cq);

#endif

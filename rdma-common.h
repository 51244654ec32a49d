/*
 * What server and client share: the context of an RDMA device with the thread that polls its
 * completions, and the main thread's loop.
 */
#ifndef RDMA_COMMON_H
#define RDMA_COMMON_H

#include <rdma/rdma_cma.h>

#include "base/address.h"
#include "base/failure.h"
#include "base/wakeup-queue.h"
#include "exchange/connection.h"
#include "exchange/settings.h"
#include "verbs/cm.h"
#include "verbs/device.h"

/*
 * Makes the context for one RDMA device and starts its CQ thread. verbs belongs to librdmacm and
 * must stay open until device_stop(): hold an rdma_cm_id that is bound to the device. Returns 0, or
 * -1 with the failure recorded. Main thread. ibv_create_comp_channel(3).
 */
int device_start(struct ibv_context *verbs, struct device **device, struct failure *failure);

/*
 * Ends and joins the CQ thread and frees the context; all its connections are destroyed already.
 * NULL is allowed. Main thread.
 */
void device_stop(struct device *device);

/*
 * What the main thread waits for, and who takes it. Set by the caller, who owns everything; a NULL
 * channel is not waited for.
 */
struct main_loop {
	struct rdma_event_channel *channel;
	struct wakeup_queue *wakeups;
	int signals; /* signals_open() */

	void *user;
	/* An event of rdmacm, which is acknowledged: its id may be destroyed. */
	void (*take_event)(void *user, const struct rdma_cm_event *event);
	/* The CQ thread, or another one, has something to say about wakeup->about. */
	void (*take_wakeup)(void *user, const struct wakeup *wakeup, unsigned int events);
	void (*take_signal)(void *user);
	/* The event channel is broken for this reason; it is not waited for any more. */
	void (*take_failure)(void *user, const struct failure *failure);
};

/*
 * Waits for that many milliseconds, -1: without limit, for the first thing to happen, and takes all
 * that has happened: wakeups, events, a signal. Of the events it takes a bounded number, however fast
 * more come. Main thread. poll(2).
 */
void main_loop_turn(struct main_loop *loop, int milliseconds);

#endif

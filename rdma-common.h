/*
 * What server and client share: the context of an RDMA device with the thread that polls its
 * completions, the main thread's loop, and the settings of all exchanges.
 */
#ifndef RDMA_COMMON_H
#define RDMA_COMMON_H

#include <rdma/rdma_cma.h>

#include "base/address.h"
#include "base/failure.h"
#include "base/wakeup-queue.h"
#include "cli/options.h"
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
 * that has happened: wakeups, events, a signal. Of the events it takes a bounded number, however
 * fast more come. Main thread. poll(2).
 */
void main_loop_turn(struct main_loop *loop, int milliseconds);

/*
 * Makes the settings of the options, with this text if they have neither message nor input. Main
 * thread, as all functions here.
 */
void settings_init(struct exchange_settings *settings, const struct options *options,
	const struct output *output, struct wakeup_queue *wakeups, const char *greeting);

/*
 * Reads the secret, and checks that the input can be read and the output be written, before any
 * peer is involved. What is shared is not opened: the process at its other end would take that for
 * its use. Returns 0, or -1 having said why not. Input and output may still fail later.
 */
int settings_prepare(struct exchange_settings *settings);

/* Frees the secret. All connections are gone. */
void settings_end(struct exchange_settings *settings);

#endif

/*
 * Shared by the server and the client: RDMA device contexts, each with a thread that polls for
 * completions; the main thread's event loop; and the settings for all exchanges.
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
 * Creates the context of an RDMA device and starts its CQ thread. verbs belongs to librdmacm and
 * must stay open until device_stop(): keep an rdma_cm_id bound to the device. Returns 0, or -1 with
 * the failure recorded. Main thread. ibv_create_comp_channel(3).
 */
int device_start(struct ibv_context *verbs, struct device **device, struct failure *failure);

/*
 * Stops and joins the CQ thread and frees the context. All of its connections must have been
 * destroyed. NULL is allowed. Main thread.
 */
void device_stop(struct device *device);

/*
 * The event sources of the main thread and their handlers. The caller sets the fields and owns the
 * objects they point to. A NULL channel is not polled.
 */
struct main_loop {
	struct cm_channel *channel;
	struct wakeup_queue *wakeups;
	int signals; /* signals_open() */
	int signal;  /* the last one that was read; 0: none */
	int status;  /* a socket of serve/status.h; used only with take_status */
	int input;   /* used only with take_input */

	void *user;
	/* Handles an rdmacm event that has been acknowledged, so its id may be destroyed. */
	void (*take_event)(void *user, const struct rdma_cm_event *event);
	/* Handles events that a CQ thread or another thread reports about wakeup->about. */
	void (*take_wakeup)(void *user, const struct wakeup *wakeup, unsigned int events);
	void (*take_signal)(void *user); /* `signal` has been read */
	void (*take_status)(void *user); /* `status` is readable; NULL: there is no such socket */
	void (*take_input)(void *user);  /* `input` is readable, or has ended; NULL: not wanted */
	/* Handles the failure of the event channel, which is no longer polled. */
	void (*take_failure)(void *user, const struct failure *failure);
};

/*
 * Waits up to this many milliseconds (-1: no limit) for an event, then handles everything that is
 * pending: wakeups, rdmacm events, a signal, questions about the status. The number of rdmacm
 * events per turn is bounded, so a fast peer cannot starve the other sources. Main thread. poll(2).
 */
void main_loop_turn(struct main_loop *loop, int milliseconds);

/*
 * Initialises the settings from the options; greeting is the message if they specify neither a
 * message nor an input. Main thread, like all functions here.
 */
void settings_init(struct exchange_settings *settings, const struct options *options,
	const struct output *output, struct wakeup_queue *wakeups, const char *greeting);

/*
 * Loads the secret, and checks that the input can be read and the output written, before any peer
 * is involved. A shared input (output_file_is_shared()) is not opened, because the process at its
 * other end would notice. Returns 0, or -1 with the failure recorded. Input and output may still
 * fail later.
 */
int settings_prepare(struct exchange_settings *settings, struct failure *failure);

/* Frees the secret. All connections must have been destroyed. */
void settings_end(struct exchange_settings *settings);

#endif

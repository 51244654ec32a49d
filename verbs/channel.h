/*
 * Event channels: of librdmacm, of connections without rdmacm, or of both. Nothing here blocks: the
 * caller polls the channel's descriptor.
 */
#ifndef VERBS_CHANNEL_H
#define VERBS_CHANNEL_H

#include "verbs/cm.h"

/*
 * Creates a non-blocking channel for these kinds of events. Returns 0 or -errno.
 * rdma_create_event_channel(3).
 */
int channel_create(unsigned int kinds, struct cm_channel **channel);

/* Creates the program's first channel, or records why this host cannot create one. */
struct cm_channel *channel_open(unsigned int kinds, struct failure *failure);

/* Frees the channel, whose ids must have been destroyed. rdma_destroy_event_channel(3). */
void channel_destroy(struct cm_channel *channel);

/*
 * Copies and acknowledges the next event, so that its handler can destroy the id; destroying it
 * blocks until all its events are acknowledged. Returns 1, 0 if no event is pending, or -errno if
 * the channel is broken. Call only from the thread that owns the channel. rdma_get_cm_event(3).
 */
int channel_take(struct cm_channel *channel, struct event_copy *copy);

#endif

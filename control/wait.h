/* What control/endpoint.c and control/wait.c share, and nobody else sees. */
#ifndef CONTROL_WAIT_H
#define CONTROL_WAIT_H

#include "control/endpoint.h"

/* A call failed with this errno. Returns -1. */
int probe_call_failed(struct probe *probe, enum phase phase, const char *call, int error);

/* Takes the completion events that wait. ibv_get_cq_event(3). */
void probe_take_cq_events(struct probe *probe);

/* Waits for one completion of that queue, and returns only one that succeeded. */
int probe_await_completion(struct probe *probe, struct probe_queue *queue,
	struct ibv_wc *completion, deadline_t deadline);

#endif

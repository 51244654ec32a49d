/* Limits and times that an agent and its coordinator agree on. */
#ifndef MESH_LIMITS_H
#define MESH_LIMITS_H

#include "cli/options.h"

/* The version of their messages. */
#define MESH_PROTOCOL 1

/* Space for the name of a host, and for the reason of a refusal or a failure. */
#define MESH_NAME_SIZE   256
#define MESH_REASON_SIZE 512

/* RDMA devices of a host that take part; more are ignored. */
#define MESH_DEVICES_MAX OPTIONS_DEVICES_MAX

/* The variable with the token, where standard input does not reach the agent. */
#define TOKEN_VARIABLE "RDMA_MESH_TOKEN"

/* How long each end waits for a message of the greeting, in milliseconds. */
#define MESH_GREETING_MS 10000

/* How often the coordinator shows that it lives, and after which silence an end counts as dead. */
#define MESH_PING_MS    5000
#define MESH_SILENCE_MS 60000

#endif

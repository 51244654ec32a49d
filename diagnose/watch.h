/*
 * `rdma-client diagnose --watch`: prints events of this host's RDMA devices and increases of their
 * error counters as they happen. Main thread.
 */
#ifndef DIAGNOSE_WATCH_H
#define DIAGNOSE_WATCH_H

#include "cli/options.h"

/*
 * Watches all devices, or that of --device, including devices that appear later, until SIGINT or
 * SIGTERM. Returns the exit status: STATUS_FAILED if there is no device at the start.
 */
enum exit_status watch_devices(const struct options *options, const char *program);

#endif

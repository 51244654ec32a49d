/*
 * `rdma-client diagnose --watch`: prints events of this host's RDMA devices and increases of their
 * error counters as they happen. Main thread.
 */
#ifndef DIAGNOSE_WATCH_H
#define DIAGNOSE_WATCH_H

#include <stdbool.h>

#include "cli/options.h"
#include "host/counters.h"

/*
 * Watches all devices, or that of --device, including devices that appear later, until SIGINT or
 * SIGTERM, which stays pending for signals_end(), or until output is lost. Returns the exit status:
 * STATUS_CONNECT if there is no device at the start, STATUS_FAILED if output was lost.
 */
enum exit_status watch_devices(const struct options *options, const char *program);

/*
 * True if the increases of a port's counters show a fault: packets lost, damaged or sent again, or
 * failed work requests. Congestion, duplicates, receivers that are not ready and packets that
 * arrive out of order also occur on a healthy network. Any thread.
 */
bool watch_is_fault(const struct counters *increase);

#endif

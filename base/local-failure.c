/* The table of failures that only this host causes: see base/local-failure.h. */
#include <errno.h>

#include "base/local-failure.h"

/*
 * The connection manager of InfiniBand and RoCE waits 4 s for a reply and repeats the request, and
 * TCP, below iWARP, repeats its first packet after 1 s. An earlier timeout is the error of a packet
 * that was not sent.
 */
#define TIMERS_MS 1000

static const struct local_failure rows[] = {
	{ETIMEDOUT, TIMERS_MS, "before any timer expires, the packet was not sent"},
	{EADDRINUSE, 0, "the local port is taken"},
	{EADDRNOTAVAIL, 0, "no port or address is free"}, {ENODEV, 0, "no device has the address"},
	{EINVAL, 0, "the call or its parameters are invalid"},
	{EPERM, 0, "a rule for outgoing packets rejects it"},
	{ENETDOWN, 0, "the interface is down"}, {ENOBUFS, 0, "a queue is full"},
	{ENOMEM, 0, "memory is exhausted"}, {EAGAIN, 0, "a limit is reached"},
	{EMFILE, 0, "a limit is reached"}, {ENFILE, 0, "a limit is reached"},
	{ENOSPC, 0, "a table is full"}, {EBUSY, 0, "a resource is in use"},
	{EIO, 0, "the device or its driver failed"}, {ENOSYS, 0, "the driver cannot do it"},
	/*
	 * Not: ECONNREFUSED, ECONNRESET, ECONNABORTED and EPROTO, which a peer sends; what a router
	 * or the peer's firewall reports to TCP, below iWARP: ENETUNREACH, EHOSTUNREACH, EHOSTDOWN,
	 * ENONET, ENOPROTOOPT, EMSGSIZE and EOPNOTSUPP, and over IPv6 EACCES (icmp_err_convert,
	 * icmpv6_err_convert()); ETIMEDOUT of the timers.
	 */
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct local_failure *local_failure_row(size_t index)
{
	return index < COUNT(rows) ? &rows[index] : NULL;
}

bool local_failure_is(int error, int64_t milliseconds)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].error == error)
			return rows[i].within == 0 || milliseconds < rows[i].within;
	return false;
}

/*
 * The way to connect to a server without rdmacm: TCP connects and the ends agree on a path, then
 * they exchange the numbers of their queue pairs (verbs/tcp-bootstrap.h).
 */
#ifndef VERBS_TCP_DIAL_H
#define VERBS_TCP_DIAL_H

#include "verbs/dial-steps.h"

extern const struct dial_way dial_by_tcp;

/*
 * True if a server at this address answers the offer of a path, within this many milliseconds.
 * Blocks. Any thread.
 */
bool tcp_dial_answers(const struct sockaddr *address, int milliseconds);

#endif

/* The steps of an odd peer in a diagnosis: the head of odd-peer.c lists them. */
#ifndef ODD_ORDERS_H
#define ODD_ORDERS_H

#include "odd-steps.h"

/* What follows the step's colon is in `how`. */
void odd_order(struct peer *peer, const char *how);
void odd_reply(struct peer *peer, const char *how);
void odd_told(struct peer *peer, const char *how);

#endif

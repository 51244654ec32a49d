/* The steps of an odd peer in a session of orders: the head of odd-peer.c lists them. */
#ifndef ODD_ORDERS_H
#define ODD_ORDERS_H

#include "odd-steps.h"

/* What follows the step's colon is in `how`. */
void odd_order(struct peer *peer, const char *how);
void odd_reply(struct peer *peer, const char *how);
void odd_told(struct peer *peer, const char *how);

/* Gives an order with that text. */
void odd_order_text(struct peer *peer, enum order_type type, const void *text, size_t size);

/* The next word of how, which ends at a colon or with it. */
const char *odd_word(const char **how, size_t *length);

/* Whether it is that name. */
bool odd_is(const char *text, size_t length, const char *name);

#endif

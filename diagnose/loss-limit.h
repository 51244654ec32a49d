/* How much packet loss a healthy link may have. Any thread. */
#ifndef DIAGNOSE_LOSS_LIMIT_H
#define DIAGNOSE_LOSS_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if more packets were lost than 0.1 % of those that carry `bytes`, plus one. packet: bytes of
 * data per packet, 0 if unknown, which makes no loss significant; 1 if `bytes` is the number of
 * packets.
 */
bool loss_limit_exceeded(uint64_t lost, uint64_t bytes, uint64_t packet);

#endif

/* Selects the mover of an exchange. */
#ifndef EXCHANGE_MOVERS_H
#define EXCHANGE_MOVERS_H

#include "exchange/mover.h"
#include "protocol/mode.h"

/*
 * Returns the mover of this mode for a tutorial peer or for one of our programs. Static. Any
 * thread.
 */
const struct mover *mover_find(const struct mode *mode, bool tutorial);

#endif

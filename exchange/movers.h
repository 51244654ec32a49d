/* Selects the mover of an exchange. */
#ifndef EXCHANGE_MOVERS_H
#define EXCHANGE_MOVERS_H

#include "exchange/mover.h"
#include "protocol/mode.h"

/*
 * Returns the mover for this mode and a tutorial peer or one of our programs. Static. Any thread.
 */
const struct mover *mover_find(const struct mode *mode, bool tutorial);

#endif

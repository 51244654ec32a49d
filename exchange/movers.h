/* Which mover serves an exchange. */
#ifndef EXCHANGE_MOVERS_H
#define EXCHANGE_MOVERS_H

#include "exchange/mover.h"
#include "protocol/mode.h"

/* The mover of this mode, with a tutorial peer or one of ours. Static. Any thread. */
const struct mover *mover_find(const struct mode *mode, bool tutorial);

#endif

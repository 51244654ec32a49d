/* The table of movers: one for each mode and kind of peer. */
#include "exchange/movers.h"

static const struct mover *const movers[MODE_COUNT + 1][2] = {
	[MODE_WRITE] = {&write_mover, &tutorial_write_mover},
	[MODE_READ] = {&read_mover, &tutorial_read_mover},
	[MODE_SEND] = {&send_mover, NULL},
	[MODE_ANY] = {NULL, &tutorial_any_mover},
};

const struct mover *mover_find(const struct mode *mode, bool tutorial)
{
	return movers[mode->number][tutorial];
}

#include "measure/intervals.h"

void intervals_init(struct intervals *intervals, uint64_t now)
{
	*intervals = (struct intervals){.began = now, .last = now};
}

void intervals_add(struct intervals *intervals, uint64_t now, uint64_t bytes)
{
	uint64_t length, rate;

	/* A gap that long is an interval of its own. What came before it, less than one, is none. */
	if (now - intervals->last >= INTERVAL_NS) {
		intervals->began = intervals->last;
		intervals->before = intervals->until_last;
	}
	intervals->last = now;
	intervals->until_last = bytes;
	length = now - intervals->began;
	if (length < INTERVAL_NS)
		return;
	rate = (uint64_t)((double)(bytes - intervals->before) * 1e9 / (double)length);
	if (intervals->best == 0 || rate < intervals->worst)
		intervals->worst = rate;
	if (rate > intervals->best)
		intervals->best = rate;
	intervals->began = now;
	intervals->before = bytes;
}

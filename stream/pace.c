/* See stream/pace.h. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "stream/pace.h"

void pace_start(struct pace *pace, unsigned int workers, size_t block)
{
	pace->workers = workers;
	pace->block = block;
	pace->until = clock_now_ns();
}

void pace_until(struct pace *pace, enum pace_part part, uint64_t then)
{
	if (then <= pace->until)
		return;
	pace->spent[part] += then - pace->until;
	pace->until = then;
}

int pace_shares(const struct pace *pace, double shares[PACE_PARTS])
{
	uint64_t all = 0;

	for (int i = 0; i < PACE_PARTS; i++)
		all += pace->spent[i];
	for (int i = 0; i < PACE_PARTS; i++)
		shares[i] = all > 0 ? (double)pace->spent[i] / (double)all : 0;
	return all > 0 ? 0 : -1;
}

int pace_text(char *text, const struct pace *pace)
{
	uint64_t file = pace->spent[PACE_FILE], digest = pace->spent[PACE_DIGEST];
	uint64_t all = file + digest + pace->spent[PACE_LINK];

	if (all == 0)
		return -1;
	file = (100 * file + all / 2) / all;
	digest = (100 * digest + all / 2) / all;
	if (file + digest > 100)
		digest = 100 - file;
	snprintf(text, PACE_TEXT,
		"file %" PRIu64 " %%, digest %" PRIu64 " %%, waiting for the link %" PRIu64 " %%",
		file, digest, 100 - file - digest);
	return 0;
}

/* See multicast/tally.h. */
#include <errno.h>
#include <stdlib.h>

#include "multicast/tally.h"

int tally_begin(struct tally *tally, uint64_t count)
{
	*tally = (struct tally){.count = count, .sent = count, .first = count};
	tally->seen = calloc(count / 8 + 1, 1);
	return tally->seen ? 0 : -ENOMEM;
}

void tally_end(struct tally *tally)
{
	free(tally->seen);
	tally->seen = NULL;
}

bool tally_set_sent(struct tally *tally, uint64_t sent)
{
	if (sent > tally->count || sent < tally->next)
		return false;
	tally->sent = sent;
	return true;
}

bool tally_take(struct tally *tally, uint64_t number)
{
	const uint8_t bit = (uint8_t)(1U << (number % 8));
	uint8_t *byte;

	if (number >= tally->sent)
		return false;
	byte = &tally->seen[number / 8];
	if (*byte & bit) {
		tally->duplicated++;
		return false;
	}
	*byte |= bit;
	tally->received++;
	if (number < tally->first)
		tally->first = number;
	if (number < tally->next)
		tally->reordered++;
	else
		tally->next = number + 1;
	return true;
}

uint64_t tally_missing(const struct tally *tally)
{
	return tally->sent - tally->received;
}

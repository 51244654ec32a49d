/* The server's slots: a list whose entries belong to the holders. One thread. */
#include <netinet/in.h>
#include <string.h>

#include "serve/slots.h"

/* The part of the address by which clients are counted, in IPv6 form. */
static void counted(const struct sockaddr *address, uint8_t part[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

	memset(part, 0, 16);
	if (address->sa_family == AF_INET) {
		memcpy(part, mapped, sizeof(mapped));
		memcpy(part + sizeof(mapped), &v4->sin_addr, 4);
	} else if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		memcpy(part, &v6->sin6_addr, 16);
	} else {
		memcpy(part, &v6->sin6_addr, SLOTS_PREFIX_SIZE);
	}
}

static bool is_from(const struct slot *slot, const uint8_t part[16])
{
	return memcmp(slot->address, part, sizeof(slot->address)) == 0;
}

static unsigned int count_from(const struct slots *slots, const uint8_t part[16])
{
	const struct slot *slot;
	unsigned int count = 0;

	TAILQ_FOREACH (slot, &slots->all, next)
		count += is_from(slot, part);
	return count;
}

void slots_init(struct slots *slots, unsigned int capacity, unsigned int capacity_per_address,
	int64_t idle_timeout)
{
	*slots = (struct slots){
		.capacity = capacity,
		.capacity_per_address = capacity_per_address,
		.idle_timeout = idle_timeout,
	};
	TAILQ_INIT(&slots->all);
}

enum slots_state slots_state(const struct slots *slots, const struct sockaddr *address)
{
	uint8_t part[16];

	counted(address, part);
	if (slots->capacity_per_address && count_from(slots, part) >= slots->capacity_per_address)
		return SLOTS_FULL_ADDRESS;
	return slots->taken >= slots->capacity ? SLOTS_FULL : SLOTS_FREE;
}

struct slot *slots_evictable(
	const struct slots *slots, const struct sockaddr *address, deadline_t now)
{
	bool by_address = slots_state(slots, address) == SLOTS_FULL_ADDRESS;
	struct slot *slot, *least = NULL;
	uint8_t part[16];

	counted(address, part);
	TAILQ_FOREACH (slot, &slots->all, next) {
		if (!slot->evictable || now - slot->last_active <= slots->idle_timeout ||
			(by_address && !is_from(slot, part)))
			continue;
		if (!least || slot->last_active < least->last_active)
			least = slot;
	}
	return least;
}

void slots_take(
	struct slots *slots, struct slot *slot, const struct sockaddr *address, deadline_t now)
{
	slot->taken = true;
	slot->evictable = false;
	slot->last_active = now;
	counted(address, slot->address);
	TAILQ_INSERT_TAIL(&slots->all, slot, next);
	slots->taken++;
}

void slots_release(struct slots *slots, struct slot *slot)
{
	if (!slot->taken)
		return;
	slot->taken = false;
	TAILQ_REMOVE(&slots->all, slot, next);
	slots->taken--;
}

void slot_active(struct slot *slot, deadline_t when)
{
	if (when > slot->last_active)
		slot->last_active = when;
}

#include <netinet/in.h>
#include <string.h>

#include "places.h"

/* Of an IPv6 address, the bytes that a host does not choose by itself. */
#define PREFIX_SIZE 8

/* The part of the address that counts, in the form of an IPv6 address. */
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
		memcpy(part, &v6->sin6_addr, PREFIX_SIZE);
	}
}

static bool is_from(const struct place *place, const uint8_t part[16])
{
	return memcmp(place->address, part, sizeof(place->address)) == 0;
}

static unsigned int count_from(const struct places *places, const uint8_t part[16])
{
	const struct place *place;
	unsigned int count = 0;

	TAILQ_FOREACH (place, &places->all, next)
		count += is_from(place, part);
	return count;
}

void places_init(
	struct places *places, unsigned int most, unsigned int most_per_address, int64_t patience)
{
	*places = (struct places){
		.most = most, .most_per_address = most_per_address, .patience = patience};
	TAILQ_INIT(&places->all);
}

enum places_room places_room(const struct places *places, const struct sockaddr *address)
{
	uint8_t part[16];

	counted(address, part);
	if (places->most_per_address && count_from(places, part) >= places->most_per_address)
		return PLACES_FULL_ADDRESS;
	return places->taken >= places->most ? PLACES_FULL : PLACES_FREE;
}

struct place *places_idlest(
	const struct places *places, const struct sockaddr *address, deadline_t now)
{
	bool by_address = places_room(places, address) == PLACES_FULL_ADDRESS;
	struct place *place, *idlest = NULL;
	uint8_t part[16];

	counted(address, part);
	TAILQ_FOREACH (place, &places->all, next) {
		if (!place->settled || now - place->moved <= places->patience ||
			(by_address && !is_from(place, part)))
			continue;
		if (!idlest || place->moved < idlest->moved)
			idlest = place;
	}
	return idlest;
}

void places_take(
	struct places *places, struct place *place, const struct sockaddr *address, deadline_t now)
{
	place->taken = true;
	place->settled = false;
	place->moved = now;
	counted(address, place->address);
	TAILQ_INSERT_TAIL(&places->all, place, next);
	places->taken++;
}

void places_leave(struct places *places, struct place *place)
{
	if (!place->taken)
		return;
	place->taken = false;
	TAILQ_REMOVE(&places->all, place, next);
	places->taken--;
}

void place_moved(struct place *place, deadline_t when)
{
	if (when > place->moved)
		place->moved = when;
}

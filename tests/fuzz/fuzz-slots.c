/*
 * The places of a server, with newcomers from any address, who come, move, settle and leave in any
 * order: each byte is a step. Beside them stands a plain list of who is there.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "serve/slots.h"
#include "tests/fuzz/fuzz.h"

#define GUESTS 12

/* The guests, and what is known of each. */
struct house {
	struct slots slots;
	struct slot guests[GUESTS];
	struct guest {
		bool in;
		unsigned int host; /* that its address belongs to */
		deadline_t moved;
	} known[GUESTS];
	deadline_t now;
};

/* Addresses of which those with the same number are one host's, in whatever way it has them. */
static unsigned int make_address(struct sockaddr_storage *address, uint8_t which, uint8_t own)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
	unsigned int host = which & 3;

	memset(address, 0, sizeof(*address));
	if (which & 4) {
		v4->sin_family = AF_INET;
		v4->sin_addr.s_addr = htonl(0xc0000200 + host);
		v4->sin_port = own;
		return host;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = own;
	if (which & 8) {
		memset(v6->sin6_addr.s6_addr + 10, 0xff, 2);
		memcpy(v6->sin6_addr.s6_addr + 12, (uint8_t[]){0xc0, 0, 2, (uint8_t)host}, 4);
		return host;
	}
	v6->sin6_addr.s6_addr[0] = 0x20;
	v6->sin6_addr.s6_addr[7] = (uint8_t)host;
	/* What a host chooses by itself. */
	v6->sin6_addr.s6_addr[8] = v6->sin6_addr.s6_addr[15] = own;
	return 4 + host;
}

static unsigned int count(const struct house *house, const unsigned int *host)
{
	unsigned int found = 0;

	for (unsigned int i = 0; i < GUESTS; i++)
		found += house->known[i].in && (!host || house->known[i].host == *host);
	return found;
}

static enum slots_capacity expect_room(const struct house *house, unsigned int host)
{
	unsigned int most = house->slots.most_per_address;

	if (most && count(house, &host) >= most)
		return SLOTS_FULL_ADDRESS;
	return count(house, NULL) >= house->slots.most ? SLOTS_FULL : SLOTS_FREE;
}

/* Whether that guest may be asked to go for one of that host, and would help it. */
static bool may_go(
	const struct house *house, unsigned int i, enum slots_capacity room, unsigned int host)
{
	const struct guest *guest = &house->known[i];

	return guest->in && house->guests[i].settled &&
	       house->now - guest->moved > house->slots.patience &&
	       (room != SLOTS_FULL_ADDRESS || guest->host == host);
}

/* Nobody else who may go has been idle for longer. */
static void check_idlest(struct house *house, const struct sockaddr *address,
	enum slots_capacity room, unsigned int host)
{
	const struct slot *idlest = slots_idlest(&house->slots, address, house->now);
	deadline_t moved = INT64_MAX;

	if (idlest) {
		fuzz_check(may_go(house, (unsigned int)(idlest - house->guests), room, host));
		moved = idlest->moved;
	}
	for (unsigned int i = 0; i < GUESTS; i++)
		if (may_go(house, i, room, host))
			fuzz_check(idlest && house->known[i].moved >= moved);
}

/* Somebody comes, and takes a place if there is one, or if the caller wants it so. */
static void come(struct house *house, unsigned int i, struct fuzz_input *input)
{
	uint8_t which = fuzz_byte(input), own = fuzz_byte(input);
	struct sockaddr_storage storage;
	unsigned int host = make_address(&storage, which, own);
	const struct sockaddr *address = (const struct sockaddr *)&storage;
	enum slots_capacity room = slots_capacity(&house->slots, address);

	fuzz_check(room == expect_room(house, host));
	check_idlest(house, address, room, host);
	if (house->known[i].in || (room != SLOTS_FREE && !(which & 16)))
		return;
	slots_take(&house->slots, &house->guests[i], address, house->now);
	fuzz_check(house->guests[i].taken && !house->guests[i].settled);
	house->known[i] = (struct guest){true, host, house->now};
}

static void leave(struct house *house, unsigned int i)
{
	slots_leave(&house->slots, &house->guests[i]);
	house->known[i].in = false;
	fuzz_check(!house->guests[i].taken);
}

static void move(struct house *house, unsigned int i, struct fuzz_input *input)
{
	deadline_t when = house->now - fuzz_byte(input);

	if (!house->known[i].in)
		return;
	slot_moved(&house->guests[i], when);
	if (when > house->known[i].moved)
		house->known[i].moved = when;
	fuzz_check(house->guests[i].moved == house->known[i].moved);
}

static void take_step(struct house *house, struct fuzz_input *input)
{
	uint8_t step = fuzz_byte(input);
	unsigned int i = (step >> 3) % GUESTS;

	switch (step & 7) {
	case 0:
		leave(house, i);
		break;
	case 1:
		move(house, i, input);
		break;
	case 2:
		house->guests[i].settled = house->known[i].in;
		break;
	case 3:
		house->now += (int64_t)fuzz_number(input, 2);
		break;
	default:
		come(house, i, input);
	}
	fuzz_check(house->slots.taken == count(house, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	struct house house = {.now = 1000};
	uint8_t most = fuzz_byte(&input), per_address = fuzz_byte(&input);

	slots_init(&house.slots, most % GUESTS + 1U, per_address % GUESTS, fuzz_byte(&input));
	while (input.left > 0)
		take_step(&house, &input);
	for (unsigned int i = 0; i < GUESTS; i++)
		leave(&house, i);
	fuzz_check(house.slots.taken == 0 && TAILQ_EMPTY(&house.slots.all));
	return 0;
}

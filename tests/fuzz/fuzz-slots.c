/*
 * The slots of a server. Each byte is a step: a client from any address takes a slot, becomes evictable,
 * is active, or releases its slot. A plain list of the holders is the model.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "serve/slots.h"
#include "tests/fuzz/fuzz.h"

#define HOLDERS 12

/* The slots, and what is known of each holder. */
struct model {
	struct slots slots;
	struct slot held[HOLDERS];
	struct holder {
		bool holds;
		unsigned int host; /* that its address belongs to */
		deadline_t last_active;
	} known[HOLDERS];
	deadline_t now;
};

/* Makes an address, and returns the number of the host that it counts for. */
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
	/* The part that a host can choose. */
	v6->sin6_addr.s6_addr[8] = v6->sin6_addr.s6_addr[15] = own;
	return 4 + host;
}

static unsigned int count(const struct model *model, const unsigned int *host)
{
	unsigned int found = 0;

	for (unsigned int i = 0; i < HOLDERS; i++)
		found += model->known[i].holds && (!host || model->known[i].host == *host);
	return found;
}

static enum slots_state expected_state(const struct model *model, unsigned int host)
{
	unsigned int most = model->slots.capacity_per_address;

	if (most && count(model, &host) >= most)
		return SLOTS_FULL_ADDRESS;
	return count(model, NULL) >= model->slots.capacity ? SLOTS_FULL : SLOTS_FREE;
}

/* Whether releasing that slot would admit a client of that host, and its holder may be evicted. */
static bool may_be_evicted(
	const struct model *model, unsigned int i, enum slots_state state, unsigned int host)
{
	const struct holder *holder = &model->known[i];

	return holder->holds && model->held[i].evictable &&
	       model->now - holder->last_active > model->slots.idle_timeout &&
	       (state != SLOTS_FULL_ADDRESS || holder->host == host);
}

/* The evictable slot is the least recently active of those that may be evicted. */
static void check_evictable(struct model *model, const struct sockaddr *address,
	enum slots_state state, unsigned int host)
{
	const struct slot *evictable = slots_evictable(&model->slots, address, model->now);
	deadline_t last_active = INT64_MAX;

	if (evictable) {
		fuzz_check(may_be_evicted(
			model, (unsigned int)(evictable - model->held), state, host));
		last_active = evictable->last_active;
	}
	for (unsigned int i = 0; i < HOLDERS; i++)
		if (may_be_evicted(model, i, state, host))
			fuzz_check(evictable && model->known[i].last_active >= last_active);
}

/* A client comes, and takes a slot if one is free, or beyond the capacity. */
static void arrive(struct model *model, unsigned int i, struct fuzz_input *input)
{
	uint8_t which = fuzz_byte(input), own = fuzz_byte(input);
	struct sockaddr_storage storage;
	unsigned int host = make_address(&storage, which, own);
	const struct sockaddr *address = (const struct sockaddr *)&storage;
	enum slots_state state = slots_state(&model->slots, address);

	fuzz_check(state == expected_state(model, host));
	check_evictable(model, address, state, host);
	if (model->known[i].holds || (state != SLOTS_FREE && !(which & 16)))
		return;
	slots_take(&model->slots, &model->held[i], address, model->now);
	fuzz_check(model->held[i].taken && !model->held[i].evictable);
	model->known[i] = (struct holder){true, host, model->now};
}

static void release(struct model *model, unsigned int i)
{
	slots_release(&model->slots, &model->held[i]);
	model->known[i].holds = false;
	fuzz_check(!model->held[i].taken);
}

static void be_active(struct model *model, unsigned int i, struct fuzz_input *input)
{
	deadline_t when = model->now - fuzz_byte(input);

	if (!model->known[i].holds)
		return;
	slot_active(&model->held[i], when);
	if (when > model->known[i].last_active)
		model->known[i].last_active = when;
	fuzz_check(model->held[i].last_active == model->known[i].last_active);
}

static void take_step(struct model *model, struct fuzz_input *input)
{
	uint8_t step = fuzz_byte(input);
	unsigned int i = (step >> 3) % HOLDERS;

	switch (step & 7) {
	case 0:
		release(model, i);
		break;
	case 1:
		be_active(model, i, input);
		break;
	case 2:
		model->held[i].evictable = model->known[i].holds;
		break;
	case 3:
		model->now += (int64_t)fuzz_number(input, 2);
		break;
	default:
		arrive(model, i, input);
	}
	fuzz_check(model->slots.taken == count(model, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	struct model model = {.now = 1000};
	uint8_t most = fuzz_byte(&input), per_address = fuzz_byte(&input);

	slots_init(&model.slots, most % HOLDERS + 1U, per_address % HOLDERS, fuzz_byte(&input));
	while (input.left > 0)
		take_step(&model, &input);
	for (unsigned int i = 0; i < HOLDERS; i++)
		release(&model, i);
	fuzz_check(model.slots.taken == 0 && TAILQ_EMPTY(&model.slots.all));
	return 0;
}

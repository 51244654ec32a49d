/*
 * The places of a server, with newcomers from any address, who come, move, settle and leave in any
 * order: each byte is a step. Beside them stands a plain list of who is there.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "serve/slots.h"
#include "tests/fuzz/fuzz.h"

#define HOLDERS 12

/* The guests, and what is known of each. */
struct model {
	struct slots slots;
	struct slot held[HOLDERS];
	struct holder {
		bool in;
		unsigned int host; /* that its address belongs to */
		deadline_t moved;
	} known[HOLDERS];
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

static unsigned int count(const struct model *model, const unsigned int *host)
{
	unsigned int found = 0;

	for (unsigned int i = 0; i < HOLDERS; i++)
		found += model->known[i].in && (!host || model->known[i].host == *host);
	return found;
}

static enum slots_capacity expected_capacity(const struct model *model, unsigned int host)
{
	unsigned int most = model->slots.most_per_address;

	if (most && count(model, &host) >= most)
		return SLOTS_FULL_ADDRESS;
	return count(model, NULL) >= model->slots.most ? SLOTS_FULL : SLOTS_FREE;
}

/* Whether that guest may be asked to go for one of that host, and would help it. */
static bool may_go(
	const struct model *model, unsigned int i, enum slots_capacity capacity, unsigned int host)
{
	const struct holder *holder = &model->known[i];

	return holder->in && model->held[i].settled &&
	       model->now - holder->moved > model->slots.patience &&
	       (capacity != SLOTS_FULL_ADDRESS || holder->host == host);
}

/* Nobody else who may go has been idle for longer. */
static void check_idlest(struct model *model, const struct sockaddr *address,
	enum slots_capacity capacity, unsigned int host)
{
	const struct slot *idlest = slots_idlest(&model->slots, address, model->now);
	deadline_t moved = INT64_MAX;

	if (idlest) {
		fuzz_check(may_go(model, (unsigned int)(idlest - model->held), capacity, host));
		moved = idlest->moved;
	}
	for (unsigned int i = 0; i < HOLDERS; i++)
		if (may_go(model, i, capacity, host))
			fuzz_check(idlest && model->known[i].moved >= moved);
}

/* Somebody comes, and takes a place if there is one, or if the caller wants it so. */
static void arrive(struct model *model, unsigned int i, struct fuzz_input *input)
{
	uint8_t which = fuzz_byte(input), own = fuzz_byte(input);
	struct sockaddr_storage storage;
	unsigned int host = make_address(&storage, which, own);
	const struct sockaddr *address = (const struct sockaddr *)&storage;
	enum slots_capacity capacity = slots_capacity(&model->slots, address);

	fuzz_check(capacity == expected_capacity(model, host));
	check_idlest(model, address, capacity, host);
	if (model->known[i].in || (capacity != SLOTS_FREE && !(which & 16)))
		return;
	slots_take(&model->slots, &model->held[i], address, model->now);
	fuzz_check(model->held[i].taken && !model->held[i].settled);
	model->known[i] = (struct holder){true, host, model->now};
}

static void leave(struct model *model, unsigned int i)
{
	slots_leave(&model->slots, &model->held[i]);
	model->known[i].in = false;
	fuzz_check(!model->held[i].taken);
}

static void move(struct model *model, unsigned int i, struct fuzz_input *input)
{
	deadline_t when = model->now - fuzz_byte(input);

	if (!model->known[i].in)
		return;
	slot_moved(&model->held[i], when);
	if (when > model->known[i].moved)
		model->known[i].moved = when;
	fuzz_check(model->held[i].moved == model->known[i].moved);
}

static void take_step(struct model *model, struct fuzz_input *input)
{
	uint8_t step = fuzz_byte(input);
	unsigned int i = (step >> 3) % HOLDERS;

	switch (step & 7) {
	case 0:
		leave(model, i);
		break;
	case 1:
		move(model, i, input);
		break;
	case 2:
		model->held[i].settled = model->known[i].in;
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
		leave(&model, i);
	fuzz_check(model.slots.taken == 0 && TAILQ_EMPTY(&model.slots.all));
	return 0;
}

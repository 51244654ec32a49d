/*
 * The flow control with a peer that says anything: positions that jump, credit for what it was never
 * told of, regions of any size. Whatever we take from it, we send no more than its memory and
 * receives hold, and let it send no more than ours do.
 */
#include "exchange/flow-control.h"
#include "tests/fuzz/fuzz.h"

/* Our side of both streams. */
struct side {
	struct flow out, in;
	struct flow_sender sender;
	struct flow_receiver receiver;
	uint64_t filled, freed; /* of our two rings */
};

static struct side read_side(struct fuzz_input *input)
{
	uint8_t kind = fuzz_byte(input);
	uint64_t ring = fuzz_byte(input) + 1U;
	/* The peer's words, which protocol/message.c lets through. */
	uint64_t region = fuzz_number(input, kind & 2 ? 8 : 1), size = fuzz_number(input, 2);
	struct side side = {
		.out = {.exposed = region ? region : 1, .local = ring},
		.in = {.exposed = ring, .local = ring},
	};

	side.out.writes = side.in.writes = kind & 1;
	if (!side.out.writes) {
		side.out.exposed = ring;
		side.in.exposed = region ? region : 1;
	}
	side.out.depth = (uint32_t)fuzz_number(input, kind & 4 ? 4 : 1);
	side.out.depth += side.out.depth == 0;
	side.in.depth = fuzz_byte(input) + 1U;
	side.in.reads = side.out.reads = fuzz_byte(input) % 16U + 1;
	/* As exchange/data.c does it. */
	side.out.chunk = flow_chunk(fuzz_byte(input) + 1U, side.out.local, size);
	side.out.chunk = flow_chunk(side.out.chunk, side.out.exposed, size);
	side.in.chunk = flow_chunk(side.out.chunk, side.in.local, size);
	side.in.chunk = flow_chunk(side.in.chunk, side.in.exposed, size);
	return side;
}

static void check_sender(const struct side *side)
{
	const struct flow *flow = &side->out;
	const struct flow_sender *sender = &side->sender;

	fuzz_check(sender->credited <= sender->announced && sender->announced <= side->filled);
	fuzz_check(sender->pieces_credited <= sender->pieces);
	fuzz_check(sender->pieces - sender->pieces_credited <= flow->depth);
	if (flow->writes) {
		fuzz_check(sender->announced <= sender->written && sender->written <= side->filled);
		fuzz_check(sender->written - sender->credited <= flow->exposed);
	}
}

static void check_receiver(const struct side *side)
{
	const struct flow *flow = &side->in;
	const struct flow_receiver *receiver = &side->receiver;

	fuzz_check(receiver->announced - receiver->credited <= flow->exposed);
	fuzz_check(receiver->pieces - receiver->pieces_credited <= flow->depth);
	fuzz_check(receiver->arrived <= receiver->announced && side->freed <= receiver->arrived);
	fuzz_check(receiver->credited <= receiver->announced);
	if (flow->writes)
		return;
	fuzz_check(receiver->requested <= receiver->announced);
	fuzz_check(receiver->arrived <= receiver->requested);
	fuzz_check(receiver->requested - side->freed <= flow->local);
	fuzz_check(receiver->reads - receiver->reads_complete <= flow->reads);
}

static void check_piece(const struct flow *flow, uint64_t to, size_t size)
{
	uint64_t from = to - size;

	if (size == 0)
		return;
	fuzz_check(size <= flow->chunk);
	fuzz_check(from / flow->local == (to - 1) / flow->local);
	fuzz_check(from / flow->exposed == (to - 1) / flow->exposed);
}

/* A number near one that makes sense, or any. */
static uint64_t read_near(struct fuzz_input *input, uint64_t number)
{
	uint8_t how = fuzz_byte(input);

	return how < 0xf0 ? number + (uint64_t)(how % 16 - 8) : fuzz_number(input, 8);
}

static void send(struct side *side, struct fuzz_input *input)
{
	uint64_t room = side->out.local - (side->filled - side->sender.credited), wanted;
	size_t size;

	if (side->out.writes)
		room = side->out.local - (side->filled - side->sender.written);
	wanted = fuzz_byte(input);
	side->filled += wanted < room ? wanted : room;
	size = flow_write(&side->out, &side->sender, side->filled);
	check_piece(&side->out, side->sender.written, size);
	flow_announce(&side->out, &side->sender, side->filled);
}

static void take_credit(struct side *side, struct fuzz_input *input)
{
	const struct flow_sender before = side->sender;
	uint64_t position = read_near(input, before.announced);
	uint64_t pieces = read_near(input, before.pieces);

	if (flow_receive_credit(&side->sender, position, pieces)) {
		fuzz_check(side->sender.credited == position);
		fuzz_check(position >= before.credited && pieces >= before.pieces_credited);
	} else {
		fuzz_check(memcmp(&side->sender, &before, sizeof(before)) == 0);
	}
}

static void take_piece(struct side *side, struct fuzz_input *input)
{
	const struct flow_receiver before = side->receiver;
	uint64_t position = read_near(input, before.announced);

	if (flow_receive_announcement(&side->in, &side->receiver, position))
		fuzz_check(position > before.announced && side->receiver.announced == position);
	else
		fuzz_check(memcmp(&side->receiver, &before, sizeof(before)) == 0);
}

/* Whatever the peer has said, its credit is for something. */
static void give_credit(struct side *side)
{
	const struct flow_receiver before = side->receiver;

	if (flow_give_credit(&side->in, &side->receiver, side->freed))
		fuzz_check(side->receiver.credited > before.credited ||
			   side->receiver.pieces_credited > before.pieces_credited);
}

static void receive(struct side *side, struct fuzz_input *input)
{
	struct flow_receiver *receiver = &side->receiver;
	uint64_t here, wanted = fuzz_byte(input);
	bool last;
	size_t size = flow_read(&side->in, receiver, side->freed, &last);

	check_piece(&side->in, receiver->requested, size);
	if (!side->in.writes && wanted & 1)
		flow_arrived(receiver, receiver->requested, receiver->reads);
	here = receiver->arrived - side->freed;
	side->freed += wanted < here ? wanted : here;
	give_credit(side);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const steps[])(struct side * side, struct fuzz_input * input) = {
		send, take_credit, take_piece, receive};
	struct fuzz_input input = {data, size};
	struct side side = read_side(&input);

	while (input.left > 0) {
		steps[fuzz_byte(&input) % FUZZ_COUNT(steps)](&side, &input);
		check_sender(&side);
		check_receiver(&side);
	}
	return 0;
}

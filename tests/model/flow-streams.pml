/*
 * The rules of exchange/flow-control.c, and their use by exchange/stream.c, exchange/write.c and
 * exchange/read.c; included by flow.pml.
 */

/* flow_chunk() for both rings, as in make_flow(). */
#ifdef KNOWN
#define FITS(x, ring) (streams[x].size <= (ring) || (ring) == 1)
#else
#define FITS(x, ring) ((ring) == 1)
#endif
#ifdef MUTANT_WHOLE_RING
#define MOST(x, ring) (ring)
#else
#define MOST(x, ring) (FITS(x, ring) -> (ring) : (ring) / 2)
#endif
#define LEAST_MOST(x)  SMALLER(MOST(x, OUT), MOST(x, IN))
#define FLOW_CHUNK(x)  SMALLER(CHUNK, LEAST_MOST(x))

/*
 * connection_post(). Each message needs a posted receive at once, even if the peer processes no
 * messages, because there are no retries. Time in transit and time until processing are modeled as
 * one delay.
 */
inline post(operation, reaches, stands, flag)
{
	signaled = flag;
#ifndef MUTANT_NEVER_SIGNALED
	signaled = signaled || ME.unsignaled >= SENDS / PARTS;
#endif
	ME.unsignaled = (signaled -> 1 : ME.unsignaled + 1);
	assert(ME.outstanding < SENDS);
	ME.outstanding++;
	posted[me]!operation, reaches, stands, signaled;
	if
	:: operation != WRITE && operation != READ ->
		assert(nfull(coming[1 - me]));
		coming[1 - me]!operation, reaches, stands
	:: else
	fi
}

inline check_receives()
{
	assert(OURS.pieces_under_way <= DEPTH);
	assert(THEIRS.credits_under_way <= CREDITS_MAX)
}

/* next_write(): sets `bytes`. */
#ifdef MUTANT_DEPTH_IGNORED
#define MAY_ANNOUNCE true
#else
#define MAY_ANNOUNCE (OURS.pieces - OURS.pieces_credited < DEPTH)
#endif

inline next_write()
{
	bytes = SMALLER(OURS.out_filled - OURS.written, FLOW_CHUNK(me));
	bytes = SMALLER(bytes, TO_END(OUT, OURS.written));
	bytes = SMALLER(bytes, TO_END(IN, OURS.written));
	bytes = (WRITES && MAY_ANNOUNCE && bytes <= EXPOSED - (OURS.written - OURS.credited) ->
		bytes : 0)
}

/* flow_announce(): sets `announces`. `bytes` is the result of next_write(). */
inline flow_announce()
{
	position = (WRITES -> OURS.written : OURS.out_filled);
#ifdef MUTANT_LAST_UNANNOUNCED
	announces = position - OURS.announced >= TOGETHER * FLOW_CHUNK(me) && MAY_ANNOUNCE;
#else
	announces = position != OURS.announced && MAY_ANNOUNCE &&
		!(WRITES && position - OURS.announced < TOGETHER * FLOW_CHUNK(me) && bytes > 0);
#endif
	if
	:: announces ->
		OURS.announced = position;
		OURS.pieces++;
		OURS.pieces_under_way++;
		check_receives()
	:: else
	fi
}

/* flow_write() and write_chunk(); `bytes` is the size of the next chunk, before and after. */
inline write_chunk()
{
	size = bytes;
	OURS.written = OURS.written + size;
	/* The sink has emptied the space before the WRITE can execute. */
	assert(OURS.written - OURS.in_freed <= IN);
	next_write();
	flow_announce();
#ifdef IWARP
	post(WRITE, OURS.written, 0, announces);
	if
	:: announces -> post(MSG_DATA, OURS.announced, 0, false)
	:: else
	fi
#else
	if
	:: announces -> post(WRITE_IMM, OURS.written, 0, true)
	:: else -> post(WRITE, OURS.written, 0, false)
	fi
#endif
}

/* send_data() of exchange/write.c and exchange/read.c */
inline send_data()
{
	burst = 0;
	next_write();
	do
	:: burst < TOGETHER && ROOM >= 2 && bytes > 0 ->
		write_chunk();
		burst++
	:: else -> break
	od;
	if
	:: burst < TOGETHER && ROOM > 0 ->
		flow_announce();
		if
		:: announces -> post(MSG_DATA, OURS.announced, 0, false)
		:: else
		fi
	:: else
	fi;
	more = burst == TOGETHER
}

/* end_sending(), and MSG_DONE of the exchange. */
inline end_sending()
{
	if
	:: OURS.out_ended && OURS.announced == OURS.out_filled ->
		OURS.done_posted = true;
		post(MSG_DONE, OURS.announced, 0, true)
	:: else
	fi
}

/* next_read(): sets `bytes`. */
inline next_read()
{
	bytes = SMALLER(THEIRS.received - THEIRS.requested, FLOW_CHUNK(1 - me));
	size = THEIRS.requested - THEIRS.arrived;
	bytes = SMALLER(bytes, TO_END(OUT, THEIRS.requested));
	bytes = SMALLER(bytes, TO_END(IN, THEIRS.requested));
	bytes = (WRITES || THEIRS.reads - THEIRS.reads_complete >= READS ||
		(size > 0 && size + bytes > EXPOSED / PARTS) ||
		bytes > IN - (THEIRS.requested - THEIRS.in_freed) -> 0 : bytes)
}

/* request_data() of exchange/read.c */
inline request_data()
{
	burst = 0;
	next_read();
	do
	:: burst < TOGETHER && ROOM > 0 && bytes > 0 ->
		position = bytes;
		THEIRS.requested = THEIRS.requested + position;
		THEIRS.reads++;
		burst++;
		next_read();
#ifdef MUTANT_READ_UNSIGNALED
		announces = burst == TOGETHER;
#else
		announces = burst == TOGETHER || bytes == 0 || ROOM == 1;
#endif
		post(READ, THEIRS.requested, THEIRS.reads, announces)
	:: else -> break
	od;
	more = more || burst == TOGETHER
}

/* flow_give_credit() and give_credit() */
#if defined(MUTANT_CREDIT_EARLY)
#define GIVEN (WRITES -> THEIRS.arrived : THEIRS.requested)
#else
#define GIVEN (WRITES -> THEIRS.in_freed : THEIRS.arrived)
#endif
#ifdef MUTANT_CREDIT_EACH
#define CREDIT_IS_DUE \
	(GIVEN != THEIRS.given || THEIRS.received_pieces != THEIRS.given_pieces)
#else
#define CREDIT_IS_DUE \
	(GIVEN - THEIRS.given >= SHARE(EXPOSED) || \
		THEIRS.received_pieces - THEIRS.given_pieces >= SHARE(DEPTH))
#endif

inline give_credit()
{
	if
#ifdef MUTANT_CREDIT_LOST
	:: !THEIRS.done_received && CREDIT_IS_DUE ->
#elif defined(MUTANT_NO_CREDIT)
	:: false ->
#else
	:: !THEIRS.done_received && ROOM > 0 && CREDIT_IS_DUE ->
#endif
		THEIRS.given = GIVEN;
		THEIRS.given_pieces = THEIRS.received_pieces;
		if
		:: ROOM > 0 ->
			THEIRS.credits_under_way++;
			check_receives();
			post(MSG_CREDIT, THEIRS.given, THEIRS.given_pieces, false)
		:: else
		fi
	:: else
	fi
}

/* move_streams() */
inline advance_streams()
{
	ME.moved = false;
	more = false;
	give_credit();
	if
	:: !OURS.done_posted ->
		send_data();
		end_sending()
	:: else
	fi;
	request_data();
	THEIRS.finished = THEIRS.done_received && THEIRS.arrived == THEIRS.received;
#ifndef MUTANT_BURST_FORGOTTEN
	ME.moved = more
#endif
}

/* stream_announced(), stream_credited(), stream_peer_done() */
inline receive()
{
	if
	:: what == MSG_DATA || what == WRITE_IMM ->
		assert(!THEIRS.done_received);
		/* flow_receive_announcement() */
		assert(position > THEIRS.received && position - THEIRS.given <= EXPOSED &&
			THEIRS.received_pieces - THEIRS.given_pieces < DEPTH);
		THEIRS.received = position;
		THEIRS.received_pieces++;
		THEIRS.arrived = (WRITES -> position : THEIRS.arrived);
		THEIRS.pieces_under_way--
	:: what == MSG_CREDIT ->
		/* flow_receive_credit() */
		assert(position >= OURS.credited && position <= OURS.announced &&
			count >= OURS.pieces_credited && count <= OURS.pieces);
		OURS.credited = position;
		OURS.pieces_credited = count;
		OURS.out_freed = (WRITES -> OURS.out_freed : position);
		OURS.credits_under_way--
	:: what == MSG_DONE ->
		assert(position == THEIRS.received);
		THEIRS.done_received = true
	fi;
	ME.moved = true
}

/* completed() of exchange/write.c and exchange/read.c: a signaled send and all before it. */
inline complete()
{
	do
	:: posted[me]?what, position, count, signaled ->
		ME.outstanding--;
		if
		:: signaled -> break
		:: else
		fi
	od;
	if
	:: what == WRITE || what == WRITE_IMM ->
		OURS.out_freed = SMALLER(position, OURS.out_filled)
	:: what == READ ->
		/* The source has not overwritten the data during the READ. */
		assert(THEIRS.out_filled - THEIRS.arrived <= OUT);
		THEIRS.arrived = position;
		THEIRS.reads_complete = count
	:: else
	fi;
	ME.moved = true
}

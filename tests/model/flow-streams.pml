/*
 * The rules of exchange/flow-control.c, and how exchange/data.c and exchange/driver.c go by them: for flow.pml.
 */

/* flow_chunk() of both rings, as make_flow() has it. */
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
 * connection_post(). What needs a receive finds one at once, even if the peer never takes any: then
 * nobody is ever told to come again. How long it is on its way makes no difference to its being taken.
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

/* next_write() -> bytes */
#ifdef MUTANT_DEPTH_IGNORED
#define MAY_TELL true
#else
#define MAY_TELL (OURS.pieces - OURS.pieces_credited < DEPTH)
#endif

inline next_write()
{
	bytes = SMALLER(OURS.out_filled - OURS.written, FLOW_CHUNK(me));
	bytes = SMALLER(bytes, TO_END(OUT, OURS.written));
	bytes = SMALLER(bytes, TO_END(IN, OURS.written));
	bytes = (WRITES && MAY_TELL && bytes <= EXPOSED - (OURS.written - OURS.credited) ->
		bytes : 0)
}

/* flow_tell() -> tells. `bytes` is what next_write() says. */
inline flow_tell()
{
	position = (WRITES -> OURS.written : OURS.out_filled);
#ifdef MUTANT_LAST_UNTOLD
	tells = position - OURS.told >= TOGETHER * FLOW_CHUNK(me) && MAY_TELL;
#else
	tells = position != OURS.told && MAY_TELL &&
		!(WRITES && position - OURS.told < TOGETHER * FLOW_CHUNK(me) && bytes > 0);
#endif
	if
	:: tells ->
		OURS.told = position;
		OURS.pieces++;
		OURS.pieces_under_way++;
		check_receives()
	:: else
	fi
}

/* flow_write() and write_chunk(); `bytes` is the next one's size before and after. */
inline write_chunk()
{
	size = bytes;
	OURS.written = OURS.written + size;
	/* The place is empty, whenever the WRITE is carried out. */
	assert(OURS.written - OURS.in_freed <= IN);
	next_write();
	flow_tell();
#ifdef IWARP
	post(WRITE, OURS.written, 0, tells);
	if
	:: tells -> post(MSG_DATA, OURS.told, 0, false)
	:: else
	fi
#else
	if
	:: tells -> post(WRITE_IMM, OURS.written, 0, true)
	:: else -> post(WRITE, OURS.written, 0, false)
	fi
#endif
}

/* send_pieces() */
inline send_pieces()
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
		flow_tell();
		if
		:: tells -> post(MSG_DATA, OURS.told, 0, false)
		:: else
		fi
	:: else
	fi;
	more = burst == TOGETHER
}

/* end_sending(), and the exchange's MSG_DONE */
inline end_sending()
{
	if
	:: OURS.out_ended && OURS.told == OURS.out_filled ->
		OURS.done_posted = true;
		post(MSG_DONE, OURS.told, 0, true)
	:: else
	fi
}

/* next_read() -> bytes */
inline next_read()
{
	bytes = SMALLER(THEIRS.heard - THEIRS.requested, FLOW_CHUNK(1 - me));
	size = THEIRS.requested - THEIRS.arrived;
	bytes = SMALLER(bytes, TO_END(OUT, THEIRS.requested));
	bytes = SMALLER(bytes, TO_END(IN, THEIRS.requested));
	bytes = (WRITES || THEIRS.reads - THEIRS.reads_complete >= READS ||
		(size > 0 && size + bytes > EXPOSED / PARTS) ||
		bytes > IN - (THEIRS.requested - THEIRS.in_freed) -> 0 : bytes)
}

/* read_pieces() */
inline read_pieces()
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
		tells = burst == TOGETHER;
#else
		tells = burst == TOGETHER || bytes == 0 || ROOM == 1;
#endif
		post(READ, THEIRS.requested, THEIRS.reads, tells)
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
	(GIVEN != THEIRS.given || THEIRS.heard_pieces != THEIRS.given_pieces)
#else
#define CREDIT_IS_DUE \
	(GIVEN - THEIRS.given >= SHARE(EXPOSED) || \
		THEIRS.heard_pieces - THEIRS.given_pieces >= SHARE(DEPTH))
#endif

inline give_credit()
{
	if
#ifdef MUTANT_CREDIT_LOST
	:: !THEIRS.done_heard && CREDIT_IS_DUE ->
#elif defined(MUTANT_NO_CREDIT)
	:: false ->
#else
	:: !THEIRS.done_heard && ROOM > 0 && CREDIT_IS_DUE ->
#endif
		THEIRS.given = GIVEN;
		THEIRS.given_pieces = THEIRS.heard_pieces;
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

/* stream_pump() */
inline pump()
{
	ME.moved = false;
	more = false;
	give_credit();
	if
	:: !OURS.done_posted ->
		send_pieces();
		end_sending()
	:: else
	fi;
	read_pieces();
	THEIRS.finished = THEIRS.done_heard && THEIRS.arrived == THEIRS.heard;
#ifndef MUTANT_BURST_FORGOTTEN
	ME.moved = more
#endif
}

/* stream_hear(), stream_hear_credit(), stream_may_end() */
inline hear()
{
	if
	:: what == MSG_DATA || what == WRITE_IMM ->
		assert(!THEIRS.done_heard);
		/* flow_hear() */
		assert(position > THEIRS.heard && position - THEIRS.given <= EXPOSED &&
			THEIRS.heard_pieces - THEIRS.given_pieces < DEPTH);
		THEIRS.heard = position;
		THEIRS.heard_pieces++;
		THEIRS.arrived = (WRITES -> position : THEIRS.arrived);
		THEIRS.pieces_under_way--
	:: what == MSG_CREDIT ->
		/* flow_credited() */
		assert(position >= OURS.credited && position <= OURS.told &&
			count >= OURS.pieces_credited && count <= OURS.pieces);
		OURS.credited = position;
		OURS.pieces_credited = count;
		OURS.out_freed = (WRITES -> OURS.out_freed : position);
		OURS.credits_under_way--
	:: what == MSG_DONE ->
		assert(position == THEIRS.heard);
		THEIRS.done_heard = true
	fi;
	ME.moved = true
}

/* A signaled send is complete, and all before it: sent(), stream_written(), stream_read(). */
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
		/* What was read has not been written over meanwhile. */
		assert(THEIRS.out_filled - THEIRS.arrived <= OUT);
		THEIRS.arrived = position;
		THEIRS.reads_complete = count
	:: else
	fi;
	ME.moved = true
}

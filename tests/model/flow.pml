/*
 * The streams of an exchange between MSG_MR and MSG_DONE: lib/flow.c, lib/ring.c, rdma-stream.c, the
 * send queue of rdma-exchange.c, and when source and sink wake the CQ thread. docs/model.md says what
 * of this is left out, and what holds.
 *
 * Stream x goes out from side x: from its source through its ring, by way of its send queue or the
 * other's READs, into the other side's ring and sink. A byte stands for any amount of data.
 *
 *   -DMODE_READ            read mode; without, write mode
 *   -DIWARP                no immediate data: MSG_DATA follows the WRITE
 *   -DTEXT                 the sink begins when MSG_DONE is there, as for a message
 *   -DKNOWN                both know the length of the stream from the beginning
 *   -DTO=N -DBACK=N        bytes of the stream of side 0 and of side 1
 *   -DOUT=N -DIN=N         bytes of each side's rings for what goes out and what comes in
 *   -DCHUNK=N -DDEPTH=N -DREADS=N -DSENDS=N
 *   -DMUTANT_...           a fault, which the checks must find
 */
#ifndef TO
#define TO 4
#endif
#ifndef BACK
#define BACK 0
#endif
#ifndef OUT
#define OUT 2
#endif
#ifndef IN
#define IN 2
#endif
#ifndef CHUNK
#define CHUNK 9
#endif
#ifndef DEPTH
#define DEPTH 2
#endif
#ifndef READS
#define READS 2
#endif
#ifndef SENDS
#define SENDS (2 * DEPTH + 16)
#endif

#define PARTS          4 /* of a ring, of depth, of the send queue */
#define TOGETHER       2 /* FLOW_TOGETHER, BURST */
#define RESERVED       5
#define CREDITS_MAX    8
#define MESSAGES       16
#define RECEIVES       (DEPTH + MESSAGES)

#ifdef MODE_READ
#define WRITES  false
#define EXPOSED OUT
#else
#define WRITES  true
#define EXPOSED IN
#endif

#define SMALLER(a, b)       ((a) < (b) -> (a) : (b))
#define TO_END(ring, place) ((ring) - (place) % (ring))
#define SHARE(all)          (((all) + PARTS - 1) / PARTS)

mtype = { WRITE, WRITE_IMM, READ, MSG_DATA, MSG_CREDIT, MSG_DONE };

typedef stream {
	byte size;

	/* struct flow_sender, and the ring at the sender */
	byte out_filled, out_freed;
	bool out_ended, done_posted;
	byte written, told, credited, pieces, pieces_credited;

	/* struct flow_receiver, and the ring at the receiver */
	byte heard, requested, arrived, given, heard_pieces, given_pieces, reads, reads_complete;
	byte in_freed;
	bool done_heard, finished, delivered;

	/* of the source and the sink: how far the CQ thread was told */
	byte source_told, sink_told;

	/* for the checks: messages that take a receive and are not taken yet */
	byte pieces_under_way, credits_under_way
};

typedef side {
	bool moved;       /* the CQ thread is to pump */
	byte outstanding; /* sends_posted - sends_completed */
	byte unsignaled;  /* sends_posted - signaled_send */
};

stream streams[2]; /* by sender */
side sides[2];

/* Posted and not complete: which position and how many READs it stands for, and whether signaled. */
chan posted[2] = [SENDS] of { mtype, byte, byte, bool };

/* On its way, or in a receive, and not taken: which position, and how many pieces. */
chan coming[2] = [RECEIVES] of { mtype, byte, byte };

#define ME     sides[me]
#define OURS   streams[me]
#define THEIRS streams[1 - me]

#define ROOM (ME.outstanding + RESERVED < SENDS -> SENDS - ME.outstanding - RESERVED : 0)

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

/* The CQ thread: what is complete and what came, in any order, and at any time a look at it all. */
proctype Side(bit me)
{
	mtype what;
	byte position, count, bytes, size, burst;
	bool signaled, tells, more;

end:	do
	:: d_step {
		coming[me]?what, position, count ->
		hear();
		what = WRITE;
		position = 0;
		count = 0
	   }
	:: d_step {
		posted[me]??[_, _, _, true] ->
		complete();
		what = WRITE;
		position = 0;
		count = 0;
		signaled = false
	   }
	:: d_step {
		ME.moved ->
		pump();
		position = 0;
		bytes = 0;
		size = 0;
		burst = 0;
		signaled = false;
		tells = false;
		more = false
	   }
	od
}

/* The source: one byte, or all that there is room for; it says so now and then, and when it waits. */
inline fill()
{
	OURS.out_filled = OURS.out_filled + amount;
	if
	:: OURS.out_filled - OURS.source_told >= TOGETHER * FLOW_CHUNK(me) ||
		OURS.out_filled - OURS.out_freed == OUT || OURS.out_filled == OURS.size -> tell = true
	:: else -> tell = amount > 1 /* a pipe that is empty for now */
	fi;
	if
	:: tell ->
		OURS.source_told = OURS.out_filled;
		ME.moved = true
	:: else
	fi;
	tell = false;
	amount = 0
}

#define FILLABLE \
	SMALLER(SMALLER(OUT - (OURS.out_filled - OURS.out_freed), OURS.size - OURS.out_filled), \
		TO_END(OUT, OURS.out_filled))

proctype Source(bit me)
{
	bool tell;
	byte amount;

	do
	:: d_step { FILLABLE > 0 -> amount = 1; fill() }
	:: d_step { FILLABLE > 1 -> amount = FILLABLE; fill() }
	:: d_step {
		OURS.out_filled == OURS.size ->
		OURS.out_ended = true;
		ME.moved = true
	   };
	   break
	od
}

/* The sink: one byte, or all that is there; it says so when a quarter of the ring is free again. */
inline empty_ring()
{
	THEIRS.in_freed = THEIRS.in_freed + amount;
	if
#ifdef MUTANT_SINK_SILENT
	:: false
#else
	:: THEIRS.in_freed - THEIRS.sink_told >= IN / PARTS ->
#endif
		THEIRS.sink_told = THEIRS.in_freed;
		ME.moved = true
	:: else
	fi;
	amount = 0
}

#define EMPTIABLE \
	SMALLER(THEIRS.arrived - THEIRS.in_freed, TO_END(IN, THEIRS.in_freed))
#ifdef TEXT
#define SINK_MAY THEIRS.finished
#else
#define SINK_MAY true
#endif

proctype Sink(bit me)
{
	byte amount;

	do
	:: d_step { SINK_MAY && EMPTIABLE > 0 -> amount = 1; empty_ring() }
	:: d_step { SINK_MAY && EMPTIABLE > 1 -> amount = EMPTIABLE; empty_ring() }
	:: d_step {
		THEIRS.finished && THEIRS.in_freed == THEIRS.heard ->
		THEIRS.delivered = true;
		ME.moved = true
	   };
	   break
	od
}

#define QUIET(x) \
	(empty(coming[x]) && !(posted[x]??[_, _, _, true]) && \
		!sides[x].moved)

/* No credit is lost on the way. What is not given at the end was not due. */
inline check_credit(x)
{
	assert(streams[x].in_freed == streams[x].size);
	assert(streams[x].credited == streams[x].given);
	assert(streams[x].pieces_credited == streams[x].given_pieces);
	assert(streams[x].pieces_under_way == 0 && streams[x].credits_under_way == 0)
}

init {
	atomic {
		streams[0].size = TO;
		streams[1].size = BACK;
		/* MSG_MR was the last send that was signaled. */
		sides[0].unsignaled = 1;
		sides[1].unsignaled = 1;
		run Side(0);
		run Side(1);
		run Source(0);
		run Sink(1);
#if BACK > 0
		run Source(1);
		run Sink(0)
#else
		streams[1].done_posted = true;
		streams[1].delivered = true
#endif
	}
	atomic {
		streams[0].delivered && streams[1].delivered && QUIET(0) && QUIET(1) ->
		check_credit(0);
		check_credit(1)
	}
}

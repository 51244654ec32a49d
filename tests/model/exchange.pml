/*
 * The exchange of two programs of ours: exchange/state-machine.c, and what exchange/driver.c, rdma-common.c and
 * exchange/connection.c do around it. docs/model.md says what of this is left out, and what holds.
 *
 * Each side is what its CQ thread and its main thread do, one event at a time. Between the sides is
 * a reliable connection: what was posted arrives in order, its completion comes any time after that,
 * and either may stop for ever when the link breaks or a side is gone.
 *
 *   -DGIVES_UP  either side may give up or run out of time, at any time
 *   -DCRASHES   either side may vanish, at any time
 *   -DBREAKS    the link may break, at any time
 *   -DSECRET    MSG_PROOF goes before MSG_MR, as with --secret-file
 *   -DHOSTILE   with SECRET: one side has no key and does as it likes
 *   -DMUTANT_...  a fault, which the checks must find
 */

#include "exchange-state.pml"
#include "exchange-machine.pml"

/* Whether a proof is the peer's, of this session. */
#if defined(MUTANT_PROOF_UNCHECKED)
#define PROVES true
#elif defined(MUTANT_ROLE_UNCHECKED)
#define PROVES (content == PROOF(ME.key, me, 0) || content == PROOF(ME.key, 1 - me, 0))
#elif defined(MUTANT_REPLAY)
#define PROVES (content == PROOF(ME.key, 1 - me, 0) || content == PROOF(ME.key, 1 - me, 1))
#else
#define PROVES (content == PROOF(ME.key, 1 - me, 0))
#endif

/* received(), receive() and keep(): which event a message is. */
inline hear()
{
	if
	:: ME.ended && ME.sent != SENDING_ABORT -> event = EVENT_NONE
	:: !ME.ended && me == ACTIVE && !ME.established ->
		fail(PROTOCOL);
		event = EVENT_GAVE_UP
	:: else ->
		if
		:: message == MSG_PROOF && PROVES -> event = EVENT_RECEIVED_PROOF
		:: message == MSG_PROOF && !PROVES ->
			fail(OURS);
			event = EVENT_STRANGER
		:: message == MSG_MR -> event = EVENT_RECEIVED_MR
		:: message == MSG_DONE -> event = EVENT_RECEIVED_DONE
		:: message == MSG_VERDICT ->
			event = EVENT_RECEIVED_VERDICT;
			if
			:: content != VERIFIED && ME.received == RECEIVED_DONE ->
				fail(DAMAGED_THERE)
			:: else
			fi
		:: message == MSG_ABORT ->
#ifndef MUTANT_ABORT_FORGIVEN
			fail(ABORTED);
#endif
			ME.heard_abort = true;
			event = EVENT_RECEIVED_ABORT
		fi
	fi
}

/* sent() */
inline take_own()
{
	if
	:: message == MSG_PROOF -> event = EVENT_SENT_PROOF
	:: message == MSG_MR -> event = EVENT_SENT_MR
	:: message == MSG_DONE -> event = EVENT_SENT_DONE
	:: message == MSG_VERDICT ->
		ME.acknowledged = true;
		event = EVENT_SENT_VERDICT
	:: message == MSG_ABORT -> event = EVENT_SENT_ABORT
	fi
}

/* connection_completed(): the completion queue has both directions in the order of their coming. */
inline take_completion()
{
	if
	:: queue[me]?RECEIVED, message, content -> hear()
	:: queue[me]?SENT, message, _ -> take_own()
	:: queue[me]?FLUSHED, _, _ ->
		fail(COMPLETION);
		event = EVENT_FAILED
	fi
}

/* end_receiving(): the sink's word. */
inline deliver()
{
	event = EVENT_DELIVERED;
	if
	:: true -> ME.kept = true
	:: true -> fail(DAMAGED)
#ifdef GIVES_UP
	:: true ->
		fail(OURS);
		event = EVENT_GAVE_UP
#endif
	fi
}

/* end_silence(), or a signal, or a file: what is complete stays so. */
inline run_out()
{
	if
	:: COMPLETE ->
		ME.gave_up = true;
		event = EVENT_FAILED
	:: else ->
		if
		:: true -> fail(OURS)
		:: true -> fail(COMPLETION) /* connection_stalled() */
		fi;
		event = EVENT_GAVE_UP
	fi
}

/* connection_close(): the queue pair breaks, and the peer hears of it if the link still stands. */
inline close()
{
	ME.closed = true;
	if
	:: ME.up -> break_queue_pair(me)
	:: else
	fi;
	PEER.told_gone = PEER.told_gone || (!broken && !ENDED(1 - me))
}

/* retire() and decide(). */
inline retire()
{
	if
#ifndef MUTANT_FLUSH_COUNTS
	:: COMPLETE && ME.failure == COMPLETION -> ME.failure = NONE
#endif
	:: !COMPLETE && ME.failure == NONE -> ME.failure = GONE
	:: else
	fi;
	ME.over = true;
	forget(me)
}

/*
 * After its end a side hears nothing but what becomes of its MSG_ABORT; and if it was not complete
 * then, it never will be. What makes no difference any more is forgotten.
 */
inline settle()
{
	if
	:: LIVES && ME.ended && !COMPLETE ->
		ME.received = RECEIVED_NOTHING;
		ME.delivered = false;
		ME.established = true;
		ME.sent = (ME.sent == SENDING_ABORT -> SENDING_ABORT : SENT_ABORT);
		ME.failure = (ME.failure == PROTOCOL -> PROTOCOL : GONE)
	:: else
	fi;
	if
	:: LIVES && IS_DEAF(me) ->
		right = false;
		do
		:: queue[me]?RECEIVED, _, _
		:: queue[me]?SENT, _, _
		:: queue[me]?FLUSHED, _, _ -> right = true
		:: empty(queue[me]) -> break
		od;
		if
		:: right -> queue[me]!FLUSHED, MSG_ABORT, 0
		:: else
		fi
	:: else
	fi
}

/* Nothing of the peer's, and no completion, will ever come; it takes the timeout to know. */
#ifdef MUTANT_NO_SILENCE
#define UNHEARD false
#else
#define UNHEARD (broken || PEER.crashed || hostile)
#endif
#define TOGETHER (!broken && ME.up && PEER.up)

proctype Side(bit me)
{
	mtype:events event = EVENT_NONE;
	mtype:messages message;
	byte content;
	bool right;

	do
	:: ENDED(me) -> break
	:: atomic {
		if
		:: LIVES && nempty(queue[me]) -> take_completion()
		:: RUNS && !ME.established ->
			event = EVENT_ESTABLISHED
		:: RUNS && ME.sent == SENDING_DATA &&
			(!needy || (TOGETHER && !PEER.ended)) -> event = EVENT_DATA_POSTED
		:: RUNS && ME.received >= RECEIVED_DONE && !ME.delivered &&
			(!needy || TOGETHER) -> deliver()
		:: RUNS && UNHEARD -> run_out()
#ifdef GIVES_UP
		:: RUNS -> run_out()
#endif
		/* A second is over, or all is lost. */
		:: LIVES && ME.ended && ME.sent == SENDING_ABORT -> event = EVENT_FAILED
		:: LIVES && ME.finished && !ME.closed ->
			close();
			event = EVENT_NONE
#ifndef MUTANT_DISCONNECT_UNHEARD
		:: LIVES && ME.told_gone && !ME.closed ->
			close();
			event = EVENT_NONE
#endif
#ifdef MUTANT_CLOSE_DROPS
		:: LIVES && ME.closed -> retire()
#else
		:: LIVES && ME.closed && empty(queue[me]) -> retire()
#endif
		fi;
		d_step {
			exchange_step();
			settle();
			event = EVENT_NONE;
			message = MSG_ABORT;
			content = 0;
			right = false
		}
	   }
	od
}

/* A device, and the way from it to the other one. */
proctype Device(bit x)
{
	mtype:messages message;
	byte content;

end:	do
	:: atomic {
		if
		/* A message arrives: it is in the peer's completion queue. */
		:: !broken && sides[x].up && sides[1 - x].up && nempty(posted[x]) ->
			posted[x]?message, content;
			arrived[x]!message;
			if
			:: !IS_DEAF(1 - x) -> queue[1 - x]!RECEIVED, message, content
			:: else
			fi
		/* Its acknowledgement comes: it may have been under way while the peer left. */
		:: !broken && sides[x].up && nempty(arrived[x]) ->
			arrived[x]?message;
			if
			:: !IS_DEAF(x) -> queue[x]!SENT, message, 0
			:: else
			fi
		/* The device has tried for long enough. */
		:: (broken || !sides[1 - x].up) && sides[x].up &&
			(nempty(posted[x]) || nempty(arrived[x])) -> break_queue_pair(x)
#ifdef BREAKS
		:: !broken && !all_ended -> broken = true
#endif
#ifdef CRASHES
		/* The kernel may live on and say goodbye. */
		:: !sides[x].crashed && !sides[x].over ->
			sides[x].crashed = true;
			break_queue_pair(x);
			forget(x);
			if
			:: !broken && !sides[1 - x].over -> sides[1 - x].told_gone = true
			:: true
			fi
#endif
		fi;
		message = MSG_ABORT;
		content = 0
	   }
	od
}

#ifdef HOSTILE
/*
 * Says whatever it can, one message after another: it has no key, but ears, and the proofs of both
 * roles from an old session. Or it says nothing, or leaves.
 */
#define SAY(message, content) queue[1 - me]!RECEIVED, message, content

proctype Hostile(bit me)
{
	mtype:messages message;
	byte content, heard;

	do
	:: atomic {
		queue[me]?RECEIVED, message, content ->
		heard = (message == MSG_PROOF -> 1 + content : heard);
		message = MSG_ABORT;
		content = 0
	   }
	:: queue[me]?FLUSHED, _, _
	:: atomic {
		PEER.up && !PEER.ended && !ENDED(1 - me) && empty(queue[1 - me]) ->
		if
		:: SAY(MSG_PROOF, PROOF(1, me, 0))
		:: SAY(MSG_PROOF, PROOF(0, me, 1))
		:: SAY(MSG_PROOF, PROOF(0, 1 - me, 1))
		:: heard > 0 -> SAY(MSG_PROOF, heard - 1)
		:: SAY(MSG_MR, 0)
		:: SAY(MSG_DONE, 0)
		:: SAY(MSG_VERDICT, VERIFIED)
		:: SAY(MSG_ABORT, 0)
		fi
	   }
	:: atomic { !ME.closed -> close() }
	:: atomic { ME.closed && empty(queue[me]) -> ME.over = true; break }
	od
}
#endif

#define SUCCEEDED(x) (sides[x].over && sides[x].failure == NONE)
#define HURT(x)      (sides[x].failure == DAMAGED || sides[x].failure == DAMAGED_THERE)
#define GAVE_UP      (sides[0].gave_up || sides[1].gave_up)
#define CRASHED      (sides[0].crashed || sides[1].crashed)
#define ESTRANGED    (sides[0].key != sides[1].key)

/* Whoever reports success knows that both streams are whole and kept, and that both have said so. */
inline check_success(x)
{
	assert(!SUCCEEDED(x) || (sides[0].kept && sides[1].kept &&
		sides[0].said == VERIFIED && sides[1].said == VERIFIED));
	/* And whoever was told that the other had given up reports none. */
	assert(!SUCCEEDED(x) || !sides[x].heard_abort)
}

/* If our verdict was acknowledged, only the other's own end keeps it from success: no broken link. */
inline check_knowledge(x)
{
	assert(!(SUCCEEDED(x) && sides[x].acknowledged) || SUCCEEDED(1 - x) ||
		sides[1 - x].crashed || sides[1 - x].gave_up)
}

inline check_secret(x)
{
	assert(!ESTRANGED || !sides[x].sent_mr);
	assert(!ESTRANGED || !SUCCEEDED(x))
}

init {
	atomic {
		sides[0].failure = NONE;
		sides[1].failure = NONE;
		sides[0].up = true;
		sides[1].up = true;
#ifndef SECRET
		sides[0].sent = SENT_PROOF;
		sides[1].sent = SENT_PROOF;
		sides[0].received = RECEIVED_PROOF;
		sides[1].received = RECEIVED_PROOF;
#endif
		if
		:: needy = true
		:: needy = false
		fi;
#ifdef HOSTILE
		hostile = true;
		if
		:: sides[1].key = true;
			run Hostile(1);
			run Side(0)
		:: sides[0].key = true;
			run Hostile(0);
			run Side(1)
		fi;
#else
#ifdef SECRET
		if
		:: sides[1].key = true
		:: true
		fi;
#endif
		run Side(0);
		run Side(1);
#endif
		run Device(0);
		run Device(1)
	}
	/* Nobody waits for ever. */
	atomic {
		ENDED(0) && ENDED(1) ->
		all_ended = true;
#ifdef HOSTILE
		check_secret(sides[0].key);
#else
		check_success(0);
		check_success(1);
		check_knowledge(0);
		check_knowledge(1);
		check_secret(0);
		check_secret(1);
#ifdef CLAIM_TOO_MUCH
		/* What no two ends of a link can have: that they agree whatever happens to it. */
		assert(CRASHED || GAVE_UP || SUCCEEDED(0) == SUCCEEDED(1));
#endif
		/* Where nobody gives up and nothing breaks, both succeed or both report damage. */
		assert(broken || GAVE_UP || CRASHED || ESTRANGED ||
			(SUCCEEDED(0) && SUCCEEDED(1)) || (HURT(0) && HURT(1)));
		/* No side of ours breaks the protocol. */
		assert(sides[0].failure != PROTOCOL && sides[1].failure != PROTOCOL)
#endif
	}
}

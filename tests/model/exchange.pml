/*
 * An exchange between two of our programs: exchange/state-machine.c, and its callers in
 * exchange/driver.c, exchange/idle.c, exchange/connection.c and rdma-common.c. docs/model.md lists
 * the assumptions and the assertions.
 *
 * Each side models its CQ thread and its main thread, one event at a time. Between them is a
 * reliable connection: messages arrive in the order of posting, and complete at any later time.
 * Both may stop forever when the link breaks or a side crashes.
 *
 *   -DABORTS    either side may abort or time out at any time
 *   -DCRASHES   either side may crash at any time
 *   -DBREAKS    the link may break at any time
 *   -DSECRET    MSG_PROOF precedes MSG_MR, as with --secret-file
 *   -DHOSTILE   with SECRET: one side has no key and sends anything
 *   -DMUTANT_...  a planted fault, which the checks must find
 */

#include "exchange-state.pml"
#include "exchange-machine.pml"

/* True if a proof is the peer's and belongs to this session. */
#if defined(MUTANT_PROOF_UNCHECKED)
#define PROOF_IS_RIGHT true
#elif defined(MUTANT_ROLE_UNCHECKED)
#define PROOF_IS_RIGHT (content == PROOF(ME.key, me, 0) || content == PROOF(ME.key, 1 - me, 0))
#elif defined(MUTANT_REPLAY)
#define PROOF_IS_RIGHT (content == PROOF(ME.key, 1 - me, 0) || content == PROOF(ME.key, 1 - me, 1))
#else
#define PROOF_IS_RIGHT (content == PROOF(ME.key, 1 - me, 0))
#endif

/* take_receive(): converts a message to an event. */
inline take_message()
{
	if
	:: ME.ended && ME.sent != SENDING_ABORT -> event = EVENT_NONE
	:: !ME.ended && me == ACTIVE && !ME.established ->
		fail(PROTOCOL);
		event = EVENT_ABORTED
	:: else ->
		if
		:: message == MSG_PROOF && PROOF_IS_RIGHT -> event = EVENT_RECEIVED_PROOF
		:: message == MSG_PROOF && !PROOF_IS_RIGHT ->
			fail(OURS);
			event = EVENT_UNAUTHENTICATED
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
			ME.received_abort = true;
			event = EVENT_RECEIVED_ABORT
		fi
	fi
}

/* take_sent() */
inline take_sent()
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

/* take_completion(): sends and receives complete on one queue, in the order of arrival. */
inline take_completion()
{
	if
	:: queue[me]?RECEIVED, message, content -> take_message()
	:: queue[me]?SENT, message, _ -> take_sent()
	:: queue[me]?FLUSHED, _, _ ->
		fail(COMPLETION);
		event = EVENT_FAILED
	fi
}

/* finish_sink(): the sink has consumed the whole stream. */
inline deliver()
{
	event = EVENT_DELIVERED;
	if
	:: true -> ME.kept = true
	:: true -> fail(DAMAGED)
#ifdef ABORTS
	:: true ->
		fail(OURS);
		event = EVENT_ABORTED
#endif
	fi
}

/* time_out(), a signal, or a failed file. A complete exchange remains complete. */
inline abort()
{
	if
	:: COMPLETE ->
		ME.aborted = true;
		event = EVENT_FAILED
	:: else ->
		if
		:: true -> fail(OURS)
		:: true -> fail(COMPLETION) /* sends were not acknowledged */
		fi;
		event = EVENT_ABORTED
	fi
}

/* connection_close(): the queue pair breaks; the peer learns of it unless the link is broken. */
inline close()
{
	ME.closed = true;
	if
	:: ME.up -> break_queue_pair(me)
	:: else
	fi;
	PEER.peer_left = PEER.peer_left || (!broken && !ENDED(1 - me))
}

/* connection_release() and decide(). */
inline release()
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
 * After it has ended, a side only waits for the completion of its MSG_ABORT; an exchange that was
 * not complete by then never will be. Resets variables that no longer matter.
 */
inline forget_more()
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

/*
 * True if further messages and completions may never arrive, which only the idle timeout detects.
 */
#ifdef MUTANT_NO_IDLE_TIMEOUT
#define UNREACHABLE false
#else
#define UNREACHABLE (broken || PEER.crashed || hostile)
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
		:: RUNS && UNREACHABLE -> abort()
#ifdef ABORTS
		:: RUNS -> abort()
#endif
		/* MSG_ABORT was not acknowledged in time. */
		:: LIVES && ME.ended && ME.sent == SENDING_ABORT -> event = EVENT_FAILED
		:: LIVES && ME.finished && !ME.closed ->
			close();
			event = EVENT_NONE
#ifndef MUTANT_DISCONNECT_IGNORED
		:: LIVES && ME.peer_left && !ME.closed ->
			close();
			event = EVENT_NONE
#endif
#ifdef MUTANT_CLOSE_DROPS
		:: LIVES && ME.closed -> release()
#else
		:: LIVES && ME.closed && empty(queue[me]) -> release()
#endif
		fi;
		d_step {
			exchange_step();
			forget_more();
			event = EVENT_NONE;
			message = MSG_ABORT;
			content = 0;
			right = false
		}
	   }
	od
}

/* A device, and the link to the other device. */
proctype Device(bit x)
{
	mtype:messages message;
	byte content;

end:	do
	:: atomic {
		if
		/* A message arrives in the peer's completion queue. */
		:: !broken && sides[x].up && sides[1 - x].up && nempty(posted[x]) ->
			posted[x]?message, content;
			arrived[x]!message;
			if
			:: !IS_DEAF(1 - x) -> queue[1 - x]!RECEIVED, message, content
			:: else
			fi
		/* The acknowledgement arrives even if the peer has disconnected in the meantime. */
		:: !broken && sides[x].up && nempty(arrived[x]) ->
			arrived[x]?message;
			if
			:: !IS_DEAF(x) -> queue[x]!SENT, message, 0
			:: else
			fi
		/* The device gives up retrying. */
		:: (broken || !sides[1 - x].up) && sides[x].up &&
			(nempty(posted[x]) || nempty(arrived[x])) -> break_queue_pair(x)
#ifdef BREAKS
		:: !broken && !all_ended -> broken = true
#endif
#ifdef CRASHES
		/* The kernel may survive and disconnect. */
		:: !sides[x].crashed && !sides[x].over ->
			sides[x].crashed = true;
			break_queue_pair(x);
			forget(x);
			if
			:: !broken && !sides[1 - x].over -> sides[1 - x].peer_left = true
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
 * Sends arbitrary messages, one after another. It has no key, only the messages of this session and
 * the proofs of both roles from an earlier session. It may also send nothing, or disconnect.
 */
#define INJECT(message, content) queue[1 - me]!RECEIVED, message, content

proctype Hostile(bit me)
{
	mtype:messages message;
	byte content, seen_proof;

	do
	:: atomic {
		queue[me]?RECEIVED, message, content ->
		seen_proof = (message == MSG_PROOF -> 1 + content : seen_proof);
		message = MSG_ABORT;
		content = 0
	   }
	:: queue[me]?FLUSHED, _, _
	:: atomic {
		PEER.up && !PEER.ended && !ENDED(1 - me) && empty(queue[1 - me]) ->
		if
		:: INJECT(MSG_PROOF, PROOF(1, me, 0))
		:: INJECT(MSG_PROOF, PROOF(0, me, 1))
		:: INJECT(MSG_PROOF, PROOF(0, 1 - me, 1))
		:: seen_proof > 0 -> INJECT(MSG_PROOF, seen_proof - 1)
		:: INJECT(MSG_MR, 0)
		:: INJECT(MSG_DONE, 0)
		:: INJECT(MSG_VERDICT, VERIFIED)
		:: INJECT(MSG_ABORT, 0)
		fi
	   }
	:: atomic { !ME.closed -> close() }
	:: atomic { ME.closed && empty(queue[me]) -> ME.over = true; break }
	od
}
#endif

#define SUCCEEDED(x) (sides[x].over && sides[x].failure == NONE)
#define SAW_DAMAGE(x)      (sides[x].failure == DAMAGED || sides[x].failure == DAMAGED_THERE)
#define ANY_ABORTED      (sides[0].aborted || sides[1].aborted)
#define ANY_CRASHED      (sides[0].crashed || sides[1].crashed)
#define DIFFERENT_SECRETS    (sides[0].key != sides[1].key)

/* If a side reports success, both streams are verified and kept, and both verdicts are posted. */
inline check_success(x)
{
	assert(!SUCCEEDED(x) || (sides[0].kept && sides[1].kept &&
		sides[0].sent_verdict == VERIFIED && sides[1].sent_verdict == VERIFIED));
	/* A side that received MSG_ABORT reports no success. */
	assert(!SUCCEEDED(x) || !sides[x].received_abort)
}

/* If our verdict was acknowledged, the other side succeeds unless it aborts or crashes. */
inline check_knowledge(x)
{
	assert(!(SUCCEEDED(x) && sides[x].acknowledged) || SUCCEEDED(1 - x) ||
		sides[1 - x].crashed || sides[1 - x].aborted)
}

inline check_secret(x)
{
	assert(!DIFFERENT_SECRETS || !sides[x].sent_mr);
	assert(!DIFFERENT_SECRETS || !SUCCEEDED(x))
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
	/* No side blocks forever. */
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
		/* Must fail, because the two ends of an unreliable link cannot always agree. */
		assert(ANY_CRASHED || ANY_ABORTED || SUCCEEDED(0) == SUCCEEDED(1));
#endif
		/* Without aborts, crashes and link failures, both succeed or both report damage. */
		assert(broken || ANY_ABORTED || ANY_CRASHED || DIFFERENT_SECRETS ||
			(SUCCEEDED(0) && SUCCEEDED(1)) || (SAW_DAMAGE(0) && SAW_DAMAGE(1)));
		/* Our sides follow the protocol. */
		assert(sides[0].failure != PROTOCOL && sides[1].failure != PROTOCOL)
#endif
	}
}

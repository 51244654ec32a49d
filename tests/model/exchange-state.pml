/*
 * The state of both sides of an exchange and of the connection between them; included by
 * exchange.pml.
 */

#define ACTIVE  0
#define PASSIVE 1

/* enum exchange_sent, in its order */
#define SENT_NOTHING    0
#define SENDING_PROOF   1
#define SENT_PROOF      2
#define SENDING_MR      3
#define SENT_MR         4
#define SENDING_DATA    5
#define SENDING_DONE    6
#define SENT_DONE       7
#define SENDING_VERDICT 8
#define SENT_ALL        9
#define SENDING_ABORT   10
#define SENT_ABORT      11

/* enum exchange_received */
#define RECEIVED_NOTHING 0
#define RECEIVED_PROOF   1
#define RECEIVED_MR      2
#define RECEIVED_DONE    3
#define RECEIVED_VERDICT 4

mtype:events = {
	EVENT_ESTABLISHED, EVENT_SENT_PROOF, EVENT_SENT_MR, EVENT_SENT_DONE, EVENT_SENT_VERDICT,
	EVENT_SENT_ABORT, EVENT_DATA_POSTED, EVENT_DELIVERED, EVENT_RECEIVED_PROOF,
	EVENT_RECEIVED_MR, EVENT_RECEIVED_DONE, EVENT_RECEIVED_VERDICT, EVENT_RECEIVED_ABORT,
	EVENT_ABORTED, EVENT_UNAUTHENTICATED, EVENT_FAILED, EVENT_DISCONNECTED, EVENT_NONE
};
mtype:messages = { MSG_PROOF, MSG_MR, MSG_DONE, MSG_VERDICT, MSG_ABORT };
mtype:completions = { RECEIVED, SENT, FLUSHED };

/* The first failure. OURS: a file, a signal, the idle timeout, an unauthenticated peer. */
mtype:failures = { NONE, COMPLETION, DAMAGED, DAMAGED_THERE, PROTOCOL, ABORTED, GONE, OURS };

/* The values of a verdict. */
#define VERIFIED 1
#define BROKEN   2

/* A proof: key, role, and whether it was recorded in an earlier session. */
#define PROOF(key, role, old) ((key) + 2 * (role) + 4 * (old))

typedef side {
	byte sent, received; /* struct exchange */
	bool established, delivered, ended;
	mtype:failures failure; /* struct connection: the first failure, finally the outcome */
	bool finished;         /* the main thread must disconnect */
	bool closed;           /* the main thread has disconnected */
	bool peer_left;        /* rdmacm: the peer has disconnected */
	bool up;               /* the queue pair works */
	bool over, crashed;    /* finished with an outcome; crashed */
	bool key;              /* 0: the secret's key */

	/* for the checks only */
	bool kept;         /* the peer's stream is verified and kept */
	byte sent_verdict; /* the posted verdict */
	bool acknowledged; /* the send of the verdict is complete */
	bool aborted;
	bool received_abort;
	bool sent_mr;
};

side sides[2];
bool broken;       /* the link is broken */
bool needy;        /* to finish, streams need the peer's credit, or its memory for READs */
bool hostile;      /* one side is a hostile peer */
bool all_ended;

/* Posted sends; sends that have arrived but are not complete; the completion queue. */
chan posted[2] = [6] of { mtype:messages, byte };
chan arrived[2] = [6] of { mtype:messages };
chan queue[2] = [14] of { mtype:completions, mtype:messages, byte };

#define ME   sides[me]
#define PEER sides[1 - me]

#define ENDED(x) (sides[x].over || sides[x].crashed)
#define LIVES    (!ENDED(me))
#define RUNS     (LIVES && !ME.ended)
#define IS_DEAF(x) (sides[x].ended && sides[x].sent != SENDING_ABORT)
#ifdef MUTANT_COMPLETE_EARLY
#define COMPLETE (ME.received == RECEIVED_VERDICT && ME.delivered)
#else
#define COMPLETE \
	(ME.received == RECEIVED_VERDICT && ME.delivered && \
		(ME.sent == SENDING_VERDICT || ME.sent == SENT_ALL))
#endif

/* The state after the peer's first message. Without a secret, no proofs are exchanged. */
#ifdef SECRET
#define FIRST RECEIVED_PROOF
#else
#define FIRST RECEIVED_MR
#endif

#ifdef MUTANT_PASSIVE_FIRST
#define MAY_SEND (me == PASSIVE || ME.established)
#else
#define MAY_SEND ((me == ACTIVE && ME.established) || (me == PASSIVE && ME.received >= FIRST))
#endif

inline fail(kind)
{
	if
	:: ME.failure == NONE -> ME.failure = kind
	:: else
	fi
}

/* A broken queue pair accepts work requests and flushes them. */
inline post(what, content)
{
	if
	:: ME.up -> posted[me]!what, content
	:: else
	fi
}

inline break_queue_pair(x)
{
	sides[x].up = false;
	queue[x]!FLUSHED, MSG_ABORT, 0;
	do
	:: posted[x]?_, _
	:: arrived[x]?_
	:: empty(posted[x]) && empty(arrived[x]) -> break
	od
}

/* Resets variables that no longer matter, to reduce the number of states. */
inline forget(x)
{
	sides[x].sent = SENT_NOTHING;
	sides[x].received = RECEIVED_NOTHING;
	sides[x].established = false;
	sides[x].delivered = false;
	sides[x].ended = false;
	sides[x].finished = false;
	sides[x].closed = false;
	sides[x].peer_left = false;
	do
	:: queue[x]?_, _, _
	:: empty(queue[x]) -> break
	od
}

/*
 * The state machine of exchange/state-machine.c, included by exchange.pml.
 */

inline finish()
{
	ME.ended = true;
	ME.finished = true
}

inline give_up()
{
	ME.ended = true;
	if
	:: MAY_SEND ->
		ME.sent = SENDING_ABORT;
		post(MSG_ABORT, 0)
	:: else -> ME.finished = true
	fi
}

inline step_after_end()
{
	if
	:: ME.sent == SENDING_ABORT &&
		(event == EVENT_SENT_ABORT || event == EVENT_FAILED ||
			event == EVENT_DISCONNECTED || event == EVENT_RECEIVED_ABORT) ->
		ME.sent = SENT_ABORT;
		ME.finished = true
	:: else
	fi
}

/*
 * is_premature(): with a secret, each message replies to another, except the active side's first.
 */
#ifdef SECRET
#define PREMATURE (me == ACTIVE -> 1 : 0)
#else
#define PREMATURE 0
#endif

/* sent_rows and received_rows. Sets `right`: the event is allowed now. */
#define SENDS(which, from, to) \
	:: event == which -> right = ME.sent == from; \
		ME.sent = (right -> to : ME.sent)
#define RECEIVES(which, from, to, at_least) \
	:: event == which -> right = ME.received == from && ME.sent >= at_least; \
		ME.received = (right -> to : ME.received)

inline advance()
{
	right = true;
	if
	:: event == EVENT_ESTABLISHED -> ME.established = true
	:: event == EVENT_UNAUTHENTICATED -> right = false
	:: event == EVENT_DELIVERED ->
		right = ME.received >= RECEIVED_DONE && !ME.delivered;
		ME.delivered = true
	SENDS(EVENT_SENT_PROOF, SENDING_PROOF, SENT_PROOF)
	SENDS(EVENT_SENT_MR, SENDING_MR, SENT_MR)
	SENDS(EVENT_DATA_POSTED, SENDING_DATA, SENDING_DONE)
	SENDS(EVENT_SENT_DONE, SENDING_DONE, SENT_DONE)
	SENDS(EVENT_SENT_VERDICT, SENDING_VERDICT, SENT_ALL)
	RECEIVES(EVENT_RECEIVED_PROOF, RECEIVED_NOTHING, RECEIVED_PROOF, SENDING_PROOF * PREMATURE)
	RECEIVES(EVENT_RECEIVED_MR, RECEIVED_PROOF, RECEIVED_MR, SENDING_MR * PREMATURE)
	RECEIVES(EVENT_RECEIVED_DONE, RECEIVED_MR, RECEIVED_DONE, SENDING_MR)
	RECEIVES(EVENT_RECEIVED_VERDICT, RECEIVED_DONE, RECEIVED_VERDICT, SENDING_DONE)
	fi
}

/* may_send_region(): a side sends its region only to an authenticated peer. */
#ifdef MUTANT_MR_BEFORE_PROOF
#define MAY_SEND_REGION (ME.sent == SENT_PROOF && MAY_SEND)
#else
#define MAY_SEND_REGION \
	(ME.sent == SENT_PROOF && MAY_SEND && \
		ME.received >= (me == ACTIVE -> RECEIVED_PROOF : ANSWERED))
#endif
#ifdef MUTANT_PASSIVE_FIRST
#define ANSWERED RECEIVED_PROOF
#else
#define ANSWERED RECEIVED_MR
#endif

inline act()
{
	if
	:: ME.sent == SENT_NOTHING && MAY_SEND ->
		ME.sent = SENDING_PROOF;
		post(MSG_PROOF, PROOF(ME.key, me, 0))
	:: else
	fi;
	if
	:: MAY_SEND_REGION ->
		ME.sent = SENDING_MR;
		ME.sent_mr = true;
		post(MSG_MR, 0)
	:: else
	fi;
	if
	:: ME.sent == SENT_MR && ME.received >= RECEIVED_MR -> ME.sent = SENDING_DATA
	:: else
	fi;
	if
	:: event == EVENT_DATA_POSTED -> post(MSG_DONE, 0)
	:: else
	fi;
	if
#ifdef MUTANT_VERDICT_EARLY
	:: ME.sent == SENT_DONE && ME.received >= RECEIVED_DONE ->
#else
	:: ME.sent == SENT_DONE && ME.delivered ->
#endif
		ME.sent = SENDING_VERDICT;
#ifdef MUTANT_DAMAGE_UNREPORTED
		ME.sent_verdict = VERIFIED;
#else
		ME.sent_verdict = (ME.failure == DAMAGED -> BROKEN : VERIFIED);
#endif
		post(MSG_VERDICT, ME.sent_verdict)
	:: else
	fi;
	if
#ifdef MUTANT_FINISH_EARLY
	:: me == ACTIVE && COMPLETE -> finish()
#else
	:: me == ACTIVE && ME.sent == SENT_ALL && ME.received == RECEIVED_VERDICT -> finish()
#endif
	:: else
	fi
}

inline exchange_step()
{
	if
	:: event == EVENT_NONE
	:: event != EVENT_NONE && ME.ended -> step_after_end()
	:: event != EVENT_NONE && !ME.ended &&
		(event == EVENT_FAILED || event == EVENT_DISCONNECTED ||
			event == EVENT_RECEIVED_ABORT) ->
		ME.ended = true;
		ME.finished = (event != EVENT_DISCONNECTED -> true : ME.finished)
	:: event == EVENT_ABORTED && !ME.ended ->
		ME.aborted = true;
		give_up()
	/* turn_away(): the peer has sent a message, so it is able to receive MSG_ABORT. */
	:: event == EVENT_UNAUTHENTICATED && !ME.ended && ME.received == RECEIVED_NOTHING &&
		ME.sent >= SENDING_PROOF * PREMATURE ->
		ME.ended = true;
		ME.sent = SENDING_ABORT;
		post(MSG_ABORT, 0)
	:: else ->
		advance();
		if
		:: right -> act()
		:: else ->
			fail(PROTOCOL);
			give_up()
		fi
	fi
}

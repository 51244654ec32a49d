/*
 * Transfers of one name into one folder, each resuming what an interrupted one has left:
 * stream/hidden-file.c, stream/output-file.c and docs/protocol.md, "Resuming a file".
 *
 * RECEIVERS receive at the same time, TRANSFERS in all. A file has BLOCKS blocks; what a block holds
 * is the version of the sender's file that it is from. KILLS processes may be killed at any step.
 *
 * -DCHANGES: each transfer sends either of two versions. -DFORCE: replaces an existing file.
 * -DDAMAGE: a block may be damaged on its way. -DUPDATE: an existing file is kept if the sender has the same one (stream/present.c).
 * -DREWRITES: the sender's file may change while it is read (stream/file-state.c).
 */
#define BLOCKS 2
#define NAMES  2 /* hidden names, numbered */
#define NODES  8 /* inodes, from 1; 0: none */
#define DAMAGED 3 /* a version that no sender has */

#ifndef RECEIVERS
#define RECEIVERS 2
#endif
#ifndef TRANSFERS
#define TRANSFERS 3
#endif
#ifndef KILLS
#define KILLS 1
#endif

/* The folder. */
byte leftover[NAMES];
byte file;

/* The inodes. */
byte size[NODES];
byte first[NODES], second[NODES]; /* their blocks */
byte lock[NODES];                 /* the receiver that holds it, from 1 */

/* What each receiver has open: a file that it looks at, and its own. */
byte looks[RECEIVERS + 1], own[RECEIVERS + 1];

byte transfers = TRANSFERS, kills = KILLS, sent;

#define CONSISTS_OF(node, version) \
	((size[node] < 1 || first[node] == (version)) && \
		(size[node] < 2 || second[node] == (version)))
#define WHOLE(node) \
	(size[node] == BLOCKS && first[node] == second[node])
#define OPEN(node, who)   (looks[who] == (node) || own[who] == (node))
#define IS_USED(node) \
	(file == (node) || leftover[0] == (node) || leftover[1] == (node) || OPEN(node, 1) || \
		OPEN(node, RECEIVERS))

#define OWN own[me]

/* Closing a file unlocks it. */
inline close_one(node)
{
	if
	:: lock[node] == me -> lock[node] = 0
	:: else
	fi
}

inline close_looked()
{
	if
	:: looks[me] != OWN -> close_one(looks[me])
	:: else
	fi;
	looks[me] = 0
}

/* Between any two steps, the process may be killed, and the transfer may fail. */
inline between()
{
	if
	:: kills > 0 -> kills--; goto killed
	:: true
	fi
}

/* adopt(): looks at all hidden names, keeps the largest leftover, and removes the others. */
inline adopt()
{
	n = 0;
	do
	:: n == NAMES -> break
	:: n < NAMES ->
		atomic { looks[me] = leftover[n] };
		if
		:: looks[me] == 0
		:: looks[me] != 0 ->
			between();
			atomic {
				if
#ifndef MUTANT_UNLOCKED
				:: lock[looks[me]] != 0 -> looks[me] = 0
				:: lock[looks[me]] == 0 -> lock[looks[me]] = me
#else
				:: true
#endif
				fi
			};
			between();
			/* is_linked(): its owner may have renamed or removed it before it was unlocked. */
			atomic {
				if
#ifndef MUTANT_LINK_UNCHECKED
				:: looks[me] != 0 && leftover[n] != looks[me] -> close_looked()
#endif
				:: else
				fi
			};
			between();
			if
			:: looks[me] == 0
			:: looks[me] != 0 && (size[looks[me]] == 0 || (OWN != 0 && size[looks[me]] <= size[OWN])) ->
				atomic { leftover[n] = 0; close_looked() }
			:: looks[me] != 0 && size[looks[me]] > 0 && (OWN == 0 || size[looks[me]] > size[OWN]) ->
				if
				:: OWN != 0 -> atomic { leftover[mine] = 0; close_one(OWN); OWN = 0 }
				:: OWN == 0
				fi;
				atomic { OWN = looks[me]; looks[me] = 0; mine = n }
			fi
		fi;
		n++
	od
}

/* create_hidden(): another receiver may take the new file for a leftover before it is locked. */
inline create()
{
	n = 0;
	do
	:: OWN != 0 || n == NAMES -> break
	:: OWN == 0 && n < NAMES ->
		atomic {
			if
			:: leftover[n] != 0
			:: leftover[n] == 0 ->
				i = 1;
				do
				:: IS_USED(i) -> i++
				:: !IS_USED(i) -> break
				od;
				assert(i < NODES);
				size[i] = 0;
				lock[i] = 0;
				leftover[n] = i;
				looks[me] = i
			fi;
			i = 0
		};
		if
		:: looks[me] == 0
		:: looks[me] != 0 ->
			between();
			atomic {
				if
				:: lock[looks[me]] != 0 -> looks[me] = 0
				:: lock[looks[me]] == 0 -> lock[looks[me]] = me
				fi
			};
			between();
			atomic {
				if
				:: looks[me] == 0
#ifndef MUTANT_NEW_UNCHECKED
				:: looks[me] != 0 && leftover[n] != looks[me] -> close_looked()
				:: looks[me] != 0 && leftover[n] == looks[me] ->
#else
				:: looks[me] != 0 ->
#endif
					OWN = looks[me];
					looks[me] = 0;
					mine = n
				fi
			}
		fi;
		n++
	od
}

/* MSG_HAVE and MSG_START: the sender compares the digest of what is there with its own file. */
inline start()
{
	if
#ifndef MUTANT_DIGEST_UNCHECKED
	:: !CONSISTS_OF(OWN, version) -> size[OWN] = 0
	:: CONSISTS_OF(OWN, version)
#else
	:: true
#endif
	fi;
	from = size[OWN]
}

inline write_blocks()
{
	do
	:: size[OWN] >= BLOCKS -> break
	:: size[OWN] < BLOCKS ->
		between();
		if
		:: goto failed
		:: true
		fi;
		atomic {
#ifdef REWRITES
			if
			:: version = 3 - version; changed = true
			:: true
			fi;
#endif
			arrives = version;
#ifdef DAMAGE
			if
			:: arrives = DAMAGED; damaged = true
			:: true
			fi;
#endif
			if
			:: size[OWN] == 0 -> first[OWN] = arrives
			:: size[OWN] == 1 -> second[OWN] = arrives
			:: else
			fi;
			size[OWN]++;
			sent++
		}
	od
}

/* MSG_DONE: its digest covers the whole file. */
#ifdef REWRITES
/* That of what was sent, whatever it is. */
#define VERIFIED (size[OWN] == BLOCKS)
#elif !defined(MUTANT_PART_VERIFIED)
#define VERIFIED (size[OWN] == BLOCKS && CONSISTS_OF(OWN, version))
#else
#define VERIFIED (from > 0 || CONSISTS_OF(OWN, version))
#endif

#ifdef FORCE
#define MAY_RENAME true
#else
#define MAY_RENAME (file == 0)
#endif

proctype receiver(byte me)
{
	byte n, i, mine, version, from, answered, arrives;
	bool damaged, changed;

again:
	atomic {
		n = 0; i = 0; mine = 0; from = 0; answered = 0; arrives = 0; damaged = false; changed = false;
		if
		:: transfers == 0 -> goto stop
		:: transfers > 0 -> transfers--
		fi;
		version = 1;
#ifdef CHANGES
		if
		:: version = 2
		:: true
		fi
#endif
	};
#ifdef UPDATE
	/* An answer: the file, as it is now. The sender compares; an entry of kind 10 says to keep it. */
	answered = file;
	if
	:: answered != 0 && CONSISTS_OF(answered, version) ->
		between();
		atomic {
			if
#ifndef MUTANT_KEEP_UNCHECKED
			:: file != answered -> goto again
			:: file == answered ->
#else
			:: true ->
#endif
				assert(CONSISTS_OF(file, version));
				goto again
			fi
		}
	:: else -> answered = 0
	fi;
#else
	/* The file may be there already, and be the same one, or another one. */
	atomic {
		if
		:: file != 0 && CONSISTS_OF(file, version) -> goto again
#ifndef FORCE
		:: file != 0 && !CONSISTS_OF(file, version) -> goto again
#endif
		:: else
		fi
	};
#endif
#ifndef MUTANT_FORGETS
	adopt();
#endif
	create();
	if
	:: OWN == 0 -> goto again
	:: OWN != 0
	fi;
	start();
	write_blocks();
	between();
#ifdef REWRITES
#ifndef MUTANT_CHANGE_UNSEEN
	/* The sender sends no MSG_DONE. */
	if
	:: changed -> goto failed
	:: else
	fi;
#endif
#endif
	if
#ifndef MUTANT_UNVERIFIED
	:: !VERIFIED ->
		/* Nothing else makes a transfer fail. */
		assert(damaged);
		goto spoiled
	:: VERIFIED
#else
	:: true
#endif
	fi;
	between();
	/* rename(2), by name. */
	atomic {
		if
		:: !MAY_RENAME -> goto spoiled
		:: MAY_RENAME ->
			file = leftover[mine];
			leftover[mine] = 0;
			/* Success: the name refers to the sender's file. */
			assert(file == OWN && size[file] == BLOCKS && CONSISTS_OF(file, version))
		fi
	};
	between();
	atomic { close_one(OWN); OWN = 0 };
	goto again;
failed:
	/* What has arrived stays, to be resumed. */
	atomic {
		if
		:: size[OWN] == 0 -> leftover[mine] = 0
		:: else
		fi;
		close_one(OWN);
		OWN = 0
	};
	goto again;
spoiled:
	atomic { leftover[mine] = 0; close_one(OWN); OWN = 0 };
	goto again;
killed:
	atomic {
		if
		:: looks[me] != 0 -> close_one(looks[me])
		:: else
		fi;
		if
		:: OWN != 0 -> close_one(OWN)
		:: else
		fi;
		looks[me] = 0;
		OWN = 0
	};
	goto again;
stop:
	skip
}

/* At any time. */
proctype monitor()
{
	/* Under the name is a whole file of one version, or none. */
	assert(file == 0 || WHOLE(file));
	/* No two receivers write to the same file. */
	assert(own[1] == 0 || RECEIVERS == 1 || own[1] != own[RECEIVERS]);
#ifdef ONCE
	/* No block is sent twice. */
	assert(sent <= BLOCKS)
#endif
}

init
{
	byte i = 1;

	atomic {
		do
		:: i > RECEIVERS -> break
		:: i <= RECEIVERS -> run receiver(i); i++
		od;
		run monitor()
	}
}

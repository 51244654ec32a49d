# The checks of scripts/model, and the planted faults that spin must find: -DMUTANT_... of a model.
# shellcheck shell=bash disable=SC2154 # scripts/model sets violated and stuck

holds 'exchange: both sides agree if nothing goes wrong' exchange
holds 'exchange: either side may abort or crash, the link may break' exchange \
	-DLARGE -DABORTS -DBREAKS -DCRASHES
holds 'exchange: every run ends' exchange -DBREAKS -DNP

holds 'exchange with a secret: the same or different ones' exchange -DSECRET
holds 'exchange with a secret: the link may break, either side may crash' exchange \
	-DLARGE -DSECRET -DBREAKS -DCRASHES
holds 'exchange with a secret: a hostile peer' exchange -DSECRET -DHOSTILE -DBREAKS
holds 'exchange with a secret: every run ends' exchange -DSECRET -DHOSTILE -DNP

finds 'exchange: agreement after any failure is impossible' "$violated" exchange \
	-DBREAKS -DCLAIM_TOO_MUCH
finds 'exchange: the verdict is sent before the data is kept' "$violated" exchange -DMUTANT_VERDICT_EARLY
finds 'exchange: damage is not reported to the peer' "$violated" exchange -DMUTANT_DAMAGE_UNREPORTED
finds 'exchange: success before our verdict is posted' "$violated" exchange \
	-DMUTANT_COMPLETE_EARLY -DBREAKS
finds 'exchange: disconnecting before our verdict is acknowledged' "$violated" exchange \
	-DMUTANT_FINISH_EARLY
finds 'exchange: a flush after the last message counts as a failure' "$violated" exchange \
	-DMUTANT_FLUSH_COUNTS
finds 'exchange: closing drops completions' "$violated" exchange \
	-DMUTANT_CLOSE_DROPS
finds 'exchange: the passive side sends first' "$violated" exchange -DMUTANT_PASSIVE_FIRST
finds 'exchange: success although the peer aborted' "$violated" exchange \
	-DMUTANT_ABORT_FORGIVEN -DABORTS
finds 'exchange: a disconnect is ignored' "$stuck" exchange -DMUTANT_DISCONNECT_IGNORED
finds 'exchange: no idle timeout' "$stuck" exchange -DMUTANT_NO_IDLE_TIMEOUT -DBREAKS
finds 'exchange with a secret: a proof is not checked' "$violated" exchange \
	-DSECRET -DMUTANT_PROOF_UNCHECKED
finds 'exchange with a secret: MSG_MR before the proof' "$violated" exchange \
	-DSECRET -DMUTANT_MR_BEFORE_PROOF
finds 'exchange with a secret: our own proof is reflected' "$violated" exchange \
	-DSECRET -DHOSTILE -DMUTANT_ROLE_UNCHECKED
finds 'exchange with a secret: a proof of an earlier session is replayed' "$violated" exchange \
	-DSECRET -DHOSTILE -DMUTANT_REPLAY

# in_both_modes NAME SETTING...: checks a setting in write and in read mode.
in_both_modes() {
	holds "flow, write mode: $1" flow "${@:2}"
	holds "flow, read mode: $1" flow -DMODE_READ "${@:2}"
}

in_both_modes 'rings of a byte, the shortest send queue' -DOUT=1 -DIN=1 -DTO=6 -DDEPTH=1 -DSENDS=10
in_both_modes 'the larger ring at the receiver' -DLARGE -DOUT=2 -DIN=3 -DTO=4
in_both_modes 'the larger ring at the sender' -DLARGE -DOUT=3 -DIN=2 -DTO=4
in_both_modes 'chunks that do not divide the rings' -DLARGE \
	-DOUT=5 -DIN=5 -DTO=5 -DDEPTH=1 -DCHUNK=2
in_both_modes 'both directions at once' -DLARGE \
	-DOUT=1 -DIN=1 -DTO=2 -DBACK=1 -DDEPTH=1 -DSENDS=10
in_both_modes 'a message' -DTEXT -DKNOWN -DTO=2 -DDEPTH=1 -DSENDS=10
in_both_modes 'every run ends' -DOUT=2 -DIN=2 -DTO=3 -DDEPTH=1 -DNP
holds 'flow, write mode: MSG_DATA instead of immediate data' flow \
	-DLARGE -DIWARP -DOUT=3 -DIN=4 -DTO=4 -DDEPTH=1
holds 'flow, read mode: the most credit in transit' flow \
	-DLARGE -DMODE_READ -DOUT=4 -DIN=4 -DTO=5 -DDEPTH=4 -DCHUNK=1

finds 'flow: too few receives for credit' "$violated" flow \
	-DMODE_READ -DOUT=4 -DIN=4 -DTO=5 -DDEPTH=4 -DCHUNK=1 -DCREDITS_MAX=7
finds 'flow: no credit' "$stuck" flow -DMUTANT_NO_CREDIT
finds 'flow: credit is counted but not sent' "$violated" flow \
	-DMUTANT_CREDIT_LOST -DOUT=1 -DIN=1 -DTO=8 -DDEPTH=1 -DSENDS=10
finds 'flow: credit for data that the sink has not taken' "$violated" flow -DMUTANT_CREDIT_EARLY
finds 'flow: credit for data that is not read yet' "$violated" flow \
	-DMUTANT_CREDIT_EARLY -DMODE_READ -DOUT=4 -DIN=4 -DTO=6
finds 'flow: credit for each byte' "$violated" flow \
	-DMUTANT_CREDIT_EACH -DMODE_READ -DOUT=5 -DIN=5 -DTO=6 -DDEPTH=5 -DCHUNK=1
finds 'flow: more pieces than receives' "$violated" flow -DMUTANT_DEPTH_IGNORED -DDEPTH=1
finds 'flow: sends are never signaled' "$stuck" flow \
	-DMUTANT_NEVER_SIGNALED -DOUT=1 -DIN=1 -DTO=8 -DDEPTH=1 -DSENDS=10
finds 'flow: READs are not signaled' "$stuck" flow -DMUTANT_READ_UNSIGNALED -DMODE_READ
finds 'flow: the last WRITE is not announced' "$stuck" flow -DMUTANT_LAST_UNANNOUNCED -DTO=3
finds 'flow: a chunk as large as the ring' "$stuck" flow \
	-DMUTANT_WHOLE_RING -DREVERSE -DOUT=5 -DIN=5 -DTO=10 -DDEPTH=1
finds 'flow: a burst is not continued' "$stuck" flow \
	-DMUTANT_BURST_FORGOTTEN -DCHUNK=2 -DOUT=5 -DIN=8 -DTO=8 -DDEPTH=1
finds 'flow: the sink sends no wakeup' "$stuck" flow -DMUTANT_NO_WAKEUP_BY_SINK

holds 'resuming: one receiver at a time sends no block twice' resume \
	-DRECEIVERS=1 -DTRANSFERS=4 -DKILLS=3 -DONCE
holds 'resuming: two receivers at a time, two versions' resume -DLARGE -DCHANGES
holds 'resuming: existing files are replaced, blocks may be damaged' resume \
	-DLARGE -DTRANSFERS=2 -DCHANGES -DFORCE -DDAMAGE
holds 'resuming: existing files are updated' resume -DLARGE -DTRANSFERS=2 -DCHANGES -DFORCE -DUPDATE
holds 'resuming: files change while they are sent' resume -DLARGE -DTRANSFERS=2 -DREWRITES -DFORCE

finds 'resuming: leftovers are not locked' "$violated" resume -DCHANGES -DMUTANT_UNLOCKED
finds 'resuming: a leftover may have been renamed before it was locked' "$violated" resume \
	-DCHANGES -DMUTANT_LINK_UNCHECKED
finds 'resuming: a new file may have been removed before it was locked' "$violated" resume \
	-DCHANGES -DMUTANT_NEW_UNCHECKED
finds 'resuming: leftovers are not compared' "$violated" resume -DCHANGES -DMUTANT_DIGEST_UNCHECKED
finds 'resuming: the digest covers only what arrived' "$violated" resume \
	-DCHANGES -DDAMAGE -DMUTANT_PART_VERIFIED
finds 'resuming: the name is given before the digest is compared' "$violated" resume \
	-DDAMAGE -DMUTANT_UNVERIFIED
finds 'resuming: a file that has changed since the answer is kept' "$violated" resume \
	-DCHANGES -DFORCE -DUPDATE -DMUTANT_KEEP_UNCHECKED
finds 'resuming: a file that changed while it was sent is stored' "$violated" resume -DREWRITES -DMUTANT_CHANGE_UNSEEN
finds 'resuming: leftovers are ignored' "$violated" resume -DRECEIVERS=1 -DONCE -DMUTANT_FORGETS

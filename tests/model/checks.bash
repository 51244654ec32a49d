# What scripts/model checks, and which faults it must find. Each fault is a -DMUTANT_... of a model.
# shellcheck shell=bash disable=SC2154 # violated and stuck are the script's

holds 'exchange: both end alike where nothing is wrong' exchange
holds 'exchange: either side may give up or vanish, the link may break' exchange \
	-DLARGE -DGIVES_UP -DBREAKS -DCRASHES
holds 'exchange: no run goes on for ever' exchange -DBREAKS -DNP

holds 'exchange with a secret: right or wrong' exchange -DSECRET
holds 'exchange with a secret: the link may break, either side vanish' exchange \
	-DLARGE -DSECRET -DBREAKS -DCRASHES
holds 'exchange with a secret: a hostile peer' exchange -DSECRET -DHOSTILE -DBREAKS
holds 'exchange with a secret: no run goes on for ever' exchange -DSECRET -DHOSTILE -DNP

finds 'exchange: that both know whatever happens is too much to ask' "$violated" exchange \
	-DBREAKS -DCLAIM_TOO_MUCH
finds 'exchange: a verdict before the data is kept' "$violated" exchange -DMUTANT_VERDICT_EARLY
finds 'exchange: damage that is not told' "$violated" exchange -DMUTANT_DAMAGE_UNTOLD
finds 'exchange: success without a verdict of our own' "$violated" exchange \
	-DMUTANT_COMPLETE_EARLY -DBREAKS
finds 'exchange: disconnecting before our verdict is acknowledged' "$violated" exchange \
	-DMUTANT_FINISH_EARLY
finds 'exchange: a flush after the last word counts as a failure' "$violated" exchange \
	-DMUTANT_FLUSH_COUNTS
finds 'exchange: closing without a look at what has come' "$violated" exchange \
	-DMUTANT_CLOSE_DROPS
finds 'exchange: the passive side sends first' "$violated" exchange -DMUTANT_PASSIVE_FIRST
finds 'exchange: success although the other side gave up' "$violated" exchange \
	-DMUTANT_ABORT_FORGIVEN -DGIVES_UP
finds 'exchange: a disconnect that nobody hears of' "$stuck" exchange -DMUTANT_DISCONNECT_UNHEARD
finds 'exchange: silence that nobody watches' "$stuck" exchange -DMUTANT_NO_SILENCE -DBREAKS
finds 'exchange with a secret: a proof that nobody looks at' "$violated" exchange \
	-DSECRET -DMUTANT_PROOF_UNCHECKED
finds 'exchange with a secret: MSG_MR before the proof' "$violated" exchange \
	-DSECRET -DMUTANT_MR_BEFORE_PROOF
finds 'exchange with a secret: our own proof given back' "$violated" exchange \
	-DSECRET -DHOSTILE -DMUTANT_ROLE_UNCHECKED
finds 'exchange with a secret: a proof of an earlier session' "$violated" exchange \
	-DSECRET -DHOSTILE -DMUTANT_REPLAY

# The same in both modes: name, then the settings.
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
in_both_modes 'no run goes on for ever' -DOUT=2 -DIN=2 -DTO=3 -DDEPTH=1 -DNP
holds 'flow, write mode: MSG_DATA for immediate data' flow \
	-DLARGE -DIWARP -DOUT=3 -DIN=4 -DTO=4 -DDEPTH=1
holds 'flow, read mode: as much credit under way as can be' flow \
	-DLARGE -DMODE_READ -DOUT=4 -DIN=4 -DTO=5 -DDEPTH=4 -DCHUNK=1

finds 'flow: fewer receives for credit would not do' "$violated" flow \
	-DMODE_READ -DOUT=4 -DIN=4 -DTO=5 -DDEPTH=4 -DCHUNK=1 -DCREDITS_MAX=7
finds 'flow: no credit' "$stuck" flow -DMUTANT_NO_CREDIT
finds 'flow: credit that is counted and not sent' "$violated" flow \
	-DMUTANT_CREDIT_LOST -DOUT=1 -DIN=1 -DTO=8 -DDEPTH=1 -DSENDS=10
finds 'flow: credit for what nobody has taken' "$violated" flow -DMUTANT_CREDIT_EARLY
finds 'flow: credit for what is not read yet' "$violated" flow \
	-DMUTANT_CREDIT_EARLY -DMODE_READ -DOUT=4 -DIN=4 -DTO=6
finds 'flow: credit for each byte' "$violated" flow \
	-DMUTANT_CREDIT_EACH -DMODE_READ -DOUT=5 -DIN=5 -DTO=6 -DDEPTH=5 -DCHUNK=1
finds 'flow: more pieces than receives' "$violated" flow -DMUTANT_DEPTH_IGNORED -DDEPTH=1
finds 'flow: sends that are never signaled' "$stuck" flow \
	-DMUTANT_NEVER_SIGNALED -DOUT=1 -DIN=1 -DTO=8 -DDEPTH=1 -DSENDS=10
finds 'flow: READs that are not signaled' "$stuck" flow -DMUTANT_READ_UNSIGNALED -DMODE_READ
finds 'flow: a last WRITE that nobody is told of' "$stuck" flow -DMUTANT_LAST_UNTOLD -DTO=3
finds 'flow: a chunk as large as the ring' "$stuck" flow \
	-DMUTANT_WHOLE_RING -DREVERSE -DOUT=5 -DIN=5 -DTO=10 -DDEPTH=1
finds 'flow: a burst that is not gone on with' "$stuck" flow \
	-DMUTANT_BURST_FORGOTTEN -DCHUNK=2 -DOUT=5 -DIN=8 -DTO=8 -DDEPTH=1
finds 'flow: a sink that wakes nobody' "$stuck" flow -DMUTANT_SINK_SILENT

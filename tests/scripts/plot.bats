#!/usr/bin/env bats
# scripts/plot, with recorded documents. Needs no RDMA.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	DIR=$BATS_TEST_TMPDIR
	document bandwidth write "$(rates 2)" >"$DIR/before.json"
	document bandwidth write "$(rates 3)" >"$DIR/it's after.json"
	document latency read "$(times 8),$(times 64)" >"$DIR/times.json"
}

# document MEASURED MODE RESULTS: prints a document with the fields that scripts/plot reads.
document() { printf '{"command":"%s","mode":"%s","message":null,"results":[%s]}\n' "$@"; }

# rates FACTOR: prints bandwidth results; the first test was shorter than an interval.
rates() {
	cat <<-END
	{"size_bytes":2,"bidirectional":false,"bytes_per_second":${1}00000,"latency_ns":null,
	 "here":{"worst_interval_bytes_per_second":null,"best_interval_bytes_per_second":null}},
	{"size_bytes":65536,"bidirectional":false,"bytes_per_second":${1}00000000,"latency_ns":null,
	 "here":{"worst_interval_bytes_per_second":${1}0000000,
	  "best_interval_bytes_per_second":${1}00000001}}
	END
}

# times SIZE: prints a latency result.
times() {
	cat <<-END
	{"size_bytes":$1,"bidirectional":false,"bytes_per_second":1000,"latency_ns":{"minimum":510,
	 "median":640,"p90":640,"p99":2000,"p99_9":2000,"p99_99":2000,"maximum":2000,"histogram":[
	  {"from_ns":512,"to_ns":576,"operations":3},{"from_ns":576,"to_ns":640,"operations":6},
	  {"from_ns":1920,"to_ns":2048,"operations":1}]}}
	END
}

plot() { scripts/plot "$@" >"$DIR/out" 2>"$DIR/err"; }

# has TEXT: the picture contains this text.
has() { grep -q -F "<text>$1</text>" "$DIR/picture.svg" || { cat "$DIR/err" && false; }; }
has_not() { ! has "$1"; }

# refused STATUS TEXT ARGUMENT...: scripts/plot exits with STATUS, its last line has TEXT, and it
# writes no picture.
refused() {
	local wanted=$1 text=$2 got=0
	shift 2
	plot "$@" </dev/null || got=$?
	[ "$got" -eq "$wanted" ]
	tail -n 1 "$DIR/err" | grep -F "plot: $text" || { cat "$DIR/err" && false; }
	[ ! -e "$DIR/picture.png" ]
}

@test "an SVG shows the series of all files" {
	plot "$DIR/before.json" "$DIR/it's after.json" "$DIR/times.json" "$DIR/picture.svg"
	[ ! -s "$DIR/err" ]
	head -c 5 "$DIR/picture.svg" | grep -q '<?xml'
	has 'WRITE bandwidth (higher is better)'
	has before
	has "it's after"
	has 'times read, median'
	has 'times read, 99.9 %'
	has 'times read, 8 bytes'
	has 'times read, 64 bytes'
	has 'cumulative % of operations'
	grep -q '</svg>' "$DIR/picture.svg"
}

# places NAME: prints the heights of the texts with this name.
places() {
	awk -v name="<text>$1</text>" '/translate\(/ { y = $0; sub(/.*translate\([^,]*,/, "", y); sub(/\).*/, "", y) }
		index($0, name) { print y }' "$DIR/picture.svg"
}

@test "WRITE and READ are two panels; each line has its name at its end, apart from others; series have names" {
	{
		document bandwidth write "$(rates 2)" | sed 's/{/{"series":"one, its way",/'
		document bandwidth write "$(rates 2)" | sed 's/{/{"series":"two",/'
		document bandwidth read "$(rates 2)" | sed 's/{/{"series":"two",/'
	} >"$DIR/named.json"
	plot "$DIR/named.json" "$DIR/picture.svg"
	[ ! -s "$DIR/err" ]
	has 'WRITE bandwidth (higher is better)'
	has 'READ bandwidth (higher is better)'
	has 2
	has 64K
	has_not named
	[ "$(places 'one, its way' | wc -l)" -eq 1 ]
	[ "$(places two | wc -l)" -eq 2 ]
	# Both lines end at the same height.
	awk -v one="$(places 'one, its way')" -v two="$(places two | head -n 1)" \
		'BEGIN { apart = one - two; exit apart * apart < 14 * 14 }'
}

# The table of docs/performance.md is about the same measurement.
@test "docs/performance.svg shows docs/performance.json, which agrees with the table" {
	local mode column
	plot --title "$(sed -n 's/.*<text>\(soft-RoCE.*\)<.text>/\1/p' docs/performance.svg)" docs/performance.json "$DIR/picture.svg"
	diff <(grep '<text>' docs/performance.svg) <(grep '<text>' "$DIR/picture.svg")
	for mode in write read; do
		[ $mode = write ] && column=3 || column=6
		diff <(jq -r "select(.mode == \"$mode\" and .series == \"rdma-client\").results[] |
				[.size_bytes, .bytes_per_second / 1e6] | @tsv" docs/performance.json) \
			<(awk -F ' *[|] *' -v column="$column" -v OFS='\t' \
				'/^## / { here = $0 ~ /perftest/ } here && NF == 10 && $2 + 0 > 0 { print $2, $column + 0 }' docs/performance.md)
	done
}

@test "several documents on standard input are drawn to a PNG" {
	cat "$DIR"/*.json | plot --title 'a title' "$DIR/picture.png"
	[ ! -s "$DIR/err" ]
	[ "$(head -c 8 "$DIR/picture.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]
	[ "$(stat -c %s "$DIR/picture.png")" -gt 5000 ]
}

@test "--only draws one panel; --title sets its title" {
	plot --only latency --title "it's a title" "$DIR/times.json" "$DIR/picture.svg"
	has "it's a title"
	has 'times read, median'
	has_not 'times read, 8 bytes'
	plot --only distribution "$DIR/times.json" "$DIR/picture.svg"
	has_not 'times read, median'
	has 'times read, 8 bytes'
}

@test "--terminal draws in characters, at most 80 columns wide" {
	plot --terminal "$DIR/before.json" "$DIR/times.json"
	[ ! -s "$DIR/err" ]
	grep -q 'WRITE bandwidth' "$DIR/out"
	grep -q 'before' "$DIR/out"
	grep -q 'times read, median' "$DIR/out"
	[ "$(wc -L <"$DIR/out")" -le 80 ]
}

@test "--terminal ignores an invalid COLUMNS and does not execute it" {
	COLUMNS="80; system 'touch $DIR/done' #" plot --terminal "$DIR/before.json"
	[ ! -e "$DIR/done" ]
	grep -q 'before' "$DIR/out"
}

@test "special characters in names are shown, not interpreted" {
	local nasty=$'a\nsystem "touch '"$DIR/done\"; \`touch $DIR/done\` 'b"
	document bandwidth "w\\n! touch $DIR/done" "$(rates 2)" >"$DIR/mode.json"
	plot --title "$nasty" "$DIR/mode.json" "$DIR/picture.svg"
	[ ! -s "$DIR/err" ]
	[ ! -e "$DIR/done" ]
	has mode
	has "w ! touch $DIR/done bandwidth (higher is better)"
}

@test "values missing from another tool's document are omitted" {
	document latency write '{"size_bytes":8,"latency_ns":{"median":5}},
		{"size_bytes":16,"latency_ns":{"median":6}}' >"$DIR/medians.json"
	plot "$DIR/medians.json" "$DIR/picture.svg"
	has 'medians write, median'
	has_not 'medians write, 99 %'
}

@test "a document with an invalid number is reported, not drawn" {
	local result
	while read -r result; do
		document latency write "$result" >"$DIR/odd"
		refused 1 'odd is not a measurement' "$DIR/odd" "$DIR/picture.png"
	done <<-'END'
	1
	{}
	{"size_bytes":"8","bytes_per_second":1}
	{"size_bytes":0,"bytes_per_second":1}
	{"size_bytes":"*","latency_ns":{"histogram":[]}}
	{"size_bytes":8,"bytes_per_second":"1"}
	{"size_bytes":8,"bytes_per_second":1,"here":1}
	{"size_bytes":8,"latency_ns":1}
	{"size_bytes":8,"latency_ns":{"median":"1"}}
	{"size_bytes":8,"latency_ns":{"median":1,"histogram":[1]}}
	{"size_bytes":8,"latency_ns":{"median":1,"histogram":[{}]}}
	{"size_bytes":8,"latency_ns":{"median":1,"histogram":[{"from_ns":1,"to_ns":2,"operations":0}]}}
	END
}

@test "input that cannot be drawn is reported" {
	echo '{' >"$DIR/broken"
	echo '{"schema":2,"mode":"write"}' >"$DIR/report"
	document bandwidth write '' | sed 's/null/"it failed"/' >"$DIR/empty"
	refused 2 'PICTURE is missing'
	refused 2 'PICTURE must end in .png or .svg' "$DIR/before.json"
	refused 2 "unknown option '--wide'" --wide "$DIR/picture.png"
	refused 2 '--only needs one of: bandwidth latency distribution' --only speed
	refused 1 'standard input contains no document' "$DIR/picture.png"
	refused 1 'cannot read' "$DIR/nothing" "$DIR/picture.png"
	refused 1 'broken is not valid JSON' "$DIR/broken" "$DIR/picture.png"
	refused 1 'report is not a measurement' "$DIR/report" "$DIR/picture.png"
	refused 1 'empty contains no result: it failed' "$DIR/empty" "$DIR/picture.png"
	refused 1 'the documents contain no data for: latency' --only latency \
		"$DIR/before.json" "$DIR/picture.png"
	refused 1 'cannot write /nowhere/picture.png' "$DIR/before.json" /nowhere/picture.png
}

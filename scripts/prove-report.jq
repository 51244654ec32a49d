# Converts the JSON report of scripts/prove to text: jq -r -f scripts/prove-report.jq REPORT.json

def pad($width): tostring | . + " " * ([$width - length, 0] | max) // .;

# row(NAME; HERE; THERE): a line of the table of both hosts, unless both are unknown.
def row($name; $here; $there):
	select($here != null or $there != null) |
	"\($name | pad(21))\($here // "-" | pad(46))\($there // "-")" | sub(" +$"; "");

# The last diagnosis that connected the hosts, or an empty one.
def diagnosis:
	[.checks[].documents[] | select(.here.device and .inventory)] | last // {here: {}, there: {}};

# Facts about the device of the connection.
def device($facts; $side): $facts.devices[$side.device // ""] // {};

def names($here; $there): [$here, $there | keys_unsorted[]] | reduce .[] as $name ([];
	if index($name) then . else . + [$name] end) | .[];

def hosts:
	row(""; "this host"; "other host"),
	(.here as $here | .there as $there | names($here; $there) |
		select(. != "devices") as $name | row($name; $here[$name]; $there[$name]));

def adapters:
	. as $report | diagnosis as $sides | device(.here; $sides.here) as $here | device(.there; $sides.there) as $there |
	("device", "driver", "firmware", "state", "link_layer", "rate", "rdma_mtu", "gid_type", "interface",
		"interface_mtu", "bus", "numa_node", "reads_answered", "reads_asked", "locked_memory" |
		row(.; $sides.here[.]; $sides.there[.])),
	(names($here; $there) | select(IN("firmware", "limits") | not) | row(.; $here[.]; $there[.])),
	(($here.limits // {}) as $mine | ($there.limits // {}) as $theirs |
		names($mine; $theirs) | row(.; $mine[.]; $theirs[.]));

def results:
	"\("check" | pad(28))\("result" | pad(9))\("seconds" | pad(9))detail",
	(.checks[] | "\(.check | pad(28))\(.result | pad(9))\(.seconds | pad(9))\(.detail)");

def round2: . * 100 | round / 100 | tostring;

def comparison:
	[.checks[] | select(.figures)] | select(length > 0) |
	"", "\("measured" | pad(28))\("ours" | pad(14))\("perftest" | pad(14))ratio",
	(.[] | "\("\(.check), \(.figures.unit)" | pad(28))\(.figures.ours | round2 | pad(14))" + (.figures |
		if .perftest then "\(.perftest | round2 | pad(14))\(.ours / .perftest | round2)" else "-" end));

def count($result): "\([.checks[] | select(.result == $result)] | length) \($result)";

"rdma-server and rdma-client \(.version), \(.date): \(.verdict)",
"\(.here.host) to \(.host), address \(.address): \(count("passed")), \(count("failed")), \(count("skipped")), \(.seconds) s",
"", hosts, adapters, "", results, comparison

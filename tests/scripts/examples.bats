#!/usr/bin/env bats
# What is in examples/ is accepted by the programs that would run it. tests/fleet/slurm.bats runs the batch script.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	DIR=$BATS_TEST_TMPDIR
}

teardown() {
	[ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || true
}

# Starts a server that knows which resources Kubernetes has, as kubectl asks even for --dry-run=client. Sets PORT.
start_discovery() {
	cat >"$DIR/discovery.py" <<-'END'
	import http.server, json
	def resource(name, kind):
	    return {"name": name, "singularName": kind.lower(), "namespaced": True, "kind": kind, "verbs": ["create", "get"]}
	ANSWERS = {
	    "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
	    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [resource("services", "Service")]},
	    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "batch",
	        "versions": [{"groupVersion": "batch/v1", "version": "v1"}],
	        "preferredVersion": {"groupVersion": "batch/v1", "version": "v1"}}]},
	    "/apis/batch/v1": {"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": [resource("jobs", "Job")]},
	}
	class Handler(http.server.BaseHTTPRequestHandler):
	    def do_GET(self):
	        answer = ANSWERS.get(self.path.split("?")[0])
	        body = json.dumps(answer or {}).encode()
	        self.send_response(200 if answer else 404)
	        self.send_header("Content-Type", "application/json")
	        self.send_header("Content-Length", str(len(body)))
	        self.end_headers()
	        self.wfile.write(body)
	    def log_message(self, *words):
	        pass
	server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
	print(server.server_port, flush=True)
	server.serve_forever()
	END
	python3 "$DIR/discovery.py" >"$DIR/port" &
	SERVER=$!
	local i
	for ((i = 0; i < 200; i++)); do
		[ ! -s "$DIR/port" ] || break
		read -r -t 0.05 <> <(:) || true
	done
	PORT=$(cat "$DIR/port")
}

@test "kubectl accepts the Kubernetes Job" {
	command -v kubectl >/dev/null || skip 'kubectl is not installed'
	start_discovery
	KUBECONFIG=/dev/null HOME=$DIR run kubectl --server "http://127.0.0.1:$PORT" create --dry-run=client --validate=false \
		-f examples/mesh-kubernetes.yaml
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'service/rdma-mesh created (dry run)'*'job.batch/rdma-mesh created (dry run)'* ]]
}

@test "the commands in the examples have options that exist" {
	local file line checked=0
	for file in examples/*; do
		while read -r line; do
			# --help after everything else checks the names of all options.
			eval "\"${PAIR_BIN:-.}\"/$line --help" >/dev/null
			checked=$((checked + 1))
		done < <(sed 's/\\$//; s/||.*//; s/&$//; s/>.*//; s/exec //' "$file" | grep -o '^ *rdma-client [^#]*' | sed "s/\$[A-Z_]*/1/g; s/\"\$name\"/name/")
	done
	[ $checked -ge 3 ]
}

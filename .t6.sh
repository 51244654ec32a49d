#!/bin/bash
B=build/release
$B/rdma-server --quiet --port-file /tmp/p any & S=$!
until [ -s /tmp/p ]; do sleep 0.1; done
P=$(cat /tmp/p); A=$VM_ADDRESS
set -x
timeout 60 $B/rdma-client write --bandwidth -v $A $P
timeout 60 $B/rdma-client read --bandwidth -v $A $P
timeout 60 $B/rdma-client write --latency -v $A $P
timeout 60 $B/rdma-client read --latency -v $A $P
timeout 60 $B/rdma-client write --bandwidth --verify $A $P
timeout 60 $B/rdma-client read --bandwidth --verify $A $P
timeout 60 $B/rdma-client write --bandwidth --verify --qps 4 --bidirectional $A $P
timeout 60 $B/rdma-client read --bandwidth --verify --qps 4 --bidirectional $A $P
timeout 60 $B/rdma-client write --bandwidth --qps 4 --bidirectional $A $P
timeout 60 $B/rdma-client write --latency --verify --size 100 $A $P
timeout 60 $B/rdma-client read --latency --verify --size 100 --poll event $A $P
timeout 60 $B/rdma-client write --latency --verify --size 100 --poll event $A $P
kill $S

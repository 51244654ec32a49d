#!/bin/bash
B=build/release
$B/rdma-server --quiet --port-file /tmp/p any & S=$!
until [ -s /tmp/p ]; do sleep 0.1; done
P=$(cat /tmp/p); A=$VM_ADDRESS
pt() { timeout 60 "$@" >/tmp/s 2>&1 & W=$!
  sleep 0.5
  timeout 60 "$@" $A 2>&1 | grep -E "^ *[0-9]+ +[0-9]+" 
  wait $W
}
for r in 1 2 3 4; do
for m in write read; do
echo "ours $m $(timeout 100 $B/rdma-client $m --latency --poll spin $A $P | grep -E "^ *[0-9]+ +[0-9]+")"
echo "perf $m $(pt ib_${m}_lat -F -R -p 7176 -s 8 -n 20000)"
done; done
kill $S

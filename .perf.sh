#!/bin/bash
B=build/release
$B/rdma-server --quiet --port-file /tmp/p any & S=$!
until [ -s /tmp/p ]; do sleep 0.1; done
P=$(cat /tmp/p); A=$VM_ADDRESS
pt() { # perftest
  timeout 60 "$@" >/tmp/s 2>&1 & W=$!
  sleep 0.5
  timeout 60 "$@" $A 2>&1 | grep -E "^ *[0-9]+ +[0-9]+" 
  wait $W
}
for r in 1 2; do
for m in write read; do
for p in spin event; do echo "== ours $m $p"
timeout 100 $B/rdma-client $m --bandwidth --poll $p --sizes 1K..1M --duration 0.7 $A $P | grep -E "^ *[0-9]+ +[0-9]+"
done
echo "== perftest $m (MiB/s)"
for s in 1024 2048 4096 8192 16384 32768 65536 131072 262144 524288 1048576; do
pt ib_${m}_bw -F -R -N -p 7176 -s $s -n $(( 100000000/(s+4000) > 20000 ? 20000 : 100000000/(s+4000) ))
done
done; done
for r in 1 2; do
for m in write read; do
echo "== ours lat $m"; timeout 100 $B/rdma-client $m --latency --poll spin $A $P | grep -E "^ *[0-9]+ +[0-9]+"
echo "== perftest lat $m"; pt ib_${m}_lat -F -R -p 7176 -s 8 -n 20000
done; done
kill $S

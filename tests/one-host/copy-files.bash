# Opening a file of the caller of scripts/vm takes three round trips to QEMU, and opening one of the
# guest's own none. A file becomes the guest's own when it is opened for writing, so this does that with
# those that the tests open again and again: programs, their libraries, and the tests. Source it in a
# guest, from the top of the tree. It starts no program, because that is what is slow.

# shellcheck shell=bash

copy_files() {
	local file
	for file; do
		[ ! -f "$file" ] || { : >>"$file"; } 2>/dev/null
	done
}

copy_files "${PAIR_BIN:-.}"/rdma-* "${PAIR_PEERS:-build}"/tests/one-host/* tests/*/*.ba* \
	/usr/libexec/bats-core/* /usr/lib/bats-core/* /etc/libibverbs.d/* /etc/ld.so.cache \
	/usr/bin/{bash,basename,bats,cat,chmod,cp,cut,date,dirname,env,grep,head,ip,ln,mkdir,mkfifo,mktemp} \
	/usr/bin/{mv,readlink,rm,sed,seq,setpriv,setsid,sleep,sort,stat,tail,timeout,touch,tr,wc,xxhsum} \
	/usr/sbin/{rdma,tc} /lib64/ld-linux-* /usr/lib/*/libibverbs/lib{rxe,siw}* \
	/usr/lib/*/lib{bpf,bsd,c,cap,elf,ibverbs,json-c,md,mnl,nl-3,nl-route-3,pcre2-8}.so.* \
	/usr/lib/*/lib{rdmacm,selinux,sodium,tinfo,xxhash,z}.so.*

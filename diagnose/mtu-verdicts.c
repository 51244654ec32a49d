/* The meaning of different MTUs: see diagnose/mtu-verdicts.h. It keeps no state. */
#include <stdio.h>
#include <string.h>

#include "diagnose/mtu-verdicts.h"

/* Largest overhead of a RoCE v2 packet in bytes: IPv6, UDP, and 56 bytes of other headers. */
#define PACKET_HEADERS (40 + 8 + 56)

/* Its smallest overhead: IPv4, UDP, and 16 bytes of other headers. */
#define PACKET_HEADERS_LEAST (20 + 8 + 16)

void mtu_verdicts_path_ok(struct check_list *list, const struct path_mtu *path)
{
	check_list_ok(list, CHECK_PATH, "%s", path->evidence);
	check_list_shorten(list, CHECK_PATH, "%u bytes arrive", path->found.proven);
}

void mtu_verdicts_path(struct diagnosis *diagnosis, const struct path_mtu *path)
{
	unsigned int packet = diagnosis->port->rdma_mtu + PACKET_HEADERS;

	if (path->found.proven < packet || inventory_is_iwarp(diagnosis->device)) {
		check_failed(diagnosis, CHECK_PATH, FAILURE_IMPAIRED, PHASE_ADDRESS,
			path->inferred ? IMPAIRED_LARGE : IMPAIRED_PATH,
			"%s; RDMA packets of up to %u bytes %s", path->evidence, packet,
			path->found.proven < packet ? "may not fit" : "fit");
		return;
	}
	mtu_verdicts_path_ok(&diagnosis->list, path);
	check_list_warn(&diagnosis->list, CHECK_PATH,
		"packets as large as the MTU of this host do not reach the other host, but RDMA "
		"packets of up to %u bytes fit",
		packet);
}

/* Writes "this host 1400, the other host 4200" if the fact differs, otherwise "". */
static void describe_difference(const struct diagnosis *diagnosis, const char *fact, char text[256])
{
	*text = '\0';
	if (check_differs(diagnosis, fact))
		snprintf(text, 256, "this host %s, the other host %s",
			facts_value(&diagnosis->ours, fact), facts_value(&diagnosis->theirs, fact));
}

/* True if both interfaces are known to be large enough for these packets, or carry none of them. */
static bool fit(const struct diagnosis *diagnosis, unsigned long packet)
{
	const char *layer = facts_value(&diagnosis->ours, "link layer");

	return (layer && strcmp(layer, "InfiniBand") == 0) ||
	       (facts_number(&diagnosis->ours, "interface mtu") >= packet &&
		       facts_number(&diagnosis->theirs, "interface mtu") >= packet);
}

bool mtu_verdicts_ends(struct diagnosis *diagnosis)
{
	unsigned long mtu = facts_number(&diagnosis->ours, "rdma mtu");
	char interfaces[256], devices[256];

	if (inventory_is_iwarp(diagnosis->device))
		return false;
	describe_difference(diagnosis, "interface mtu", interfaces);
	describe_difference(diagnosis, "rdma mtu", devices);
	diagnosis->list.rdma_mtus_equal =
		mtu > 0 && mtu == facts_number(&diagnosis->theirs, "rdma mtu");
	if (*interfaces && diagnosis->list.rdma_mtus_equal &&
		fit(diagnosis, mtu + PACKET_HEADERS)) {
		check_list_warn(&diagnosis->list, CHECK_ENDS,
			"the network interfaces have different MTUs (%s), but RDMA packets fit "
			"both",
			interfaces);
		return false;
	}
	if (*interfaces)
		check_failed(diagnosis, CHECK_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_MTU,
			"%s%s%s", interfaces, *devices ? "; RDMA MTU: " : "", devices);
	else if (*devices)
		check_failed(diagnosis, CHECK_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT,
			IMPAIRED_RDMA_MTU, "%s", devices);
	diagnosis->list.ends_side_by_side = *interfaces || *devices;
	return diagnosis->list.ends_side_by_side;
}

/* The path MTU, which the kernel derives from the interface of the route, as of a VLAN. */
static unsigned long path_mtu(const struct facts *facts)
{
	unsigned long interface = facts_number(facts, "interface mtu");
	unsigned long mtu = facts_number(facts, "rdma mtu");

	while (mtu > 256 && mtu + PACKET_HEADERS > interface)
		mtu /= 2;
	return mtu;
}

bool mtu_verdicts_peer_cannot_send(const struct diagnosis *diagnosis)
{
	unsigned long interface = facts_number(&diagnosis->theirs, "interface mtu");

	return diagnosis->list.checks[CHECK_ENDS].state == CHECK_FAILED && interface > 0 &&
	       path_mtu(&diagnosis->ours) + PACKET_HEADERS_LEAST > interface;
}

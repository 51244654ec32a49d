/* ARP flux and duplicate addresses: see diagnose/address-conflicts.h. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/text.h"
#include "diagnose/address-conflicts.h"
#include "host/arp-flux.h"
#include "host/routing-domains.h"

#define ANSWERS_LIST (NEIGHBOUR_ANSWERS_MAX * NETLINK_HARDWARE_SIZE)

void address_conflicts_examine(const struct inventory *inventory, struct check_list *list)
{
	struct ifaddrs *addresses;
	char text[256];

	if (getifaddrs(&addresses) == 0) {
		arp_flux_find("", inventory, addresses, text, sizeof(text));
		freeifaddrs(addresses);
		if (*text)
			check_list_warn(list, CHECK_HOST,
				"%s, so peers may reach the wrong one (ARP flux): set "
				"arp_ignore=1, arp_announce=2 and rp_filter=2",
				text);
	}
	routing_domains_duplicates("", text, sizeof(text));
	if (*text)
		check_list_warn(list, CHECK_HOST, "another host already uses %s", text);
}

static bool has_gateway(const struct reach_route *route)
{
	return route->route.gateway.ss_family != AF_UNSPEC;
}

void address_conflicts_ask(struct address_conflicts *conflicts, const struct reach_route *route,
	const struct reach_neighbour *neighbour, struct check_list *list)
{
	const struct sockaddr *source = reach_source(route);
	struct neighbour_answers *answers = &conflicts->answers;
	char text[ANSWERS_LIST], gateway[ADDRESS_TEXT_SIZE];

	snprintf(conflicts->hardware, sizeof(conflicts->hardware), "%s", neighbour->entry.hardware);
	if (has_gateway(route)) {
		address_text((const struct sockaddr *)&route->route.gateway, gateway);
		check_list_set_gateway(list, gateway);
	}
	if (neighbour->needless)
		return;
	neighbour_answers_find(route->route.interface, (const struct sockaddr *)&neighbour->address,
		source ? source : address_or_none(&route->route.source), answers);
	neighbour_answers_list(answers, text, sizeof(text));
	if (answers->count > 1)
		check_list_warn(list, CHECK_NEIGHBOUR,
			"several MAC addresses answer ARP for %s: %s (ARP flux or a duplicate "
			"address)",
			has_gateway(route) ? "the gateway" : "it", text);
}

/*
 * True if something was sent to the peer, and nothing proves that it arrived there, or that it did
 * not leave this host.
 */
static bool is_unanswered(const struct failure *failure)
{
	switch (failure->kind) {
	case FAILURE_DEADLINE:
		return failure->phase >= PHASE_CONNECT && failure->code != CODE_REPLY_DROPPED &&
		       failure->code != CODE_REQUEST_DROPPED;
	case FAILURE_ERRNO:
		return failure->phase >= PHASE_CONNECT && failure->code == ETIMEDOUT;
	case FAILURE_COMPLETION:
		return failure->code == IBV_WC_RETRY_EXC_ERR;
	default:
		return false;
	}
}

/* Finds out whether the kernel has chosen another MAC address since the check of the neighbour. */
static bool has_changed(const struct address_conflicts *conflicts, const struct reach_route *route,
	struct netlink_neighbour *now)
{
	const struct sockaddr_storage *next =
		has_gateway(route) ? &route->route.gateway : &route->address;

	return conflicts->hardware[0] &&
	       netlink_find_neighbour(route->route.interface, (const struct sockaddr *)next, now) ==
		       0 &&
	       now->hardware[0] && strcmp(now->hardware, conflicts->hardware) != 0;
}

void address_conflicts_blame(const struct address_conflicts *conflicts,
	const struct reach_route *route, struct failure *failure)
{
	char list[ANSWERS_LIST], *evidence = failure->evidence, gateway[ADDRESS_TEXT_SIZE];
	const size_t size = sizeof(failure->evidence);
	struct netlink_neighbour now;
	bool changed;

	if (!is_unanswered(failure))
		return;
	changed = has_changed(conflicts, route, &now);
	if (!changed && (conflicts->answers.count <= 1 || failure->phase != PHASE_CONNECT))
		return;
	*failure = (struct failure){.kind = FAILURE_ADDRESS,
		.phase = PHASE_CONNECT,
		.code = has_gateway(route) ? ADDRESS_GATEWAY : ADDRESS_CONTESTED};
	if (has_gateway(route)) {
		address_text((const struct sockaddr *)&route->route.gateway, gateway);
		text_append(evidence, size, "gateway %s: ", gateway);
	}
	neighbour_answers_list(&conflicts->answers, list, sizeof(list));
	if (changed)
		text_append(evidence, size, "%s was used, later %s; ", conflicts->hardware,
			now.hardware);
	else if (conflicts->hardware[0])
		text_append(evidence, size, "%s was used; ", conflicts->hardware);
	text_append(evidence, size, "%s answered", *list ? list : "unknown which");
}

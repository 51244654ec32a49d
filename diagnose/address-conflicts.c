/*
 * ARP flux and duplicate addresses. The facts belong to the diagnosis: those of this host are
 * collected by the check of this host, those of the next hop by the check of the neighbour.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "diagnose/address-conflicts.h"
#include "host/routing-domains.h"

#define FLUX_REMEDY \
	"; set arp_ignore=1, arp_announce=2 and rp_filter=2, or peers may send to the wrong " \
	"interface"

void address_conflicts_find(struct diagnosis *diagnosis)
{
	struct ifaddrs *addresses;

	if (getifaddrs(&addresses))
		return;
	routing_domains_flux(
		"", &diagnosis->inventory, addresses, diagnosis->flux, sizeof(diagnosis->flux));
	freeifaddrs(addresses);
	diagnosis->list.warned = diagnosis->flux[0] != '\0';
}

bool address_conflicts_warning(const struct diagnosis *diagnosis, char *text, size_t size)
{
	char duplicates[256];

	*text = '\0';
	if (diagnosis->flux[0])
		text_append(text, size, "warning: %s%s", diagnosis->flux, FLUX_REMEDY);
	routing_domains_duplicates("", duplicates, sizeof(duplicates));
	if (*duplicates)
		text_append(text, size, "%s another host already uses %s",
			*text ? ";" : "warning:", duplicates);
	return *text != '\0';
}

/* Writes what the answers show, after the evidence of the neighbour. */
static void describe(const struct neighbour_answers *answers, char *text, size_t size)
{
	char list[NEIGHBOUR_ANSWERS_MAX * NETLINK_HARDWARE_SIZE];

	*text = '\0';
	neighbour_answers_list(answers, list, sizeof(list));
	if (answers->count > 1)
		text_append(text, size, "; %u%s MAC addresses answer: %s", answers->count,
			answers->more ? " or more" : "", list);
	else if (answers->error == EPERM)
		text_append(text, size, "; without CAP_NET_RAW, whether others answer is unknown");
}

void address_conflicts_ask(struct diagnosis *diagnosis, const struct reach_neighbour *neighbour)
{
	const struct netlink_route *route = &diagnosis->route.route;
	const struct sockaddr *source = reach_source(&diagnosis->route);
	char answers[320] = "";

	snprintf(diagnosis->hardware, sizeof(diagnosis->hardware), "%s", neighbour->entry.hardware);
	if (!neighbour->needless) {
		neighbour_answers_find(route->interface,
			(const struct sockaddr *)&neighbour->address,
			source ? source : address_or_none(&route->source), &diagnosis->answers);
		describe(&diagnosis->answers, answers, sizeof(answers));
	}
	check_list_ok(&diagnosis->list, CHECK_NEIGHBOUR, "%s%s", neighbour->evidence, answers);
}

/* True if the request was sent and no reply arrived. */
static bool is_unanswered(const struct failure *failure)
{
	return failure->phase == PHASE_CONNECT &&
	       (failure->kind == FAILURE_DEADLINE ||
		       (failure->kind == FAILURE_ERRNO && failure->code == ETIMEDOUT));
}

/* Writes the MAC address that the kernel uses now if it has changed. */
static bool has_changed(const struct diagnosis *diagnosis, char *text, size_t size)
{
	const struct reach_route *route = &diagnosis->route;
	const struct sockaddr_storage *next = route->route.gateway.ss_family != AF_UNSPEC
						      ? &route->route.gateway
						      : &route->address;
	struct netlink_neighbour now;

	if (!diagnosis->hardware[0] ||
		netlink_find_neighbour(
			route->route.interface, (const struct sockaddr *)next, &now) ||
		!now.hardware[0] || strcmp(now.hardware, diagnosis->hardware) == 0)
		return false;
	snprintf(text, size, "changed from %s to %s during the diagnosis", diagnosis->hardware,
		now.hardware);
	return true;
}

void address_conflicts_blame(struct diagnosis *diagnosis, struct failure *failure)
{
	char list[NEIGHBOUR_ANSWERS_MAX * NETLINK_HARDWARE_SIZE];
	struct failure blamed = {.kind = FAILURE_ADDRESS, .phase = PHASE_CONNECT};

	if (!is_unanswered(failure))
		return;
	neighbour_answers_list(&diagnosis->answers, list, sizeof(list));
	if (diagnosis->answers.count > 1) {
		blamed.code = ADDRESS_CONTESTED;
		text_append(blamed.evidence, sizeof(blamed.evidence), "%s answer; %s was used",
			list, diagnosis->hardware[0] ? diagnosis->hardware : "one of them");
	} else if (has_changed(diagnosis, blamed.evidence, sizeof(blamed.evidence))) {
		blamed.code = ADDRESS_CONTESTED;
	} else if (diagnosis->flux[0]) {
		blamed.code = ADDRESS_FLUX;
		snprintf(blamed.evidence, sizeof(blamed.evidence), "%s", diagnosis->flux);
	} else {
		return;
	}
	*failure = blamed;
}

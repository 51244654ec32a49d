/* The choice of a pair of GIDs, and their texts: see verbs/path-choice.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "verbs/path-choice.h"

/* Bytes of a GID that are the same for all ports of an InfiniBand subnet. */
#define SUBNET_PREFIX 8

static bool is_ipv4(const struct tcp_gid *gid)
{
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)gid->gid);
}

static bool is_same_interface(const struct tcp_gid *one, const struct tcp_gid *other)
{
	return *one->interface && strcmp(one->interface, other->interface) == 0;
}

/* What is known about a choice, apart from the lists. */
struct search {
	bool same_host;
	path_test *reaches;
	unsigned int lookups;
};

/* Asks the routes, for the first pairs. */
static bool is_reached(
	struct search *search, const struct path_candidate *own, const struct tcp_gid *theirs)
{
	return search->lookups++ < PATH_LOOKUPS && search->reaches(own, theirs, search->same_host);
}

/* How well the pair fits: PATH_FINE, or the first reason against it. */
static enum path_fault fault_of(
	const struct tcp_gid *theirs, const struct path_candidate *own, struct search *search)
{
	const struct tcp_gid *ours = &own->gid;
	bool infiniband = ours->type == TCP_GID_INFINIBAND;

	if (infiniband != (theirs->type == TCP_GID_INFINIBAND))
		return PATH_OTHER_LAYER;
	if (ours->type != theirs->type)
		return PATH_OTHER_VERSION;
	if (tcp_gid_is_link_local(ours) != tcp_gid_is_link_local(theirs))
		return PATH_LINK_LOCAL;
	if (!infiniband && is_ipv4(ours) != is_ipv4(theirs))
		return PATH_OTHER_FAMILY;
	if (infiniband && memcmp(ours->gid, theirs->gid, SUBNET_PREFIX) != 0)
		return PATH_OTHER_SUBNET;
	if (((ours->pkey ^ theirs->pkey) & PATH_PKEY_NUMBER) != 0 ||
		((ours->pkey | theirs->pkey) & PATH_PKEY_FULL) == 0)
		return PATH_OTHER_PKEY;
	if (infiniband)
		return PATH_FINE;
	if (tcp_gid_is_link_local(ours))
		return search->same_host && !is_same_interface(ours, theirs) ? PATH_NO_ROUTE
									     : PATH_FINE;
	return is_reached(search, own, theirs) ? PATH_FINE : PATH_NO_ROUTE;
}

/*
 * How likely two link-local GIDs are on one link: certainly if both interfaces carry the TCP
 * connection; and hosts that are alike name their interfaces alike.
 */
static int likelihood(const struct tcp_gid *ours, const struct tcp_gid *theirs)
{
	if (ours->carries_tcp && theirs->carries_tcp)
		return 4;
	if (is_same_interface(ours, theirs))
		return 3;
	return ours->carries_tcp == theirs->carries_tcp ? 2 : 1;
}

/* Lists our GIDs, this one first. */
static void list_gids(
	const struct path_candidates *candidates, unsigned int first, struct tcp_path *path)
{
	path->count = 0;
	if (first < candidates->count)
		path->gids[path->count++] = candidates->all[first].gid;
	for (unsigned int i = 0; i < candidates->count; i++)
		if (i != first)
			path->gids[path->count++] = candidates->all[i].gid;
}

void path_choose(const struct tcp_offer *offer, const struct path_candidates *candidates,
	bool same_host, path_test *reaches, struct tcp_path *path, unsigned int *own)
{
	struct search search = {.same_host = same_host, .reaches = reaches};
	int best = 0; /* likelihood of the best link-local pair */

	*path = (struct tcp_path){.refusal = PATH_NO_PORT};
	*own = 0;
	for (unsigned int i = 0; i < offer->count; i++)
		for (unsigned int j = 0; j < candidates->count; j++) {
			const struct path_candidate *candidate = &candidates->all[j];
			enum path_fault fault = fault_of(&offer->gids[i], candidate, &search);
			bool fine = fault == PATH_FINE;
			bool link_local = tcp_gid_is_link_local(&candidate->gid);
			int likely = fine && link_local
					     ? likelihood(&candidate->gid, &offer->gids[i])
					     : 0;

			if (fine ? !link_local || likely > best
				 : path->refusal != PATH_FINE && fault > path->refusal) {
				path->refusal = fault;
				path->chosen = i;
				*own = j;
				best = likely;
			}
			if (fine && !link_local) {
				list_gids(candidates, j, path);
				return;
			}
		}
	list_gids(candidates, *own, path);
}

bool path_has_one_port(const struct path_candidates *candidates)
{
	const struct path_candidate *first = candidates->all;

	for (unsigned int i = 1; i < candidates->count; i++) {
		const struct path_candidate *other = &candidates->all[i];

		if (other->gid.port != first->gid.port || strcmp(other->device, first->device) != 0)
			return false;
	}
	return candidates->count > 0;
}

void path_offer(const struct path_candidates *candidates, struct tcp_offer *offer)
{
	offer->count = candidates->count;
	for (unsigned int i = 0; i < candidates->count; i++)
		offer->gids[i] = candidates->all[i].gid;
}

void path_gid_text(const struct tcp_gid *gid, char text[PATH_GID_TEXT])
{
	struct sockaddr_storage address;
	char name[ADDRESS_TEXT_SIZE];

	tcp_gid_address(gid->gid, &address);
	address_text((const struct sockaddr *)&address, name);
	snprintf(text, PATH_GID_TEXT, "%s (%s, index %u)", name, tcp_gid_type_name(gid->type),
		gid->index);
}

int path_refused(
	struct failure *failure, const struct tcp_offer *ours, const struct tcp_path *theirs)
{
	char here[PATH_GID_TEXT], there[PATH_GID_TEXT] = "no GID";

	const struct tcp_gid *mine = &ours->gids[theirs->chosen < ours->count ? theirs->chosen : 0];

	path_gid_text(mine, here);
	if (theirs->count > 0)
		path_gid_text(&theirs->gids[0], there);
	if (theirs->refusal == PATH_OTHER_PKEY && theirs->count > 0)
		return failure_set(failure, FAILURE_PATH, PHASE_ADDRESS, (int)theirs->refusal,
			"PATH", "here 0x%04x, %s, there 0x%04x, %s", mine->pkey, here,
			theirs->gids[0].pkey, there);
	return failure_set(failure, FAILURE_PATH, PHASE_ADDRESS, (int)theirs->refusal, "PATH",
		"here %s, there %s", here, there);
}

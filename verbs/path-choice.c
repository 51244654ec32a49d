/* The choice of a pair of GIDs, and their texts: see verbs/path-choice.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "verbs/path-choice.h"

/* Bytes of a GID that are the same for all ports of an InfiniBand subnet. */
#define SUBNET_PREFIX 8

static bool is_link_local(const struct tcp_gid *gid)
{
	return gid->type != TCP_GID_INFINIBAND && gid->gid[0] == 0xfe &&
	       (gid->gid[1] & 0xc0) == 0x80;
}

/* How well the pair fits: PATH_FINE, or the first reason against it. */
static enum path_fault fault_of(const struct tcp_gid *theirs, const struct path_candidate *own,
	bool (*reaches)(const struct path_candidate *from, const struct tcp_gid *to))
{
	const struct tcp_gid *ours = &own->gid;
	bool infiniband = ours->type == TCP_GID_INFINIBAND;

	if (infiniband != (theirs->type == TCP_GID_INFINIBAND))
		return PATH_OTHER_LAYER;
	if (ours->type != theirs->type)
		return PATH_OTHER_VERSION;
	if (own->link_local != is_link_local(theirs))
		return PATH_LINK_LOCAL;
	if (infiniband && memcmp(ours->gid, theirs->gid, SUBNET_PREFIX) != 0)
		return PATH_OTHER_SUBNET;
	if (((ours->pkey ^ theirs->pkey) & PATH_PKEY_NUMBER) != 0 ||
		((ours->pkey | theirs->pkey) & PATH_PKEY_FULL) == 0)
		return PATH_OTHER_PKEY;
	return infiniband || own->link_local || reaches(own, theirs) ? PATH_FINE : PATH_NO_ROUTE;
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
	bool (*reaches)(const struct path_candidate *from, const struct tcp_gid *to),
	struct tcp_path *path, unsigned int *own)
{
	unsigned int closest = 0;
	enum path_fault fault;

	*path = (struct tcp_path){.refusal = PATH_NO_PORT};
	for (unsigned int i = 0; i < offer->count; i++)
		for (unsigned int j = 0; j < candidates->count; j++) {
			fault = fault_of(&offer->gids[i], &candidates->all[j], reaches);
			if (fault == PATH_FINE) {
				path->refusal = PATH_FINE;
				path->chosen = i;
				list_gids(candidates, j, path);
				*own = j;
				return;
			}
			if (fault > path->refusal) {
				path->refusal = fault;
				path->chosen = i;
				closest = j;
			}
		}
	list_gids(candidates, closest, path);
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

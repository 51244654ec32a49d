/*
 * Joins a multicast group and sends one datagram to itself. Nothing that fails here is certain to
 * be a fault: networks may filter groups, and devices need not deliver their own datagrams.
 */
#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "diagnose/diagnosis.h"
#include "multicast/group.h"
#include "protocol/datagram.h"

/* Time limits in milliseconds. */
#define JOIN_MS    1500
#define ARRIVAL_MS 1000

#define SLOTS 4

/* True if the completion is that of our datagram. */
static bool is_ours(const struct group *group, const struct ibv_wc *wc, uint64_t stream)
{
	const uint8_t *slot = group_slot(group, (unsigned int)wc->wr_id);
	struct datagram datagram;

	return wc->status == IBV_WC_SUCCESS && wc->opcode == IBV_WC_RECV &&
	       wc->byte_len >= GROUP_GRH + DATAGRAM_HEADER &&
	       datagram_decode(&datagram, slot + GROUP_GRH, wc->byte_len - GROUP_GRH) == 0 &&
	       datagram.stream == stream;
}

/* Sends a datagram from the last slot, and waits for it. */
static bool arrives(struct group *group, uint64_t stream)
{
	const struct datagram datagram = {.stream = stream, .count = 1};
	const deadline_t deadline = deadline_in(ARRIVAL_MS);
	struct ibv_wc wc;
	int count;

	datagram_encode(&datagram, group_slot(group, SLOTS));
	if (group_post_send(group, SLOTS, DATAGRAM_HEADER))
		return false;
	do {
		count = ibv_poll_cq(group->cq, 1, &wc);
		if (count > 0 && is_ours(group, &wc, stream))
			return true;
		if (count == 0)
			poll(NULL, 0, 1);
	} while (count >= 0 && deadline_left(deadline) > 0);
	return false;
}

int check_multicast(struct diagnosis *diagnosis)
{
	const struct output quiet = {.program = diagnosis->output.program, .quiet = true};
	struct failure failure = {0};
	struct group group;
	char name[INET6_ADDRSTRLEN];
	uint64_t stream;
	struct group_settings settings = {
		.name = name,
		.device = diagnosis->device ? diagnosis->device->name : NULL,
		.output = &quiet,
		.deadline = deadline_in(JOIN_MS),
		.stop_fd = -1,
		.slots = SLOTS,
		.receives = true,
	};
	const struct explanation *row;

	/* Random, so that no other program uses the group: it is of this site only. */
	randombytes_buf(&stream, sizeof(stream));
	snprintf(name, sizeof(name), "239.255.%u.%u", (unsigned int)(stream & 0xff),
		(unsigned int)(stream >> 8 & 0xff));
	if (group_join(&group, &settings, &failure)) {
		row = explain(failure.kind, failure.phase, failure.code);
		check_list_skip(&diagnosis->list, CHECK_MULTICAST, "no group joined: %s",
			row->cause ? row->cause : failure.evidence);
	} else if (arrives(&group, stream)) {
		check_list_ok(&diagnosis->list, CHECK_MULTICAST,
			"joined %s, and received a datagram from itself", name);
		check_list_shorten(&diagnosis->list, CHECK_MULTICAST, "joined a group");
	} else {
		check_list_skip(&diagnosis->list, CHECK_MULTICAST,
			"joined %s, but received no datagram from itself", name);
	}
	group_leave(&group);
	return 0;
}

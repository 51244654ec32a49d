/*
 * The search for the path MTU with UDP probes. The search itself sends nothing: path_mtu_find()
 * sends datagrams of the sizes that it chooses. path_mtu_find() owns the probes and keeps all of
 * them open until the end, because replies may be late.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "diagnose/path-mtu.h"
#include "diagnose/udp-probe.h"

/* Time to wait for a reply before the next try, in milliseconds; late replies still count. */
#define TRY_MS 300

/*
 * Number of tries needed to distinguish a size that does not get through from a lost packet.
 * TRIES_SURE applies to the interface MTU, to the MTU that a router reports and to the smallest
 * size, TRIES_OTHER to sizes in between.
 */
#define TRIES_SURE  3
#define TRIES_OTHER 2

/* The largest IP datagram: the length field (in IPv6, the payload length) has 16 bits. */
#define SIZE_MAX_IP 65535

/* The minimum MTU of IPv4, which every link supports. */
#define FLOOR 68

/*
 * Common MTUs: jumbo frames, RDMA packets with 4096 and 2048 bytes of data, Ethernet, PPPoE,
 * tunnels, the minimum of IPv6, and the size that every IPv4 host accepts.
 */
static const unsigned int usual[] = {9000, 4200, 2200, 1500, 1492, 1400, 1280, 576};

void path_search_init(struct path_search *search, unsigned int top, unsigned int floor)
{
	*search = (struct path_search){.top = top, .floor = floor < top ? floor : top};
}

static unsigned int tries_of(const struct path_search *search, unsigned int size)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < search->count; i++)
		count += search->tries[i] == size;
	return count;
}

/* True if the size is worth another try. */
static bool is_open(const struct path_search *search, unsigned int size, unsigned int tries)
{
	return size > search->proven && size <= search->top &&
	       (!search->too_big || size < search->too_big) && tries_of(search, size) < tries;
}

/*
 * Tries the interface MTU first, which suffices on a healthy path. Then tries the MTU reported by a
 * router; the smallest size, to see whether the host replies at all; the interface MTU again,
 * because the packet may have been lost; and finally the common sizes in descending order.
 */
static unsigned int choose_size(const struct path_search *search)
{
	if (is_open(search, search->top, 1))
		return search->top;
	if (search->hint && is_open(search, search->hint, TRIES_SURE))
		return search->hint;
	if (search->hint && search->proven == search->hint)
		return 0;
	if (search->proven == 0)
		return is_open(search, search->floor, TRIES_SURE) ? search->floor : 0;
	if (is_open(search, search->top, TRIES_SURE))
		return search->top;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (is_open(search, usual[i], TRIES_OTHER))
			return usual[i];
	return 0;
}

unsigned int path_search_next(struct path_search *search)
{
	unsigned int size = choose_size(search);

	if (search->count == PATH_TRIES_MAX)
		return 0;
	if (size)
		search->tries[search->count++] = size;
	return size;
}

void path_search_arrived(struct path_search *search, unsigned int size)
{
	if (size > search->proven)
		search->proven = size;
	/* The router that refused this or a smaller size is wrong or on another path. */
	if (search->too_big && size >= search->too_big)
		search->too_big = search->hint = 0;
}

void path_search_too_big(struct path_search *search, unsigned int size, unsigned int mtu)
{
	if (size <= search->proven || (search->too_big && size >= search->too_big))
		return;
	search->too_big = size;
	search->hint = mtu >= search->floor && mtu < size ? mtu : 0;
}

/* Explains why no datagram is known to have arrived. */
static void describe_silence(struct path_mtu *path)
{
	char address[ADDRESS_TEXT_SIZE] = "this host";

	if (path->error) {
		reach_evidence(path->evidence, "%s", strerror(path->error));
	} else if (path->other) {
		if (path->from.ss_family != AF_UNSPEC)
			address_text((struct sockaddr *)&path->from, address);
		reach_evidence(path->evidence, "%s reports: %s", address, strerror(path->other));
	} else if (path->found.hint) {
		reach_evidence(path->evidence,
			"the path MTU is %u, the interface MTU %u; the host does not reply",
			path->found.hint, path->found.top);
	} else {
		reach_evidence(path->evidence, "the host does not reply to probes (many do not)");
	}
}

void path_mtu_assess(struct path_mtu *path)
{
	const struct path_search *found = &path->found;

	if (found->proven == 0) {
		/* The MTU that a router reports is sufficient proof. */
		path->verdict = found->hint ? REACH_BAD : REACH_UNKNOWN;
		describe_silence(path);
	} else if (found->proven >= found->top) {
		path->verdict = REACH_GOOD;
		reach_evidence(path->evidence, "datagrams of %u bytes arrive", found->proven);
	} else if (found->too_big) {
		path->verdict = REACH_BAD;
		reach_evidence(path->evidence,
			"datagrams of %u bytes arrive, those of %u are rejected on the path",
			found->proven, found->too_big);
	} else if (tries_of(found, found->top) < TRIES_SURE) {
		path->verdict = REACH_UNKNOWN;
		reach_evidence(path->evidence,
			"datagrams of %u bytes arrive; not enough time to test %u", found->proven,
			found->top);
	} else {
		path->verdict = REACH_BAD;
		reach_evidence(path->evidence, "datagrams of %u bytes arrive, those of %u are lost",
			found->proven, found->top);
	}
}

/* All probes, oldest first. */
struct sent_probes {
	struct udp_probe probes[PATH_TRIES_MAX];
	nfds_t count;
};

/* Reads the result of a probe into the path. */
static void take_result(struct path_mtu *path, struct udp_probe *probe)
{
	enum udp_probe_result result = udp_probe_read(probe);

	if (result == UDP_PROBE_ARRIVED) {
		path_search_arrived(&path->found, probe->size);
	} else if (result == UDP_PROBE_TOO_BIG) {
		path_search_too_big(&path->found, probe->size, probe->mtu);
	} else if (result == UDP_PROBE_OTHER) {
		path->other = probe->error;
		path->from = probe->from;
	}
}

/* Waits for the result of the last probe, or until the next try is due. */
static void await_result(struct path_mtu *path, struct sent_probes *sent, deadline_t deadline)
{
	const struct udp_probe *last = &sent->probes[sent->count - 1];
	struct pollfd waiting[PATH_TRIES_MAX];
	deadline_t next = deadline_in(TRY_MS);

	if (deadline < next)
		next = deadline;
	for (;;) {
		for (nfds_t i = 0; i < sent->count; i++) {
			take_result(path, &sent->probes[i]);
			waiting[i] = (struct pollfd){.fd = sent->probes[i].fd, .events = POLLIN};
		}
		if (last->result != UDP_PROBE_NO_REPLY || path->found.proven == path->found.top ||
			deadline_left(next) == 0)
			return;
		(void)poll(waiting, sent->count, deadline_left(next));
	}
}

/* Sends a probe of the given size. Returns false if this host cannot send at all. */
static bool try_size(struct path_mtu *path, const struct reach_route *route,
	struct sent_probes *sent, unsigned int size)
{
	struct udp_probe *probe = &sent->probes[sent->count++];
	int error = udp_probe_open(
		probe, (const struct sockaddr *)&route->address, reach_source(route));

	if (!error)
		error = udp_probe_send(probe, size);
	if (error == -EMSGSIZE)
		path_search_too_big(&path->found, size, udp_probe_path_mtu(probe));
	path->error = error == -EMSGSIZE ? 0 : -error;
	return !path->error;
}

void path_mtu_find(const struct reach_route *route, deadline_t deadline, struct path_mtu *path)
{
	unsigned int size, top = route->link.mtu < SIZE_MAX_IP ? route->link.mtu : SIZE_MAX_IP;
	struct sent_probes sent = {0};

	memset(path, 0, sizeof(*path));
	path_search_init(&path->found, top, FLOOR);
	while (deadline_left(deadline) && (size = path_search_next(&path->found)) &&
		try_size(path, route, &sent, size))
		await_result(path, &sent, deadline);
	for (nfds_t i = 0; i < sent.count; i++)
		udp_probe_close(&sent.probes[i]);
	path_mtu_assess(path);
}

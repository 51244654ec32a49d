/*
 * The search for the path MTU with UDP probes. The search itself sends nothing: path_mtu_find()
 * sends datagrams of the sizes that it chooses. path_mtu_find() owns the probes, one for each size,
 * and keeps all of them open until the end, because replies may be late.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "diagnose/path-mtu.h"
#include "diagnose/udp-probe.h"

/* Time to wait for a reply to a single datagram, in milliseconds; late replies still count. */
#define TRY_MS 300

/* Number of tries of the MTU that a router reports. */
#define REFUSED_TRIES 3

/*
 * The comparison sends a datagram every COMPARE_MS milliseconds. Of each COMPARE_CYCLE datagrams,
 * one, at a random place, is small. If a host limits the rate of its replies, the chance that the
 * next reply goes to a small datagram is therefore 1 in COMPARE_CYCLE, and that the first
 * COMPARE_SURE replies all do is 1 in 160,000. At one reply per second, they take 4 s.
 */
#define COMPARE_MS    20
#define COMPARE_CYCLE 20
#define COMPARE_SURE  4

/* Number of datagrams after which a host that answered none is silent, and the most of all. */
#define COMPARE_SILENT (5 * COMPARE_CYCLE)
#define COMPARE_MOST   (17 * COMPARE_CYCLE)

/* The time between datagrams of other sizes, and how often each is tried. */
#define REFINE_MS    30
#define REFINE_TRIES 3

/* The largest IP datagram: the length field (in IPv6, the payload length) has 16 bits. */
#define SIZE_MAX_IP 65535

/*
 * The size that every IPv4 host accepts, and the minimum MTU of IPv6. ICMP errors quote as much of
 * a datagram as these sizes permit.
 */
#define CONTROL_SIZE  576
#define CONTROL_SIZE6 1280

/*
 * Common MTUs: jumbo frames, RDMA packets with 4096 and 2048 bytes of data, Ethernet, PPPoE,
 * tunnels, the minimum of IPv6, and the size that every IPv4 host accepts.
 */
static const unsigned int usual[] = {9000, 4200, 2200, 1500, 1492, 1400, 1280, 576};

#define USUAL (sizeof(usual) / sizeof(usual[0]))

/* Sizes of one search: the common ones, the interface MTU, and those that routers report. */
#define PROBES_MAX (USUAL + 8)

void path_search_init(
	struct path_search *search, unsigned int top, unsigned int control, unsigned int seed)
{
	*search = (struct path_search){
		.top = top,
		.control = control < top ? control : top,
		.random = seed,
	};
}

/* Returns a pseudo-random number below `limit`: see rand(3). */
static unsigned int random_below(struct path_search *search, unsigned int limit)
{
	search->random = search->random * 1103515245 + 12345;
	return (search->random >> 16) % limit;
}

/* True if this size may still become the largest that arrived. */
static bool is_open(const struct path_search *search, unsigned int size)
{
	return size > search->proven && size <= search->top &&
	       (!search->too_big || size < search->too_big);
}

/*
 * Returns the next size of the comparison: the interface MTU or, at a random place of each cycle,
 * the small one.
 */
static unsigned int compare(struct path_search *search)
{
	unsigned int place = search->compared++ % COMPARE_CYCLE;

	search->wait = COMPARE_MS;
	if (place == 0)
		search->place = random_below(search, COMPARE_CYCLE);
	if (place != search->place)
		return search->top;
	search->unanswered = true;
	return search->control;
}

/* True until the comparison has a result, or the host is silent. */
static bool compares(const struct path_search *search)
{
	return is_open(search, search->top) && search->answered < COMPARE_SURE &&
	       search->compared < (search->answered ? COMPARE_MOST : COMPARE_SILENT);
}

/* Returns the next of the common sizes in descending order, several times; 0 at the end. */
static unsigned int refine(struct path_search *search)
{
	search->wait = REFINE_MS;
	while (search->refined < USUAL * REFINE_TRIES) {
		unsigned int size = usual[search->refined++ % USUAL];

		if (size < search->top && is_open(search, size))
			return size;
	}
	return 0;
}

/* Something refused the interface MTU: tries the MTU that it reported, then the small size. */
static unsigned int try_refused(struct path_search *search)
{
	unsigned int tries = search->refused++;

	if (search->hint && tries < REFUSED_TRIES)
		return search->hint;
	return tries < 2 * REFUSED_TRIES ? search->control : 0;
}

/*
 * Tries the interface MTU first, which suffices on a healthy path; then the MTU reported by a
 * router. If nothing was reported and nothing arrived, compares large and small datagrams. Once it
 * is certain that the interface MTU is too large, looks for the largest common size that arrives.
 */
unsigned int path_search_next(struct path_search *search)
{
	search->wait = TRY_MS;
	if (!search->tried) {
		search->tried = true;
		return search->top;
	}
	if (search->proven == search->top || (search->hint && search->proven == search->hint))
		return 0;
	if (search->too_big && search->proven == 0)
		return try_refused(search);
	if (compares(search))
		return compare(search);
	return search->too_big || search->answered == COMPARE_SURE ? refine(search) : 0;
}

void path_search_arrived(struct path_search *search, unsigned int size)
{
	if (size == search->control && search->unanswered) {
		search->unanswered = false;
		search->answered++;
	}
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
	search->hint = mtu >= search->control && mtu < size ? mtu : 0;
	search->refused = 0;
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
	} else if (found->answered < COMPARE_SURE) {
		path->verdict = REACH_UNKNOWN;
		reach_evidence(path->evidence,
			"datagrams of %u bytes arrive; too few replies to judge those of %u",
			found->proven, found->top);
	} else {
		path->verdict = REACH_BAD;
		path->inferred = true;
		reach_evidence(path->evidence, "datagrams of %u bytes arrive, those of %u are lost",
			found->proven, found->top);
	}
}

/* One probe for each size. */
struct probes {
	struct udp_probe list[PROBES_MAX];
	unsigned int answers[PROBES_MAX]; /* already taken */
	nfds_t count;
};

/* Returns the probe of this size, opened if necessary; NULL if this host cannot send at all. */
static struct udp_probe *probe_of_size(struct path_mtu *path, const struct reach_route *route,
	struct probes *probes, unsigned int size)
{
	struct udp_probe *probe;

	for (nfds_t i = 0; i < probes->count; i++)
		if (probes->list[i].size == size)
			return &probes->list[i];
	if (probes->count == PROBES_MAX)
		return NULL;
	probe = &probes->list[probes->count++];
	path->error = -udp_probe_open(
		probe, (const struct sockaddr *)&route->address, reach_source(route));
	probe->size = size;
	return path->error ? NULL : probe;
}

/* Reads the replies to a probe into the path. */
static void take_replies(struct path_mtu *path, struct udp_probe *probe, unsigned int *taken)
{
	enum udp_probe_result result = udp_probe_read(probe);

	for (; *taken < probe->answers; ++*taken)
		path_search_arrived(&path->found, probe->size);
	if (result == UDP_PROBE_TOO_BIG) {
		path_search_too_big(&path->found, probe->size, probe->mtu);
	} else if (result == UDP_PROBE_OTHER) {
		path->other = probe->error;
		path->from = probe->from;
	}
}

/* Waits for the result of the last try, or until the next one is due. */
static void await_result(struct path_mtu *path, struct probes *probes, const struct udp_probe *last,
	deadline_t deadline)
{
	struct pollfd waiting[PROBES_MAX];
	deadline_t next = deadline_in(path->found.wait);

	if (deadline < next)
		next = deadline;
	for (;;) {
		for (nfds_t i = 0; i < probes->count; i++) {
			take_replies(path, &probes->list[i], &probes->answers[i]);
			waiting[i] = (struct pollfd){.fd = probes->list[i].fd, .events = POLLIN};
		}
		if (path->found.proven == path->found.top || deadline_left(next) == 0 ||
			(path->found.wait == TRY_MS && last->result != UDP_PROBE_NO_REPLY))
			return;
		(void)poll(waiting, probes->count, deadline_left(next));
	}
}

/* Sends a datagram of the given size. Returns its probe, or NULL if this host cannot send. */
static struct udp_probe *try_size(struct path_mtu *path, const struct reach_route *route,
	struct probes *probes, unsigned int size)
{
	struct udp_probe *probe = probe_of_size(path, route, probes, size);
	int error = probe ? udp_probe_send(probe, size) : 0;

	if (error == -EMSGSIZE)
		path_search_too_big(&path->found, size, udp_probe_path_mtu(probe));
	else if (error)
		path->error = -error;
	return path->error ? NULL : probe;
}

void path_mtu_find(const struct reach_route *route, deadline_t deadline, struct path_mtu *path)
{
	unsigned int size, top = route->link.mtu < SIZE_MAX_IP ? route->link.mtu : SIZE_MAX_IP;
	unsigned int control = route->address.ss_family == AF_INET6 ? CONTROL_SIZE6 : CONTROL_SIZE;
	const struct udp_probe *last;
	struct probes probes = {0};

	memset(path, 0, sizeof(*path));
	path_search_init(&path->found, top, control, (unsigned int)deadline_now());
	while (deadline_left(deadline) && (size = path_search_next(&path->found)) &&
		(last = try_size(path, route, &probes, size)))
		await_result(path, &probes, last, deadline);
	for (nfds_t i = 0; i < probes.count; i++)
		udp_probe_close(&probes.list[i]);
	path_mtu_assess(path);
}

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "diagnose/path-mtu.h"
#include "diagnose/udp-probe.h"

/* How long one try waits before the next is sent; late answers count all the same. */
#define TRY_MS 300

/*
 * Enough to tell a size that does not pass from a lost packet. A silent host is not asked more often
 * than that, nor is an interface's own size given up sooner.
 */
#define TRIES_SURE  3
#define TRIES_OTHER 2

/* The largest IP datagram: its length, or for IPv6 that of its payload, has 16 bits. */
#define SIZE_MAX_IPV4 65535

/* Any link takes these; the minimum of IPv4 is 68. */
#define FLOOR 68

/*
 * The usual MTUs: of jumbo frames; those in which RDMA's packets of 4096 and 2048 bytes have room; of
 * Ethernet, PPPoE, tunnels, IPv6's minimum, and what every host takes in IPv4.
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
 * First the interface's own size, which settles it where all is well. Otherwise what a router says;
 * whether the host answers at all; the own size again, as the packet may only have been lost; then
 * the usual ones from the largest down.
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
	/* Who refused it, or less, is mistaken, or was on another path. */
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

static void say_silence(struct path *path)
{
	char address[ADDRESS_TEXT_SIZE] = "this host";

	if (path->error) {
		reach_say(path->evidence, "%s", strerror(path->error));
	} else if (path->other) {
		if (path->from.ss_family != AF_UNSPEC)
			address_text((struct sockaddr *)&path->from, address);
		reach_say(path->evidence, "%s says: %s", address, strerror(path->other));
	} else if (path->found.hint) {
		reach_say(path->evidence,
			"the path takes %u bytes and the interface %u; the host does not answer",
			path->found.hint, path->found.top);
	} else {
		reach_say(path->evidence, "the host does not answer, which many do not");
	}
}

void path_judge(struct path *path)
{
	const struct path_search *found = &path->found;

	if (found->proven == 0) {
		/* A router that refuses the interface's size is no silence. */
		path->verdict = found->hint ? REACH_BAD : REACH_UNKNOWN;
		say_silence(path);
	} else if (found->proven >= found->top) {
		path->verdict = REACH_GOOD;
		reach_say(path->evidence, "datagrams of %u bytes arrive", found->proven);
	} else if (found->too_big) {
		path->verdict = REACH_BAD;
		reach_say(path->evidence,
			"datagrams of %u bytes arrive, those of %u are refused on the way",
			found->proven, found->too_big);
	} else if (tries_of(found, found->top) < TRIES_SURE) {
		path->verdict = REACH_UNKNOWN;
		reach_say(path->evidence,
			"datagrams of %u bytes arrive, too little time to be sure about %u",
			found->proven, found->top);
	} else {
		path->verdict = REACH_BAD;
		reach_say(path->evidence, "datagrams of %u bytes arrive, those of %u are lost",
			found->proven, found->top);
	}
}

/* The probes under way, oldest first. */
struct flight {
	struct datagram probes[PATH_TRIES_MAX];
	nfds_t count;
};

/* Takes what has come back for one of them. */
static void take_answer(struct path *path, struct datagram *datagram)
{
	enum datagram_answer reply = datagram_read(datagram);

	if (reply == DATAGRAM_ARRIVED) {
		path_search_arrived(&path->found, datagram->size);
	} else if (reply == DATAGRAM_TOO_BIG) {
		path_search_too_big(&path->found, datagram->size, datagram->mtu);
	} else if (reply == DATAGRAM_OTHER) {
		path->other = datagram->error;
		path->from = datagram->from;
	}
}

/* Waits until the last of them is answered, or it is time for the next. */
static void await_answers(struct path *path, struct flight *flight, deadline_t deadline)
{
	const struct datagram *last = &flight->probes[flight->count - 1];
	struct pollfd waiting[PATH_TRIES_MAX];
	deadline_t next = deadline_in(TRY_MS);

	if (deadline < next)
		next = deadline;
	for (;;) {
		for (nfds_t i = 0; i < flight->count; i++) {
			take_answer(path, &flight->probes[i]);
			waiting[i] = (struct pollfd){.fd = flight->probes[i].fd, .events = POLLIN};
		}
		if (last->reply != DATAGRAM_SILENCE || path->found.proven == path->found.top ||
			deadline_left(next) == 0)
			return;
		(void)poll(waiting, flight->count, deadline_left(next));
	}
}

/* Tries one size. Returns false if this host cannot send at all. */
static bool try_size(struct path *path, const struct reach_route *route, struct flight *flight,
	unsigned int size)
{
	struct datagram *datagram = &flight->probes[flight->count++];
	int error = datagram_open(
		datagram, (const struct sockaddr *)&route->address, reach_source(route));

	if (!error)
		error = datagram_send(datagram, size);
	if (error == -EMSGSIZE)
		path_search_too_big(&path->found, size, datagram_path_mtu(datagram));
	path->error = error == -EMSGSIZE ? 0 : -error;
	return !path->error;
}

/* What the kernel has learned, which a new socket shows. */
static unsigned int known_mtu(const struct path *path, const struct reach_route *route)
{
	const struct sockaddr *address = (const struct sockaddr *)&route->address;
	struct datagram datagram;
	unsigned int mtu = 0;

	if (path->found.hint)
		return path->found.hint;
	if (datagram_open(&datagram, address, reach_source(route)) == 0)
		mtu = datagram_path_mtu(&datagram);
	datagram_close(&datagram);
	return mtu;
}

/* The largest datagram to be tried. */
static unsigned int size_max(const struct reach_route *route)
{
	unsigned int mtu = route->link.mtu;

	return mtu > SIZE_MAX_IPV4 ? SIZE_MAX_IPV4 : mtu;
}

void path_probe(const struct reach_route *route, deadline_t deadline, struct path *path)
{
	struct flight flight = {0};
	unsigned int size;

	memset(path, 0, sizeof(*path));
	path_search_init(&path->found, size_max(route), FLOOR);
	while (deadline_left(deadline) && (size = path_search_next(&path->found)) &&
		try_size(path, route, &flight, size))
		await_answers(path, &flight, deadline);
	path->mtu = known_mtu(path, route);
	for (nfds_t i = 0; i < flight.count; i++)
		datagram_close(&flight.probes[i]);
	path_judge(path);
}

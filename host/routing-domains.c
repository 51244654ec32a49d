/*
 * Finds VRFs through rtnetlink, and the other facts in /proc. No state is kept between calls.
 */
#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "host/netlink.h"
#include "host/routing-domains.h"

#define ROCE_PORT 4791

/* In /proc/net/if_inet6: IFA_F_DADFAILED of linux/if_addr.h. */
#define DAD_FAILED 0x08

void routing_domains_vrf(const char *interface, char vrf[IF_NAMESIZE])
{
	struct netlink_link link, master;

	*vrf = '\0';
	if (netlink_find_link(if_nametoindex(interface), &link) == 0 && link.master &&
		netlink_find_link(link.master, &master) == 0 && strcmp(master.kind, "vrf") == 0)
		snprintf(vrf, IF_NAMESIZE, "%s", master.name);
}

static FILE *open_file(const char *root, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, name);
	return fopen(path, "re");
}

/* Searches a table of UDP sockets for the local port. Returns false if the file is unreadable. */
static bool search_sockets(const char *root, const char *name, bool *found)
{
	FILE *file = open_file(root, name);
	unsigned int port;
	char line[512];

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " %*[0-9]: %*[0-9A-Fa-f]:%x", &port) == 1 && port == ROCE_PORT)
			*found = true;
	fclose(file);
	return true;
}

bool routing_domains_lack_roce(const char *root)
{
	bool found = false;
	bool readable = search_sockets(root, "/proc/net/udp", &found);

	/* Without IPv6, the second table does not exist. */
	(void)search_sockets(root, "/proc/net/udp6", &found);
	return readable && !found;
}

void routing_domains_duplicates(const char *root, char *text, size_t size)
{
	FILE *file = open_file(root, "/proc/net/if_inet6");
	char line[256], digits[33], name[IF_NAMESIZE], address[INET6_ADDRSTRLEN];
	struct in6_addr bytes;
	unsigned int flags;

	*text = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%32[0-9a-f] %*x %*x %*x %x %15s", digits, &flags, name) != 3 ||
			!(flags & DAD_FAILED) || strlen(digits) != 32)
			continue;
		for (size_t i = 0; i < sizeof(bytes.s6_addr); i++)
			(void)sscanf(digits + 2 * i, "%2hhx", &bytes.s6_addr[i]);
		inet_ntop(AF_INET6, &bytes, address, sizeof(address));
		text_append(text, size, "%s%s (%s)", *text ? ", " : "", address, name);
	}
	if (file)
		fclose(file);
	text_printable(text);
}

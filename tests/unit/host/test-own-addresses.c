/* Which addresses of the interfaces are listed, and in which order. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>

#include "base/address.h"
#include "host/own-addresses.h"
#include "tests/unit/unit.h"

static struct ifaddrs interfaces[8];
static struct sockaddr_storage storage[8];
static size_t count;
static int fails;

int getifaddrs(struct ifaddrs **list)
{
	*list = interfaces;
	return fails;
}

void freeifaddrs(struct ifaddrs *list)
{
	assert_ptr_equal(list, interfaces);
}

static void add(const char *name, const char *text, unsigned int flags)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&storage[count];
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage[count];

	storage[count] = (struct sockaddr_storage){0};
	if (text && inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		v4->sin_family = AF_INET;
	else if (text && inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
		v6->sin6_family = AF_INET6;
	interfaces[count] = (struct ifaddrs){.ifa_name = (char *)name,
		.ifa_flags = flags,
		.ifa_addr = text ? (struct sockaddr *)&storage[count] : NULL};
	if (count > 0)
		interfaces[count - 1].ifa_next = &interfaces[count];
	count++;
}

static void expect(const struct own_address *one, const char *text, const char *interface)
{
	char address[ADDRESS_TEXT_SIZE];

	address_text((const struct sockaddr *)&one->address, address);
	assert_string_equal(address, text);
	assert_string_equal(one->interface, interface);
}

static void usable_ones_are_listed_ipv4_first(void **state)
{
	struct own_address all[8];

	(void)state;
	add("lo", "127.0.0.1", IFF_UP);
	add("lo", "::1", IFF_UP);
	add("eth0", "fd00::1", IFF_UP);
	add("eth0", "fe80::1", IFF_UP);
	add("eth1", NULL, IFF_UP);
	add("eth1", "10.0.0.1", IFF_UP);
	add("eth2", "10.0.0.2", 0);
	assert_int_equal(own_addresses(all, COUNT(all)), 2);
	expect(&all[0], "10.0.0.1", "eth1");
	expect(&all[1], "fd00::1", "eth0");
	assert_int_equal(own_addresses(all, 1), 1);
	expect(&all[0], "10.0.0.1", "eth1");
	fails = -1;
	assert_int_equal(own_addresses(all, COUNT(all)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(usable_ones_are_listed_ipv4_first)};

	return cmocka_run_group_tests_name("own addresses", tests, NULL, NULL);
}

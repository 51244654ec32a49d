/*
 * Tests converting addresses between text and binary form: IPv4 and IPv6, with and without a scope
 * ID.
 */
#include <netinet/in.h>
#include <string.h>

#include "base/address.h"
#include "tests/unit/unit.h"

#define MINUTE 60000

static void parses_and_prints_numeric_addresses(void **state)
{
	static const struct {
		const char *host;
		int family;
		uint16_t port;
		const char *text, *port_text;
	} cases[] = {
		{"10.0.0.1", AF_INET, 7471, "10.0.0.1", "10.0.0.1:7471"},
		{"255.255.255.255", AF_INET, 65535, "255.255.255.255", "255.255.255.255:65535"},
		{"0.0.0.0", AF_INET, 0, "0.0.0.0", "0.0.0.0:0"},
		{"::1", AF_INET6, 1, "::1", "[::1]:1"},
		{"::", AF_INET6, 0, "::", "[::]:0"},
		{"FD00:0:0::1", AF_INET6, 7471, "fd00::1", "[fd00::1]:7471"},
		{"::ffff:10.0.0.1", AF_INET6, 7471, "::ffff:10.0.0.1", "[::ffff:10.0.0.1]:7471"},
		{"fe80::1%lo", AF_INET6, 7471, "fe80::1%lo", "[fe80::1%lo]:7471"},
		{"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", AF_INET6, 65535,
			"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
			"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct addrinfo *list;
		char text[ADDRESS_TEXT_SIZE];

		if (address_find(cases[i].host, cases[i].port, AF_UNSPEC, MINUTE, &list))
			fail_msg("%s is not found", cases[i].host);
		assert_int_equal(list->ai_family, cases[i].family);
		assert_int_equal(address_length(list->ai_addr), list->ai_addrlen);
		address_text(list->ai_addr, text);
		assert_string_equal(text, cases[i].text);
		address_port_text(list->ai_addr, text);
		assert_string_equal(text, cases[i].port_text);
		freeaddrinfo(list);
	}
}

static void resolves_host_names(void **state)
{
	struct addrinfo *list;
	char text[ADDRESS_TEXT_SIZE];

	(void)state;
	assert_int_equal(address_find("localhost", 7, AF_INET, MINUTE, &list), 0);
	address_port_text(list->ai_addr, text);
	assert_string_equal(text, "127.0.0.1:7");
	freeaddrinfo(list);
}

static void reports_unknown_names(void **state)
{
	static const struct {
		const char *host;
		int family;
	} cases[] = {
		{"no-such-host.invalid", AF_UNSPEC}, /* RFC 6761: .invalid never resolves */
		{"", AF_UNSPEC},
		{"fe80::1%no-such-interface", AF_UNSPEC},
		{"::1", AF_INET},
		{"10.0.0.1", AF_INET6},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct addrinfo *list;

		check_case(cases[i].host,
			address_find(cases[i].host, 7, cases[i].family, MINUTE, &list));
	}
}

static void prints_a_placeholder_for_unknown_families(void **state)
{
	struct sockaddr_storage address = {.ss_family = AF_APPLETALK};
	char text[ADDRESS_TEXT_SIZE];

	(void)state;
	memset(text, 'x', sizeof(text));
	address_text((struct sockaddr *)&address, text);
	assert_string_equal(text, "(unknown address)");
	address_port_text((struct sockaddr *)&address, text);
	assert_string_equal(text, "(unknown address)");
}

static void compares_addresses(void **state)
{
	static const char *const hosts[] = {
		"10.0.0.1", "10.0.0.2", "::ffff:10.0.0.1", "fd00::1", "fe80::1", "fe80::1%lo"};
	struct addrinfo *one, *other;

	(void)state;
	for (size_t i = 0; i < COUNT(hosts); i++)
		for (size_t j = 0; j < COUNT(hosts); j++) {
			assert_int_equal(address_find(hosts[i], 7, AF_UNSPEC, MINUTE, &one), 0);
			assert_int_equal(address_find(hosts[j], 8, AF_UNSPEC, MINUTE, &other), 0);
			check_case(
				hosts[j], address_equal(one->ai_addr, other->ai_addr) == (i == j));
			freeaddrinfo(one);
			freeaddrinfo(other);
		}
}

static void knows_loopback_addresses(void **state)
{
	static const char *const loopback[] = {"127.0.0.1", "127.255.255.254", "::1"};
	static const char *const others[] = {"10.0.0.1", "128.0.0.1", "::2", "fe80::1"};
	struct addrinfo *found;

	(void)state;
	for (size_t i = 0; i < COUNT(loopback); i++) {
		assert_int_equal(address_find(loopback[i], 7, AF_UNSPEC, MINUTE, &found), 0);
		check_case(loopback[i], address_is_loopback(found->ai_addr));
		freeaddrinfo(found);
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		assert_int_equal(address_find(others[i], 7, AF_UNSPEC, MINUTE, &found), 0);
		check_case(others[i], !address_is_loopback(found->ai_addr));
		freeaddrinfo(found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_and_prints_numeric_addresses),
		cmocka_unit_test(resolves_host_names),
		cmocka_unit_test(reports_unknown_names),
		cmocka_unit_test(compares_addresses),
		cmocka_unit_test(knows_loopback_addresses),
		cmocka_unit_test(prints_a_placeholder_for_unknown_families),
	};

	return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}

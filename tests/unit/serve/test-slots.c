/* The server's slots: which clients get a slot, and which client may be evicted. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "serve/slots.h"
#include "tests/unit/unit.h"

#define IDLE_TIMEOUT 1000

/* Parses an IPv4 or IPv6 address. The results of the last two calls stay valid. */
static const struct sockaddr *from(const char *text)
{
	static struct sockaddr_storage kept[2];
	static unsigned int next;
	struct sockaddr_storage *address = &kept[next++ % 2];
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;

	/* Port and padding must not affect the comparison. */
	memset(address, 0x5a, sizeof(*address));
	address->ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	if (strchr(text, ':'))
		assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
	else
		assert_int_equal(inet_pton(AF_INET, text, &v4->sin_addr), 1);
	v4->sin_port = htons((uint16_t)next);
	return (const struct sockaddr *)address;
}

static void take(struct slots *slots, struct slot *slot, const char *address, deadline_t now)
{
	assert_int_equal(slots_state(slots, from(address)), SLOTS_FREE);
	slots_take(slots, slot, from(address), now);
}

static void slots_are_limited(void **state)
{
	struct slot held[3] = {0}, beyond = {0};
	struct slots slots;

	(void)state;
	slots_init(&slots, 3, 0, IDLE_TIMEOUT);
	for (size_t i = 0; i < COUNT(held); i++)
		take(&slots, &held[i], "10.0.0.1", 0);
	assert_int_equal(slots_state(&slots, from("10.0.0.1")), SLOTS_FULL);
	assert_int_equal(slots_state(&slots, from("fd00::1")), SLOTS_FULL);
	/* Slots taken beyond the capacity must be released before one is free again. */
	slots_take(&slots, &beyond, from("10.0.0.2"), 0);
	assert_int_equal(slots.taken, 4);
	slots_release(&slots, &held[1]);
	assert_int_equal(slots_state(&slots, from("10.0.0.1")), SLOTS_FULL);
	slots_release(&slots, &held[0]);
	assert_int_equal(slots_state(&slots, from("10.0.0.1")), SLOTS_FREE);
	/* Releasing a slot twice has no effect. */
	slots_release(&slots, &held[0]);
	assert_int_equal(slots.taken, 2);
	take(&slots, &held[0], "10.0.0.1", 0);
	assert_int_equal(slots_state(&slots, from("10.0.0.1")), SLOTS_FULL);
}

static void slots_per_address_are_limited(void **state)
{
	struct slot held[5] = {0};
	struct slots slots;

	(void)state;
	slots_init(&slots, 4, 2, IDLE_TIMEOUT);
	take(&slots, &held[0], "10.0.0.1", 0);
	take(&slots, &held[1], "10.0.0.1", 0);
	assert_int_equal(slots_state(&slots, from("10.0.0.1")), SLOTS_FULL_ADDRESS);
	take(&slots, &held[2], "10.0.0.2", 0);
	take(&slots, &held[3], "10.0.0.3", 0);
	/*
	 * If both limits are reached, the address limit is reported, because the client can act on
	 * it.
	 */
	assert_int_equal(slots_state(&slots, from("10.0.0.1")), SLOTS_FULL_ADDRESS);
	assert_int_equal(slots_state(&slots, from("10.0.0.2")), SLOTS_FULL);
	slots_release(&slots, &held[0]);
	take(&slots, &held[4], "10.0.0.1", 0);
}

/* IPv4-mapped addresses count as IPv4, and IPv6 addresses by their /64 prefix. */
static void addresses_of_one_host_count_together(void **state)
{
	static const struct {
		const char *one, *other;
		bool same;
	} cases[] = {
		{"10.0.0.1", "10.0.0.1", true},
		{"10.0.0.1", "10.0.0.2", false},
		{"10.0.0.1", "11.0.0.1", false},
		{"10.0.0.1", "::ffff:10.0.0.1", true},
		{"::ffff:10.0.0.1", "::ffff:10.0.0.1", true},
		{"::ffff:10.0.0.1", "::ffff:10.0.0.2", false},
		{"10.0.0.1", "::10.0.0.1", false},
		{"0.0.0.0", "::", false},
		{"fd00::1", "fd00::1", true},
		{"fd00::1", "fd00::ffff:ffff:ffff:ffff", true},
		{"fd00::1", "fd00:0:0:1::1", false},
		{"fd00::1", "fd01::1", false},
		{"2001:db8:1:2::1", "2001:db8:1:2:8000::", true},
		{"2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"fe80::1", "fe80::2", true},
		{"10.0.0.1", "fe80::1", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) * 2; i++) {
		const char *one = cases[i / 2].one, *other = cases[i / 2].other;
		struct slot held = {0};
		struct slots slots;

		slots_init(&slots, 9, 1, IDLE_TIMEOUT);
		take(&slots, &held, i & 1 ? other : one, 0);
		check_case(other, (slots_state(&slots, from(i & 1 ? one : other)) ==
					  SLOTS_FULL_ADDRESS) == cases[i / 2].same);
	}
}

static void the_least_recently_active_holder_is_evictable(void **state)
{
	struct slot held[3] = {0};
	struct slots slots;

	(void)state;
	slots_init(&slots, 3, 0, IDLE_TIMEOUT);
	for (size_t i = 0; i < COUNT(held); i++)
		take(&slots, &held[i], "10.0.0.1", (deadline_t)(100 * i));
	/* Not evictable during the handshake, which has its own deadline. */
	assert_null(slots_evictable(&slots, from("10.0.0.9"), 100000));
	for (size_t i = 0; i < COUNT(held); i++)
		held[i].evictable = true;
	assert_null(slots_evictable(&slots, from("10.0.0.9"), IDLE_TIMEOUT));
	assert_ptr_equal(slots_evictable(&slots, from("10.0.0.9"), IDLE_TIMEOUT + 1), &held[0]);
	slot_active(&held[0], 50);
	assert_null(slots_evictable(&slots, from("10.0.0.9"), IDLE_TIMEOUT + 50));
	assert_ptr_equal(slots_evictable(&slots, from("10.0.0.9"), IDLE_TIMEOUT + 51), &held[0]);
	/* Evicts the holder that has been inactive longest, not the oldest holder. */
	slot_active(&held[0], 300);
	assert_ptr_equal(slots_evictable(&slots, from("10.0.0.9"), 100000), &held[1]);
	slot_active(&held[1], 99999);
	assert_ptr_equal(slots_evictable(&slots, from("10.0.0.9"), 100000), &held[2]);
	/* An older time does not move the last activity back. */
	slot_active(&held[0], 10);
	assert_ptr_equal(slots_evictable(&slots, from("10.0.0.9"), 100000), &held[2]);
	for (size_t i = 0; i < COUNT(held); i++)
		slot_active(&held[i], 100000);
	assert_null(slots_evictable(&slots, from("10.0.0.9"), 100000));
}

static void an_address_at_its_limit_evicts_its_own_slot(void **state)
{
	struct slot held[4] = {0};
	struct slots slots;

	(void)state;
	slots_init(&slots, 4, 2, IDLE_TIMEOUT);
	take(&slots, &held[0], "10.0.0.1", 0);
	take(&slots, &held[1], "10.0.0.2", 10);
	take(&slots, &held[2], "10.0.0.2", 5);
	held[0].evictable = held[1].evictable = held[2].evictable = true;
	/* A slot is free, but not for this address, so evicting another address would not help. */
	assert_ptr_equal(slots_evictable(&slots, from("10.0.0.2"), 5000), &held[2]);
	slot_active(&held[1], 5000);
	slot_active(&held[2], 5000);
	assert_null(slots_evictable(&slots, from("10.0.0.2"), 5000));
	/* Nor would it help when all slots are taken. */
	take(&slots, &held[3], "10.0.0.3", 5000);
	assert_null(slots_evictable(&slots, from("10.0.0.2"), 5000));
	/* An address below its limit may evict a holder at any other address. */
	assert_ptr_equal(slots_evictable(&slots, from("10.0.0.3"), 5000), &held[0]);
}

static void a_slot_is_reused(void **state)
{
	struct slot held = {0};
	struct slots slots;

	(void)state;
	slots_init(&slots, 1, 0, IDLE_TIMEOUT);
	held.holder = &slots;
	take(&slots, &held, "10.0.0.1", 0);
	held.evictable = true;
	slots_release(&slots, &held);
	take(&slots, &held, "10.0.0.2", 7000);
	assert_null(slots_evictable(&slots, from("10.0.0.1"), 100000));
	held.evictable = true;
	assert_null(slots_evictable(&slots, from("10.0.0.1"), 7000 + IDLE_TIMEOUT));
	assert_ptr_equal(slots_evictable(&slots, from("10.0.0.1"), 7001 + IDLE_TIMEOUT), &held);
	assert_ptr_equal(held.holder, &slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_limited),
		cmocka_unit_test(slots_per_address_are_limited),
		cmocka_unit_test(addresses_of_one_host_count_together),
		cmocka_unit_test(the_least_recently_active_holder_is_evictable),
		cmocka_unit_test(an_address_at_its_limit_evicts_its_own_slot),
		cmocka_unit_test(a_slot_is_reused),
	};

	return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}

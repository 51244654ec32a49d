/* The answers to ARP requests: parsing, and a host with two interfaces in one subnet. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/neighbour-answers.h"
#include "tests/unit/common/network-fixture.h"
#include "tests/unit/unit.h"

static struct ether_arp make_answer(const char *address, unsigned char last)
{
	struct ether_arp arp = {
		.ea_hdr = {htons(1), htons(ETHERTYPE_IP), ETH_ALEN, 4, htons(ARPOP_REPLY)},
		.arp_sha = {2, 0, 0, 0, 0, last},
	};

	inet_pton(AF_INET, address, arp.arp_spa);
	return arp;
}

static void counts_each_sender_of_an_answer_once(void **state)
{
	struct sockaddr_storage address = net_address(FAR);
	struct neighbour_answers answers = {0};
	struct ether_arp arp = make_answer(FAR, 1);
	char text[128];

	(void)state;
	neighbour_answers_add(&answers, (struct sockaddr *)&address, &arp, sizeof(arp) - 1);
	assert_int_equal(answers.count, 0);
	neighbour_answers_add(&answers, (struct sockaddr *)&address, &arp, sizeof(arp));
	neighbour_answers_add(&answers, (struct sockaddr *)&address, &arp, sizeof(arp));
	assert_int_equal(answers.count, 1);
	arp = make_answer(NEAR, 2);
	neighbour_answers_add(&answers, (struct sockaddr *)&address, &arp, sizeof(arp));
	arp = make_answer(FAR, 3);
	arp.ea_hdr.ar_op = htons(ARPOP_REQUEST);
	neighbour_answers_add(&answers, (struct sockaddr *)&address, &arp, sizeof(arp));
	assert_int_equal(answers.count, 1);
	for (unsigned char i = 1; i <= NEIGHBOUR_ANSWERS_MAX + 1; i++) {
		arp = make_answer(FAR, i);
		neighbour_answers_add(&answers, (struct sockaddr *)&address, &arp, sizeof(arp));
	}
	assert_int_equal(answers.count, NEIGHBOUR_ANSWERS_MAX);
	neighbour_answers_list(&answers, text, sizeof(text));
	assert_string_equal(text, "02:00:00:00:00:01, 02:00:00:00:00:02, 02:00:00:00:00:03, "
				  "02:00:00:00:00:04 and more");
}

static void ask(const char *text, struct neighbour_answers *answers)
{
	struct sockaddr_storage address = net_address(text), source = {0};
	bool v4 = address.ss_family == AF_INET;

	source = net_address(NEAR);
	neighbour_answers_find(if_nametoindex("near0"), (struct sockaddr *)&address,
		v4 ? (struct sockaddr *)&source : NULL, answers);
}

static void asks_the_network(void **state)
{
	struct neighbour_answers answers;

	(void)state;
	net_make();
	ask(FAR, &answers);
	assert_true(answers.asked);
	assert_int_equal(answers.count, 1);
	ask("10.9.0.77", &answers);
	assert_true(answers.asked);
	assert_int_equal(answers.count, 0);
	ask("fd09::2", &answers);
	assert_false(answers.asked);
	assert_int_equal(answers.error, EAFNOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_each_sender_of_an_answer_once),
		cmocka_unit_test(asks_the_network),
	};

	return cmocka_run_group_tests_name("neighbour-answers", tests, NULL, NULL);
}

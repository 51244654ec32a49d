/* The choice of a pair of GIDs, and what is said if none fits. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "verbs/path-choice.h"

static bool reachable;
static unsigned int lookups;

static bool reaches(const struct path_candidate *from, const struct tcp_gid *to, bool same_host)
{
	(void)from, (void)to, (void)same_host;
	lookups++;
	return reachable;
}

static struct tcp_gid gid(const char *text, enum tcp_gid_type type)
{
	struct tcp_gid made = {.type = type, .mtu = 3, .pkey = 0xffff};

	assert_int_equal(inet_pton(AF_INET6, text, made.gid), 1);
	return made;
}

static void add(struct path_candidates *candidates, struct tcp_gid its)
{
	candidates->all[candidates->count++] = (struct path_candidate){.gid = its};
}

#define V1      gid("::ffff:10.0.0.1", TCP_GID_ROCE_V1)
#define V2      gid("::ffff:10.0.0.1", TCP_GID_ROCE_V2)
#define V2_IPV6 gid("fd00::1", TCP_GID_ROCE_V2)
#define V2_LINK gid("fe80::1", TCP_GID_ROCE_V2)
#define IB      gid("fe80::2", TCP_GID_INFINIBAND)
#define IB_FAR  gid("fec0::2", TCP_GID_INFINIBAND)

static struct tcp_gid with_pkey(struct tcp_gid its, uint16_t pkey)
{
	its.pkey = pkey;
	return its;
}

static void each_fault_is_named(void **state)
{
	const struct {
		struct tcp_gid here, there;
		bool reachable;
		enum path_fault fault;
	} cases[] = {
		{V2, V2, true, PATH_FINE},
		{V1, V1, true, PATH_FINE},
		{V2_LINK, V2_LINK, false, PATH_FINE}, /* no route tells */
		{IB, IB, false, PATH_FINE},
		{V2, IB, true, PATH_OTHER_LAYER},
		{IB, V1, true, PATH_OTHER_LAYER},
		{V1, V2, true, PATH_OTHER_VERSION},
		{V2, V1, true, PATH_OTHER_VERSION},
		{V2_LINK, V2, true, PATH_LINK_LOCAL},
		{V2, V2_LINK, true, PATH_LINK_LOCAL},
		{V2, V2_IPV6, true, PATH_OTHER_FAMILY},
		{V2_IPV6, V2, true, PATH_OTHER_FAMILY},
		{V2_IPV6, V2_IPV6, true, PATH_FINE},
		{V2, gid("::ffff:10.0.0.1", TCP_GID_TYPES), true, PATH_OTHER_VERSION},
		{IB, IB_FAR, true, PATH_OTHER_SUBNET},
		{with_pkey(IB, 0x8001), IB, true, PATH_OTHER_PKEY},
		{with_pkey(IB, 0x7fff), IB, true, PATH_FINE},
		{with_pkey(IB, 0x7fff), with_pkey(IB, 0x7fff), true, PATH_OTHER_PKEY},
		{V2, V2, false, PATH_NO_ROUTE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct tcp_offer offer = {.count = 1, .gids = {cases[i].there}};
		struct path_candidates ours = {0};
		struct tcp_path path;
		unsigned int own;

		add(&ours, cases[i].here);
		reachable = cases[i].reachable;
		path_choose(&offer, &ours, false, reaches, &path, &own);
		if (path.refusal != cases[i].fault)
			fail_msg("case %zu: %d", i, path.refusal);
		assert_int_equal(path.count, 1);
		assert_memory_equal(&path.gids[0], &cases[i].here, sizeof(cases[i].here));
	}
}

/* The client's order decides, then the server's. */
static void the_first_pair_that_fits_is_chosen(void **state)
{
	const struct tcp_offer offer = {.count = 3, .gids = {IB, V2, V1}};
	struct path_candidates ours = {0};
	struct tcp_path path;
	unsigned int own = 99;

	(void)state;
	reachable = true;
	add(&ours, V2_LINK);
	add(&ours, V1);
	add(&ours, V2);
	add(&ours, V2);
	path_choose(&offer, &ours, false, reaches, &path, &own);
	assert_int_equal(path.refusal, PATH_FINE);
	assert_int_equal(path.chosen, 1);
	assert_int_equal(own, 2);
	assert_int_equal(path.count, 4);
	assert_int_equal(path.gids[0].type, TCP_GID_ROCE_V2);
	assert_int_equal(path.gids[1].gid[0], 0xfe);
}

static struct tcp_gid on(const char *interface, bool carries_tcp, struct tcp_gid its)
{
	snprintf(its.interface, sizeof(its.interface), "%s", interface);
	its.carries_tcp = carries_tcp;
	return its;
}

/* Link-local GIDs say nothing of their link: the interfaces do. */
static void link_local_pairs_are_guessed(void **state)
{
	const struct tcp_offer carried = {.count = 1, .gids = {on("a", true, V2_LINK)}},
			       rail = {.count = 1, .gids = {on("rail1", false, V2_LINK)}},
			       both = {.count = 2, .gids = {on("rail1", false, V2_LINK), V2}};
	struct path_candidates ours = {0};
	struct tcp_path path;
	unsigned int own = 99;

	(void)state;
	reachable = true;
	add(&ours, on("rail0", false, V2_LINK));
	add(&ours, on("a", false, V2_LINK));
	add(&ours, on("rail1", false, V2_LINK));
	add(&ours, on("b", true, V2_LINK));
	path_choose(&carried, &ours, false, reaches, &path, &own);
	assert_int_equal(path.refusal, PATH_FINE);
	assert_int_equal(own, 3);
	path_choose(&rail, &ours, false, reaches, &path, &own);
	assert_int_equal(own, 2);
	assert_string_equal(path.gids[0].interface, "rail1");
	path_choose(&rail, &ours, true, reaches, &path, &own);
	assert_int_equal(own, 2);
	/* On one host, another interface is another link. */
	path_choose(&carried, &ours, true, reaches, &path, &own);
	assert_int_equal(path.refusal, PATH_FINE);
	assert_int_equal(own, 1);
	ours.count = 1;
	path_choose(&rail, &ours, true, reaches, &path, &own);
	assert_int_equal(path.refusal, PATH_NO_ROUTE);
	path_choose(&rail, &ours, false, reaches, &path, &own);
	assert_int_equal(path.refusal, PATH_FINE);
	/* Addresses that routes lead to are better. */
	add(&ours, V2);
	path_choose(&both, &ours, false, reaches, &path, &own);
	assert_int_equal(own, 1);
	assert_int_equal(path.chosen, 1);
}

static void a_client_cannot_cause_any_number_of_lookups(void **state)
{
	struct tcp_offer offer = {.count = TCP_GIDS_MAX};
	struct path_candidates ours = {0};
	struct tcp_path path;
	unsigned int own;

	(void)state;
	for (unsigned int i = 0; i < TCP_GIDS_MAX; i++) {
		offer.gids[i] = V2;
		add(&ours, V2);
	}
	reachable = false;
	lookups = 0;
	path_choose(&offer, &ours, false, reaches, &path, &own);
	assert_int_equal(path.refusal, PATH_NO_ROUTE);
	assert_int_equal(lookups, PATH_LOOKUPS);
}

static void the_pair_that_comes_closest_explains(void **state)
{
	const struct tcp_offer offer = {.count = 2, .gids = {V2, V2_LINK}}, none = {0};
	struct path_candidates ours = {0};
	struct tcp_path path;
	unsigned int own;

	(void)state;
	path_choose(&offer, &ours, false, reaches, &path, &own);
	assert_int_equal(path.refusal, PATH_NO_PORT);
	assert_int_equal(path.count, 0);
	add(&ours, IB);
	add(&ours, V1);
	path_choose(&offer, &ours, false, reaches, &path, &own);
	assert_int_equal(path.refusal, PATH_OTHER_VERSION);
	assert_int_equal(path.count, 2);
	path_choose(&none, &ours, false, reaches, &path, &own);
	assert_int_equal(path.refusal, PATH_NO_PORT);
}

static void a_refusal_shows_both_gids(void **state)
{
	const struct tcp_offer ours = {.count = 1, .gids = {V2}};
	struct tcp_path theirs = {.refusal = PATH_LINK_LOCAL, .count = 1, .gids = {V2_LINK}};
	struct failure failure = {0};

	(void)state;
	assert_int_equal(path_refused(&failure, &ours, &theirs), -1);
	assert_int_equal(failure.kind, FAILURE_PATH);
	assert_int_equal(failure.code, PATH_LINK_LOCAL);
	assert_string_equal(failure.evidence,
		"here 10.0.0.1 (RoCE v2, index 0), there fe80::1 (RoCE v2, index 0)");
	failure = (struct failure){0};
	theirs.count = 0;
	path_refused(&failure, &ours, &theirs);
	assert_string_equal(failure.evidence, "here 10.0.0.1 (RoCE v2, index 0), there no GID");
}

static void an_offer_lists_the_candidates(void **state)
{
	struct path_candidates ours = {0};
	struct tcp_offer offer;

	(void)state;
	add(&ours, V2);
	add(&ours, V1);
	path_offer(&ours, &offer);
	assert_int_equal(offer.count, 2);
	assert_int_equal(offer.gids[1].type, TCP_GID_ROCE_V1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_is_named),
		cmocka_unit_test(the_first_pair_that_fits_is_chosen),
		cmocka_unit_test(link_local_pairs_are_guessed),
		cmocka_unit_test(a_client_cannot_cause_any_number_of_lookups),
		cmocka_unit_test(the_pair_that_comes_closest_explains),
		cmocka_unit_test(a_refusal_shows_both_gids),
		cmocka_unit_test(an_offer_lists_the_candidates),
	};

	return cmocka_run_group_tests_name("path-choice", tests, NULL, NULL);
}

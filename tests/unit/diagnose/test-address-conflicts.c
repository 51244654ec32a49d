/* Which failures several MAC addresses explain, and which they do not. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/address-conflicts.h"
#include "diagnose/checks.h"
#include "tests/unit/common/network-fixture.h"
#include "tests/unit/unit.h"

#define ONE "02:00:00:00:00:01"
#define TWO "02:00:00:00:00:02"

static struct reach_route route;

/* These MAC addresses answered for the far host; NULL: none. */
static struct address_conflicts *answered(const char *first, const char *second)
{
	static struct address_conflicts conflicts;
	const char *const hardware[] = {first, second};

	memset(&conflicts, 0, sizeof(conflicts));
	route = (struct reach_route){.address = net_address(FAR)};
	for (size_t i = 0; i < COUNT(hardware); i++)
		if (hardware[i])
			strcpy(conflicts.answers.hardware[conflicts.answers.count++], hardware[i]);
	return &conflicts;
}

/* Returns the failure after the decision; evidence: the expected one, NULL: the failure is kept. */
static void check_blame(const struct address_conflicts *conflicts, enum failure_kind kind,
	enum phase phase, int code, const char *evidence)
{
	struct failure failure = {.kind = kind, .phase = phase, .code = code, .evidence = "seen"};

	address_conflicts_blame(conflicts, &route, &failure);
	if (!evidence) {
		assert_int_equal(failure.kind, kind);
		assert_int_equal(failure.code, code);
		assert_string_equal(failure.evidence, "seen");
		return;
	}
	assert_int_equal(failure.kind, FAILURE_ADDRESS);
	assert_int_equal(failure.code, ADDRESS_CONTESTED);
	assert_string_equal(failure.evidence, evidence);
}

static void several_answers_explain_silence(void **state)
{
	struct address_conflicts *conflicts = answered(ONE, TWO);

	(void)state;
	check_blame(
		conflicts, FAILURE_DEADLINE, PHASE_CONNECT, ETIMEDOUT, ONE ", " TWO " answered");
	strcpy(conflicts->hardware, TWO);
	check_blame(conflicts, FAILURE_COMPLETION, PHASE_CONNECT, IBV_WC_RETRY_EXC_ERR,
		TWO " was used; " ONE ", " TWO " answered");
	check_blame(conflicts, FAILURE_ERRNO, PHASE_CONNECT, ETIMEDOUT,
		TWO " was used; " ONE ", " TWO " answered");
}

static void several_answers_explain_nothing_else(void **state)
{
	const struct address_conflicts *conflicts = answered(ONE, TWO);

	(void)state;
	/* The peer's packets arrive here, or those to it do not leave. */
	check_blame(conflicts, FAILURE_DEADLINE, PHASE_CONNECT, CODE_REPLY_DROPPED, NULL);
	check_blame(conflicts, FAILURE_DEADLINE, PHASE_CONNECT, CODE_REQUEST_DROPPED, NULL);
	check_blame(conflicts, FAILURE_DEADLINE, PHASE_ADDRESS, ETIMEDOUT, NULL);
	/* The connection was made, and messages may have passed. */
	check_blame(conflicts, FAILURE_DEADLINE, PHASE_EXCHANGE, CODE_DIAGNOSIS, NULL);
	check_blame(conflicts, FAILURE_COMPLETION, PHASE_EXCHANGE, IBV_WC_RETRY_EXC_ERR, NULL);
	check_blame(conflicts, FAILURE_ERRNO, PHASE_EXCHANGE, ETIMEDOUT, NULL);
	check_blame(conflicts, FAILURE_REJECTED, PHASE_CONNECT, REJECTED_NO_LISTENER, NULL);
	check_blame(conflicts, FAILURE_GONE, PHASE_EXCHANGE, CODE_DIAGNOSIS, NULL);
	check_blame(conflicts, FAILURE_ERRNO, PHASE_CONNECT, ECONNREFUSED, NULL);
	check_blame(answered(ONE, NULL), FAILURE_DEADLINE, PHASE_CONNECT, ETIMEDOUT, NULL);
	check_blame(answered(NULL, NULL), FAILURE_DEADLINE, PHASE_CONNECT, ETIMEDOUT, NULL);
}

static void a_change_explains_silence(void **state)
{
	struct address_conflicts *conflicts;

	(void)state;
	net_make();
	conflicts = answered(NULL, NULL);
	route.route.interface = if_nametoindex("near0");
	net_near("neighbour replace " FAR " lladdr " TWO " dev near0 nud permanent");
	strcpy(conflicts->hardware, TWO);
	check_blame(conflicts, FAILURE_DEADLINE, PHASE_CONNECT, ETIMEDOUT, NULL);
	strcpy(conflicts->hardware, ONE);
	check_blame(conflicts, FAILURE_DEADLINE, PHASE_CONNECT, ETIMEDOUT,
		ONE " was used, later " TWO "; unknown which answered");
	/* Also after the connection was made: the kernel may choose anew at any time. */
	check_blame(conflicts, FAILURE_DEADLINE, PHASE_EXCHANGE, CODE_DIAGNOSIS,
		ONE " was used, later " TWO "; unknown which answered");
}

/* What answers for the next hop is not the host. */
static void a_gateway_is_named(void **state)
{
	struct failure failure = {.kind = FAILURE_DEADLINE, .phase = PHASE_CONNECT};
	struct address_conflicts *conflicts = answered(ONE, TWO);
	struct reach_neighbour neighbour = {0};
	struct check_list list;
	char text[1024];

	(void)state;
	net_make();
	check_list_init(&list, diagnose_checks, "10.97.0.1");
	route.address = net_address("10.97.0.1");
	route.route.gateway = neighbour.address = net_address(FAR);
	route.route.interface = if_nametoindex("near0");
	address_conflicts_blame(conflicts, &route, &failure);
	assert_int_equal(failure.code, ADDRESS_GATEWAY);
	assert_string_equal(failure.evidence, "gateway " FAR ": " ONE ", " TWO " answered");
	address_conflicts_ask(conflicts, &route, &neighbour, &list);
	check_list_fail(&list, CHECK_CONNECTION, &failure);
	check_list_lines(&list, CHECK_CONNECTION, 0, text, sizeof(text));
	assert_non_null(strstr(text, "several MAC addresses answer ARP for the gateway\n"));
	assert_non_null(strstr(text, "look: ip neighbour show to " FAR));
}

/* Several answers need a second interface in the subnet: tests/two-hosts/verdicts.bats. */
static void a_single_answer_is_no_warning(void **state)
{
	struct reach_neighbour neighbour = {0};
	struct check_list list = {0};
	struct address_conflicts *conflicts;

	(void)state;
	net_make();
	conflicts = answered(NULL, NULL);
	neighbour.address = net_address(FAR);
	route.route.interface = if_nametoindex("near0");
	address_conflicts_ask(conflicts, &route, &neighbour, &list);
	assert_int_equal(conflicts->answers.count, 1);
	assert_string_equal(list.checks[CHECK_NEIGHBOUR].warning, "");
	neighbour.needless = true;
	address_conflicts_ask(conflicts, &route, &neighbour, &list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_answers_explain_silence),
		cmocka_unit_test(several_answers_explain_nothing_else),
		cmocka_unit_test(a_change_explains_silence),
		cmocka_unit_test(a_gateway_is_named),
		cmocka_unit_test(a_single_answer_is_no_warning),
	};

	return cmocka_run_group_tests_name("address-conflicts", tests, NULL, NULL);
}

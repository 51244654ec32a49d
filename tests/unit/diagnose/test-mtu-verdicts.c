/* Which MTUs are a fault: those that RDMA packets may exceed. */
#include <stdio.h>
#include <string.h>

#include "diagnose/checks.h"
#include "diagnose/mtu-verdicts.h"
#include "tests/unit/common/inventory-fixture.h"
#include "tests/unit/unit.h"

static struct host host;
static struct diagnosis diagnosis;

/* The route uses the only device of this host, of this type. */
static void make_diagnosis(const char *type)
{
	make_small_host(&host);
	strcpy(host.inventory.devices[0].type, type);
	memset(&diagnosis, 0, sizeof(diagnosis));
	check_list_init(&diagnosis.list, diagnose_checks, "10.9.0.2");
	diagnosis.inventory = host.inventory;
	diagnosis.device = host.inventory.devices;
	diagnosis.port = host.inventory.devices[0].ports;
}

/* Records a path through which datagrams of this size arrive, of the 1,500 of the interface. */
static void record_path(const char *type, unsigned int proven, bool inferred)
{
	struct path_mtu path = {.inferred = inferred, .evidence = "sizes"};

	make_diagnosis(type);
	path.found.proven = proven;
	mtu_verdicts_path(&diagnosis, &path);
}

static void a_path_that_rdma_fits_is_good(void **state)
{
	static const char warning[] =
		"packets as large as the MTU of this host do not reach the other host, "
		"but RDMA packets of up to 1128 bytes fit";

	(void)state;
	for (int inferred = 0; inferred < 2; inferred++) {
		record_path("CA", 1128, inferred);
		assert_int_equal(diagnosis.list.checks[CHECK_PATH].state, CHECK_OK);
		assert_string_equal(diagnosis.list.checks[CHECK_PATH].text, "sizes");
		assert_string_equal(diagnosis.list.checks[CHECK_PATH].warning, warning);
		record_path("CA", 1127, inferred);
		assert_int_equal(diagnosis.list.checks[CHECK_PATH].state, CHECK_FAILED);
		assert_int_equal(diagnosis.list.checks[CHECK_PATH].failure.code,
			inferred ? IMPAIRED_LARGE : IMPAIRED_PATH);
		assert_string_equal(diagnosis.list.checks[CHECK_PATH].failure.evidence,
			"sizes; RDMA packets of up to 1128 bytes may not fit");
	}
	/* The segments of TCP have another size. */
	record_path("RNIC", 1450, true);
	assert_int_equal(diagnosis.list.checks[CHECK_PATH].state, CHECK_FAILED);
}

/* Compares the ends; an RDMA MTU of 0 is not reported. Returns the state of the check. */
static enum check_state compare(unsigned int our_interface, unsigned int our_rdma,
	unsigned int their_interface, unsigned int their_rdma)
{
	bool failed;

	facts_add(&diagnosis.ours, "interface mtu", "%u", our_interface);
	facts_add(&diagnosis.theirs, "interface mtu", "%u", their_interface);
	if (our_rdma)
		facts_add(&diagnosis.ours, "rdma mtu", "%u", our_rdma);
	if (their_rdma)
		facts_add(&diagnosis.theirs, "rdma mtu", "%u", their_rdma);
	failed = mtu_verdicts_ends(&diagnosis);
	assert_int_equal(failed, diagnosis.list.checks[CHECK_ENDS].state == CHECK_FAILED);
	return diagnosis.list.checks[CHECK_ENDS].state;
}

static void interfaces_may_differ_if_rdma_fits(void **state)
{
	(void)state;
	make_diagnosis("CA");
	assert_int_equal(compare(9000, 4096, 4200, 4096), CHECK_SKIPPED);
	assert_string_equal(diagnosis.list.checks[CHECK_ENDS].warning,
		"the network interfaces have different MTUs (this host 9000, the other host 4200), but RDMA "
		"packets fit both");
	make_diagnosis("CA");
	assert_int_equal(compare(4200, 4096, 4200, 4096), CHECK_SKIPPED);
	assert_string_equal(diagnosis.list.checks[CHECK_ENDS].warning, "");
	/* On InfiniBand, packets do not depend on the interface. */
	make_diagnosis("CA");
	facts_add(&diagnosis.ours, "link layer", "InfiniBand");
	assert_int_equal(compare(65520, 4096, 2044, 4096), CHECK_SKIPPED);
}

static void packets_that_may_not_fit_are_a_fault(void **state)
{
	(void)state;
	make_diagnosis("CA");
	assert_int_equal(compare(4200, 4096, 1400, 1024), CHECK_FAILED);
	assert_int_equal(diagnosis.list.checks[CHECK_ENDS].failure.code, IMPAIRED_MTU);
	assert_string_equal(diagnosis.list.checks[CHECK_ENDS].failure.evidence,
		"this host 4200, the other host 1400; RDMA MTU: this host 4096, the other host 1024");
	assert_false(diagnosis.list.rdma_mtus_equal);
	make_diagnosis("CA");
	assert_int_equal(compare(1400, 4096, 1400, 1024), CHECK_FAILED);
	assert_int_equal(diagnosis.list.checks[CHECK_ENDS].failure.code, IMPAIRED_RDMA_MTU);
	/* VLAN interfaces that are smaller than the packets of their devices. */
	make_diagnosis("CA");
	assert_int_equal(compare(4199, 4096, 1400, 4096), CHECK_FAILED);
	assert_int_equal(diagnosis.list.checks[CHECK_ENDS].failure.code, IMPAIRED_MTU);
	assert_true(diagnosis.list.rdma_mtus_equal);
	make_diagnosis("CA");
	assert_int_equal(compare(9000, 0, 4200, 0), CHECK_FAILED);
	assert_false(diagnosis.list.rdma_mtus_equal);
}

static void iwarp_adapts(void **state)
{
	(void)state;
	make_diagnosis("RNIC");
	assert_int_equal(compare(4200, 4096, 1400, 1024), CHECK_SKIPPED);
	assert_string_equal(diagnosis.list.checks[CHECK_ENDS].warning, "");
}

/* The smallest packets of an RDMA MTU of 1,024 have 1,068 bytes. */
static void the_peer_must_be_able_to_send_our_packets(void **state)
{
	static const struct {
		unsigned int our_interface, our_rdma, their_interface, their_rdma;
		bool cannot_send;
	} cases[] = {
		{4200, 4096, 1400, 1024, true},
		{1400, 1024, 4200, 4096, false},
		{1500, 1024, 1067, 512, true},
		{1500, 1024, 1068, 512, false},
		/* VLAN interfaces of a device with a larger MTU. */
		{1400, 4096, 1400, 1024, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		make_diagnosis("CA");
		assert_int_equal(compare(cases[i].our_interface, cases[i].our_rdma,
					 cases[i].their_interface, cases[i].their_rdma),
			CHECK_FAILED);
		assert_int_equal(mtu_verdicts_peer_cannot_send(&diagnosis), cases[i].cannot_send);
	}
	/* Known only if both ends reported their facts. */
	make_diagnosis("CA");
	assert_false(mtu_verdicts_peer_cannot_send(&diagnosis));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_that_rdma_fits_is_good),
		cmocka_unit_test(interfaces_may_differ_if_rdma_fits),
		cmocka_unit_test(packets_that_may_not_fit_are_a_fault),
		cmocka_unit_test(iwarp_adapts),
		cmocka_unit_test(the_peer_must_be_able_to_send_our_packets),
	};

	return cmocka_run_group_tests_name("mtu-verdicts", tests, NULL, NULL);
}

/*
 * The JSON document of a diagnosis matches docs/diagnosis.schema.json for synthetic checks, facts
 * and inventories. Must be run from the top of the source tree, as `make check` does.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/explain.h"
#include "diagnose/checks.h"
#include "diagnose/report.h"
#include "host/facts.h"
#include "host/inventory.h"
#include "tests/unit/common/schema-fixture.h"
#include "tests/unit/unit.h"

static struct inventory_address addresses[] = {
	{.text = "10.0.0.1"}, {.text = "fe80::1%eth0", .link_local = true}};
static struct inventory_interface interfaces[] = {
	{.name = "eth0", .state = "up", .mtu = 1500, .address_count = 2, .addresses = addresses},
	{.name = "eth\xff"},
};
static struct inventory_gid gids[] = {
	{.index = 1, .text = "::ffff:10.0.0.1", .type = "RoCE v2", .interface = "eth0"},
	{.index = 70000, .text = "fe80::1", .link_local = true},
};
static struct inventory_port ports[] = {
	{
		.number = 1,
		.state = "ACTIVE",
		.physical_state = "LinkUp",
		.link_layer = "Ethernet",
		.rate = "2.5 Gb/sec (1X)",
		.megabits = 2500,
		.gid_count = COUNT(gids),
		.gids = gids,
		.interface_count = COUNT(interfaces),
		.interfaces = interfaces,
	},
	{.number = 2, .link_layer = "InfiniBand", .lid = 3, .sm_lid = 1},
};
static struct inventory_device devices[] = {
	{
		.name = "rxe0",
		.type = "CA",
		.description = "host\n",
		.driver = "rdma_rxe",
		.parent = "eth0",
		.uverbs = "uverbs0",
		.access = SYSFS_GRANTED,
		.port_count = COUNT(ports),
		.ports = ports,
	},
	{.name = "mlx5_0", .firmware = "16.35.2000", .access = SYSFS_DENIED},
};

static const struct inventory full = {
	.rdma_cm = SYSFS_GRANTED,
	.ib_core = true,
	.rdma_ucm = true,
	.netns = INVENTORY_NETNS_SHARED,
	.locked_max = 8388608,
	.device_count = COUNT(devices),
	.devices = devices,
};

static const struct inventory empty = {.locked_max = UINT64_MAX};

/* The parts of one diagnosis. */
struct made_up {
	const char *host;
	uint16_t port;
	struct check_list list;
	struct facts here, there;
	struct counters counted;
	const struct inventory *inventory;
};

/* Returns the document. The caller frees it. */
static char *make_document(const struct made_up *made_up)
{
	const struct options options = {.host = made_up->host, .port = made_up->port};
	static struct diagnosis diagnosis;
	struct json_object *object;
	char *text;

	diagnosis = (struct diagnosis){
		.options = &options,
		.output.program = "rdma-client",
		.list = made_up->list,
		.ours = made_up->here,
		.theirs = made_up->there,
		.inventory = *made_up->inventory,
		.path_mtu = made_up->counted.count ? 1500 : 0,
		.rate_there = made_up->counted.count ? UINT64_MAX : 0,
		.rate_back = made_up->counted.count ? 1 : 0,
		.counted_here = made_up->counted,
		.counted_there = made_up->counted,
	};
	object = diagnosis_report_json(&diagnosis);
	assert_non_null(object);
	text = strdup(json_object_to_json_string_ext(
		object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
	assert_non_null(text);
	assert_null(strchr(text, '\n'));
	return text;
}

static void add_facts(struct facts *facts)
{
	static const char *const names[] = {"version", "kernel", "device", "driver", "firmware",
		"state", "link layer", "rate", "gid", "gid type", "interface", "bus",
		"locked memory"};

	static const struct fact numbers[] = {{"port", "1"}, {"rdma mtu", "4096"},
		{"interface mtu", "4200"}, {"reads answered", "16"}, {"reads asked", "0"},
		{"dscp", "26"}, {"completion vector", "3"}};

	for (size_t i = 0; i < COUNT(names); i++)
		facts_add(facts, names[i], "%s of \xc3\xa4\n\"%zu\"", names[i], i);
	for (size_t i = 0; i < COUNT(numbers); i++)
		facts_add(facts, numbers[i].name, "%s", numbers[i].value);
	facts_add(facts, "relaxed ordering", "off");
	facts_add(facts, "huge pages", "on");
	facts_add(facts, "processors", "0-7,16-23");
	facts_add(facts, "firmware", "");
}

/* All checks passed. */
static struct made_up make_good(void)
{
	struct made_up made_up = {.host = "h\xff\"", .port = 65535, .inventory = &full};

	check_list_init(&made_up.list, diagnose_checks, "10.0.0.2");
	for (enum check check = CHECK_HOST; check < CHECKS; check++)
		check_list_ok(
			&made_up.list, check, "as it should be, %s", diagnose_checks[check].name);
	check_list_skip(
		&made_up.list, CHECK_PATH, "the host does not reply to probes (many do not)");
	add_facts(&made_up.here);
	add_facts(&made_up.there);
	facts_add(&made_up.there, "mode", "any");
	facts_add(&made_up.there, "clients", "2048 of 2048, full");
	facts_add(&made_up.there, "max size", "10240");
	facts_add(&made_up.there, "of tomorrow", "~");
	made_up.counted = (struct counters){2, {{"out_of_seq_request", 12}, {"rcvd_pkts", 7}}};
	return made_up;
}

/* Only the local host was checked. */
static struct made_up make_alone(void)
{
	struct made_up made_up = {.inventory = &full};

	check_list_init(&made_up.list, diagnose_checks, "");
	check_list_ok(&made_up.list, CHECK_HOST, "rxe0/1 ACTIVE, MTU 1024");
	return made_up;
}

/* This check failed, and all later ones were skipped. */
static struct made_up make_broken(
	enum check check, enum failure_kind kind, enum phase phase, int code)
{
	struct made_up made_up = {.host = "10.0.0.2", .port = 7, .inventory = &empty};
	struct failure failure = {0};

	check_list_init(&made_up.list, diagnose_checks, made_up.host);
	failure_set(&failure, kind, phase, code, "diagnose", "seen with \"%s\"", "eyes");
	for (enum check below = CHECK_HOST; below < check; below++)
		check_list_ok(&made_up.list, below, "good");
	check_list_fail(&made_up.list, check, &failure);
	for (enum check above = check + 1; above < CHECKS; above++)
		check_list_skip(&made_up.list, above, "not reached");
	return made_up;
}

static void print(FILE *stream, const struct made_up *made_up)
{
	char *text = make_document(made_up);

	fprintf(stream, "%s\n", text);
	free(text);
}

/* Every explanation for every check, and a failure without an explanation. */
static void print_broken(FILE *stream)
{
	const struct explanation *row;

	for (unsigned int i = 0; (row = explain_row(i)); i++) {
		struct made_up made_up =
			make_broken(i % CHECKS, row->kind, row->phase % PHASE_COUNT, row->code);

		print(stream, &made_up);
	}
}

static void documents_match_the_schema(void **state)
{
	const struct made_up good = make_good(), alone = make_alone();
	char *texts;
	size_t size;
	FILE *stream = open_memstream(&texts, &size);

	(void)state;
	assert_non_null(stream);
	print(stream, &good);
	print(stream, &alone);
	print_broken(stream);
	fclose(stream);
	schema_check(texts);
	free(texts);
}

static void schema_rejects_faults_in_a_passed_diagnosis(void **state)
{
	static const struct schema_case cases[] = {
		{"\"schema\":5", "\"schema\":4"},
		{"rdma-client", "rdma-server"},
		{"\"version\":\"0", "\"version\":\"x"},
		{"\"host\":\"h\\\\xff\\\"\",", ""},
		{"\"host\":\"h\\\\xff\\\"\"", "\"host\":null"},
		{"\"port\":65535", "\"port\":65536"},
		{"\"port\":65535", "\"port\":null"},
		{"\"command\":\"diagnose\"", "\"command\":\"write\""},
		{"\"verdict\":\"", "\"verdict\":\"ok, "},
		{"\"verdict\":\"healthy\"", "\"verdict\":\"broken\""},
		{"\"message\":\"", "\"message\":\"ok, "},
		{"\"error\":null", "\"error\":{}"},
		{"\"status\":0", "\"status\":2"},
		{"\"status\":0", "\"status\":3"},
		{"\"status\":0,", "\"status\":0,\"errors\":0,"},
		{"\"check\":\"name\"", "\"check\":\"route\""},
		{"\"state\":\"ok\"", "\"state\":\"good\""},
		{"\"state\":\"ok\"", "\"state\":\"failed\""},
		{"\"guess\":null", "\"guess\":false"},
		{"\"guess\":null,", ""},
		{"\"milliseconds\":0,", ""},
		{"\"milliseconds\":0", "\"milliseconds\":-1"},
		{"\"cause\":null", "\"cause\":\"something\""},
		{"\"side\":null", "\"side\":\"this host\""},
		{"\"next\":null", "\"next\":null,\"then\":null"},
		{"\"warning\":null", "\"warning\":1"},
		{",\"warning\":null", ""},
		{"\"here\":{", "\"here\":{\"of_tomorrow\":\"~\","},
		{"\"here\":{\"version\":\"", "\"here\":{\"version\":null,\"kernel\":\""},
		{"\"there\":{", "\"there\":{\"link layer\":\"\","},
		{"\"there\":{", "\"there\":{\"caf\xc3\xa9\":\"\","},
		{"\"of_tomorrow\":\"~\"", "\"of_tomorrow\":\"\\u007f\""},
		{"\"of_tomorrow\":\"~\"", "\"of_tomorrow\":null"},
		{"\"ib_core\":true", "\"ib_core\":1"},
		{"\"netns\":\"shared\"", "\"netns\":\"private\""},
		{"\"rdma_cm\":\"usable\"", "\"rdma_cm\":null"},
		{"\"locked_max\":8388608", "\"locked_max\":-1"},
		{"\"ipc_lock\":false,", ""},
		{"\"driver\":\"rdma_rxe\"", "\"driver\":7"},
		{"\"megabits\":2500", "\"megabits\":0"},
		{"\"number\":1", "\"number\":\"1\""},
		{"\"index\":1,", "\"index\":1,\"zone\":0,"},
		{"\"mtu\":1500,", ""},
		{"\"10.0.0.1\"", "null"},
		{"eth0", "\xff"},
	};
	const struct made_up good = make_good();
	char *text = make_document(&good);

	(void)state;
	schema_check_refuses(text, cases, COUNT(cases));
	free(text);
}

static void schema_rejects_wrong_numbers(void **state)
{
	static const struct schema_case cases[] = {
		{"\"rdma_mtu\":4096", "\"rdma_mtu\":\"4096\""},
		{"\"rdma_mtu\":4096", "\"rdma_mtu\":null"},
		{"\"interface_mtu\":4200", "\"interface_mtu\":-1"},
		{"\"max_size\":10240", "\"max_size\":\"10240\""},
		{"\"path_mtu\":1500", "\"path_mtu\":0"},
		{"\"path_mtu\":1500,", ""},
		{"\"there\":18446744073709551615", "\"there\":\"18446744073709551615\""},
		{"\"back\":1}", "\"back\":0}"},
		{"\"back\":1}", "\"back\":1,\"around\":1}"},
		{"\"out_of_order\":12", "\"out_of_order\":null,\"late\":12"},
		{"\"out_of_order\":12", "\"out_of_order\":\"12\""},
		{"\"rcvd_pkts\":7", "\"rcvd pkts\":7"},
		{"\"rcvd_pkts\":7", "\"rcvd_pkts\":null"},
	};
	const struct made_up good = make_good();
	char *text = make_document(&good);

	(void)state;
	schema_check_refuses(text, cases, COUNT(cases));
	free(text);
}

static void schema_rejects_faults_in_a_failed_diagnosis(void **state)
{
	static const struct schema_case cases[] = {
		{"\"status\":3", "\"status\":0"},
		{"\"verdict\":\"broken\"", "\"verdict\":\"healthy\""},
		{"\"error\":{", "\"error\":{\"where\":\"here\","},
		{"\"state\":\"failed\"", "\"state\":\"ok\""},
		{"\"guess\":true", "\"guess\":null"},
		{"\"guess\":true", "\"guess\":1"},
		{"\"side\":\"the other host or the path to it\"", "\"side\":\"somewhere\""},
		{"\"side\":\"the other host or the path to it\"", "\"side\":null"},
		{"10.0.0.2\",\"warning\":null", "10.0.0.2\",\"warning\":\"something\""},
		{"\"value\":null,\"cause\":\"", "\"value\":\"good\",\"cause\":\""},
		{"\"here\":{}", "\"here\":null"},
		{"\"there\":{}", "\"there\":[]"},
		{"\"devices\":[]", "\"devices\":null"},
		{"\"devices\":[]", "\"devices\":[{}]"},
	};
	const struct made_up broken =
		make_broken(CHECK_NEIGHBOUR, FAILURE_ERRNO, PHASE_ADDRESS, ETIMEDOUT);
	char *text = make_document(&broken);

	(void)state;
	schema_check_refuses(text, cases, COUNT(cases));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_match_the_schema),
		cmocka_unit_test(schema_rejects_faults_in_a_passed_diagnosis),
		cmocka_unit_test(schema_rejects_wrong_numbers),
		cmocka_unit_test(schema_rejects_faults_in_a_failed_diagnosis),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}

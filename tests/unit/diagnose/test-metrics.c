/* The file of --metrics of a diagnosis: what is known, and the verdict in every case. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diagnose/checks.h"
#include "diagnose/metrics.h"
#include "tests/unit/unit.h"

static char path[] = "/tmp/test-diagnose-metrics.XXXXXX";

static struct inventory_device device = {.name = "rxe0"};

static struct options options = {.host = "peer1", .metrics = path};

/* Writes the file. Returns its text. */
static const char *text_of(const struct diagnosis *diagnosis, enum exit_status wanted)
{
	static char text[4096];
	FILE *file;

	assert_int_equal(
		diagnosis_metrics_write(diagnosis, check_list_status(&diagnosis->list)), wanted);
	file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static struct diagnosis *new_diagnosis(void)
{
	static struct diagnosis diagnosis;

	diagnosis = (struct diagnosis){.options = &options, .output.program = "test"};
	check_list_init(&diagnosis.list, diagnose_checks, options.host ? options.host : "");
	return &diagnosis;
}

/* The series of this name, whatever its labels are, has this value: once, or never if NULL. */
static void assert_value(const char *text, const char *name, const char *label, const char *value)
{
	unsigned int count = 0;
	char copy[4096], *rest = copy, *line;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((line = strsep(&rest, "\n"))) {
		char *end = strrchr(line, ' ');

		if (strncmp(line, name, strlen(name)) != 0 || line[strlen(name)] != '{' ||
			!strstr(line, label))
			continue;
		assert_non_null(end);
		if (value)
			assert_string_equal(end + 1, value);
		count++;
	}
	assert_int_equal(count, value ? 1 : 0);
}

/* Every word has a line, and that of the verdict alone is 1. */
static void assert_verdict(const char *text, const char *verdict)
{
	static const char *const words[] = {
		"healthy", "ready", "incomplete", "impaired", "broken", "unknown"};

	for (size_t i = 0; i < COUNT(words); i++) {
		char label[32];

		snprintf(label, sizeof(label), "verdict=\"%s\"}", words[i]);
		assert_value(text, "rdma_diagnose_verdict", label,
			strcmp(words[i], verdict) == 0 ? "1" : "0");
	}
}

static void a_healthy_one_has_rates_and_a_round_trip(void **state)
{
	struct diagnosis *diagnosis = new_diagnosis();
	const char *text;

	(void)state;
	for (enum check check = CHECK_HOST; check < CHECKS; check++)
		check_list_ok(&diagnosis->list, check, "fine");
	diagnosis->device = &device;
	diagnosis->round_trip = 12500;
	diagnosis->rate_there = 2000000000;
	diagnosis->rate_back = 3000000000;
	diagnosis->path_mtu = 1500;
	text = text_of(diagnosis, STATUS_OK);
	assert_verdict(text, "healthy");
	assert_non_null(strstr(text, ",peer=\"peer1\",device=\"rxe0\",bootstrap=\"rdmacm\"} "));
	assert_value(text, "rdma_diagnose_exit_status", "", "0");
	assert_value(text, "rdma_diagnose_round_trip_seconds", "", "1.25e-05");
	assert_value(text, "rdma_diagnose_send_bytes_per_second", "", "2000000000");
	assert_value(text, "rdma_diagnose_receive_bytes_per_second", "", "3000000000");
	assert_value(text, "rdma_diagnose_path_mtu_bytes", "", "1500");
}

static void one_that_fails_has_a_verdict_only(void **state)
{
	static const struct {
		enum check check;
		enum failure_kind kind;
		enum phase phase;
		int code;
		enum exit_status status;
		const char *verdict;
	} cases[] = {
		{CHECK_HOST, FAILURE_HOST, PHASE_OPEN, HOST_NO_DEVICE, STATUS_CONNECT, "broken"},
		{CHECK_CONNECTION, FAILURE_REJECTED, PHASE_CONNECT, REJECTED_NO_LISTENER,
			STATUS_CONNECT, "unknown"},
		{CHECK_BANDWIDTH, FAILURE_IMPAIRED, PHASE_DIAGNOSIS, IMPAIRED_SPEED, STATUS_PEER,
			"impaired"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct diagnosis *diagnosis = new_diagnosis();
		struct failure failure = {0};
		const char *text;

		for (enum check check = CHECK_HOST; check < cases[i].check; check++)
			check_list_ok(&diagnosis->list, check, "fine");
		failure_set(&failure, cases[i].kind, cases[i].phase, cases[i].code, "call", "e");
		check_list_fail(&diagnosis->list, cases[i].check, &failure);
		/* RDMA works if the checks go on. */
		if (cases[i].kind == FAILURE_IMPAIRED)
			check_list_ok(&diagnosis->list, CHECK_COUNTERS, "fine");
		text = text_of(diagnosis, cases[i].status);
		assert_verdict(text, cases[i].verdict);
		assert_value(text, "rdma_diagnose_exit_status", "",
			cases[i].status == STATUS_CONNECT ? "3" : "4");
		assert_value(text, "rdma_diagnose_round_trip_seconds", "", NULL);
		assert_value(text, "rdma_diagnose_send_bytes_per_second", "", NULL);
	}
}

static void one_of_this_host_has_no_peer(void **state)
{
	struct diagnosis *diagnosis;
	const char *text;

	(void)state;
	options.host = NULL;
	options.device = "mlx5_3";
	diagnosis = new_diagnosis();
	check_list_ok(&diagnosis->list, CHECK_HOST, "fine");
	text = text_of(diagnosis, STATUS_OK);
	options.host = "peer1";
	options.device = NULL;
	assert_verdict(text, "ready");
	assert_null(strstr(text, "peer="));
	assert_null(strstr(text, "bootstrap="));
	assert_non_null(strstr(text, ",device=\"mlx5_3\"} "));
}

static void a_file_that_cannot_be_written_is_a_failure(void **state)
{
	struct diagnosis *diagnosis = new_diagnosis();

	(void)state;
	options.metrics = "/nowhere/rdma.prom";
	assert_int_equal(diagnosis_metrics_write(diagnosis, STATUS_OK), STATUS_FAILED);
	assert_int_equal(diagnosis_metrics_write(diagnosis, STATUS_PEER), STATUS_PEER);
	options.metrics = path;
}

static int make_file(void **state)
{
	int descriptor = mkstemp(path);

	(void)state;
	return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_one_has_rates_and_a_round_trip),
		cmocka_unit_test(one_that_fails_has_a_verdict_only),
		cmocka_unit_test(one_of_this_host_has_no_peer),
		cmocka_unit_test(a_file_that_cannot_be_written_is_a_failure),
	};

	return cmocka_run_group_tests_name("metrics", tests, make_file, remove_file);
}

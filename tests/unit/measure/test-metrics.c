/* The file of --metrics of a measurement: a value for each size, and the verdict in every case. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json-document.h"
#include "measure/metrics.h"
#include "tests/unit/measure/measured-fixture.h"
#include "tests/unit/unit.h"

static char path[] = "/tmp/test-measure-metrics.XXXXXX";

/* Too large for the stack. */
static struct measurement measurement;
static struct histogram latency;

static struct options options = {.host = "peer1", .metrics = path};

static void begin(bool of_latency)
{
	options.operation = &test_operations[of_latency ? TEST_SEND : TEST_WRITE];
	options.measure.latency = of_latency;
	options.measure.bandwidth = !of_latency;
	memset(&measurement, 0, sizeof(measurement));
	measurement.options = &options;
	snprintf(measurement.host_name, sizeof(measurement.host_name), "here");
	measurement.results = json_object_new_array();
}

/* Writes the file, and checks the exit status. Returns its text without the time. */
static const char *text_of(enum exit_status status)
{
	static char text[4096];
	FILE *file;
	char *time;

	assert_int_equal(measurement_metrics_write(&measurement, status), status);
	json_object_put(measurement.results);
	file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	time = strstr(text, "_end_timestamp_seconds{");
	assert_non_null(time);
	time = strchr(time, '\n');
	assert_non_null(time);
	return time + 1;
}

#define LABELS "host=\"here\",peer=\"peer1\",device=\"rxe0\",bootstrap=\"rdmacm\",operation="

static void a_bandwidth_test_has_a_rate_for_each_size(void **state)
{
	struct measured measured = bandwidth;

	(void)state;
	begin(false);
	facts_add(&measurement.ours, "device", "rxe0");
	document_append(measurement.results, measurement_json(&measured, false));
	measured.parameters.size = 131072;
	measured.ours.bytes *= 2;
	document_append(measurement.results, measurement_json(&measured, false));
	assert_string_equal(text_of(STATUS_OK),
		"# HELP rdma_bandwidth_bytes_per_second Rate, of both directions together if both "
		"are measured.\n"
		"# TYPE rdma_bandwidth_bytes_per_second gauge\n"
		"rdma_bandwidth_bytes_per_second{" LABELS "\"write\",size=\"65536\"} 32768000\n"
		"rdma_bandwidth_bytes_per_second{" LABELS "\"write\",size=\"131072\"} 65536000\n"
		"# HELP rdma_bandwidth_operations_per_second Operations of this host.\n"
		"# TYPE rdma_bandwidth_operations_per_second gauge\n"
		"rdma_bandwidth_operations_per_second{" LABELS "\"write\",size=\"65536\"} 500\n"
		"rdma_bandwidth_operations_per_second{" LABELS "\"write\",size=\"131072\"} 500\n");
}

static void a_latency_test_has_seconds(void **state)
{
	struct measured measured = bandwidth;
	const char *text;

	(void)state;
	begin(true);
	histogram_init(&latency);
	histogram_add(&latency, 2000);
	histogram_add(&latency, 2000);
	histogram_add(&latency, 2000);
	measured.latency = &latency;
	measured.parameters.size = 8;
	document_append(measurement.results, measurement_json(&measured, false));
	text = text_of(STATUS_OK);
	assert_non_null(
		strstr(text, "\nrdma_latency_minimum_seconds{host=\"here\",peer=\"peer1\","
			     "bootstrap=\"rdmacm\",operation=\"send\",size=\"8\"} 2e-06\n"));
	assert_non_null(strstr(text, "\nrdma_latency_median_seconds{"));
	assert_non_null(strstr(text, "\nrdma_latency_p99_seconds{"));
	assert_non_null(strstr(text, "\nrdma_latency_maximum_seconds{"));
}

static void one_that_fails_has_a_verdict(void **state)
{
	char text[4096];
	FILE *file;

	(void)state;
	begin(false);
	failure_set(&measurement.threads.failure, FAILURE_REJECTED, PHASE_CONNECT,
		REJECTED_NO_LISTENER, "call", "e");
	assert_string_equal(text_of(STATUS_CONNECT), "");
	file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_non_null(strstr(text, ",verdict=\"failed\"} 1\n"));
	assert_non_null(strstr(text, ",verdict=\"measured\"} 0\n"));
	assert_non_null(strstr(text, ",verdict=\"slow\"} 0\n"));
	assert_non_null(strstr(text, "\nrdma_bandwidth_exit_status{"));
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
		cmocka_unit_test(a_bandwidth_test_has_a_rate_for_each_size),
		cmocka_unit_test(a_latency_test_has_seconds),
		cmocka_unit_test(one_that_fails_has_a_verdict),
	};

	return cmocka_run_group_tests_name("metrics", tests, make_file, remove_file);
}

/* The table of checks. diagnose/checks.h lists the steps to add one. */
#include "diagnose/checks.h"
#include "diagnose/diagnosis.h"

const struct check_row diagnose_checks[CHECKS] = {
	[CHECK_HOST] = {"this host", check_host},
	[CHECK_MANAGER] = {"manager", check_manager},
	[CHECK_NAME] = {"name", check_name},
	[CHECK_ROUTE] = {"route", check_route},
	[CHECK_NEIGHBOUR] = {"neighbour", check_neighbour},
	[CHECK_PATH] = {"path", check_path},
	[CHECK_CONNECTION] = {"connection", check_connection},
	[CHECK_MESSAGE] = {"message", check_message},
	[CHECK_ENDS] = {"both ends", check_ends},
	[CHECK_DATA] = {"data", check_data},
	[CHECK_BANDWIDTH] = {"bandwidth", check_bandwidth},
	[CHECK_COUNTERS] = {"counters", check_counters},
	[CHECK_OPERATIONS] = {"operations", check_operations},
};

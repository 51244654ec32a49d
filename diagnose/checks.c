/* The table of checks. diagnose/checks.h lists the steps to add one. */
#include "diagnose/checks.h"
#include "diagnose/diagnosis.h"

const struct check_row diagnose_checks[CHECKS] = {
	[CHECK_HOST] = {"this host", false, check_host},
	[CHECK_MANAGER] = {"manager", true, check_manager},
	[CHECK_NAME] = {"name", false, check_name},
	[CHECK_ROUTE] = {"route", true, check_route},
	[CHECK_NEIGHBOUR] = {"neighbour", true, check_neighbour},
	[CHECK_PATH] = {"path", true, check_path},
	[CHECK_CONNECTION] = {"connection", false, check_connection},
	[CHECK_MESSAGE] = {"message", false, check_message},
	[CHECK_ENDS] = {"both ends", false, check_ends},
	[CHECK_DATA] = {"data", false, check_data},
	[CHECK_BANDWIDTH] = {"bandwidth", false, check_bandwidth},
	[CHECK_COUNTERS] = {"counters", false, check_counters},
	[CHECK_OPERATIONS] = {"operations", false, check_operations},
	[CHECK_MULTICAST] = {"multicast", false, check_multicast},
	[CHECK_OTHER_WAY] = {"other way", false, check_other_way},
};

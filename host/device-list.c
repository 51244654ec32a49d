/* See host/device-list.h. */
#include <stdio.h>
#include <string.h>

#include "host/device-list.h"

bool device_list_is_all(const char *list)
{
	return !list || strcmp(list, "all") == 0;
}

bool device_list_next(const char **list, char name[DEVICE_NAME_SIZE])
{
	size_t length = strcspn(*list, ",");

	if (**list == '\0')
		return false;
	snprintf(name, DEVICE_NAME_SIZE, "%.*s", (int)length, *list);
	*list += length + ((*list)[length] == ',');
	return true;
}

/* The number of times that names of the list are this one. */
static unsigned int count_of(const char *list, const char *name)
{
	char each[DEVICE_NAME_SIZE];
	unsigned int count = 0;

	while (device_list_next(&list, each))
		count += strcmp(each, name) == 0;
	return count;
}

bool device_list_is_valid(const char *list, unsigned int most)
{
	const char *left = list;
	char name[DEVICE_NAME_SIZE];
	unsigned int count = 0;

	if (device_list_is_all(list))
		return true;
	if (*list == '\0' || list[strlen(list) - 1] == ',')
		return false;
	for (; device_list_next(&left, name); count++)
		if (*name == '\0' || count == most || count_of(list, name) != 1)
			return false;
	return true;
}

bool device_list_has(const char *list, const char *name)
{
	return device_list_is_all(list) || count_of(list, name) > 0;
}

const char *device_list_single(const char *list)
{
	return device_list_is_all(list) || strchr(list, ',') ? NULL : list;
}

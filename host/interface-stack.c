/*
 * Walks from an interface to those below it, in a list of interfaces from the kernel. No state is
 * kept between calls.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "host/interface-stack.h"

/* The list in which a walk searches. */
struct walk {
	const struct netlink_link *links;
	size_t count;
	const char *bottom;
};

static const struct netlink_link *find_name(const struct walk *walk, const char *name)
{
	for (size_t i = 0; i < walk->count; i++)
		if (strcmp(walk->links[i].name, name) == 0)
			return &walk->links[i];
	return NULL;
}

/* True if `lower` carries the packets of `upper`. The peer of a veth is beside it, not below. */
static bool is_below(const struct netlink_link *lower, const struct netlink_link *upper)
{
	if (lower->master == upper->index)
		return true;
	return lower->index == upper->lower && !upper->lower_elsewhere && lower != upper &&
	       strcmp(upper->kind, "veth") != 0;
}

static void add_layer(struct interface_stack *stack, const struct netlink_link *link)
{
	struct interface_layer *layer = &stack->layers[stack->count++];

	snprintf(layer->name, sizeof(layer->name), "%s", link->name);
	snprintf(layer->kind, sizeof(layer->kind), "%s", link->kind);
	snprintf(layer->hardware, sizeof(layer->hardware), "%s", link->hardware);
}

/*
 * Adds this interface and those below it. Returns true if the way ends at the wanted interface;
 * otherwise the stack is as before. The number of layers limits the recursion.
 */
static bool descend(
	const struct walk *walk, const struct netlink_link *link, struct interface_stack *stack)
{
	if (stack->count == INTERFACE_STACK_LAYERS)
		return false;
	add_layer(stack, link);
	if (strcmp(link->name, walk->bottom) == 0)
		return true;
	for (size_t i = 0; i < walk->count; i++)
		if (is_below(&walk->links[i], link) && descend(walk, &walk->links[i], stack))
			return true;
	stack->count--;
	return false;
}

/* Returns the only interface below this one, NULL if there are none or several. */
static const struct netlink_link *only_below(
	const struct walk *walk, const struct netlink_link *link)
{
	const struct netlink_link *only = NULL;

	for (size_t i = 0; i < walk->count; i++) {
		if (!is_below(&walk->links[i], link))
			continue;
		if (only)
			return NULL;
		only = &walk->links[i];
	}
	return only;
}

void interface_stack_find(const struct netlink_link *links, size_t count, const char *top,
	const char *bottom, struct interface_stack *stack)
{
	const struct walk walk = {links, count, bottom};
	const struct netlink_link *link = find_name(&walk, top), *last = link;

	*stack = (struct interface_stack){0};
	if (!link)
		return;
	stack->complete = *bottom && descend(&walk, link, stack);
	if (stack->complete)
		return;
	for (; link && stack->count < INTERFACE_STACK_LAYERS; link = only_below(&walk, link)) {
		add_layer(stack, link);
		last = link;
	}
	stack->elsewhere = last->lower_elsewhere && strcmp(last->kind, "veth") != 0;
}

int interface_stack_kind(const struct interface_stack *stack, const char *kind)
{
	for (size_t i = 0; i < stack->count; i++)
		if (strcmp(stack->layers[i].kind, kind) == 0)
			return (int)i;
	return -1;
}

bool interface_stack_changes_mac(const struct interface_stack *stack)
{
	const char *top = stack->layers[0].hardware, *bottom;

	if (!stack->complete || stack->count < 2)
		return false;
	bottom = stack->layers[stack->count - 1].hardware;
	return *top && *bottom && strcmp(top, bottom) != 0;
}

void interface_stack_describe(const struct interface_stack *stack, char *text, size_t size)
{
	*text = '\0';
	for (size_t i = 0; i < stack->count; i++) {
		const struct interface_layer *layer = &stack->layers[i];

		text_append(text, size, "%s%s", i ? " over " : "", layer->name);
		if (layer->kind[0])
			text_append(text, size, " (%s)", layer->kind);
	}
	if (stack->elsewhere)
		text_append(text, size, " over an interface of another network namespace");
}

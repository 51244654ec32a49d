/* Orders of a diagnosis and their answers: what is taken is in range, and is sent again as it came. */
#include <errno.h>

#include "fuzz.h"
#include "lib/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct order order;
	uint8_t bytes[ORDER_MAX];
	int error = order_decode(&order, data, size);

	fuzz_check(error == 0 || error == -EMSGSIZE || error == -EPROTO);
	fuzz_check((error == -EMSGSIZE) == (size < ORDER_SIZE || size > ORDER_MAX));
	if (error)
		return 0;
	fuzz_check(order.type < ORDER_TYPES && order.status < ORDER_STATUSES);
	fuzz_check(order.text_size == size - ORDER_SIZE);
	fuzz_check(order.text == (const char *)data + ORDER_SIZE);
	if (order.type == ORDER_REGION && (!order.answer || order.status == ORDER_DONE)) {
		fuzz_check(order.length > 0 && order.length <= ORDER_REGION_MAX);
		fuzz_check(order.address + order.length >= order.address);
	}
	fuzz_check(order_encode(&order, bytes) == size);
	fuzz_check(memcmp(bytes, data, size) == 0);
	return 0;
}

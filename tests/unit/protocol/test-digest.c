/* The digest has the published values and detects every flipped bit. */
#include <string.h>

#include "protocol/digest.h"
#include "tests/unit/common/digest-fixture.h"
#include "tests/unit/unit.h"

static void matches_the_published_value(void **state)
{
	/*
	 * XXH3-128 of the empty input, seed 0, in canonical form, as `xxhsum -H2 </dev/null` prints
	 * it.
	 */
	static const struct digest empty = {{0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8, 0x60,
		0x01, 0xc3, 0x24, 0x46, 0x8d, 0x49, 0x7f}};
	struct digest digest = digest_of("", 0);

	(void)state;
	assert_memory_equal(digest.bytes, empty.bytes, DIGEST_SIZE);
	assert_true(digest_equal(&digest, &empty));
}

static void detects_every_flipped_bit(void **state)
{
	uint8_t data[1024];
	struct digest digest;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	digest = digest_of(data, sizeof(data));
	for (size_t bit = 0; bit < 8 * sizeof(data); bit++) {
		struct digest flipped;

		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		flipped = digest_of(data, sizeof(data));
		assert_false(digest_equal(&flipped, &digest));
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void detects_every_length_of_zeros(void **state)
{
	static const uint8_t zeros[1024];
	struct digest last = digest_of(zeros, 0);

	(void)state;
	for (size_t size = 1; size <= sizeof(zeros); size++) {
		struct digest digest = digest_of(zeros, size);

		assert_false(digest_equal(&digest, &last));
		last = digest;
	}
}

static void compares_every_byte(void **state)
{
	const struct digest digest = digest_of("x", 1);

	(void)state;
	for (size_t i = 0; i < DIGEST_SIZE; i++) {
		struct digest other = digest;

		other.bytes[i] ^= 1;
		assert_false(digest_equal(&digest, &other));
	}
}

static void is_printed_in_canonical_order(void **state)
{
	const struct digest digest = digest_of("", 0);
	char text[DIGEST_TEXT_SIZE];

	(void)state;
	digest_text(text, &digest);
	assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
}

static uint8_t long_data[100000];

/*
 * Adds the data in pieces of that size and returns the digest. Also computes intermediate digests.
 */
static struct digest in_pieces(size_t size, size_t piece)
{
	struct digester *digester = digester_new();
	struct digest digest;

	assert_non_null(digester);
	for (size_t at = 0; at < size; at += piece) {
		digester_add(digester, long_data + at, piece < size - at ? piece : size - at);
		(void)digester_result(digester, DIGEST_STREAM);
	}
	digest = digester_result(digester, DIGEST_STREAM);
	digester_free(digester);
	return digest;
}

static void is_independent_of_the_piece_size(void **state)
{
	/*
	 * xxHash uses different code up to 16, 128 and 240 bytes, and blocks of 256 and 1024 bytes.
	 */
	static const size_t sizes[] = {0, 1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 255, 256, 257,
		511, 512, 513, 1023, 1024, 1025, 65535, 65536, 65537, sizeof(long_data)};
	static const size_t pieces[] = {1, 7, 64, 255, 256, 257, 4096, 65536, sizeof(long_data)};

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t j = 0; j < COUNT(pieces); j++) {
			const struct digest whole = digest_of(long_data, sizes[i]);
			const struct digest parts = in_pieces(sizes[i], pieces[j]);

			assert_true(digest_equal(&whole, &parts));
		}
}

/* With a key, a digester returns the digest of protocol/keyed-digest.h, as do its copies. */
static void a_key_selects_the_keyed_digest(void **state)
{
	static const uint8_t key[DIGEST_KEY_SIZE] = {1, 2, 3};
	const struct digest expected = reference_digest(key, "abc", 3, DIGEST_STREAM);
	struct digester *digester = digester_new(), *copy;
	struct digest digest;

	(void)state;
	digest = digest_of_keyed(key, "abc", 3);
	assert_true(digest_equal(&digest, &expected));
	assert_non_null(digester);
	digester_set_key(digester, key);
	digester_add(digester, "ab", 2);
	copy = digester_copy(digester);
	assert_non_null(copy);
	for (unsigned int i = 0; i < 2; i++) {
		struct digester *each = i == 0 ? digester : copy;

		digester_add(each, "c", 1);
		digest = digester_result(each, DIGEST_STREAM);
		assert_true(digest_equal(&digest, &expected));
		digest = digester_result(each, DIGEST_EXISTING);
		assert_false(digest_equal(&digest, &expected));
		digester_free(each);
	}
	assert_string_equal(digest_name(true), "Poly1305-BLAKE2b");
	assert_string_equal(digest_name(false), "XXH3");
}

static void pieces_may_be_empty(void **state)
{
	struct digester *digester = digester_new();
	const struct digest expected = digest_of("ab", 2);
	struct digest digest;

	(void)state;
	assert_non_null(digester);
	digester_add(digester, "", 0);
	digester_add(digester, "a", 1);
	digester_add(digester, "", 0);
	digester_add(digester, "b", 1);
	digester_add(digester, "", 0);
	digest = digester_result(digester, DIGEST_STREAM);
	assert_true(digest_equal(&digest, &expected));
	digester_free(digester);
	digester_free(NULL);
}

/* Several threads digest parts of any size, which are added in their order. */
static void parts_are_prepared(void **state)
{
	static const uint8_t key[DIGEST_KEY_SIZE] = {1, 2, 3};
	static const size_t pieces[] = {
		65536, 65535, 65537, 131072, 200000, DIGEST_PART_BLOCKS * 65536 + 70000};
	static uint8_t data[(DIGEST_PART_BLOCKS + 5) * 65536 + 3];
	struct digest wanted[2];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31 + i / 251);
	wanted[0] = digest_of(data, sizeof(data));
	wanted[1] = reference_digest(key, data, sizeof(data), DIGEST_STREAM);
	for (size_t i = 0; i < 2 * sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct digester *digester = digester_new();
		struct digest_part part = {0};
		struct digest digest;
		size_t piece = pieces[i / 2], size;

		assert_non_null(digester);
		if (i % 2)
			digester_set_key(digester, key);
		for (size_t at = 0; at < sizeof(data); at += size) {
			size = piece < sizeof(data) - at ? piece : sizeof(data) - at;
			if (at > 0) /* the first part is not prepared */
				digester_prepare(digester, at, data + at, size, &part);
			digester_add_prepared(digester, data + at, size, &part);
			assert_true(at == 0 || part.count == 0);
		}
		digest = digester_result(digester, DIGEST_STREAM);
		assert_true(digest_equal(&digest, &wanted[i % 2]));
		digester_free(digester);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_the_published_value),
		cmocka_unit_test(detects_every_flipped_bit),
		cmocka_unit_test(detects_every_length_of_zeros),
		cmocka_unit_test(compares_every_byte),
		cmocka_unit_test(is_independent_of_the_piece_size),
		cmocka_unit_test(a_key_selects_the_keyed_digest),
		cmocka_unit_test(pieces_may_be_empty),
		cmocka_unit_test(parts_are_prepared),
		cmocka_unit_test(is_printed_in_canonical_order),
	};

	for (size_t i = 0; i < sizeof(long_data); i++)
		long_data[i] = (uint8_t)(i * 31 + i / 251);
	return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}

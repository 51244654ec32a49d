/* The keyed digest has known values, and any other message, key or use has another digest. */
#include <string.h>

#include "protocol/keyed-digest.h"
#include "tests/unit/common/digest-fixture.h"
#include "tests/unit/unit.h"

#define BLOCK ((size_t)65536)

static uint8_t key[DIGEST_KEY_SIZE];
static uint8_t data[3 * BLOCK + 100];

/* Adds all bytes, in pieces of `piece` bytes. */
static void add(struct keyed_digester *digester, const uint8_t *bytes, size_t size, size_t piece)
{
	for (size_t at = 0; at < size; at += piece)
		keyed_digester_add(digester, bytes + at, size - at < piece ? size - at : piece);
}

static void fill_data(void)
{
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31 + i / 251);
}

static struct digest result(const struct keyed_digester *digester, enum digest_use use)
{
	struct digest digest = {0};

	keyed_digester_result(digester, (uint8_t)use, digest.bytes);
	return digest;
}

static struct digest digest_in_pieces(size_t size, size_t piece, enum digest_use use)
{
	struct keyed_digester digester;

	keyed_digester_init(&digester, key);
	add(&digester, data, size, piece);
	return result(&digester, use);
}

static void assert_digest(const struct keyed_digester *digester, size_t size)
{
	for (unsigned int use = DIGEST_STREAM; use <= DIGEST_EXISTING; use++) {
		const struct digest digest = result(digester, use);
		const struct digest expected = reference_digest(key, data, size, use);

		assert_memory_equal(digest.bytes, expected.bytes, DIGEST_SIZE);
	}
}

/*
 * Computed by a Python program from the definition in docs/protocol.md, with hashlib.blake2b and
 * the arithmetic of RFC 8439, section 2.5.
 */
static void has_known_values(void **state)
{
	static const struct {
		size_t size;
		uint8_t digests[2][DIGEST_SIZE];
	} known[] = {
		{0, {{0xd5, 0x1a, 0xee, 0x0f, 0xc8, 0x56, 0x27, 0xa9, 0x07, 0xbb, 0xa3, 0x99, 0xeb,
			     0xfe, 0x15, 0xf9},
			    {0xf8, 0xae, 0x90, 0x97, 0x72, 0x0f, 0x8c, 0xc2, 0x89, 0xbc, 0x15, 0xe3,
				    0x78, 0x29, 0xca, 0x05}}},
		{65535, {{0xae, 0x00, 0x5a, 0xfd, 0x1a, 0x72, 0xaa, 0x1c, 0x5a, 0x1d, 0x69, 0xc8,
				 0x65, 0xdd, 0x64, 0x07},
				{0x61, 0xdf, 0xaa, 0x2b, 0x71, 0x2f, 0xf0, 0x52, 0x04, 0x33, 0x72,
					0xb8, 0x4a, 0xe5, 0x83, 0x26}}},
		{65536, {{0x89, 0x16, 0x5e, 0xe8, 0x93, 0x75, 0x11, 0xd5, 0xc3, 0xcd, 0xce, 0x63,
				 0x90, 0xd3, 0x3d, 0x43},
				{0xc4, 0xc2, 0x33, 0xee, 0x79, 0xc8, 0x19, 0xea, 0x27, 0x5c, 0xf4,
					0xd7, 0x99, 0x13, 0x6e, 0x87}}},
		{65537, {{0x8b, 0xb4, 0xef, 0x56, 0xa5, 0xeb, 0x1e, 0xe2, 0x3c, 0x08, 0xe2, 0xfc,
				 0xe0, 0xfc, 0x76, 0x3a},
				{0x08, 0x02, 0x6b, 0xb0, 0x14, 0xaa, 0xf6, 0xbe, 0x29, 0x46, 0x27,
					0xd6, 0x56, 0x5a, 0x5c, 0xa4}}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(known); i++)
		for (unsigned int use = DIGEST_STREAM; use <= DIGEST_EXISTING; use++) {
			struct digest digest = digest_in_pieces(known[i].size, sizeof(data), use);
			struct digest reference = reference_digest(key, data, known[i].size, use);

			assert_memory_equal(digest.bytes, known[i].digests[use], DIGEST_SIZE);
			assert_memory_equal(reference.bytes, known[i].digests[use], DIGEST_SIZE);
		}
}

/* The result is known at every size while data is added. */
static void more_data_may_follow_a_result(void **state)
{
	static const size_t pieces[] = {1, 15, 16, 17, 4096, 30000, BLOCK - 1, BLOCK, BLOCK + 1};

	(void)state;
	for (size_t i = 0; i < COUNT(pieces); i++) {
		struct keyed_digester digester;
		size_t step = pieces[i] < 100 ? BLOCK / 4 + 1 : pieces[i];

		keyed_digester_init(&digester, key);
		for (size_t at = 0, size; at < sizeof(data); at += size) {
			size = sizeof(data) - at < step ? sizeof(data) - at : step;
			assert_digest(&digester, at);
			add(&digester, data + at, size, pieces[i]);
		}
		assert_digest(&digester, sizeof(data));
	}
}

/* Each message of two pieces around the first two ends of a block. */
static void is_independent_of_the_split(void **state)
{
	const size_t size = 2 * BLOCK + 40;
	const struct digest whole = reference_digest(key, data, size, DIGEST_STREAM);

	(void)state;
	for (size_t split = 0; split <= size;
		split += split % BLOCK > 40 && split % BLOCK < BLOCK - 41 ? 997 : 1) {
		struct keyed_digester digester;
		struct digest digest;

		keyed_digester_init(&digester, key);
		keyed_digester_add(&digester, data, split);
		keyed_digester_add(&digester, data + split, size - split);
		digest = result(&digester, DIGEST_STREAM);
		assert_memory_equal(digest.bytes, whole.bytes, DIGEST_SIZE);
	}
}

/* A copy continues on its own, at any position in a block. */
static void a_copy_continues_independently(void **state)
{
	static const size_t sizes[] = {0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK};

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct keyed_digester digester, copy;
		const size_t size = sizes[i], more = BLOCK + 7;

		keyed_digester_init(&digester, key);
		keyed_digester_add(&digester, data, size);
		copy = digester;
		keyed_digester_add(&digester, "other", 5);
		assert_digest(&copy, size);
		keyed_digester_wipe(&digester);
		keyed_digester_add(&copy, data + size, more);
		assert_digest(&copy, size + more);
	}
}

/* Zeros are the worst case: only the size differs. */
static void detects_every_length(void **state)
{
	static const size_t sizes[] = {0, 1, 15, 16, 17, 32, BLOCK - 16, BLOCK - 1, BLOCK,
		BLOCK + 1, BLOCK + 16, 2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 1, 3 * BLOCK};
	struct digest digests[2 * COUNT(sizes)];

	(void)state;
	memset(data, 0, sizeof(data));
	for (size_t i = 0; i < COUNT(digests); i++) {
		digests[i] = digest_in_pieces(sizes[i / 2], sizeof(data), i % 2);
		for (size_t j = 0; j < i; j++)
			assert_false(digest_equal(&digests[i], &digests[j]));
	}
	fill_data();
}

static void detects_flipped_bits_and_exchanged_blocks(void **state)
{
	const size_t size = 2 * BLOCK + 3;
	const struct digest right = digest_in_pieces(size, size, DIGEST_STREAM);
	struct digest wrong;

	(void)state;
	for (size_t bit = 0; bit < 8 * size; bit += 8 * 1021 + 1) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		wrong = digest_in_pieces(size, size, DIGEST_STREAM);
		assert_false(digest_equal(&wrong, &right));
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t i = 0; i < BLOCK; i++) {
		uint8_t byte = data[i];

		data[i] = data[BLOCK + i];
		data[BLOCK + i] = byte;
	}
	wrong = digest_in_pieces(size, size, DIGEST_STREAM);
	assert_false(digest_equal(&wrong, &right));
	fill_data();
}

static void depends_on_each_bit_of_the_key(void **state)
{
	const struct digest right = reference_digest(key, data, 3, DIGEST_STREAM);

	(void)state;
	for (size_t bit = 0; bit < 8 * sizeof(key); bit++) {
		struct digest digest;

		key[bit / 8] ^= (uint8_t)(1 << bit % 8);
		digest = digest_in_pieces(3, 3, DIGEST_STREAM);
		key[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(digest_equal(&digest, &right));
	}
}

/* A key of Poly1305 is lost once two of its results are known, so none may be a digest. */
static void hides_the_results_of_poly1305(void **state)
{
	(void)state;
	for (size_t size = 0; size <= BLOCK; size += BLOCK / 4) {
		uint8_t hash[DIGEST_SIZE];

		reference_block_hash(key, data, size, hash);
		for (unsigned int use = DIGEST_STREAM; use <= DIGEST_EXISTING; use++) {
			struct digest digest = digest_in_pieces(size, sizeof(data), use);

			assert_memory_not_equal(digest.bytes, hash, DIGEST_SIZE);
		}
	}
}

static void wipes_everything(void **state)
{
	static const struct keyed_digester zeros;
	struct keyed_digester digester;

	(void)state;
	keyed_digester_init(&digester, key);
	keyed_digester_add(&digester, data, 100);
	keyed_digester_wipe(&digester);
	assert_memory_equal(&digester, &zeros, sizeof(zeros));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_known_values),
		cmocka_unit_test(more_data_may_follow_a_result),
		cmocka_unit_test(is_independent_of_the_split),
		cmocka_unit_test(a_copy_continues_independently),
		cmocka_unit_test(detects_every_length),
		cmocka_unit_test(detects_flipped_bits_and_exchanged_blocks),
		cmocka_unit_test(depends_on_each_bit_of_the_key),
		cmocka_unit_test(hides_the_results_of_poly1305),
		cmocka_unit_test(wipes_everything),
	};

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	fill_data();
	/* Selects the code for this processor, as secret_load() does. */
	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests_name("keyed digest", tests, NULL, NULL);
}

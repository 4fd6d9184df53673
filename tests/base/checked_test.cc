// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/checked.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>

#include "tests/base/support.h"

namespace edgewise {
namespace {

// 128 bits hold each sum and product of two signed 64-bit numbers; the tests compare with these exact results.
__extension__ using Wide = __int128;

template <class T>
bool fits(Wide value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

template <class T>
void expect_exact_or_error(T left, T right) {
  const auto sum = [&] { return checked_add(left, right, "size"); };
  const auto product = [&] { return checked_multiply(left, right, "size"); };
  if (fits<T>(Wide{left} + right)) {
    RC_ASSERT(Wide{sum()} == Wide{left} + right);
  } else {
    RC_ASSERT_THROWS_AS(sum(), Error);
  }
  if (fits<T>(Wide{left} * right)) {
    RC_ASSERT(Wide{product()} == Wide{left} * right);
  } else {
    RC_ASSERT_THROWS_AS(product(), Error);
  }
}

rc::Gen<std::int64_t> any_signed() {
  return rc::gen::weightedOneOf<std::int64_t>(
      {{2, rc::gen::scale(100.0, rc::gen::arbitrary<std::int64_t>())},
       {1, rc::gen::inRange<std::int64_t>(-100, 100)},
       {1, rc::gen::element(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                            std::int64_t{1} << 31, std::int64_t{1} << 32)}});
}

RC_GTEST_PROP(Checked, IsExactOrThrowsForSignedNumbers, ()) {
  expect_exact_or_error<std::int64_t>(*any_signed(), *any_signed());
}

RC_GTEST_PROP(Checked, IsExactOrThrowsForUnsignedNumbers, (std::uint32_t left, std::uint32_t right)) {
  expect_exact_or_error(left, right);
}

// A product of two unsigned 64-bit numbers may not fit the signed type Wide, so this test divides instead.
RC_GTEST_PROP(Checked, ThrowsWhereUnsignedProductsWouldWrap, ()) {
  const auto left = static_cast<std::uint64_t>(*any_signed());
  const auto right = static_cast<std::uint64_t>(*any_signed());
  const bool fits_64_bits = left == 0 || right <= std::numeric_limits<std::uint64_t>::max() / left;
  RC_ASSERT((error_of([&] { checked_multiply(left, right, "size"); }) == "no error") == fits_64_bits);
}

RC_GTEST_PROP(Narrow, ReturnsTheNumberOrThrows, ()) {
  const std::int64_t value = *any_signed();
  if (fits<std::int8_t>(value)) {
    RC_ASSERT(narrow<std::int8_t>(value, "id") == value);
  } else {
    RC_ASSERT_THROWS_AS(narrow<std::int8_t>(value, "id"), Error);
  }
}

TEST(Checked, NamesTheQuantityAndBothNumbers) {
  EXPECT_EQ(error_of([] { checked_add(std::uint64_t{1} << 63, std::uint64_t{1} << 63, "offset"); }),
            "offset is 9223372036854775808 + 9223372036854775808, needs at most 18446744073709551615");
  EXPECT_EQ(error_of([] { checked_multiply(65536, 65536, "edges"); }),
            "edges is 65536 * 65536, needs at most 2147483647");
  EXPECT_EQ(error_of([] { checked_multiply(std::int64_t{-1} << 62, 3, "shift"); }),
            "shift is -4611686018427387904 * 3, needs at least -9223372036854775808");
  EXPECT_EQ(error_of([] { narrow<std::int8_t>(300, "id"); }), "id is 300, needs a number from -128 to 127");
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/graph/relation.h"
#include "edgewise/kernels/rows/rows.h"
#include "tests/kernels/device/relation_on_device.h"
#include "tests/kernels/device/schedules.h"
#include "tests/kernels/random_numbers.h"
#include "tests/support/device_buffer.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

using device::Buffer;

template <typename T>
class RowsOnGpu : public testing::Test {
 protected:
  static std::vector<T> sum(const RelationView& relation, const std::vector<T>& from, std::int64_t size) {
    const RelationOnDevice on_device(relation);
    const Buffer<T> from_buffer(from);
    Buffer<T> to(static_cast<std::size_t>(relation.num_destinations * size));
    sum_rows(SumRows<T>{from_buffer.data(), to.data(), size}, on_device.view(), device::Stream());
    return to.read();
  }

  static void expect_sum_of_reference(const RelationView& relation, std::int64_t num_rows, std::int64_t size) {
    const std::vector<T> from = normal_numbers<T>(num_rows * size, 1);
    std::vector<T> expected(static_cast<std::size_t>(relation.num_destinations * size));
    reference::sum_rows(SumRows<T>{from.data(), expected.data(), size}, relation);

    ASSERT_TRUE(has_same_bits(sum(relation, from, size), expected)) << "rows of " << size;
  }

  /// Returns the rows 7 to 0 of 9 rows in a random order.
  static std::vector<NodeIndex> order() {
    std::vector<NodeIndex> rows(8);
    std::iota(rows.begin(), rows.end(), 0);
    RandomStream(/*seed=*/4).shuffle(rows);
    return rows;
  }
};

using Elements = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(RowsOnGpu, Elements);

constexpr std::int64_t kSizes[] = {1, 3, 4, 33, 128, 129, 512, 516, 1025};

TYPED_TEST(RowsOnGpu, SumsTheSourcesOfEveryRelationToTheBitsOfTheReference) {
  for (const auto& [name, relation] : relation_zoo()) {
    SCOPED_TRACE(name);
    RelationView view = relation.view();
    this->expect_sum_of_reference(view, view.num_sources, 4);
    this->expect_sum_of_reference(view, view.num_sources, 5);
    const std::optional<std::vector<Interval>> intervals = rows_as_intervals(view);
    if (!intervals) continue;
    view.intervals = intervals->data();
    view.sources = nullptr;
    this->expect_sum_of_reference(view, view.num_sources, 4);
  }
}

TYPED_TEST(RowsOnGpu, SumsTheRowsOfEdges) {
  const std::vector<EdgeIndex> row_begin = {0, 0, 1, 9, 9, 26};
  RelationView view;
  view.num_destinations = 5;
  view.row_begin = row_begin.data();
  for (const std::int64_t size : kSizes) this->expect_sum_of_reference(view, 26, size);
}

TYPED_TEST(RowsOnGpu, GiveTheSameSumsInEverySchedule) {
  const std::vector<EdgeIndex> row_begin = {0, 0, 1, 9, 9, 26};
  RelationView view;
  view.num_destinations = 5;
  view.row_begin = row_begin.data();
  const std::vector<TypeParam> from = normal_numbers<TypeParam>(26 * 132, 1);
  const std::vector<TypeParam> expected = this->sum(view, from, 132);
  gpu::for_each_schedule([&] { EXPECT_TRUE(has_same_bits(this->sum(view, from, 132), expected)); });
}

TYPED_TEST(RowsOnGpu, AreGatheredInAnyOrder) {
  const std::vector<NodeIndex> rows = {3, 3, 0, 8, 5};
  for (const std::int64_t size : kSizes) {
    const std::vector<TypeParam> from = normal_numbers<TypeParam>(9 * size, 1);
    const Buffer<TypeParam> from_buffer(from);
    const Buffer<NodeIndex> rows_buffer(rows);
    Buffer<TypeParam> to(rows.size() * static_cast<std::size_t>(size) + 1);
    std::vector<TypeParam> expected = to.read();
    reference::gather_rows(IndexedRows<TypeParam>{from.data(), rows.data(), expected.data(), 5, size});

    gather_rows(IndexedRows<TypeParam>{from_buffer.data(), rows_buffer.data(), to.data(), 5, size}, device::Stream());

    ASSERT_TRUE(has_same_bits(to.read(), expected)) << "rows of " << size;
  }
}

TYPED_TEST(RowsOnGpu, ArePlacedWithoutChangingOthers) {
  const std::vector<NodeIndex> rows = this->order();
  for (const std::int64_t size : kSizes) {
    const std::vector<TypeParam> from = normal_numbers<TypeParam>(8 * size, 1);
    const Buffer<TypeParam> from_buffer(from);
    const Buffer<NodeIndex> rows_buffer(rows);
    Buffer<TypeParam> to(static_cast<std::size_t>(9 * size));
    std::vector<TypeParam> expected = to.read();
    reference::place_rows(IndexedRows<TypeParam>{from.data(), rows.data(), expected.data(), 8, size});

    place_rows(IndexedRows<TypeParam>{from_buffer.data(), rows_buffer.data(), to.data(), 8, size}, device::Stream());

    ASSERT_TRUE(has_same_bits(to.read(), expected)) << "rows of " << size;
  }
}

TYPED_TEST(RowsOnGpu, MayBeNone) {
  const std::vector<EdgeIndex> row_begin = {0};
  RelationView view;
  view.row_begin = row_begin.data();
  EXPECT_TRUE(this->sum(view, {}, 4).empty());
  gather_rows(IndexedRows<TypeParam>{nullptr, nullptr, nullptr, 0, 4}, device::Stream());
}

}  // namespace
}  // namespace edgewise::kernels

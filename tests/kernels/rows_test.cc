// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/rows/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/graph/relation.h"
#include "tests/kernels/device/relation_on_device.h"
#include "tests/kernels/implementations.h"
#include "tests/kernels/random_numbers.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

/// The kernels for GPUs or, in test_kernels, the reference: the CPU has no other kernels.
template <typename T>
class RowsOf : public testing::Test {
 protected:
  static std::vector<T> sum(const RelationView& relation, const std::vector<T>& from, std::int64_t size) {
    const RelationOnDevice copy(relation);
    const Array<T> from_array(from);
    Array<T> to(static_cast<std::size_t>(relation.num_destinations * size));
    const SumRows<T> arguments = {from_array.data(), to.data(), size};
    if constexpr (kTestsGpu) {
      sum_rows(arguments, copy.view(), device::Stream());
    } else {
      reference::sum_rows(arguments, copy.view());
    }
    return to.read();
  }

  static void gather(const IndexedRows<T>& p) {
    if constexpr (kTestsGpu) {
      gather_rows(p, device::Stream());
    } else {
      reference::gather_rows(p);
    }
  }

  static void place(const IndexedRows<T>& p) {
    if constexpr (kTestsGpu) {
      place_rows(p, device::Stream());
    } else {
      reference::place_rows(p);
    }
  }

  /// Compares sum() with sums of floats in the order of the edges, rounded once.
  static void expect_sums_of_definition(const RelationView& relation, std::int64_t num_rows, std::int64_t size) {
    const std::vector<T> from = normal_numbers<T>(num_rows * size, 1);
    const bool are_edges = relation.intervals == nullptr && relation.sources == nullptr;
    std::vector<float> sums(static_cast<std::size_t>(relation.num_destinations * size));
    for (std::int64_t row = 0; row < relation.num_destinations; ++row) {
      for (EdgeIndex edge = relation.row_begin[row]; edge < relation.row_begin[row + 1]; ++edge) {
        const std::int64_t source = are_edges ? edge : relation.source(row, edge);
        for (std::int64_t i = 0; i < size; ++i) sums[row * size + i] += from[source * size + i];
      }
    }
    const std::vector<T> expected(sums.begin(), sums.end());
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
TYPED_TEST_SUITE(RowsOf, Elements);

constexpr std::int64_t kSizes[] = {1, 3, 4, 33, 128, 129, 512, 516, 1025};

TYPED_TEST(RowsOf, SumsTheSourcesOfEveryRelationInTheOrderOfTheEdges) {
  for (const auto& [name, relation] : relation_zoo()) {
    SCOPED_TRACE(name);
    RelationView view = relation.view();
    this->expect_sums_of_definition(view, view.num_sources, 4);
    this->expect_sums_of_definition(view, view.num_sources, 5);
    const std::optional<std::vector<Interval>> intervals = rows_as_intervals(view);
    if (!intervals) continue;
    view.intervals = intervals->data();
    view.sources = nullptr;
    this->expect_sums_of_definition(view, view.num_sources, 4);
  }
}

TYPED_TEST(RowsOf, SumsTheRowsOfEdges) {
  const std::vector<EdgeIndex> row_begin = {0, 0, 1, 9, 9, 26};
  RelationView view;
  view.num_destinations = 5;
  view.row_begin = row_begin.data();
  for (const std::int64_t size : kSizes) this->expect_sums_of_definition(view, 26, size);
}

TYPED_TEST(RowsOf, GiveTheSameSumsInEverySchedule) {
  const std::vector<EdgeIndex> row_begin = {0, 0, 1, 9, 9, 26};
  RelationView view;
  view.num_destinations = 5;
  view.row_begin = row_begin.data();
  const std::vector<TypeParam> from = normal_numbers<TypeParam>(26 * 132, 1);
  const std::vector<TypeParam> expected = this->sum(view, from, 132);
  for_schedules([&] { EXPECT_TRUE(has_same_bits(this->sum(view, from, 132), expected)); });
}

TYPED_TEST(RowsOf, AreGatheredInAnyOrder) {
  const std::vector<NodeIndex> rows = {3, 3, 0, 8, 5};
  for (const std::int64_t size : kSizes) {
    const std::vector<TypeParam> from = normal_numbers<TypeParam>(9 * size, 1);
    const Array<TypeParam> from_array(from);
    const Array<NodeIndex> rows_array(rows);
    Array<TypeParam> to(rows.size() * static_cast<std::size_t>(size) + 1);
    std::vector<TypeParam> expected = to.read();
    for (std::int64_t i = 0; i < 5; ++i) std::copy_n(from.begin() + rows[i] * size, size, expected.begin() + i * size);

    this->gather({from_array.data(), rows_array.data(), to.data(), 5, size});

    ASSERT_TRUE(has_same_bits(to.read(), expected)) << "rows of " << size;
  }
}

TYPED_TEST(RowsOf, ArePlacedWithoutChangingOthers) {
  const std::vector<NodeIndex> rows = this->order();
  for (const std::int64_t size : kSizes) {
    const std::vector<TypeParam> from = normal_numbers<TypeParam>(8 * size, 1);
    const Array<TypeParam> from_array(from);
    const Array<NodeIndex> rows_array(rows);
    Array<TypeParam> to(static_cast<std::size_t>(9 * size));
    std::vector<TypeParam> expected = to.read();
    for (std::int64_t i = 0; i < 8; ++i) std::copy_n(from.begin() + i * size, size, expected.begin() + rows[i] * size);

    this->place({from_array.data(), rows_array.data(), to.data(), 8, size});

    ASSERT_TRUE(has_same_bits(to.read(), expected)) << "rows of " << size;
  }
}

TYPED_TEST(RowsOf, MayBeNone) {
  const std::vector<EdgeIndex> row_begin = {0};
  RelationView view;
  view.row_begin = row_begin.data();
  EXPECT_TRUE(this->sum(view, {}, 4).empty());
  this->gather({nullptr, nullptr, nullptr, 0, 4});
}

}  // namespace
}  // namespace edgewise::kernels

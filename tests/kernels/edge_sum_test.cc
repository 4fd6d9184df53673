// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/message/edge_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "edgewise/graph/relation_ops.h"
#include "tests/kernels/implementations.h"
#include "tests/kernels/near.h"
#include "tests/kernels/not_written.h"
#include "tests/kernels/random_numbers.h"
#include "tests/support/relation_zoo.h"

namespace edgewise::kernels {
namespace {

using Sizes = std::vector<std::int64_t>;

struct Rows {
  Sizes left, right, out;
};

const std::vector<Rows>& row_cases() {
  static const std::vector<Rows> cases = {
      {{}, {}, {}},                 // one number
      {{5}, {5}, {5}},              // part of a vector
      {{3, 16}, {3, 16}, {3, 16}},  // whole vectors
      {{130}, {130}, {130}},        // more vectors than are summed at once, and a rest
      {{3, 7}, {3, 1}, {3, 7}},     // a factor for each head, of a size that no vector has
      {{2, 48}, {2, 1}, {2, 48}},   // … of whole vectors
      {{2, 64}, {2, 1}, {2, 64}},   // … of several vectors
      {{1, 128}, {1, 1}, {1, 128}},
      {{8, 4}, {8, 1}, {8, 4}},           // several heads in a vector
      {{3, 1}, {3, 20}, {3, 20}},         // the left operand is repeated
      {{1}, {9}, {9}},                    // one factor
      {{3, 7}, {3, 7}, {3, 1}},           // dot products
      {{5, 16}, {5, 16}, {5, 1}},         // … of whole vectors
      {{8, 8}, {8, 8}, {8, 1}},           // … of several heads in a vector
      {{4}, {4}, {1}},                    // … of one head
      {{3, 6}, {3, 1}, {3, 1}},           // the product with a repeated operand is summed
      {{3, 1, 5}, {4, 5}, {3, 4, 5}},     // both are repeated
      {{3, 4, 5}, {4, 5}, {3, 4, 5}},     // the right operand is repeated in an outer dimension
      {{3, 4, 5}, {3, 4, 5}, {3, 1, 5}},  // a middle dimension is summed
      {{2, 3, 4}, {2, 3, 4}, {1, 3, 1}},  // two dimensions are summed
      {{3, 1}, {3, 1}, {3, 6}},           // the output is repeated
      {{0}, {0}, {0}},                    // no elements
  };
  return cases;
}

constexpr EdgeOperator kOperators[] = {EdgeOperator::kCopy, EdgeOperator::kAdd, EdgeOperator::kSubtract,
                                       EdgeOperator::kMultiply, EdgeOperator::kDivide};
constexpr EdgeEnd kEnds[] = {EdgeEnd::kRow, EdgeEnd::kOther, EdgeEnd::kEdge};

template <typename T>
struct Message {
  EdgeOperator op;
  EdgeEnd left_end, right_end;
  RowBroadcast broadcast;
  std::int64_t num_left_rows, num_right_rows;
  const EdgeIndex* left_numbers;
  const EdgeIndex* right_numbers;
  std::vector<T> left, right;

  RowMessage<T> view() const {
    return {op,
            {left.data(), left_end, num_left_rows, left_numbers},
            {right.data(), right_end, num_right_rows, right_numbers},
            &broadcast};
  }
  Message<double> to_double() const {
    return {op,
            left_end,
            right_end,
            broadcast,
            num_left_rows,
            num_right_rows,
            left_numbers,
            right_numbers,
            std::vector<double>(left.begin(), left.end()),
            std::vector<double>(right.begin(), right.end())};
  }
};

struct Edges {
  EdgeRows rows;
  std::int64_t num_other;
  const std::vector<EdgeIndex>* numbers = nullptr;  // of tensors on edges, which have 3 rows more than there are edges

  const EdgeIndex* numbers_data() const { return numbers == nullptr ? nullptr : numbers->data(); }
  std::int64_t num_edge_rows() const { return rows.num_entries() + (numbers == nullptr ? 0 : 3); }
  std::int64_t count(EdgeEnd end) const {
    if (end == EdgeEnd::kEdge) return num_edge_rows();
    return end == EdgeEnd::kRow ? rows.num_rows : num_other;
  }
};

template <typename T>
Message<T> make_message(EdgeOperator op, EdgeEnd left_end, EdgeEnd right_end, const Rows& row, const Edges& edges) {
  Message<T> message = {op,
                        left_end,
                        right_end,
                        broadcast_rows(row.left, op == EdgeOperator::kCopy ? Sizes() : row.right, row.out),
                        edges.count(left_end),
                        edges.count(right_end),
                        edges.numbers_data(),
                        nullptr,
                        {},
                        {}};
  message.left = normal_numbers<T>(message.num_left_rows * message.broadcast.left_size, 1);
  message.right = normal_numbers<T>(message.num_right_rows * message.broadcast.right_size, 2);
  const bool are_many = edges.rows.num_entries() > kMaxPieceEdges;
  for (T& x : message.left) {
    if (are_many) x = static_cast<T>(std::round(static_cast<float>(x)));  // sums of thousands of these are exact
  }
  // Numbers by which one can divide.
  for (T& x : message.right) {
    const auto number = static_cast<float>(x);
    x = static_cast<T>(std::copysign(are_many ? (number > 1 ? 2.0f : 1.0f) : 1.0f + std::abs(number), number));
  }
  return message;
}

/// Calls test(edges) for each relation of the zoo, by destination and by source, with edges in their order and others.
template <class Test>
void for_edges(Test test) {
  std::vector<NamedRelation> relations = relation_zoo();
  relations.push_back({"rows of several pieces", join(std::vector<Relation>{bipartite(2 * kMaxPieceEdges + 5, 1),
                                                                            bipartite(1, kMaxPieceEdges + 1)})});
  for (const auto& [name, relation] : relations) {
    SCOPED_TRACE(name);
    std::vector<EdgeIndex> numbers(static_cast<std::size_t>(relation.num_edges()));
    std::iota(numbers.rbegin(), numbers.rend(), 2);
    const EdgeOrders lists(relation.view());
    const std::vector<const std::vector<EdgeIndex>*> cases = {nullptr, &numbers};
    for (const std::vector<EdgeIndex>* some_numbers : cases) {
      test(Edges{lists.by_destination(), relation.num_sources(), some_numbers});
      test(Edges{lists.by_source(), relation.num_destinations(), some_numbers});
    }
  }
}

/// Calls test(message of type T) for each case of rows, for thousands of edges only for short rows. The operators and
/// ends change from call to call.
template <typename T, class Test>
void for_messages(const Edges& edges, Test test) {
  static int i = 0;
  ++i;  // so that no case has one operator, or the same ends, in all calls
  for (const Rows& row : row_cases()) {
    ++i;
    if (edges.rows.num_entries() > kMaxPieceEdges && broadcast_rows(row.left, row.right, row.out).size > 48) continue;
    const EdgeOperator op = kOperators[i % 5];
    SCOPED_TRACE("operator " + std::to_string(static_cast<int>(op)) + ", case of rows " +
                 std::to_string(&row - row_cases().data()));
    test(make_message<T>(op, kEnds[i % 3], kEnds[i / 3 % 3], row, edges));
  }
}

template <typename T>
class EdgeKernels : public testing::Test {};
using ElementTypes = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(EdgeKernels, ElementTypes);

TYPED_TEST(EdgeKernels, SumsMatchTheirDefinition) {
  for_edges([](const Edges& edges) {
    for_messages<TypeParam>(edges, [&](const Message<TypeParam>& message) {
      const auto size = edges.rows.num_rows * message.broadcast.out_size;
      const Message<double> exact = message.to_double();
      auto expected = not_written<double>(size);
      const SumEdges<double> exact_sum = {exact.view(), expected.data()};
      reference::sum_edges(std::span(&exact_sum, 1), edges.rows);
      for_implementations([&] {
        auto actual = not_written<TypeParam>(size);
        const SumEdges<TypeParam> sum = {message.view(), actual.data()};
        sum_edges(std::span(&sum, 1), edges.rows);
        expect_near(actual, expected, "sums");
      });
    });
  });
}

TYPED_TEST(EdgeKernels, MessagesMatchTheirDefinition) {
  for_edges([](const Edges& edges) {
    for_messages<TypeParam>(edges, [&](const Message<TypeParam>& message) {
      const std::int64_t row_size = message.broadcast.out_size;
      const auto size = edges.num_edge_rows() * row_size;
      const Message<double> exact = message.to_double();
      auto expected = not_written<double>(size);
      reference::write_edges(WriteEdges<double>{exact.view(), expected.data(), edges.numbers_data()}, edges.rows);
      for_implementations([&] {
        auto actual = not_written<TypeParam>(size);
        write_edges(WriteEdges<TypeParam>{message.view(), actual.data(), edges.numbers_data()}, edges.rows);
        for (std::size_t i = 0; i < actual.size(); ++i) {
          const bool is_written = edges.numbers == nullptr || (static_cast<std::int64_t>(i) >= 2 * row_size &&
                                                               static_cast<std::int64_t>(i) < size - row_size);
          ASSERT_EQ(is_written, !std::isnan(static_cast<float>(actual[i]))) << i;
        }
        // expect_near() compares numbers only.
        std::vector<double> numbers = expected;
        for (std::size_t i = 0; i < actual.size(); ++i) {
          if (std::isnan(numbers[i])) actual[i] = TypeParam(0.0f), numbers[i] = 0;
        }
        expect_near(actual, numbers, "messages");
      });
    });
  });
}

TYPED_TEST(EdgeKernels, ExtremaAreThoseOfTheReference) {
  for_edges([](const Edges& edges) {
    for_messages<TypeParam>(edges, [&](Message<TypeParam> message) {
      if (message.broadcast.out_reading() != RowReading::kWhole || message.op == EdgeOperator::kDivide) return;
      // Small whole numbers, many of which are equal, and a few that are no numbers.
      for (auto* values : {&message.left, &message.right}) {
        for (std::size_t i = 0; i < values->size(); ++i) {
          auto& x = (*values)[i];
          x = i % 97 == 50 ? TypeParam(std::numeric_limits<float>::quiet_NaN())
                           : TypeParam(std::round(static_cast<float>(x)));
        }
      }
      const auto size = edges.rows.num_rows * message.broadcast.size;
      for (const bool is_maximum : {true, false}) {
        auto expected = not_written<TypeParam>(size);
        std::vector<std::int32_t> expected_entry(static_cast<std::size_t>(size), -7);
        reference::find_extrema(
            FindExtrema<TypeParam>{message.view(), is_maximum, expected.data(), expected_entry.data()}, edges.rows);
        for_implementations([&] {
          auto actual = not_written<TypeParam>(size);
          auto without_entries = actual;
          std::vector<std::int32_t> entry(static_cast<std::size_t>(size), -7);
          find_extrema(FindExtrema<TypeParam>{message.view(), is_maximum, actual.data(), entry.data()}, edges.rows);
          find_extrema(FindExtrema<TypeParam>{message.view(), is_maximum, without_entries.data(), nullptr}, edges.rows);
          ASSERT_EQ(entry, expected_entry);
          for (std::size_t i = 0; i < actual.size(); ++i) {
            ASSERT_TRUE(actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i]))) << i;
          }
          ASSERT_TRUE(has_same_bits(actual, without_entries));
        });
      }
    });
  });
}

TYPED_TEST(EdgeKernels, HaveTheSameBitsForAnyNumberOfThreads) {
  const Relation relation =
      join(std::vector<Relation>{causal(50), bipartite(kMaxPieceEdges * 3, 2), window(90, {.before = 9})});
  const EdgeOrders lists(relation.view());
  const Edges edges = {lists.by_destination(), relation.num_sources()};
  const auto message = make_message<TypeParam>(EdgeOperator::kMultiply, EdgeEnd::kOther, EdgeEnd::kEdge,
                                               {{3, 16}, {3, 1}, {3, 16}}, edges);
  const auto size = edges.rows.num_rows * message.broadcast.size;
  const std::vector<TypeParam> edge_gradients = normal_numbers<TypeParam>(edges.rows.num_rows * 48, 3);
  std::vector<std::vector<TypeParam>> first;
  for_schedules([&] {
    std::vector<std::vector<TypeParam>> results = {not_written<TypeParam>(size), not_written<TypeParam>(size),
                                                   not_written<TypeParam>(relation.num_edges() * 48)};
    const SumEdges<TypeParam> sum = {message.view(), results[0].data()};
    sum_edges(std::span(&sum, 1), edges.rows);
    find_extrema(FindExtrema<TypeParam>{message.view(), true, results[1].data(), nullptr}, edges.rows);
    write_edges(WriteEdges<TypeParam>{message.view(), results[2].data()}, edges.rows);
    if (first.empty()) first = results;
    for (std::size_t i = 0; i < results.size(); ++i) EXPECT_TRUE(has_same_bits(results[i], first[i])) << i;
  });
}

TYPED_TEST(EdgeKernels, ComputeSeveralSumsAtOnceAsOneByOne) {
  const Relation relation = random_relation(40, 30, 5, /*seed=*/2);
  const EdgeOrders lists(relation.view());
  const Edges edges = {lists.by_destination(), relation.num_sources()};
  const auto weighted = make_message<TypeParam>(EdgeOperator::kMultiply, EdgeEnd::kOther, EdgeEnd::kEdge,
                                                {{3, 7}, {3, 1}, {3, 7}}, edges);
  const auto copied =
      make_message<TypeParam>(EdgeOperator::kCopy, EdgeEnd::kEdge, EdgeEnd::kEdge, {{3, 1}, {}, {3, 1}}, edges);
  for_implementations([&] {
    auto together = std::vector{not_written<TypeParam>(30 * 21), not_written<TypeParam>(30 * 3)};
    auto alone = together;
    const std::vector<SumEdges<TypeParam>> both = {{weighted.view(), together[0].data()},
                                                   {copied.view(), together[1].data()}};
    sum_edges(std::span(both), edges.rows);
    const std::vector<SumEdges<TypeParam>> each = {{weighted.view(), alone[0].data()},
                                                   {copied.view(), alone[1].data()}};
    sum_edges(std::span(each).first(1), edges.rows);
    sum_edges(std::span(each).last(1), edges.rows);
    EXPECT_TRUE(has_same_bits(together[0], alone[0]));
    EXPECT_TRUE(has_same_bits(together[1], alone[1]));
  });
}

}  // namespace
}  // namespace edgewise::kernels

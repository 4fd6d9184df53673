// SPDX-License-Identifier: Apache-2.0
// The kernels of built-in messages: sums over edges, messages on edges and maxima.
#include <cstdint>
#include <string>
#include <vector>

#include "bench/kernels/add_benchmark.h"
#include "edgewise/graph/builders.h"
#include "edgewise/graph/power_law.h"
#include "edgewise/graph/relation.h"
#include "edgewise/kernels/message/edge_sum.h"

namespace edgewise::kernels {
namespace {

struct Graph {
  std::string name;
  Relation (*relation)();
  BenchmarkSize size = BenchmarkSize::kLarger;
};

enum class Pass { kWeightedSum, kSum, kWeightedSumAtSources, kDot, kMaximum };

struct Case {
  std::string name;
  Pass pass;
};

struct Sizes {
  std::int64_t heads, head_size;
};

void run(benchmark::State& state, const Relation& relation, Pass pass, const Sizes& sizes) {
  const EdgeOrders lists(relation.view());
  const EdgeRows rows = pass == Pass::kWeightedSumAtSources ? lists.by_source() : lists.by_destination();
  const std::vector<std::int64_t> row = {sizes.heads, sizes.head_size};
  const std::vector<std::int64_t> head = {sizes.heads, 1};
  const std::int64_t num_nodes = relation.num_sources();
  const auto row_size = static_cast<std::size_t>(sizes.heads * sizes.head_size);
  std::vector<float> nodes(static_cast<std::size_t>(num_nodes) * row_size, 1.0f);
  std::vector<float> more_nodes = nodes;
  std::vector<float> out(nodes.size());
  std::vector<float> edges(static_cast<std::size_t>(relation.num_edges() * sizes.heads), 1.0f);
  const EdgeOperand<float> other = {nodes.data(), EdgeEnd::kOther, num_nodes};
  const EdgeOperand<float> own = {more_nodes.data(), EdgeEnd::kRow, num_nodes};
  const EdgeOperand<float> weight = {edges.data(), EdgeEnd::kEdge, relation.num_edges()};
  const RowBroadcast weighted = broadcast_rows(row, head, row);
  const RowBroadcast copied = broadcast_rows(row, {}, row);
  const RowBroadcast dot = broadcast_rows(row, row, head);
  const SumEdges<float> sum = pass == Pass::kSum
                                  ? SumEdges<float>{{EdgeOperator::kCopy, other, {}, &copied}, out.data()}
                                  : SumEdges<float>{{EdgeOperator::kMultiply, other, weight, &weighted}, out.data()};
  for (auto _ : state) {
    if (pass == Pass::kDot) {
      write_edges(WriteEdges<float>{{EdgeOperator::kMultiply, other, own, &dot}, edges.data()}, rows);
    } else if (pass == Pass::kMaximum) {
      find_extrema(FindExtrema<float>{{EdgeOperator::kCopy, other, {}, &copied}, true, out.data(), nullptr}, rows);
    } else {
      sum_edges(std::span<const SumEdges<float>>(&sum, 1), rows);
    }
  }
  // The rows that the messages read.
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * relation.num_edges() *
                          static_cast<std::int64_t>(row_size * sizeof(float)));
}

const bool kRegistered = [] {
  const std::vector<Graph> graphs = {
      {"random_512", [] { return random_relation(512, 512, /*in_degree=*/16, /*seed=*/1); }, BenchmarkSize::kSmallest},
      {"random_8192", [] { return random_relation(8192, 8192, /*in_degree=*/32, /*seed=*/1); }},
      {"window_4096", [] { return window(4096, {.before = 128, .after = 128}); }},
      {"power_law_100000", [] { return power_law(100'000, 2'000'000); }}};
  const std::vector<Case> cases = {{"u_mul_e_sum", Pass::kWeightedSum},
                                   {"u_mul_e_sum_backward_u", Pass::kWeightedSumAtSources},
                                   {"copy_u_sum", Pass::kSum},
                                   {"copy_u_max", Pass::kMaximum},
                                   {"u_dot_v", Pass::kDot}};
  for (const Graph& graph : graphs) {
    for (const Case& entry : cases) {
      for (const Sizes sizes : {Sizes{1, 16}, {1, 64}, {8, 8}, {8, 64}}) {
        const std::string name = "message/" + entry.name + "/" + graph.name + "/" + std::to_string(sizes.heads) + "x" +
                                 std::to_string(sizes.head_size);
        add_benchmark(name, graph.size, [=](benchmark::State& state) {
          run(state, graph.relation(), entry.pass, sizes);
        })->Unit(benchmark::kMillisecond);
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace edgewise::kernels

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/attention_workload.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>

#include <array>
#include <cmath>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"

namespace edgewise {
namespace {

// Drawn by Python's random.seed(0) and randint(6, 28), so that the peers' benchmarks have the same edges.
constexpr std::array<std::int64_t, 128> kSentenceLengths = {
    18, 19, 7,  14, 22, 21, 18, 15, 21, 17, 24, 12, 22, 10, 15, 10, 9,  25, 14, 23, 28, 25, 10, 15, 9,  8,
    27, 16, 21, 23, 9,  17, 19, 16, 25, 26, 12, 23, 21, 20, 22, 14, 7,  23, 6,  8,  18, 28, 27, 26, 6,  25,
    21, 16, 13, 16, 28, 8,  12, 24, 13, 13, 10, 23, 20, 8,  8,  16, 22, 21, 9,  15, 23, 15, 28, 9,  23, 16,
    23, 12, 25, 23, 24, 15, 20, 8,  25, 18, 16, 24, 13, 15, 11, 12, 11, 7,  25, 27, 14, 21, 8,  8,  27, 10,
    10, 7,  8,  28, 23, 27, 18, 28, 22, 14, 22, 13, 12, 27, 24, 19, 24, 14, 20, 21, 27, 26, 28, 17};

Relation join_sentences(auto make) {
  std::vector<Relation> relations;
  relations.reserve(kSentenceLengths.size());
  for (const std::int64_t length : kSentenceLengths) relations.push_back(make(length));
  return join(relations);
}

/// Draws `degree` sources for each node; a source may be drawn twice.
Relation random_sources(std::int64_t num_nodes, std::int64_t degree) {
  RandomStream random(/*seed=*/1);
  std::vector<EdgeIndex> row_begin;
  for (std::int64_t row = 0; row <= num_nodes; ++row) row_begin.push_back(row * degree);
  std::vector<NodeIndex> sources(num_nodes * degree);
  for (NodeIndex& source : sources) {
    source = static_cast<NodeIndex>(random.next_below(static_cast<std::uint64_t>(num_nodes)));
  }
  return Relation::from_csr(num_nodes, std::move(row_begin), std::move(sources));
}

Relation complete_sentences() {
  return join_sentences([](std::int64_t length) { return complete(length); });
}

}  // namespace

AttentionWorkload make_attention_workload(AttentionCase which) {
  switch (which) {
    case AttentionCase::kSentences:
      return {.relation = complete_sentences()};
    case AttentionCase::kCausal:
      return {.relation = join_sentences([](std::int64_t length) { return causal(length); })};
    case AttentionCase::kSmall:
      return {.relation = complete_sentences(), .heads = 4, .head_size = 32};
    case AttentionCase::kWindow:
      return {.relation = window(4096, {.before = 128, .after = 128})};
    case AttentionCase::kRandom:
      return {.relation = random_sources(8192, 32)};
    case AttentionCase::kLong:
      return {.relation = join(std::vector<Relation>(8, complete(2048)))};
    case AttentionCase::kLongCausal:
      return {.relation = join(std::vector<Relation>(8, causal(2048)))};
  }
  fail("make_attention_workload: which is {}, needs a case", static_cast<int>(which));
}

AttentionInputs AttentionInputs::to(at::Device device, at::ScalarType type) const {
  const auto leaf = [&](const at::Tensor& x) { return x.to(device, type).detach().requires_grad_(); };
  return {leaf(query_NHK), leaf(key_NHK), leaf(value_NHK), grad_out_NHK.to(device, type)};
}

AttentionInputs random_attention_inputs(const AttentionWorkload& workload) {
  auto generator = at::detail::createCPUGenerator(/*seed_val=*/0);
  const auto normal = [&] {
    return at::randn({workload.relation.num_sources(), workload.heads, workload.head_size}, generator, at::kFloat);
  };
  return {normal(), normal(), normal(), normal()};
}

double attention_flops(const AttentionWorkload& workload) {
  return 4.0 * static_cast<double>(workload.relation.num_edges() * workload.heads * workload.head_size);
}

double relation_bytes(const Relation& relation) {
  const auto nodes = static_cast<double>(relation.num_destinations());
  const double edges = relation.form() == Relation::Form::kIntervals ? 0.0 : static_cast<double>(relation.num_edges());
  return sizeof(NodeIndex) * (edges + nodes);
}

Traffic attention_traffic(const AttentionWorkload& workload, std::int64_t bytes_per_number) {
  const auto nodes = static_cast<double>(workload.relation.num_sources());
  const double tensor = static_cast<double>(bytes_per_number * workload.heads * workload.head_size) * nodes;
  const double normalizers = 4.0 * nodes * static_cast<double>(workload.heads);
  const double relation = relation_bytes(workload.relation);
  const double forward = 4.0 * tensor + normalizers + relation;
  return {.forward = forward, .total = forward + 8.0 * tensor + 2.0 * normalizers + 2.0 * relation};
}

double largest_difference(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& expected,
                          DifferenceScale scale) {
  double worst = 0.0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(worst)) break;
    at::Tensor size = expected[i].abs().clamp_min(1);
    if (scale == DifferenceScale::kTensor) size = size.max();
    const at::Tensor difference = (actual[i].to(at::kCPU, at::kDouble) - expected[i]).abs() / size;
    const double largest = difference.max().item<double>();  // NaN if any element is NaN; std::max could drop the NaN
    if (!(largest <= worst)) worst = largest;
  }
  return worst;
}

}  // namespace edgewise

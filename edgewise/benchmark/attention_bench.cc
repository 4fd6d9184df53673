// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/attention_bench.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/base/sorting.h"
#include "edgewise/benchmark/device_limits.h"
#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/ops/attend.h"
#include "edgewise/train/device.h"

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

// Forward has two products per edge and head; backward has five, one of which computes the scores again to save memory.
constexpr double kTotalOverForward = 3.5;

struct Inputs {
  at::Tensor query_NHK, key_NHK, value_NHK, grad_out_NHK;

  Inputs to(at::Device device, at::ScalarType type) const {
    auto leaf = [&](const at::Tensor& x) { return x.to(device, type).detach().requires_grad_(); };
    return {leaf(query_NHK), leaf(key_NHK), leaf(value_NHK), grad_out_NHK.to(device, type)};
  }
};

Inputs random_inputs(const AttentionWorkload& workload, at::ScalarType type) {
  auto generator = at::detail::createCPUGenerator(/*seed_val=*/0);
  auto normal = [&] {
    return at::randn({workload.relation.num_sources(), workload.heads, workload.head_size}, generator, type);
  };
  return {normal(), normal(), normal(), normal()};
}

at::Tensor forward(const AttentionWorkload& workload, const Inputs& inputs) {
  return attend(workload.relation, inputs.query_NHK, inputs.key_NHK, inputs.value_NHK);
}

/// Resets the gradients first, as training does for activations; otherwise backward would add to earlier gradients.
void forward_and_backward(const AttentionWorkload& workload, const Inputs& inputs) {
  for (const at::Tensor& leaf : {inputs.query_NHK, inputs.key_NHK, inputs.value_NHK}) leaf.mutable_grad().reset();
  forward(workload, inputs).backward(inputs.grad_out_NHK);
}

std::vector<at::Tensor> output_and_gradients(const AttentionWorkload& workload, const Inputs& inputs) {
  const at::Tensor out_NHK = forward(workload, inputs);
  out_NHK.backward(inputs.grad_out_NHK);
  return {out_NHK.detach(), inputs.query_NHK.grad(), inputs.key_NHK.grad(), inputs.value_NHK.grad()};
}

double difference_from_fp64(const AttentionWorkload& workload, const Inputs& inputs) {
  const std::vector<at::Tensor> actual = output_and_gradients(workload, inputs);
  const std::vector<at::Tensor> expected = output_and_gradients(workload, inputs.to(at::kCPU, at::kDouble));
  double worst = 0.0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(worst)) break;
    const at::Tensor difference =
        (actual[i].to(at::kCPU, at::kDouble) - expected[i]).abs() / expected[i].abs().clamp_min(1);
    const double largest = difference.max().item<double>();  // NaN if any element is NaN; std::max could drop the NaN
    if (!(largest <= worst)) worst = largest;
  }
  return worst;
}

// Warm-up time, until memory and clock rates are as in the middle of training.
constexpr std::chrono::milliseconds kWarmUp{300};

AttentionTime time_calls(std::int64_t repetitions, at::Device device, const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  const int calls = device.is_cpu() ? 1 : 20;
  const auto run_calls = [&] {
    for (int call = 0; call < calls; ++call) run();
    synchronize(device);
  };
  const Clock::time_point start = Clock::now();
  do run_calls();
  while (Clock::now() - start < kWarmUp);
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < repetitions; ++i) {
    const Clock::time_point begin = Clock::now();
    run_calls();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / calls);
  }
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return {.seconds = median(seconds), .mean_seconds = sum / static_cast<double>(repetitions)};
}

/// Least memory traffic in bytes: each pass reads or writes each of its tensors, the log normalizers and the relation
/// once.
struct Traffic {
  double forward;
  double total;  // forward and backward
};

Traffic traffic_of(const AttentionWorkload& workload, Precision precision) {
  const Relation& relation = workload.relation;
  const auto nodes = static_cast<double>(relation.num_sources());
  const double tensor =
      (precision == Precision::kBf16 ? 2.0 : 4.0) * nodes * static_cast<double>(workload.heads * workload.head_size);
  const double normalizers = 4.0 * nodes * static_cast<double>(workload.heads);
  const double edges = relation.form() == Relation::Form::kIntervals ? 0.0 : static_cast<double>(relation.num_edges());
  const double relation_bytes = sizeof(NodeIndex) * (edges + nodes);
  const double forward = 4.0 * tensor + normalizers + relation_bytes;
  return {.forward = forward, .total = forward + 8.0 * tensor + 2.0 * normalizers + 2.0 * relation_bytes};
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

void check_difference(double difference, Precision precision) {
  const double allowed = precision == Precision::kBf16 ? 0x1p-6 : 1e-4;
  if (difference <= allowed) return;  // false for NaN
  throw std::runtime_error(fmt::format(
      "bench attention: attend differs from its definition in fp64 by {:.2e}, in {} at most {:.2e} is right",
      difference, enum_name(precision), allowed));
}

AttentionBench measure_attention(const AttentionBenchOptions& options) {
  const AttentionWorkload workload = make_attention_workload(options.which);
  const at::ScalarType type = options.precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
  const at::Device device = options.device;
  prepare_device(device);
  const Inputs inputs = random_inputs(workload, at::kFloat).to(device, type);
  AttentionBench bench;
  bench.kernel = attention_kernel(workload.relation, inputs.query_NHK, inputs.value_NHK);
  bench.nodes = workload.relation.num_sources();
  bench.edges = workload.relation.num_edges();
  bench.difference = difference_from_fp64(workload, inputs);
  check_difference(bench.difference, options.precision);

  bench.forward = time_calls(options.repetitions, device, [&] {
    const c10::AutoGradMode no_gradients(false);
    forward(workload, inputs);
  });
  bench.total = time_calls(options.repetitions, device, [&] { forward_and_backward(workload, inputs); });

  bench.peak_flops = measure_gemm_peak(options.precision, device);
  bench.peak_bandwidth = measure_memory_bandwidth(device);
  bench.forward.flops = 4.0 * static_cast<double>(bench.edges * workload.heads * workload.head_size);
  bench.total.flops = kTotalOverForward * bench.forward.flops;
  const Traffic traffic = traffic_of(workload, options.precision);
  auto limit = [&](double flops, double bytes) {
    return std::max(flops / bench.peak_flops, bytes / bench.peak_bandwidth);
  };
  bench.forward.limit_seconds = limit(bench.forward.flops, traffic.forward);
  bench.total.limit_seconds = limit(bench.total.flops, traffic.total);
  return bench;
}

}  // namespace edgewise

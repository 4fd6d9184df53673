// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/attention_bench.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "edgewise/experiment/machine_limits.h"
#include "edgewise/experiment/median.h"
#include "edgewise/ops/attend.h"

namespace edgewise {
namespace {

// What backward takes for each product of forward: five, and the scores once more to save their memory.
constexpr double kTotalOverForward = 3.5;

struct Inputs {
  at::Tensor query_NHK, key_NHK, value_NHK, grad_out_NHK;

  Inputs to(at::ScalarType type) const {
    auto leaf = [type](const at::Tensor& x) { return x.to(type).detach().requires_grad_(); };
    return {leaf(query_NHK), leaf(key_NHK), leaf(value_NHK), grad_out_NHK.to(type)};
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

// Gradients are new each time, as a model's activations have them: adding them to earlier ones is no attention.
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
  const std::vector<at::Tensor> expected = output_and_gradients(workload, inputs.to(at::kDouble));
  double worst = 0.0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(worst)) break;
    const at::Tensor apart = (actual[i].to(at::kDouble) - expected[i]).abs() / expected[i].abs().clamp_min(1);
    const double largest = apart.max().item<double>();  // NaN if there is one, which std::max might lose
    if (!(largest <= worst)) worst = largest;
  }
  return worst;
}

// Until memory and clock rates are as they are in the middle of a training.
constexpr std::chrono::milliseconds kWarmUp{300};

double median_seconds(std::int64_t repetitions, const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  do run();
  while (Clock::now() - start < kWarmUp);
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < repetitions; ++i) {
    const Clock::time_point begin = Clock::now();
    run();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return median(seconds);
}

// Bytes that forward, and forward and backward, must move if caches hold everything in between: each tensor, the log
// normalizers, and the relation, once a pass that reads or writes them.
struct Traffic {
  double forward;
  double total;
};

Traffic traffic_of(const AttentionWorkload& workload, Precision precision) {
  const Relation& relation = workload.relation;
  const auto nodes = static_cast<double>(relation.num_sources());
  const double tensor =
      (precision == Precision::kBf16 ? 2.0 : 4.0) * nodes * static_cast<double>(workload.heads * workload.head_size);
  const double normalizers = 4.0 * nodes * static_cast<double>(workload.heads);
  const double edges = relation.form() == Relation::Form::kIntervals ? 0.0 : static_cast<double>(relation.num_edges());
  const double of_relation = sizeof(NodeIndex) * (edges + nodes);
  const double forward = 4.0 * tensor + normalizers + of_relation;
  return {.forward = forward, .total = forward + 8.0 * tensor + 2.0 * normalizers + 2.0 * of_relation};
}

}  // namespace

void check_difference(double difference, Precision precision) {
  const double allowed = precision == Precision::kBf16 ? 0x1p-6 : 1e-4;
  if (difference <= allowed) return;  // not so where it is NaN
  throw std::runtime_error(fmt::format(
      "bench attention: attend differs from its definition in fp64 by {:.2e}, in {} at most {:.2e} is right",
      difference, enum_name(precision), allowed));
}

AttentionBench measure_attention(const AttentionBenchOptions& options) {
  const AttentionWorkload workload = attention_workload(options.which);
  const at::ScalarType type = options.precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
  const Inputs inputs = random_inputs(workload, at::kFloat).to(type);
  AttentionBench bench;
  bench.kernel = attention_kernel(workload.relation, type);
  bench.nodes = workload.relation.num_sources();
  bench.edges = workload.relation.num_edges();
  bench.difference = difference_from_fp64(workload, inputs);
  check_difference(bench.difference, options.precision);

  bench.forward.seconds = median_seconds(options.repetitions, [&] {
    const c10::AutoGradMode no_gradients(false);
    forward(workload, inputs);
  });
  bench.total.seconds = median_seconds(options.repetitions, [&] { forward_and_backward(workload, inputs); });

  bench.peak_flops = gemm_peak(options.precision);
  bench.peak_bandwidth = memory_bandwidth();
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

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/attention_bench.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "edgewise/base/sorting.h"
#include "edgewise/benchmark/device_limits.h"
#include "edgewise/benchmark/timing.h"
#include "edgewise/ops/attend.h"
#include "edgewise/train/device.h"

namespace edgewise {
namespace {

at::Tensor forward(const AttentionWorkload& workload, const AttentionInputs& inputs) {
  return attend(workload.relation, inputs.query_NHK, inputs.key_NHK, inputs.value_NHK);
}

/// Resets the gradients first, as training does for activations; otherwise backward would add to earlier gradients.
void forward_and_backward(const AttentionWorkload& workload, const AttentionInputs& inputs) {
  for (const at::Tensor& leaf : {inputs.query_NHK, inputs.key_NHK, inputs.value_NHK}) leaf.mutable_grad().reset();
  forward(workload, inputs).backward(inputs.grad_out_NHK);
}

std::vector<at::Tensor> output_and_gradients(const AttentionWorkload& workload, const AttentionInputs& inputs) {
  const at::Tensor out_NHK = forward(workload, inputs);
  out_NHK.backward(inputs.grad_out_NHK);
  return {out_NHK.detach(), inputs.query_NHK.grad(), inputs.key_NHK.grad(), inputs.value_NHK.grad()};
}

double difference_from_fp64(const AttentionWorkload& workload, const AttentionInputs& inputs) {
  return largest_difference(output_and_gradients(workload, inputs),
                            output_and_gradients(workload, inputs.to(at::kCPU, at::kDouble)));
}

AttentionTime summarise(const std::vector<double>& seconds) {
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return {.seconds = median(seconds), .mean_seconds = sum / static_cast<double>(seconds.size())};
}

}  // namespace

void check_difference(double difference, Precision precision, std::string_view what) {
  const double allowed = precision == Precision::kBf16 ? 0x1p-6 : 1e-4;
  if (difference <= allowed) return;  // false for NaN
  throw std::runtime_error(
      fmt::format("{} differs from its definition in fp64 by {:.2e}, in {} at most {:.2e} is right", what, difference,
                  enum_name(precision), allowed));
}

AttentionBench measure_attention(const AttentionBenchOptions& options) {
  const AttentionWorkload workload = make_attention_workload(options.which);
  const at::ScalarType type = options.precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
  const at::Device device = options.device;
  prepare_device(device);
  const AttentionInputs inputs = random_attention_inputs(workload).to(device, type);
  AttentionBench bench;
  bench.kernel = attention_kernel(workload.relation, inputs.query_NHK, inputs.value_NHK);
  bench.nodes = workload.relation.num_sources();
  bench.edges = workload.relation.num_edges();
  bench.difference = difference_from_fp64(workload, inputs);
  check_difference(bench.difference, options.precision);

  bench.forward = summarise(time_calls(options.repetitions, device, [&] {
    const c10::AutoGradMode no_gradients(false);
    forward(workload, inputs);
  }));
  bench.total = summarise(time_calls(options.repetitions, device, [&] { forward_and_backward(workload, inputs); }));

  bench.peak_flops = measure_gemm_peak(options.precision, device);
  bench.peak_bandwidth = measure_memory_bandwidth(device);
  bench.forward.flops = attention_flops(workload);
  bench.total.flops = kTotalOverForward * bench.forward.flops;
  const Traffic traffic = attention_traffic(workload, options.precision == Precision::kBf16 ? 2 : 4);
  auto limit = [&](double flops, double bytes) {
    return std::max(flops / bench.peak_flops, bytes / bench.peak_bandwidth);
  };
  bench.forward.limit_seconds = limit(bench.forward.flops, traffic.forward);
  bench.total.limit_seconds = limit(bench.total.flops, traffic.total);
  return bench;
}

}  // namespace edgewise

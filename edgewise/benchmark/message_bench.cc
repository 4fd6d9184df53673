// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/message_bench.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/sorting.h"
#include "edgewise/benchmark/attention_bench.h"
#include "edgewise/benchmark/device_limits.h"
#include "edgewise/benchmark/message_ways.h"
#include "edgewise/benchmark/timing.h"
#include "edgewise/graph/builders.h"
#include "edgewise/graph/power_law.h"

namespace edgewise {
namespace {

bool is_score(MessageWay way) {
  return way == MessageWay::kSoftCap || way == MessageWay::kAlibi || way == MessageWay::kTable;
}

bool is_attention(MessageCase which) { return which != MessageCase::kPowerLaw && which != MessageCase::kCopyTask; }

Relation make_relation(MessageCase which) {
  switch (which) {
    case MessageCase::kSentences:
      return make_attention_workload(AttentionCase::kSentences).relation;
    case MessageCase::kWindow:
      return make_attention_workload(AttentionCase::kWindow).relation;
    case MessageCase::kRandom:
      return make_attention_workload(AttentionCase::kRandom).relation;
    case MessageCase::kPowerLaw:
      return power_law(100'000, 2'000'000);
    case MessageCase::kCopyTask:
      break;
  }
  fail("measure_messages: which is {}, needs a case of one relation", enum_name(which));
}

using Inputs = std::vector<at::Tensor>;

Inputs make_leaves(const Inputs& inputs, at::ScalarType type) {
  Inputs leaves;
  leaves.reserve(inputs.size());
  for (const at::Tensor& input : inputs) leaves.push_back(input.to(type).detach().clone().requires_grad_());
  return leaves;
}

at::Tensor random_gradient(const at::Tensor& out) {
  return at::randn(out.sizes(), at::detail::createCPUGenerator(/*seed_val=*/1), at::kFloat);
}

/// A way and its tensors.
class Run {
 public:
  Run(MessageWay way, const AttentionWorkload& workload) : computation_(make_message_computation(way, workload)) {
    leaves_ = make_leaves(computation_.inputs, at::kFloat);
    const c10::AutoGradMode no_gradients(false);
    gradient_ = random_gradient(computation_.compute(leaves_));
  }

  void forward() const {
    const c10::AutoGradMode no_gradients(false);
    computation_.compute(leaves_);
  }

  /// Resets the gradients first, as training does for activations; otherwise backward would add to earlier gradients.
  at::Tensor forward_and_backward() const {
    for (const at::Tensor& leaf : leaves_) leaf.mutable_grad().reset();
    at::Tensor out = computation_.compute(leaves_);
    out.backward(gradient_);
    return out;
  }

  /// Must have run before, so that what the relation keeps exists.
  std::int64_t measure_extra_memory() const {
    for (const at::Tensor& leaf : leaves_) leaf.mutable_grad().reset();
    std::int64_t results = 0;
    const std::int64_t growth = measure_memory_growth([&] {
      results += static_cast<std::int64_t>(forward_and_backward().nbytes());
      for (const at::Tensor& leaf : leaves_) results += static_cast<std::int64_t>(leaf.grad().nbytes());
    });
    return std::max<std::int64_t>(growth - results, 0);
  }

  double difference_from_fp64(DifferenceScale scale) const {
    const Inputs leaves = make_leaves(computation_.inputs, at::kDouble);
    const at::Tensor expected = computation_.define(leaves);
    expected.backward(gradient_.to(at::kDouble));
    const auto with_gradients = [](const at::Tensor& out, const Inputs& of) {
      std::vector<at::Tensor> all = {out.detach()};
      for (const at::Tensor& leaf : of) all.push_back(leaf.grad());
      return all;
    };
    const at::Tensor out = forward_and_backward();
    return largest_difference(with_gradients(out, leaves_), with_gradients(expected, leaves), scale);
  }

  const MessageComputation& computation() const { return computation_; }

 private:
  MessageComputation computation_;
  Inputs leaves_;
  at::Tensor gradient_;
};

/// Runs a way on a small graph, so that its code is in memory.
void run_small(MessageWay way) {
  const AttentionWorkload small = {.relation = window(64, {.before = 4, .after = 4}), .heads = 2, .head_size = 16};
  Run(way, small).forward_and_backward();
}

/// Runs a way on small rows, after which the relation keeps what a way derives from it.
void run_thin(MessageWay way, const Relation& relation) {
  const AttentionWorkload thin = {.relation = relation, .heads = 1, .head_size = 1};
  Run(way, thin).forward_and_backward();
}

}  // namespace

std::vector<MessageWay> ways_of(MessageCase which) {
  using enum MessageWay;
  if (which == MessageCase::kPowerLaw) return {kSum, kMean, kMaximum, kDot};
  if (which == MessageCase::kCopyTask) return {kMessages, kFused};
  return {kBuiltIn, kTutorial, kFunctions, kAttend, kSoftCap, kAlibi, kTable};
}

std::vector<MessageWay> default_ways(MessageCase which) {
  std::vector<MessageWay> ways = ways_of(which);
  if (which == MessageCase::kWindow) std::erase(ways, MessageWay::kFunctions);
  return ways;
}

std::int64_t MessageBenchOptions::num_heads() const { return heads.value_or(is_attention(which) ? 8 : 1); }

std::int64_t MessageBenchOptions::size_of_head() const {
  return head_size.value_or(which == MessageCase::kCopyTask ? 128 : 64);
}

std::vector<MessageWay> MessageBenchOptions::ways() const {
  if (!way) return default_ways(which);
  const std::vector<MessageWay> possible = ways_of(which);
  std::vector<std::string_view> names;
  names.reserve(possible.size());
  for (const MessageWay other : possible) names.push_back(enum_name(other));
  check(std::ranges::find(possible, *way) != possible.end(),
        "bench message: --way is {}, needs one of {} with --case {}", enum_name(*way), fmt::join(names, ", "),
        enum_name(which));
  return is_score(*way) ? std::vector{MessageWay::kAttend, *way} : std::vector{*way};
}

const MessageWayBench* MessageBench::find(MessageWay way) const {
  const auto found = std::ranges::find(ways, way, &MessageWayBench::way);
  return found == ways.end() ? nullptr : &*found;
}

MessageBench measure_messages(const MessageBenchOptions& options) {
  const std::vector<MessageWay> ways = options.ways();
  const AttentionWorkload workload = {
      .relation = make_relation(options.which), .heads = options.num_heads(), .head_size = options.size_of_head()};
  MessageBench bench = {.nodes = workload.relation.num_sources(), .edges = workload.relation.num_edges(), .ways = {}};
  std::vector<Run> runs;
  runs.reserve(ways.size());
  for (const MessageWay way : ways) {
    run_small(way);
    run_thin(way, workload.relation);
    const Run& run = runs.emplace_back(way, workload);
    MessageWayBench& result = bench.ways.emplace_back();
    result.way = way;
    result.extra_memory = run.measure_extra_memory();
    result.difference =
        run.difference_from_fp64(is_attention(options.which) ? DifferenceScale::kElement : DifferenceScale::kTensor);
    check_difference(result.difference, Precision::kFp32, fmt::format("bench message: {}", enum_name(way)));
  }

  std::vector<TimedCall> calls;
  for (const Run& run : runs) {
    calls.push_back({[&run] { run.forward(); }});
    calls.push_back({[&run] { run.forward_and_backward(); }});
  }
  time_in_turns(calls, options.repetitions);

  bench.peak_bandwidth = measure_memory_bandwidth(at::kCPU);
  const double forward_flops = is_attention(options.which) ? attention_flops(workload) : 0.0;
  const double peak_flops = forward_flops > 0.0 ? measure_gemm_peak(Precision::kFp32, at::kCPU) : 1.0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto fill = [&](const TimedCall& timed, double bytes, double row_bytes, double flops) {
      return MessagePass{.seconds = median(timed.seconds),
                         .bytes = bytes,
                         .row_bytes = row_bytes,
                         .limit_seconds = std::max(bytes / bench.peak_bandwidth, flops / peak_flops)};
    };
    const MessageComputation& made = runs[i].computation();
    bench.ways[i].forward = fill(calls[2 * i], made.bytes.forward, made.row_bytes.forward, forward_flops);
    bench.ways[i].total =
        fill(calls[2 * i + 1], made.bytes.total, made.row_bytes.total, kTotalOverForward * forward_flops);
  }
  return bench;
}

}  // namespace edgewise

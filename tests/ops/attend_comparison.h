// SPDX-License-Identifier: Apache-2.0
// Compares attend with its definition in plain ATen, in fp64.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "edgewise/kernels/attention/tile_attention.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/ops/attend.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/edge_index.h"
#include "edgewise/ops/gpu_attention.h"
#include "tests/ops/attention_inputs.h"

namespace edgewise {

inline Tensors convert(const Tensors& tensors, at::ScalarType type) {
  Tensors result;
  for (const at::Tensor& tensor : tensors) result.push_back(tensor.to(type));
  return result;
}

inline bool tests_gpu_kernels() { return backend_of(at::zeros({1})) == Backend::kGpu; }

/// Calls fn for each instruction set of this machine, or once for kernels for GPUs.
template <class Fn>
void for_each_instruction_set(Fn fn) {
  if (tests_gpu_kernels()) return fn();
  for (const auto set : kernels::runnable_instruction_sets()) {
    SCOPED_TRACE(std::string(kernels::instruction_set_name(set)));
    const kernels::ForcedInstructionSet forced(set);
    fn();
  }
}

/// Returns small sizes for which there is a kernel for every relation.
inline HeadSizes small_heads() {
  return tests_gpu_kernels() ? HeadSizes{.head_size = 32, .value_size = 32}
                             : HeadSizes{.head_size = 5, .value_size = 3};
}

inline at::Tensor bias_of(const Tensors& inputs) { return inputs.size() > 3 ? inputs[3] : at::Tensor(); }

/// Returns bounds for the rounding errors of the output and the gradients of attend. The gradient of a score is a
/// weight times a difference of two gradients of weights, which may cancel: its error is as large as that of these
/// terms. A few such errors in fp32 are added up for a gradient of query, key or edge bias. If the tensors are bf16,
/// kernels for GPUs round weights and gradients of scores, and compute the mean gradient of a row's weights from its
/// rounded output; kernels for CPUs do the latter for rows with edges in several tiles.
inline std::vector<double> rounding_errors(const Relation& relation, const AttentionOptions& options,
                                           const Tensors& inputs) {
  if (relation.num_edges() == 0) return {0, 0, 0, 0, 0};
  const EdgeIndexTensors edges = edge_index_tensors(relation, at::kCPU);
  const Tensors exact = convert(inputs, at::kDouble);
  const at::Tensor grad_out_DHV = gradient_of_output({inputs[0].size(0), inputs[0].size(1), inputs[2].size(2)});
  const std::int64_t group_size = inputs[0].size(1) / inputs[2].size(1);
  const at::Tensor term_EHV = grad_out_DHV.index_select(0, edges.destination_E) *
                              exact[2].repeat_interleave(group_size, 1).index_select(0, edges.source_E);
  auto largest = [](const at::Tensor& tensor) { return tensor.abs().max().item<double>(); };
  const bool is_bf16 = inputs[0].scalar_type() == at::kBFloat16;
  const bool rounds_mean = is_bf16 && (tests_gpu_kernels() || relation.num_sources() > kernels::kTileSources);
  const double of_weight = (is_bf16 && tests_gpu_kernels() ? 0x1p-9 : 0) / (1 - options.dropout);
  const double of_term = (rounds_mean ? 0x1p-9 : 8 * 0x1p-24) / (1 - options.dropout);
  const double of_score = of_term * largest(term_EHV.abs().sum(-1));
  const double scale = std::abs(scale_or_default(options, exact[0]));
  return {of_weight * largest(exact[2]), of_score * scale * largest(exact[1]), of_score * scale * largest(exact[0]),
          of_weight * largest(grad_out_DHV), of_score};
}

using Function = std::function<at::Tensor(const Tensors&)>;

enum class OnInstructionSets {
  kEvery,   // of this machine
  kForced,  // the one in use
};

/// Compares the output and gradients of `attention` with those of its definition, which gets the inputs in fp64.
inline void expect_matches(const Function& attention, const Function& definition, const Tensors& inputs,
                           const std::vector<double>& rounding, OnInstructionSets sets = OnInstructionSets::kEvery) {
  const at::ScalarType type = inputs[0].scalar_type();
  const Tensors expected =
      output_and_gradients([&](const Tensors& x) { return definition(convert(x, at::kDouble)).to(type); }, inputs);
  const auto compare = [&] {
    const Tensors actual = output_and_gradients(attention, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expect_close(actual[i], expected[i], result_name(i), tolerance(type), type == at::kDouble ? 0 : rounding[i]);
    }
  };
  sets == OnInstructionSets::kEvery ? for_each_instruction_set(compare) : compare();
}

/// Compares attend with its definition. The inputs are query, key, value and, if there is a fourth, edge bias.
inline void expect_matches_definition(const Relation& relation, const AttentionOptions& options, const Tensors& inputs,
                                      OnInstructionSets sets = OnInstructionSets::kEvery) {
  expect_matches(
      [&](const Tensors& x) { return attend(relation, x[0], x[1], x[2], with_bias(options, bias_of(x))); },
      [&](const Tensors& x) { return attend_plain(relation, x[0], x[1], x[2], with_bias(options, bias_of(x))); },
      inputs, rounding_errors(relation, options, inputs), sets);
}

/// Returns the smallest number from `clamp` on that is further away from all scores than their rounding errors: at the
/// clamp, the gradient of a score jumps to zero.
inline double clamp_between_scores(const Relation& relation, const AttentionOptions& options, const Tensors& inputs) {
  const EdgeIndexTensors edges = edge_index_tensors(relation, at::kCPU);
  const Tensors exact = convert(inputs, at::kDouble);
  const at::Tensor query_EHK = exact[0].index_select(0, edges.destination_E);
  const std::int64_t group_size = exact[0].size(1) / exact[1].size(1);
  const at::Tensor key_EHK = exact[1].repeat_interleave(group_size, 1).index_select(0, edges.source_E);
  const at::Tensor score_EH = (query_EHK * key_EHK).sum(-1).abs() * std::abs(scale_or_default(options, exact[0]));
  double clamp = *options.clamp;
  while (((score_EH - clamp).abs() < 1e-5).any().item<bool>()) clamp += 2e-5;
  return clamp;
}

}  // namespace edgewise

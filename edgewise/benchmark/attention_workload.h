// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/graph/relation.h"

namespace edgewise {

/// The relations that attention is timed on; bench/peers/attention_cases.py has the same cases, except
/// those of long sequences, which are for GPUs.
enum class AttentionCase {
  kSentences,   // 128 sentences of 6 to 28 tokens; a token attends to its sentence
  kCausal,      // the sentences of kSentences; a token attends to itself and earlier tokens
  kSmall,       // the relation of kSentences, with 4 heads of size 32
  kWindow,      // 4096 nodes; a node attends to up to 128 nodes before it and 128 after it
  kRandom,      // 8192 nodes; a node attends to 32 nodes drawn from all
  kLong,        // 8 sequences of 2048 tokens; a token attends to its sequence
  kLongCausal,  // the sequences of kLong; a token attends to itself and earlier tokens
};

inline constexpr auto enum_names(AttentionCase) {
  return names_in_order<AttentionCase>("sentences", "causal", "small", "window", "random", "long", "long-causal");
}

struct AttentionWorkload {
  Relation relation;  // between nodes of one set
  std::int64_t heads = 8;
  std::int64_t head_size = 64;
};

AttentionWorkload make_attention_workload(AttentionCase which);

/// The tensors that attention reads, and the gradient of its result.
struct AttentionInputs {
  at::Tensor query_NHK, key_NHK, value_NHK, grad_out_NHK;

  /// Returns copies; those of query, key and value are leaves that require gradients.
  AttentionInputs to(at::Device device, at::ScalarType type) const;
};

/// Draws normal numbers in fp32 on the CPU, the same in each call.
AttentionInputs random_attention_inputs(const AttentionWorkload& workload);

/// Returns the floating-point operations of the definition, forward. Forward has two products per edge and head;
/// backward has five, one of which computes the scores again to save memory.
double attention_flops(const AttentionWorkload& workload);
inline constexpr double kTotalOverForward = 3.5;

/// Bytes of memory that a computation must read and write, forward, and forward and backward.
struct Traffic {
  double forward = 0.0;
  double total = 0.0;
};

/// Returns the least traffic of attention: each pass reads or writes each of its tensors, the log normalizers and the
/// relation once.
Traffic attention_traffic(const AttentionWorkload& workload, std::int64_t bytes_per_number);

/// Returns the bytes of a relation's arrays.
double relation_bytes(const Relation& relation);

enum class DifferenceScale { kElement, kTensor };

/// Returns the largest |x - x64| / max(1, |x64|) of all elements, or NaN if one is NaN. With kTensor, |x64| is the
/// largest of a tensor: elements that are sums of many large numbers may be small.
double largest_difference(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& expected,
                          DifferenceScale scale = DifferenceScale::kElement);

}  // namespace edgewise

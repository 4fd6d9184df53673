// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/nn/attention.h"

namespace edgewise {

struct AttentionHeadsOptions {
  std::int64_t heads = 8;
  std::int64_t size = 512;       // of what goes in and comes out
  std::int64_t key_size = 64;    // the document's dim_k
  std::int64_t value_size = 64;  // dim_v
};

/// One head: scaled dot-product attention between its own projections.
struct AttentionHead {
  Linear query;
  Linear key;
  Linear value;

  AttentionHead() = default;
  AttentionHead(const AttentionHeadsOptions& options, RandomStream& random);

  /// [D, value size].
  at::Tensor operator()(const Relation& relation, const at::Tensor& destination_DI, const at::Tensor& source_SI) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("query", self.query);
    part("key", self.key);
    part("value", self.value);
  }
};

/// Multi-head attention as the from-scratch document first shows it: separate heads side by side, their results
/// concatenated and mixed. The meaning of MultiHeadAttention, which computes all heads at once.
struct AttentionHeads {
  std::vector<AttentionHead> heads;
  Linear output;

  AttentionHeads() = default;
  AttentionHeads(const AttentionHeadsOptions& options, RandomStream& random);

  at::Tensor operator()(const Relation& relation, const at::Tensor& destination_DI, const at::Tensor& source_SI) const;

  /// The same attention as one layer, with copies of these parameters.
  MultiHeadAttention joined() const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("heads", self.heads);
    part("output", self.output);
  }
};

}  // namespace edgewise

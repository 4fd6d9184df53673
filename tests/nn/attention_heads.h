// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/nn/attention.h"

namespace edgewise {

struct AttentionHeadsOptions {
  std::int64_t heads = 8;
  std::int64_t size = 512;       // features of input and output
  std::int64_t key_size = 64;    // the from-scratch note's dim_k
  std::int64_t value_size = 64;  // the note's dim_v
};

/// One head: scaled dot-product attention with its own projections.
struct AttentionHead {
  Linear query;
  Linear key;
  Linear value;

  AttentionHead() = default;
  AttentionHead(const AttentionHeadsOptions& options, RandomStream& random);

  /// Returns [D, value size].
  at::Tensor operator()(const Relation& relation, const at::Tensor& destination_DI, const at::Tensor& source_SI) const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("query", self.query);
    part("key", self.key);
    part("value", self.value);
  }
};

/// Multi-head attention with a separate layer for each head, as in the from-scratch note (docs/sources.md): the
/// definition of MultiHeadAttention, which computes all heads at once.
struct AttentionHeads {
  std::vector<AttentionHead> heads;
  Linear output;

  AttentionHeads() = default;
  AttentionHeads(const AttentionHeadsOptions& options, RandomStream& random);

  at::Tensor operator()(const Relation& relation, const at::Tensor& destination_DI, const at::Tensor& source_SI) const;

  /// Returns the equivalent MultiHeadAttention, with copies of the parameters.
  MultiHeadAttention fuse() const;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("heads", self.heads);
    part("output", self.output);
  }
};

}  // namespace edgewise

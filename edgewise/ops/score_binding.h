// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/relation.h"
#include "edgewise/kernels/score/score_inputs.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/operation.h"
#include "edgewise/ops/score.h"

// A score function compiled for a relation, and its columns in the memory layout of kernels. N = numbers of a column,
// H = heads.
namespace edgewise {

struct BoundScore {
  struct Column {
    kernels::ScoreDomain domain;
    std::int64_t first = 0;  // kDistances: the smallest source - destination
  };

  kernels::ScoreProgram program;
  std::vector<Column> columns;
  Tensors tensors;  // inputs of autograd, one for each column: [N, 1] or [N, H]
};

/// Compiles a score function that check_score() accepts, for relations of the same sizes. Evaluates subexpressions of
/// one domain: of sources, destinations, distances or heads alone. Takes O(nodes) time besides conversions of columns
/// of edges, and once O(edges) for the distances of a relation in CSR form.
BoundScore bind_score(const Score& score, std::span<const Relation> relations, std::int64_t num_heads,
                      at::ScalarType type, at::Device device);

/// Copies the columns to the layout that kernels::ScoreColumn describes.
Tensors score_columns_for_kernels(const BoundScore& score, const Tensors& tensors);

/// Allocates the gradients of the columns that `needs_gradient` selects; the others are undefined. gradient_of_column()
/// returns one in the shape of BoundScore::tensors.
Tensors allocate_score_gradients(const BoundScore& score, const Tensors& kernel_columns,
                                 const std::vector<bool>& needs_gradient);
at::Tensor gradient_of_column(const BoundScore::Column& column, const at::Tensor& gradient);

/// Returns the argument of kernels, which points to the tensors; `gradients` may be empty.
template <typename T>
kernels::ScoreInputs<T> score_inputs(const BoundScore& score, const Tensors& kernel_columns,
                                     const Tensors& gradients = {}) {
  kernels::ScoreInputs<T> inputs = {.program = &score.program, .columns = {}};
  for (std::size_t i = 0; i < score.columns.size(); ++i) {
    const auto [domain, first] = score.columns[i];
    const at::Tensor& column = kernel_columns[i];
    T* grad = i < gradients.size() ? data_or_null<T>(gradients[i]) : nullptr;
    if (domain == kernels::ScoreDomain::kEdges) {  // [E, 1] or [E, H]
      inputs.columns.push_back({.domain = domain,
                                .data = column.const_data_ptr<T>(),
                                .size = column.size(0),
                                .stride = column.size(1),
                                .head_stride = column.size(1) == 1 ? 0 : 1,
                                .first = first,
                                .grad = grad});
      continue;
    }
    // [1, padding + N + padding] or [H, padding + N + padding]
    inputs.columns.push_back({.domain = domain,
                              .data = column.const_data_ptr<T>() + kernels::kScorePadding,
                              .size = column.size(1) - 2 * kernels::kScorePadding,
                              .stride = 1,
                              .head_stride = column.size(0) == 1 ? 0 : column.size(1),
                              .first = first,
                              .grad = grad});
  }
  return inputs;
}

}  // namespace edgewise

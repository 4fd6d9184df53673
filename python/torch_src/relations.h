// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tuple>

#include "edgewise/graph/relation.h"
#include "tensors.h"

namespace edgewise::torch_operations {

/// A relation as arguments of an operation. The number of sources comes from another argument.
struct RelationTensors {
  const Tensor& row_begin;  // int64 [D + 1]
  const Tensor& sources;    // int32, [D, 2] for intervals, [E] for CSR
  const Tensor& handle;     // int64, [1]: the number of a kept relation, or [0]
};

/// Returns the relation that keep_relation kept under the number of the handle, or a copy of the tensors. A kept
/// relation has the plans that earlier calls have derived. The tensors suffice: a handle may be of another process, as
/// in an exported program, or have been forgotten.
Relation find_relation(std::string_view function, const RelationTensors& tensors, std::int64_t num_sources);

/// Copies a relation and derives its plan for attention. Returns a number for the handle, and how many weights per head
/// forward can save for backward in float32 or bfloat16.
std::tuple<std::int64_t, std::int64_t> keep_relation(const Tensor& row_begin, const Tensor& sources,
                                                     std::int64_t num_sources);

/// Forgets a relation. Calls that are using it end as they would have.
void forget_relation(std::int64_t number);

/// Returns how many relations are kept.
std::int64_t num_kept_relations();

}  // namespace edgewise::torch_operations

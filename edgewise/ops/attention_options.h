// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "edgewise/graph/relation.h"
#include "edgewise/ops/attend.h"

// What attend, attention_weights and their definitions have in common: whether arguments fit, and the numbers in force.
namespace edgewise {

/// Wants shapes that fit the relation and each other, and options in their ranges.
void check_query_and_key(std::string_view function, const Relation& relation, const at::Tensor& query_DHK,
                         const at::Tensor& key_SHK, const AttentionOptions& options);
void check_value(std::string_view function, const Relation& relation, const at::Tensor& query_DHK,
                 const at::Tensor& value_SHV);

/// The scale that was asked for, or 1 / sqrt(K).
double scale_in_force(const AttentionOptions& options, const at::Tensor& query_DHK);

}  // namespace edgewise

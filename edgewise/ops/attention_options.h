// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "edgewise/graph/relation.h"
#include "edgewise/ops/attend.h"

// Checks and defaults that attend(), attention_weights() and their definitions in plain ATen share.
namespace edgewise {

/// Throw Error, with the name of `function`, unless the shapes fit the relation and each other and the options are in
/// range.
void check_query_and_key(std::string_view function, const Relation& relation, const at::Tensor& query_DHK,
                         const at::Tensor& key_SHK, const AttentionOptions& options);
void check_value(std::string_view function, const Relation& relation, const at::Tensor& query_DHK,
                 const at::Tensor& value_SHV);

/// Returns options.scale, or 1 / sqrt(K) if it is unset.
double scale_or_default(const AttentionOptions& options, const at::Tensor& query_DHK);

}  // namespace edgewise

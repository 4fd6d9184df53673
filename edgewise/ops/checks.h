// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

#include "edgewise/graph/relation.h"
#include "edgewise/ops/attend.h"

// Checks the arguments of operations. Errors begin with `function`, the name of the public function that was called.
namespace edgewise {

/// Returns the sizes, such as "[5, 2, 8]".
std::string shape_text(const at::Tensor& tensor);

/// Checks that the tensor is defined and fp32 or fp64.
void check_float_or_double(std::string_view function, std::string_view name, const at::Tensor& tensor);

/// Checks that the tensor is defined and fp32, bf16 or fp64.
void check_floating_point(std::string_view function, std::string_view name, const at::Tensor& tensor);

/// Returns the type of parameters and accumulation for an input x: fp64 if x is fp64, else fp32.
at::ScalarType parameter_type(const at::Tensor& x);

/// Checks that the parameter is on the device of x and has parameter_type(x).
void check_parameter(std::string_view function, std::string_view name, const at::Tensor& parameter,
                     std::string_view x_name, const at::Tensor& x);

/// Checks the arguments of x Wᵀ + bias: x [..., I] has fp32, bf16 or fp64 and at least one dimension; weight [O, I]
/// and, if defined, bias [O] have parameter_type(x) and are on the device of x.
void check_projection(std::string_view function, std::string_view x_name, const at::Tensor& x_TI,
                      const at::Tensor& weight_OI, const at::Tensor& bias_O);

/// Checks that the two tensors have the same element type and are on the same device.
void check_same_type(std::string_view function, std::string_view name, const at::Tensor& tensor,
                     std::string_view other_name, const at::Tensor& other);

/// Checks that the two tensors are on the same device.
void check_same_device(std::string_view function, std::string_view name, const at::Tensor& tensor,
                       std::string_view other_name, const at::Tensor& other);

/// Checks the number of dimensions; `meaning` names the dimensions in the error: "sources, heads, head size".
void check_dimensions(std::string_view function, std::string_view name, const at::Tensor& tensor,
                      std::int64_t dimensions, std::string_view meaning);

/// Checks that the tensor has `rows` rows, one for each `row_of` of a relation: "destination", "source" or "edge".
void check_rows(std::string_view function, std::string_view name, const at::Tensor& tensor, std::int64_t rows,
                std::string_view row_of);

/// Check that the sizes of dimension 1 (heads), or of the last dimension (head size), are equal.
void check_same_heads(std::string_view function, std::string_view name, const at::Tensor& tensor,
                      std::string_view other_name, const at::Tensor& other);
void check_same_head_size(std::string_view function, std::string_view name, const at::Tensor& tensor,
                          std::string_view other_name, const at::Tensor& other);

/// Checks that 0 <= rate < 1.
void check_dropout_rate(std::string_view function, std::string_view name, double rate);

/// Throws Error if autograd records the backward pass that calls this function. Without this check, the second
/// derivative of an operation that is differentiable once would silently be zero.
void check_differentiated_once(std::string_view function);

/// Check for attention that the shapes fit the relation and each other, and that the options are in range.
void check_query_and_key(std::string_view function, const Relation& relation, const at::Tensor& query_DHK,
                         const at::Tensor& key_SHK, const AttentionOptions& options);
void check_value(std::string_view function, const Relation& relation, const at::Tensor& key_SHK,
                 const at::Tensor& value_SHV, const AttentionOptions& options);

/// Returns options.scale, or 1 / sqrt(K) if it is unset.
double scale_or_default(const AttentionOptions& options, const at::Tensor& query_DHK);

}  // namespace edgewise

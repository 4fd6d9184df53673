// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

#include "edgewise/graph/relation.h"

// What operations ask of their arguments. All throw Error in the name of the function that the user called.
namespace edgewise {

/// "[5, 2, 8]"
std::string shape_text(const at::Tensor& tensor);

/// Wants a tensor on the CPU of fp32 or fp64.
void check_computable(std::string_view function, std::string_view name, const at::Tensor& tensor);

/// The same, or bf16.
void check_storable(std::string_view function, std::string_view name, const at::Tensor& tensor);

/// The type that parameters have beside x, and in which sums are made: fp32, or fp64 where x is.
at::ScalarType parameter_type(const at::Tensor& x);

/// Wants a tensor on the CPU of parameter_type(x).
void check_parameter(std::string_view function, std::string_view name, const at::Tensor& parameter,
                     std::string_view x_name, const at::Tensor& x);

/// Wants what x Wᵀ + bias needs: x on the CPU of fp32, bf16 or fp64, [..., I] of at least one dimension; weight
/// [O, I] and, if defined, bias [O], of fp32, or of fp64 where x is.
void check_projection(std::string_view function, std::string_view x_name, const at::Tensor& x_TI,
                      const at::Tensor& weight_OI, const at::Tensor& bias_O);

/// Wants both to have one type.
void check_same_type(std::string_view function, std::string_view name, const at::Tensor& tensor,
                     std::string_view other_name, const at::Tensor& other);

/// Wants the given number of dimensions; `meaning` lists them, such as "sources, heads, head size".
void check_dimensions(std::string_view function, std::string_view name, const at::Tensor& tensor,
                      std::int64_t dimensions, std::string_view meaning);

/// Wants one row a destination, source or edge of the relation.
void check_destination_rows(std::string_view function, std::string_view name, const at::Tensor& tensor,
                            const Relation& relation);
void check_source_rows(std::string_view function, std::string_view name, const at::Tensor& tensor,
                       const Relation& relation);
void check_edge_rows(std::string_view function, std::string_view name, const at::Tensor& tensor,
                     const Relation& relation);

/// Wants the sizes [num_heads] in dimension 1, respectively [size] in the last one, to be equal.
void check_same_heads(std::string_view function, std::string_view name, const at::Tensor& tensor,
                      std::string_view other_name, const at::Tensor& other);
void check_same_head_size(std::string_view function, std::string_view name, const at::Tensor& tensor,
                          std::string_view other_name, const at::Tensor& other);

/// Wants 0 <= rate < 1.
void check_dropout_rate(std::string_view function, std::string_view name, double rate);

/// For the start of a backward pass that is not differentiable itself: without it, a second derivative would silently
/// be zero.
void check_differentiated_once(std::string_view function);

}  // namespace edgewise

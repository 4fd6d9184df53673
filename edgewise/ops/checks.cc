// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/checks.h"

#include <c10/core/GradMode.h>
#include <fmt/ranges.h>

#include <cmath>

#include "edgewise/base/error.h"
#include "edgewise/ops/score_node.h"

namespace edgewise {
namespace {

void check_defined(std::string_view function, std::string_view name, const at::Tensor& tensor) {
  check(tensor.defined(), "{}: {} is undefined, needs a tensor", function, name);
}

/// Checks a tensor with a vector for each edge and head, unless it is undefined.
void check_edge_vectors(std::string_view function, std::string_view name, const Relation& relation,
                        const at::Tensor& edges_EHK, const at::Tensor& query_DHK) {
  if (!edges_EHK.defined()) return;
  check_dimensions(function, name, edges_EHK, 3, "edges, heads, size of a head");
  check_rows(function, name, edges_EHK, relation.num_edges(), "edge");
  check_same_heads(function, name, edges_EHK, "query", query_DHK);
  check_same_type(function, name, edges_EHK, "query", query_DHK);
}

void check_options(std::string_view function, const Relation& relation, const at::Tensor& query_DHK,
                   const AttentionOptions& options) {
  if (options.scale) {
    check(std::isfinite(*options.scale), "{}: scale is {}, needs a finite number", function, *options.scale);
  }
  if (options.clamp) {
    check(*options.clamp > 0.0, "{}: clamp is {}, needs a positive bound", function, *options.clamp);
  }
  check_dropout_rate(function, "dropout", options.dropout);
  if (options.edge_bias.defined()) {
    check_dimensions(function, "edge_bias", options.edge_bias, 2, "edges, heads");
    check_rows(function, "edge_bias", options.edge_bias, relation.num_edges(), "edge");
    check_same_heads(function, "edge_bias", options.edge_bias, "query", query_DHK);
  }
  check_edge_vectors(function, "edge_key", relation, options.edge_key, query_DHK);
  check_edge_vectors(function, "edge_value", relation, options.edge_value, query_DHK);
  if (options.edge_key.defined()) check_same_head_size(function, "edge_key", options.edge_key, "query", query_DHK);
  if (!options.score) return;
  check(!options.clamp && !options.edge_bias.defined(),
        "{}: score is set beside {}, needs to contain it; write clamp(Score::product(), …) or + Score::of_edges(…)",
        function, options.clamp ? "clamp" : "edge_bias");
  check_score(function, relation, *options.score, query_DHK.size(1), query_DHK.device());
}

}  // namespace

std::string shape_text(const at::Tensor& tensor) { return fmt::format("[{}]", fmt::join(tensor.sizes(), ", ")); }

void check_float_or_double(std::string_view function, std::string_view name, const at::Tensor& tensor) {
  check_defined(function, name, tensor);
  check(tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble,
        "{}: {} has type {}, needs Float or Double", function, name, at::toString(tensor.scalar_type()));
}

void check_floating_point(std::string_view function, std::string_view name, const at::Tensor& tensor) {
  check_defined(function, name, tensor);
  const at::ScalarType type = tensor.scalar_type();
  check(type == at::kFloat || type == at::kBFloat16 || type == at::kDouble,
        "{}: {} has type {}, needs Float, BFloat16 or Double", function, name, at::toString(type));
}

at::ScalarType parameter_type(const at::Tensor& x) { return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat; }

void check_parameter(std::string_view function, std::string_view name, const at::Tensor& parameter,
                     std::string_view x_name, const at::Tensor& x) {
  check_defined(function, name, parameter);
  const at::ScalarType needed = parameter_type(x);
  check(parameter.scalar_type() == needed, "{}: {} has type {}, needs {} where {} has type {}", function, name,
        at::toString(parameter.scalar_type()), at::toString(needed), x_name, at::toString(x.scalar_type()));
  check_same_device(function, name, parameter, x_name, x);
}

void check_projection(std::string_view function, std::string_view x_name, const at::Tensor& x_TI,
                      const at::Tensor& weight_OI, const at::Tensor& bias_O) {
  check_floating_point(function, x_name, x_TI);
  check_parameter(function, "weight", weight_OI, x_name, x_TI);
  check_dimensions(function, "weight", weight_OI, 2, "outputs, inputs");
  check(x_TI.dim() > 0 && x_TI.size(-1) == weight_OI.size(1), "{}: {} is {}, needs a last dimension of {}", function,
        x_name, shape_text(x_TI), weight_OI.size(1));
  if (!bias_O.defined()) return;
  check_parameter(function, "bias", bias_O, x_name, x_TI);
  check(bias_O.dim() == 1 && bias_O.size(0) == weight_OI.size(0), "{}: bias is {}, needs to be [{}]", function,
        shape_text(bias_O), weight_OI.size(0));
}

void check_same_type(std::string_view function, std::string_view name, const at::Tensor& tensor,
                     std::string_view other_name, const at::Tensor& other) {
  check(tensor.scalar_type() == other.scalar_type(), "{}: {} has type {} but {} has type {}, needs the same type",
        function, name, at::toString(tensor.scalar_type()), other_name, at::toString(other.scalar_type()));
  check_same_device(function, name, tensor, other_name, other);
}

void check_same_device(std::string_view function, std::string_view name, const at::Tensor& tensor,
                       std::string_view other_name, const at::Tensor& other) {
  check(tensor.device() == other.device(), "{}: {} is on {} but {} is on {}, needs one device", function, name,
        tensor.device().str(), other_name, other.device().str());
}

void check_dimensions(std::string_view function, std::string_view name, const at::Tensor& tensor,
                      std::int64_t dimensions, std::string_view meaning) {
  check(tensor.defined(), "{}: {} is undefined, needs a tensor", function, name);
  check(tensor.dim() == dimensions, "{}: {} is {}, needs {} dimensions: {}", function, name, shape_text(tensor),
        dimensions, meaning);
}

void check_rows(std::string_view function, std::string_view name, const at::Tensor& tensor, std::int64_t rows,
                std::string_view row_of) {
  check(tensor.size(0) == rows, "{}: {} has {} rows, but the relation has {} {}s, needs one row per {}", function, name,
        tensor.size(0), rows, row_of, row_of);
}

void check_same_heads(std::string_view function, std::string_view name, const at::Tensor& tensor,
                      std::string_view other_name, const at::Tensor& other) {
  check(tensor.size(1) == other.size(1), "{}: {} has {} heads but {} has {}, needs as many", function, name,
        tensor.size(1), other_name, other.size(1));
}

void check_same_head_size(std::string_view function, std::string_view name, const at::Tensor& tensor,
                          std::string_view other_name, const at::Tensor& other) {
  check(tensor.size(-1) == other.size(-1), "{}: {} is {} but {} is {}, needs equal last dimensions (head sizes)",
        function, name, shape_text(tensor), other_name, shape_text(other));
}

void check_dropout_rate(std::string_view function, std::string_view name, double rate) {
  check(rate >= 0.0 && rate < 1.0, "{}: {} is {}, needs at least 0 and less than 1", function, name, rate);
}

void check_differentiated_once(std::string_view function) {
  check(!c10::GradMode::is_enabled(),
        "{}: backward is asked for a graph of its own (create_graph), but {} can be differentiated once", function,
        function);
}

void check_query_and_key(std::string_view function, const Relation& relation, const at::Tensor& query_DHK,
                         const at::Tensor& key_SHK, const AttentionOptions& options) {
  check_dimensions(function, "query", query_DHK, 3, "destinations, heads, head size");
  check_dimensions(function, "key", key_SHK, 3, "sources, heads, head size");
  check_rows(function, "query", query_DHK, relation.num_destinations(), "destination");
  check_rows(function, "key", key_SHK, relation.num_sources(), "source");
  const std::int64_t heads = query_DHK.size(1);
  const std::int64_t key_heads = key_SHK.size(1);
  check(key_heads == heads || (key_heads > 0 && heads % key_heads == 0),
        "{}: key has {} heads but query has {}, needs as many, or a divisor", function, key_heads, heads);
  check_same_head_size(function, "key", key_SHK, "query", query_DHK);
  check(query_DHK.size(2) > 0, "{}: query is {}, needs a head size of at least 1", function, shape_text(query_DHK));
  check_options(function, relation, query_DHK, options);
}

void check_value(std::string_view function, const Relation& relation, const at::Tensor& key_SHK,
                 const at::Tensor& value_SHV, const AttentionOptions& options) {
  check_dimensions(function, "value", value_SHV, 3, "sources, heads, size of a head's value");
  check_rows(function, "value", value_SHV, relation.num_sources(), "source");
  check_same_heads(function, "value", value_SHV, "key", key_SHK);
  if (options.edge_value.defined())
    check_same_head_size(function, "edge_value", options.edge_value, "value", value_SHV);
}

double scale_or_default(const AttentionOptions& options, const at::Tensor& query_DHK) {
  return options.scale.value_or(1.0 / std::sqrt(static_cast<double>(query_DHK.size(2))));
}

}  // namespace edgewise

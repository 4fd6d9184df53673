// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/attention_options.h"

#include <cmath>

#include "edgewise/base/error.h"
#include "edgewise/ops/checks.h"

namespace edgewise {
namespace {

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
    check_edge_rows(function, "edge_bias", options.edge_bias, relation);
    check_same_heads(function, "edge_bias", options.edge_bias, "query", query_DHK);
  }
}

}  // namespace

void check_query_and_key(std::string_view function, const Relation& relation, const at::Tensor& query_DHK,
                         const at::Tensor& key_SHK, const AttentionOptions& options) {
  check_dimensions(function, "query", query_DHK, 3, "destinations, heads, head size");
  check_dimensions(function, "key", key_SHK, 3, "sources, heads, head size");
  check_destination_rows(function, "query", query_DHK, relation);
  check_source_rows(function, "key", key_SHK, relation);
  check_same_heads(function, "key", key_SHK, "query", query_DHK);
  check_same_head_size(function, "key", key_SHK, "query", query_DHK);
  check(query_DHK.size(2) > 0, "{}: query is {}, needs a head size of at least 1", function, shape_text(query_DHK));
  check_options(function, relation, query_DHK, options);
}

void check_value(std::string_view function, const Relation& relation, const at::Tensor& query_DHK,
                 const at::Tensor& value_SHV) {
  check_dimensions(function, "value", value_SHV, 3, "sources, heads, size of a head's value");
  check_source_rows(function, "value", value_SHV, relation);
  check_same_heads(function, "value", value_SHV, "query", query_DHK);
}

double scale_or_default(const AttentionOptions& options, const at::Tensor& query_DHK) {
  return options.scale.value_or(1.0 / std::sqrt(static_cast<double>(query_DHK.size(2))));
}

}  // namespace edgewise

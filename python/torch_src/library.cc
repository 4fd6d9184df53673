// SPDX-License-Identifier: Apache-2.0
// Registers the operations of the namespace edgewise with torch. Python (edgewise/torch) registers their results for
// tensors without memory, and their gradients.
#include "operations.h"
#include "relations.h"

namespace operations = edgewise::torch_operations;

STABLE_TORCH_LIBRARY(edgewise, library) {
  library.def(
      "attend(Tensor query, Tensor key, Tensor value, Tensor? edge_bias, Tensor row_begin, Tensor sources, "
      "Tensor handle, Tensor? seed, float scale, float? clamp, float dropout, SymInt num_saved) -> "
      "(Tensor, Tensor, Tensor)");
  library.def(
      "attend_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor? edge_bias, Tensor out, "
      "Tensor log_normalizer, Tensor saved_weights, Tensor row_begin, Tensor sources, Tensor handle, Tensor? seed, "
      "float scale, float? clamp, float dropout, bool needs_bias_gradient) -> (Tensor, Tensor, Tensor, Tensor)");
  library.def(
      "attend_score(Tensor query, Tensor key, Tensor value, Tensor? edge_key, Tensor? edge_value, Tensor[] columns, "
      "Tensor row_begin, Tensor sources, Tensor handle, Tensor? seed, int[] nodes, float[] constants, int[] domains, "
      "int[] firsts, int[] needed, float scale, float dropout, SymInt num_saved) -> (Tensor, Tensor, Tensor)");
  library.def(
      "attend_score_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor? edge_key, "
      "Tensor? edge_value, Tensor out, Tensor log_normalizer, Tensor saved_weights, Tensor[] columns, "
      "Tensor row_begin, Tensor sources, Tensor handle, Tensor? seed, int[] nodes, float[] constants, int[] domains, "
      "int[] firsts, int[] needed, "
      "float scale, float dropout, bool needs_edge_key_gradient, bool needs_edge_value_gradient) -> "
      "(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor[])");
  library.def(
      "attention_weights_score(Tensor query, Tensor key, Tensor? edge_key, Tensor[] columns, Tensor row_begin, "
      "Tensor sources, Tensor handle, SymInt num_edges, int[] nodes, float[] constants, int[] domains, int[] firsts, "
      "float scale) -> Tensor");
  library.def(
      "attention_weights(Tensor query, Tensor key, Tensor? edge_bias, Tensor row_begin, Tensor sources, "
      "Tensor handle, SymInt num_edges, float scale, float? clamp) -> Tensor");
  library.def(
      "attention_weights_backward(Tensor grad_weight, Tensor weight, Tensor query, Tensor key, Tensor row_begin, "
      "Tensor sources, Tensor handle, float scale, float? clamp) -> (Tensor, Tensor, Tensor)");
  library.def(
      "edge_softmax(Tensor score, Tensor row_begin, Tensor sources, Tensor handle, SymInt num_sources) -> Tensor");
  library.def(
      "edge_softmax_backward(Tensor grad_weight, Tensor weight, Tensor row_begin, Tensor sources, Tensor handle, "
      "SymInt num_sources) -> Tensor");
  library.def("aggregate(Tensor weight, Tensor value, Tensor row_begin, Tensor sources, Tensor handle) -> Tensor");
  library.def(
      "aggregate_backward(Tensor grad_out, Tensor weight, Tensor value, Tensor row_begin, Tensor sources, "
      "Tensor handle) -> (Tensor, Tensor)");
  library.def(
      "edge_sum(Tensor left, Tensor? right, Tensor? left_numbers, Tensor? right_numbers, Tensor? numbers, "
      "Tensor row_begin, Tensor sources, Tensor handle, SymInt num_sources, int op, int left_rows, int right_rows, "
      "int rows_of, SymInt num_rows, SymInt[] row_shape) -> Tensor");
  library.def(
      "edge_sums(Tensor[] tensors, Tensor[] numbers, Tensor row_begin, Tensor sources, Tensor handle, "
      "SymInt num_sources, int[] messages, SymInt[] row_shapes, bool by_source) -> Tensor[]");
  library.def(
      "edge_extremum(Tensor left, Tensor? right, Tensor? left_numbers, Tensor? right_numbers, Tensor row_begin, "
      "Tensor sources, Tensor handle, SymInt num_sources, int op, int left_rows, int right_rows, bool is_maximum, "
      "bool needs_entries, SymInt[] row_shape) -> (Tensor, Tensor)");
  library.def(
      "edge_extremum_backward(Tensor grad_out, Tensor entry, Tensor left, Tensor? right, Tensor? left_numbers, "
      "Tensor? right_numbers, Tensor row_begin, Tensor sources, Tensor handle, SymInt num_sources, int op, "
      "int left_rows, int right_rows) -> (Tensor, Tensor)");
  library.def("keep_relation(Tensor row_begin, Tensor sources, int num_sources) -> (int, int)");
  library.def("forget_relation(int number) -> ()");
  library.def("num_kept_relations() -> int");
}

STABLE_TORCH_LIBRARY_IMPL(edgewise, CPU, library) {
  library.impl("attend", TORCH_BOX(&operations::attend));
  library.impl("attend_backward", TORCH_BOX(&operations::attend_backward));
  library.impl("attend_score", TORCH_BOX(&operations::attend_score));
  library.impl("attend_score_backward", TORCH_BOX(&operations::attend_score_backward));
  library.impl("attention_weights_score", TORCH_BOX(&operations::attention_weights_score));
  library.impl("attention_weights", TORCH_BOX(&operations::attention_weights));
  library.impl("attention_weights_backward", TORCH_BOX(&operations::attention_weights_backward));
  library.impl("edge_softmax", TORCH_BOX(&operations::edge_softmax));
  library.impl("edge_softmax_backward", TORCH_BOX(&operations::edge_softmax_backward));
  library.impl("aggregate", TORCH_BOX(&operations::aggregate));
  library.impl("aggregate_backward", TORCH_BOX(&operations::aggregate_backward));
  library.impl("edge_sum", TORCH_BOX(&operations::edge_sum));
  library.impl("edge_sums", TORCH_BOX(&operations::edge_sums));
  library.impl("edge_extremum", TORCH_BOX(&operations::edge_extremum));
  library.impl("edge_extremum_backward", TORCH_BOX(&operations::edge_extremum_backward));
  library.impl("keep_relation", TORCH_BOX(&operations::keep_relation));
}

// Operations without tensors have no device to choose an implementation by.
STABLE_TORCH_LIBRARY_IMPL(edgewise, CompositeExplicitAutograd, library) {
  library.impl("forget_relation", TORCH_BOX(&operations::forget_relation));
  library.impl("num_kept_relations", TORCH_BOX(&operations::num_kept_relations));
}

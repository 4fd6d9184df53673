// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/node_attention.h"
#include "edgewise/runtime/halting_probabilities.h"
#include "edgewise/runtime/weights.h"

namespace edgewise {

/// Decides at each exit of a decoder which rows of a step halt (options/exit_options.h), and orders the rows: those
/// that have not halted, the active rows, stand before the others. Each decision depends on its own row alone, so that
/// a row halts at the same exit in any batch.
class ExitRows {
 public:
  /// `units` has one halting unit for each exit.
  ExitRows(const TransformerOptions& options, const std::vector<HaltingParameters>& units)
      : options_(options), units_(units) {}

  /// Returns whether rows can halt.
  bool are_on() const { return options_.exits.can_halt(); }

  /// Starts with active rows at `positions`; row r attends to the input tokens `inputs[r]`.
  void begin(std::span<const std::int64_t> positions, std::span<const kernels::SourceRange> inputs);

  std::int64_t num_rows() const { return std::ssize(order_); }
  std::int64_t num_active() const { return num_active_; }
  std::span<const NodeIndex> order() const { return order_; }  // the row at each place; the active ones ascend
  std::span<const NodeIndex> active() const { return order().first(static_cast<std::size_t>(num_active_)); }
  std::span<const std::int64_t> positions() const { return positions_; }  // by place

  /// Ends layer number `layer`, which computed `states`, [A, M], of the active rows. Returns true if it is an exit at
  /// which rows halted. The row at place p was at place moved()[p] before.
  bool end_layer(std::size_t layer, const float* states);
  std::span<const NodeIndex> moved() const { return moved_; }

  /// Returns the place of each row.
  std::vector<NodeIndex> places() const;

  /// The number of layers that computed each row; complete after the last layer.
  const std::vector<std::int64_t>& layers() const { return layers_; }

 private:
  const TransformerOptions& options_;
  const std::vector<HaltingParameters>& units_;
  HaltingProbabilities probabilities_of_;
  std::size_t exit_ = 0;  // the next one
  std::int64_t num_active_ = 0;
  std::vector<NodeIndex> order_, moved_;
  std::vector<std::int64_t> positions_, layers_;
  std::vector<double> thresholds_;  // by row
};

}  // namespace edgewise

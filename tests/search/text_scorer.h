// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "edgewise/search/pick_candidates.h"
#include "tests/search/table_scorer.h"

namespace edgewise {

/// A language model that looks the next token up by the text before it, the `produced` of
/// a table, and counts nodes.
class TextScorer : public Scorer {
 public:
  TextScorer(std::int64_t vocabulary, Table table) : vocabulary_(vocabulary), table_(std::move(table)) {}

  std::int64_t vocabulary_size() const override { return vocabulary_; }

  void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) override {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      std::vector<Tokens>& paths = paths_[slots[i]];
      paths.clear();
      for (const std::int64_t token : inputs[i]) add(paths, std::ssize(paths) - 1, token);
      num_beginning_tokens += std::ssize(inputs[i]);
    }
  }

  void step(const StepRequest& request, StepResult& result) override {
    most_nodes = std::max(most_nodes, std::ssize(request.nodes));
    result.log_probabilities.clear();
    for (const NewNode& node : request.nodes) {
      std::vector<Tokens>& paths = paths_.at(node.slot);
      add(paths, node.parent, node.token);
      most_tokens = std::max(most_tokens, std::ssize(paths.back()));
      const std::vector<float> row = table_({}, paths.back());
      result.log_probabilities.insert(result.log_probabilities.end(), row.begin(), row.end());
    }
    pick_candidates(result.log_probabilities, request, result);
    if (!request.all) result.log_probabilities.clear();
  }

  std::int64_t num_beginning_tokens = 0;
  std::int64_t most_nodes = 0;   // of a step
  std::int64_t most_tokens = 0;  // of a text

 private:
  static void add(std::vector<Tokens>& paths, std::int64_t parent, std::int64_t token) {
    Tokens path;
    if (parent >= 0) path = paths.at(static_cast<std::size_t>(parent));
    path.push_back(token);
    paths.push_back(path);
  }

  std::int64_t vocabulary_;
  Table table_;
  std::map<std::int64_t, std::vector<Tokens>> paths_;  // by slot and node
};

}  // namespace edgewise

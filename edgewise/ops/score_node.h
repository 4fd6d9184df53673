// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "edgewise/graph/relation.h"
#include "edgewise/kernels/score/score_program.h"
#include "edgewise/ops/score.h"

// The nodes of a score function's expression, and their evaluation in plain ATen. Shapes: D = destinations, S =
// sources, E = edges, H = heads, T = numbers of a table, N = one of these.
namespace edgewise {

enum class ScoreTerm {
  kConstant,
  kProduct,
  kSource,
  kDestination,
  kDistance,
  kOfEdges,
  kOfSources,
  kOfDestinations,
  kOfHeads,
  kLookup,
  kFunction,
};

struct ScoreNode {
  ScoreTerm term;
  kernels::ScoreOp op = kernels::ScoreOp::kConstant;  // kFunction: the function
  double constant = 0.0;                              // kConstant: the number
  at::Tensor column = {};                             // kOf…: the column; kLookup: the table; else undefined
  std::vector<Score> arguments = {};                  // kFunction, kLookup: the arguments, the index

  static Score make(ScoreNode node) { return Score(std::make_shared<const ScoreNode>(std::move(node))); }
};

/// Returns "a column of edges" and so on, for errors about the tensor of a term.
std::string_view score_column_name(ScoreTerm term);

/// Calls fn(node) once for each node of an expression, for arguments first.
template <class Fn>
void for_each_score_node(const ScoreNode& root, Fn fn) {
  std::vector<std::pair<const ScoreNode*, std::size_t>> path = {{&root, 0}};
  std::unordered_set<const ScoreNode*> visited;
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next < node->arguments.size()) {
      const ScoreNode* argument = &node->arguments[next++].node();
      if (!visited.contains(argument)) path.emplace_back(argument, 0);
      continue;
    }
    if (visited.insert(node).second) fn(*node);
    path.pop_back();
  }
}

/// Checks the columns and tables of a score function for attention over a relation. Errors begin with `function`.
void check_score(std::string_view function, const Relation& relation, const Score& score, std::int64_t num_heads,
                 at::Device device);

/// Returns whether the expression contains Score::product().
bool reads_product(const Score& score);

/// Evaluates expressions in plain ATen, which autograd differentiates.
class ScoreEvaluator {
 public:
  /// `leaf(node)` returns the numbers of a node without arguments, unless it is a constant: [N, 1], [N, H] or [1, H],
  /// for the same N. `type` is the type of constants, tables and results.
  ScoreEvaluator(at::ScalarType type, at::Device device, std::function<at::Tensor(const ScoreNode&)> leaf)
      : type_(type), device_(device), leaf_(std::move(leaf)) {}

  /// Returns the numbers of a node, in one of these shapes.
  at::Tensor evaluate(const ScoreNode& root);

 private:
  at::Tensor evaluate_node(const ScoreNode& node) const;
  const at::Tensor& value(const Score& argument) const { return values_.at(&argument.node()); }

  at::ScalarType type_;
  at::Device device_;
  std::function<at::Tensor(const ScoreNode&)> leaf_;
  std::unordered_map<const ScoreNode*, at::Tensor> values_;
};

/// Returns a column or table in the given type with a dimension for heads: [N, 1] or [N, H].
at::Tensor score_column(const at::Tensor& column, at::ScalarType type);

/// Returns the function for one head alone.
Score score_of_head(const Score& score, std::int64_t head);

/// Defines score functions: evaluates one on lists of edges, in the type of the scaled products [E, H]. Returns [E, H].
at::Tensor score_plain(const Relation& relation, const Score& score, const at::Tensor& product_EH);

}  // namespace edgewise

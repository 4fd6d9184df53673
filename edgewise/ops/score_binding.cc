// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/score_binding.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <unordered_map>

#include "edgewise/kernels/score/distance_range.h"
#include "edgewise/ops/score_node.h"

namespace edgewise {
namespace {

using kernels::ScoreDomain;
using kernels::ScoreGraph;

// The inputs on which the values of a node depend: a set of bits.
constexpr unsigned kOnHead = 1;
constexpr unsigned kOnSource = 2;
constexpr unsigned kOnDestination = 4;
constexpr unsigned kOnDistance = 8;
constexpr unsigned kOnEdge = 16;

unsigned inputs_of_term(ScoreTerm term) {
  switch (term) {
    case ScoreTerm::kSource:
    case ScoreTerm::kOfSources:
      return kOnSource;
    case ScoreTerm::kDestination:
    case ScoreTerm::kOfDestinations:
      return kOnDestination;
    case ScoreTerm::kDistance:
      return kOnDistance;
    case ScoreTerm::kProduct:
    case ScoreTerm::kOfEdges:
      return kOnEdge;
    case ScoreTerm::kOfHeads:
    case ScoreTerm::kLookup:
      return kOnHead;
    default:
      return 0;
  }
}

kernels::DistanceRange distance_range(std::span<const Relation> relations) {
  kernels::DistanceRange all;
  for (const Relation& relation : relations) all.include(relation.derive<kernels::DistanceRange>());
  return all;
}

/// Builds the graph of a score function. Parts that depend on one domain become columns.
class ScoreBinder {
 public:
  ScoreBinder(std::span<const Relation> relations, std::int64_t num_heads, at::ScalarType type, at::Device device)
      : relations_(relations), num_heads_(num_heads), type_(type), device_(device) {}

  BoundScore bind(const ScoreNode& root) {
    for_each_score_node(root, [&](const ScoreNode& node) {
      unsigned inputs = inputs_of_term(node.term);
      for (const Score& argument : node.arguments) inputs |= inputs_.at(&argument.node());
      inputs_[&node] = inputs;
    });
    const ScoreGraph::Node score = lower(root);
    std::vector<bool> needs_gradient;
    for (const at::Tensor& tensor : result_.tensors) {
      needs_gradient.push_back(c10::GradMode::is_enabled() && tensor.requires_grad());
    }
    result_.program = graph_.compile(score, needs_gradient);
    return std::move(result_);
  }

 private:
  ScoreGraph::Node lower(const ScoreNode& node) {
    if (const auto found = lowered_.find(&node); found != lowered_.end()) return found->second;
    const ScoreGraph::Node result = lower_new(node);
    lowered_[&node] = result;
    return result;
  }

  ScoreGraph::Node lower_new(const ScoreNode& node) {
    switch (inputs_.at(&node) & ~kOnHead) {
      case 0:
        if ((inputs_.at(&node) & kOnHead) != 0) return lower_heads(node);
        break;
      case kOnSource:
        return add_column(ScoreDomain::kSources, evaluate(node, relations_[0].num_sources(), 1, 0));
      case kOnDestination:
        return add_column(ScoreDomain::kDestinations, evaluate(node, relations_[0].num_destinations(), 1, 0));
      case kOnDistance: {
        const kernels::DistanceRange range = distance_range(relations_);
        return add_column(ScoreDomain::kDistances, evaluate(node, range.size(), -1, -range.first), range.first);
      }
      default:
        break;
    }
    switch (node.term) {
      case ScoreTerm::kConstant:
        return graph_.constant(node.constant);
      case ScoreTerm::kProduct:
        return graph_.product();
      case ScoreTerm::kOfEdges:
        return add_column(ScoreDomain::kEdges, score_column(node.column, type_));
      case ScoreTerm::kLookup:
        return lower_lookup(node);
      default:
        break;
    }
    std::array<ScoreGraph::Node, 4> arguments = {};
    for (std::size_t i = 0; i < node.arguments.size(); ++i) arguments[i] = lower(node.arguments[i].node());
    return graph_.apply(node.op, arguments[0], arguments[1], arguments[2], arguments[3]);
  }

  // A number for each head is a column of destinations whose rows are equal.
  ScoreGraph::Node lower_heads(const ScoreNode& node) {
    const at::Tensor number_1H = evaluate(node, 1, 1, 0);
    return add_column(ScoreDomain::kDestinations,
                      number_1H.expand({relations_[0].num_destinations(), number_1H.size(1)}));
  }

  ScoreGraph::Node lower_lookup(const ScoreNode& node) {
    const ScoreGraph::Node index = lower(node.arguments[0].node());
    return graph_.lookup(add_tensor(ScoreDomain::kTable, score_column(node.column, type_), 0), index);
  }

  ScoreGraph::Node add_column(ScoreDomain domain, const at::Tensor& tensor, std::int64_t first = 0) {
    return graph_.column(add_tensor(domain, tensor, first));
  }

  std::int32_t add_tensor(ScoreDomain domain, const at::Tensor& tensor, std::int64_t first) {
    // Kernels sum the gradient of a column over heads for edges alone; for the others, expand() does.
    const bool has_gradient = c10::GradMode::is_enabled() && tensor.requires_grad();
    const bool expands = has_gradient && domain != ScoreDomain::kEdges;
    result_.tensors.push_back(expands ? tensor.expand({tensor.size(0), num_heads_}) : tensor);
    result_.columns.push_back({domain, first});
    return static_cast<std::int32_t>(result_.columns.size() - 1);
  }

  // Returns the numbers of a node on `count` sources, destinations or distances, of which number i is sign * i + first.
  at::Tensor evaluate(const ScoreNode& node, std::int64_t count, std::int64_t sign, std::int64_t first) const {
    const at::ScalarType type = node.arguments.empty() ? type_ : at::kDouble;
    ScoreEvaluator evaluator(type, device_, [&](const ScoreNode& leaf) {
      if (leaf.term == ScoreTerm::kOfHeads) return leaf.column.to(type).unsqueeze(0);
      if (leaf.column.defined()) return score_column(leaf.column, type);
      return (at::arange(count, at::TensorOptions(device_).dtype(at::kLong)) * sign + first).to(type).unsqueeze(1);
    });
    const at::Tensor numbers = evaluator.evaluate(node).to(type_);
    return numbers.expand({count, numbers.size(1)});
  }

  std::span<const Relation> relations_;
  std::int64_t num_heads_;
  at::ScalarType type_;
  at::Device device_;
  std::unordered_map<const ScoreNode*, unsigned> inputs_;
  std::unordered_map<const ScoreNode*, ScoreGraph::Node> lowered_;
  ScoreGraph graph_;
  BoundScore result_;
};

}  // namespace

BoundScore bind_score(const Score& score, std::span<const Relation> relations, std::int64_t num_heads,
                      at::ScalarType type, at::Device device) {
  return ScoreBinder(relations, num_heads, type, device).bind(score.node());
}

Tensors score_columns_for_kernels(const BoundScore& score, const Tensors& tensors) {
  Tensors result;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    if (score.columns[i].domain == ScoreDomain::kEdges) {
      result.push_back(tensor.contiguous());
      continue;
    }
    constexpr std::int64_t kPadding = kernels::kScorePadding;
    const at::Tensor padded = at::zeros({tensor.size(1), tensor.size(0) + 2 * kPadding}, tensor.options());
    padded.narrow(1, kPadding, tensor.size(0)).copy_(tensor.t());
    result.push_back(padded);
  }
  return result;
}

Tensors allocate_score_gradients(const BoundScore& score, const Tensors& kernel_columns,
                                 const std::vector<bool>& needs_gradient) {
  Tensors gradients;
  for (std::size_t i = 0; i < kernel_columns.size(); ++i) {
    const at::Tensor& column = kernel_columns[i];
    if (!needs_gradient[i]) {
      gradients.emplace_back();
      continue;
    }
    const bool is_edges = score.columns[i].domain == ScoreDomain::kEdges;
    const std::int64_t size = is_edges ? column.size(1) : column.size(1) - 2 * kernels::kScorePadding;
    gradients.push_back(at::empty({column.size(0), size}, column.options()));
  }
  return gradients;
}

at::Tensor gradient_of_column(const BoundScore::Column& column, const at::Tensor& gradient) {
  if (!gradient.defined() || column.domain == ScoreDomain::kEdges) return gradient;
  return gradient.t();
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/score/score_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "edgewise/base/error.h"
#include "edgewise/kernels/score/score_numbers.h"

namespace edgewise::kernels {

int num_arguments(ScoreOp op) {
  switch (op) {
    case ScoreOp::kProduct:
    case ScoreOp::kColumn:
    case ScoreOp::kGradient:
      return 0;
    case ScoreOp::kConstant:
    case ScoreOp::kAbs:
    case ScoreOp::kExp:
    case ScoreOp::kLog:
    case ScoreOp::kTanh:
    case ScoreOp::kSigmoid:
    case ScoreOp::kFloor:
    case ScoreOp::kLookup:
    case ScoreOp::kStore:
      return 1;
    case ScoreOp::kAdd:
    case ScoreOp::kSubtract:
    case ScoreOp::kMultiply:
    case ScoreOp::kDivide:
    case ScoreOp::kStoreLookedUp:
      return 2;
    default:
      return 4;
  }
}

bool ScoreProgram::computes_gradient_of(std::size_t column) const {
  return std::ranges::any_of(backward.instructions, [column](const ScoreInstruction& i) {
    return i.op == ScoreOp::kStore && i.column == static_cast<std::int32_t>(column);
  });
}

namespace {

/// Lists the instructions of nodes and outputs, and assigns registers, which are used again after their last reader.
class ScoreScheduler {
 public:
  explicit ScoreScheduler(std::size_t num_nodes) : last_reader_(num_nodes, -1), register_(num_nodes, -1) {}

  struct Item {
    ScoreInstruction instruction;  // its arguments are nodes
    std::int32_t node;             // the node that the instruction computes; -1 for an output
  };

  template <class IsConstant>
  ScoreList run(const std::vector<Item>& items, std::int32_t result, IsConstant constant_of) {
    const auto end = static_cast<std::int64_t>(items.size());
    for (std::int64_t i = 0; i < end; ++i) {
      for (int a = 0; a < num_arguments(items[i].instruction.op); ++a) last_reader_[items[i].instruction.in[a]] = i;
    }
    if (result >= 0) last_reader_[result] = end;
    for (std::int64_t i = 0; i < end; ++i) emit(items[i], i, constant_of);
    if (result >= 0) {
      const std::optional<double> constant = constant_of(result);
      list_.result = constant ? load_constant(*constant) : register_[result];
    }
    return std::move(list_);
  }

 private:
  template <class IsConstant>
  void emit(const Item& item, std::int64_t index, IsConstant constant_of) {
    ScoreInstruction instruction = item.instruction;
    const bool is_output = item.node < 0;
    const int count = num_arguments(instruction.op);
    std::vector<std::int32_t> free_after;
    for (int a = 0; a < count; ++a) {
      const std::int32_t node = item.instruction.in[a];
      if (const std::optional<double> constant = constant_of(node)) {
        instruction.in[a] = is_output ? load_constant(*constant) : constant_operand(*constant);
        if (is_output) free_after.push_back(instruction.in[a]);
        continue;
      }
      instruction.in[a] = register_[node];
      if (last_reader_[node] == index && register_[node] >= 0 && is_used_[register_[node]]) {
        is_used_[register_[node]] = false;
      }
    }
    if (!is_output) {
      instruction.out = take_register();
      register_[item.node] = instruction.out;
      if (last_reader_[item.node] < 0) is_used_[instruction.out] = false;
    }
    list_.instructions.push_back(instruction);
    for (const std::int32_t taken : free_after) is_used_[taken] = false;
  }

  std::int32_t load_constant(double value) {
    const std::int32_t out = take_register();
    list_.instructions.push_back({.op = ScoreOp::kConstant, .out = out, .in = {constant_operand(value)}});
    return out;
  }

  ScoreOperand constant_operand(double value) {
    const auto found = std::ranges::find_if(list_.constants, [&](double constant) {
      return std::bit_cast<std::uint64_t>(constant) == std::bit_cast<std::uint64_t>(value);
    });
    const auto index = static_cast<std::int32_t>(found - list_.constants.begin());
    if (found == list_.constants.end()) list_.constants.push_back(value);
    return ~index;
  }

  std::int32_t take_register() {
    const auto found = std::ranges::find(is_used_, false);
    const auto index = static_cast<std::int32_t>(found - is_used_.begin());
    if (found == is_used_.end()) {
      is_used_.push_back(true);
      list_.num_registers = index + 1;
    } else {
      *found = true;
    }
    return index;
  }

  ScoreList list_;
  std::vector<bool> is_used_;              // by register
  std::vector<std::int64_t> last_reader_;  // by node: the index of the last item that reads the node; -1: none
  std::vector<std::int32_t> register_;     // by node; -1 before the node is computed
};

}  // namespace

ScoreGraph::Node ScoreGraph::add_node(const NodeData& data) {
  const std::array<std::int64_t, 7> key = {static_cast<std::int64_t>(data.op),
                                           data.column,
                                           std::bit_cast<std::int64_t>(data.constant),
                                           data.arguments[0],
                                           data.arguments[1],
                                           data.arguments[2],
                                           data.arguments[3]};
  const auto [found, is_new] = node_of_.try_emplace(key, static_cast<Node>(nodes_.size()));
  if (is_new) nodes_.push_back(data);
  return found->second;
}

ScoreGraph::Node ScoreGraph::constant(double value) {
  return add_node({ScoreOp::kConstant, kProductColumn, value, {}});
}

bool ScoreGraph::is_constant(Node node, double value) const {
  return nodes_[node].op == ScoreOp::kConstant && nodes_[node].constant == value;
}

ScoreGraph::Node ScoreGraph::apply(ScoreOp op, Node a, Node b, Node c, Node d) {
  std::array<Node, 4> arguments = {a, b, c, d};
  const int count = num_arguments(op);
  std::fill(arguments.begin() + count, arguments.end(), 0);
  const bool folds = std::all_of(arguments.begin(), arguments.begin() + count,
                                 [&](Node node) { return nodes_[node].op == ScoreOp::kConstant; });
  if (folds) {
    auto number = [&](int i) { return i < count ? nodes_[arguments[i]].constant : 0.0; };
    return constant(compute_score_op(op, number(0), number(1), number(2), number(3)));
  }
  return simplify(op, arguments);
}

ScoreGraph::Node ScoreGraph::simplify(ScoreOp op, const std::array<Node, 4>& arguments) {
  const auto [a, b, c, d] = arguments;
  switch (op) {
    case ScoreOp::kAdd:
      if (is_constant(a, 0)) return b;
      if (is_constant(b, 0)) return a;
      break;
    case ScoreOp::kSubtract:
      if (is_constant(b, 0)) return a;
      break;
    case ScoreOp::kMultiply:
      if (is_constant(a, 1)) return b;
      if (is_constant(b, 1)) return a;
      break;
    case ScoreOp::kDivide: {
      const NodeData divisor = nodes_[b];
      if (divisor.op == ScoreOp::kConstant && std::isnormal(divisor.constant) && std::abs(divisor.constant) < 1e30 &&
          std::abs(divisor.constant) > 1e-30) {
        return apply(ScoreOp::kMultiply, a, constant(1 / divisor.constant));
      }
      break;
    }
    case ScoreOp::kSelectLess:
    case ScoreOp::kSelectLessEqual:
    case ScoreOp::kSelectEqual:
      if (c == d) return c;
      break;
    default:
      break;
  }
  return add_node({op, kProductColumn, 0.0, arguments});
}

std::vector<ScoreGraph::Output> ScoreGraph::differentiate(Node score, const std::vector<bool>& needs_gradient) {
  auto is_wanted = [&](const NodeData& node) {
    if (node.op == ScoreOp::kProduct) return true;
    return (node.op == ScoreOp::kColumn || node.op == ScoreOp::kLookup) && needs_gradient[node.column];
  };
  std::vector<bool> depends(score + 1);
  for (Node n = 0; n <= score; ++n) {
    depends[n] = is_wanted(nodes_[n]);
    if (nodes_[n].op == ScoreOp::kConstant) continue;
    for (int i = 0; i < num_arguments(nodes_[n].op); ++i) depends[n] = depends[n] || depends[nodes_[n].arguments[i]];
  }

  std::vector<Output> outputs;
  std::vector<std::optional<Node>> gradient(score + 1);
  gradient[score] = add_node({ScoreOp::kGradient, kProductColumn, 0.0, {}});
  auto multiply = [&](Node x, Node y) { return apply(ScoreOp::kMultiply, x, y); };
  auto subtract = [&](Node x, Node y) { return apply(ScoreOp::kSubtract, x, y); };
  auto add_to = [&](Node argument, Node part) {
    if (!depends[argument] || is_constant(part, 0)) return;
    std::optional<Node>& sum = gradient[argument];
    sum = sum ? apply(ScoreOp::kAdd, *sum, part) : part;
  };
  for (Node n = score; n >= 0; --n) {
    const NodeData node = nodes_[n];
    const auto [a, b, c, d] = node.arguments;
    const Node zero = constant(0);
    if (!gradient[n] || !depends[n]) {
      if (node.op == ScoreOp::kColumn && is_wanted(node)) outputs.push_back({ScoreOp::kStore, node.column, {zero}});
      continue;
    }
    const Node g = *gradient[n];
    switch (node.op) {
      case ScoreOp::kProduct:
      case ScoreOp::kColumn:
        outputs.push_back({ScoreOp::kStore, node.column, {g}});
        break;
      case ScoreOp::kLookup:
        if (is_wanted(node)) outputs.push_back({ScoreOp::kStoreLookedUp, node.column, {a, g}});
        break;
      case ScoreOp::kAdd:
        add_to(a, g);
        add_to(b, g);
        break;
      case ScoreOp::kSubtract:
        add_to(a, g);
        if (depends[b]) add_to(b, subtract(zero, g));
        break;
      case ScoreOp::kMultiply:
        if (depends[a]) add_to(a, multiply(g, b));
        if (depends[b]) add_to(b, multiply(g, a));
        break;
      case ScoreOp::kDivide: {
        const Node quotient = apply(ScoreOp::kDivide, g, b);
        add_to(a, quotient);
        if (depends[b]) add_to(b, subtract(zero, multiply(quotient, n)));
        break;
      }
      case ScoreOp::kAbs: {
        const Node negative = apply(ScoreOp::kSelectLess, a, zero, subtract(zero, g), zero);
        add_to(a, apply(ScoreOp::kSelectLess, zero, a, g, negative));
        break;
      }
      case ScoreOp::kExp:
        add_to(a, multiply(g, n));
        break;
      case ScoreOp::kLog:
        add_to(a, apply(ScoreOp::kDivide, g, a));
        break;
      case ScoreOp::kTanh:
        add_to(a, multiply(g, subtract(constant(1), multiply(n, n))));
        break;
      case ScoreOp::kSigmoid:
        add_to(a, multiply(g, multiply(n, subtract(constant(1), n))));
        break;
      case ScoreOp::kSelectLess:
      case ScoreOp::kSelectLessEqual:
      case ScoreOp::kSelectEqual:
        if (depends[c]) add_to(c, apply(node.op, a, b, g, zero));
        if (depends[d]) add_to(d, apply(node.op, a, b, zero, g));
        break;
      default:  // kFloor is constant between its steps
        break;
    }
  }
  const bool has_product =
      std::ranges::any_of(outputs, [](const Output& output) { return output.column == kProductColumn; });
  if (!has_product) outputs.push_back({ScoreOp::kStore, kProductColumn, {constant(0)}});
  return outputs;
}

ScoreList ScoreGraph::schedule(const std::vector<Output>& outputs, Node result) const {
  const auto end = static_cast<Node>(nodes_.size());
  std::vector<bool> is_needed(end);
  if (result >= 0) is_needed[result] = true;
  std::vector<std::vector<const Output*>> outputs_behind(end);
  // The memory of the product's gradient is that of the score's: nothing is stored before the latter is read.
  const auto gradient = std::ranges::find(nodes_, ScoreOp::kGradient, &NodeData::op);
  const Node first_store = gradient == nodes_.end() ? 0 : static_cast<Node>(gradient - nodes_.begin());
  for (const Output& output : outputs) {
    Node last = first_store;
    for (int i = 0; i < num_arguments(output.op); ++i) {
      is_needed[output.arguments[i]] = true;
      last = std::max(last, output.arguments[i]);
    }
    outputs_behind[last].push_back(&output);
  }
  for (Node n = end - 1; n >= 0; --n) {
    if (!is_needed[n] || nodes_[n].op == ScoreOp::kConstant) continue;
    for (int i = 0; i < num_arguments(nodes_[n].op); ++i) is_needed[nodes_[n].arguments[i]] = true;
  }

  std::vector<ScoreScheduler::Item> items;
  for (Node n = 0; n < end; ++n) {
    const NodeData& node = nodes_[n];
    if (is_needed[n] && node.op != ScoreOp::kConstant) {
      items.push_back({{.op = node.op, .column = node.column, .in = node.arguments}, n});
    }
    for (const Output* output : outputs_behind[n]) {
      items.push_back(
          {{.op = output->op, .column = output->column, .in = {output->arguments[0], output->arguments[1]}}, -1});
    }
  }
  return ScoreScheduler(nodes_.size()).run(items, result, [&](Node node) -> std::optional<double> {
    if (nodes_[node].op != ScoreOp::kConstant) return std::nullopt;
    return nodes_[node].constant;
  });
}

ScoreProgram compile_score_code(std::string_view function, std::span<const std::int64_t> code,
                                std::span<const double> constants, const std::vector<bool>& needs_gradient) {
  constexpr std::size_t kNumbers = 6;
  check(!code.empty() && code.size() % kNumbers == 0, "{}: score code has {} numbers, needs {} for each node", function,
        code.size(), kNumbers);
  check(constants.size() == code.size() / kNumbers, "{}: score code has {} constants, needs one for each of {} nodes",
        function, constants.size(), code.size() / kNumbers);
  ScoreGraph graph;
  std::vector<ScoreGraph::Node> nodes;
  for (std::size_t begin = 0; begin < code.size(); begin += kNumbers) {
    const std::size_t node = nodes.size();
    auto check_number = [&](std::string_view name, std::int64_t number, std::size_t end) {
      check(number >= 0 && static_cast<std::size_t>(number) < end,
            "{}: node {} of the score code has {} {}, needs a number from 0 to below {}", function, node, name, number,
            end);
    };
    check_number("operation", code[begin], static_cast<std::size_t>(ScoreOp::kStore));
    const auto op = static_cast<ScoreOp>(code[begin]);
    check(op != ScoreOp::kGradient, "{}: node {} of the score code is a gradient, needs a function or an input",
          function, node);
    const bool reads_column = op == ScoreOp::kColumn || op == ScoreOp::kLookup;
    if (reads_column) check_number("column", code[begin + 1], needs_gradient.size());
    std::array<ScoreGraph::Node, 4> arguments = {};
    const int count = op == ScoreOp::kConstant ? 0 : num_arguments(op);
    for (int i = 0; i < count; ++i) {
      const std::int64_t argument = code[begin + 2 + static_cast<std::size_t>(i)];
      check_number("argument", argument, node);
      arguments[i] = nodes[static_cast<std::size_t>(argument)];
    }
    const auto column = static_cast<std::int32_t>(code[begin + 1]);
    switch (op) {
      case ScoreOp::kConstant:
        nodes.push_back(graph.constant(constants[node]));
        break;
      case ScoreOp::kProduct:
        nodes.push_back(graph.product());
        break;
      case ScoreOp::kColumn:
        nodes.push_back(graph.column(column));
        break;
      case ScoreOp::kLookup:
        nodes.push_back(graph.lookup(column, arguments[0]));
        break;
      default:
        nodes.push_back(graph.apply(op, arguments[0], arguments[1], arguments[2], arguments[3]));
    }
  }
  return graph.compile(nodes.back(), needs_gradient);
}

ScoreProgram ScoreGraph::compile(Node score, const std::vector<bool>& needs_gradient) {
  auto reads_product = [](const ScoreList& list) {
    return std::ranges::any_of(list.instructions, [](const ScoreInstruction& i) { return i.op == ScoreOp::kProduct; });
  };
  ScoreProgram program;
  program.forward = schedule({}, score);
  program.backward = schedule(differentiate(score, needs_gradient), -1);
  program.uses_product = reads_product(program.forward);
  program.backward_reads_product = reads_product(program.backward);
  return program;
}

}  // namespace edgewise::kernels

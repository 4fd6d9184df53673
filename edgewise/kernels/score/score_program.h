// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

// A score function as lists of instructions for a small machine with registers. A register holds one number for each
// of some edges of one head. ScoreGraph builds the function, differentiates it and makes the lists; score_inputs.h has
// the numbers that the lists read and write.
namespace edgewise::kernels {

enum class ScoreOp : std::uint8_t {
  // Inputs
  kConstant,  // a, which is a constant
  kProduct,   // the scaled dot product of the edge's query and key
  kColumn,    // the edge's number in a column
  kGradient,  // backward only: the gradient of the score
  // Functions of numbers
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kAbs,
  kExp,
  kLog,
  kTanh,
  kSigmoid,
  kFloor,
  kSelectLess,       // a < b ? c : d
  kSelectLessEqual,  // a <= b ? c : d
  kSelectEqual,      // a == b ? c : d
  kLookup,           // number a of a table, without its fraction; the first or last number if the table has no number a
  // Outputs of backward
  kStore,         // a is the gradient of the product or of a column
  kStoreLookedUp  // b is the gradient of number a of a table
};

/// Returns how many arguments an operation has.
int num_arguments(ScoreOp op);

/// An argument of an instruction: a register, or the constant ~value if the value is negative.
using ScoreOperand = std::int32_t;

inline constexpr std::int32_t kProductColumn = -1;

struct ScoreInstruction {
  ScoreOp op;
  std::int32_t column = kProductColumn;  // kColumn, kLookup, kStore, kStoreLookedUp: index of ScoreInputs::columns
  std::int32_t out = 0;                  // a register, which may be one of the arguments
  std::array<ScoreOperand, 4> in = {};
};

struct ScoreList {
  std::vector<ScoreInstruction> instructions;
  std::vector<double> constants;
  std::int32_t num_registers = 0;
  std::int32_t result = 0;  // forward: the register of the score
};

struct ScoreProgram {
  ScoreList forward;   // computes the score
  ScoreList backward;  // computes the gradients of the product and of columns; needs no register of `forward`
  bool uses_product = false;
  bool backward_reads_product = false;

  /// Returns whether `backward` has an output for a column. Without one, the gradient is zero.
  bool computes_gradient_of(std::size_t column) const;
};

/// The expression graph of a score function. Equal nodes exist once, and nodes of constants are constants. Functions
/// return the number of a node, an argument of other functions.
class ScoreGraph {
 public:
  using Node = std::int32_t;

  Node constant(double value);
  Node product() { return add_node({ScoreOp::kProduct, kProductColumn, 0.0, {}}); }
  Node column(std::int32_t column) { return add_node({ScoreOp::kColumn, column, 0.0, {}}); }
  Node lookup(std::int32_t column, Node index) { return add_node({ScoreOp::kLookup, column, 0.0, {index}}); }

  /// Returns op(a, b, c, d) for a function of numbers; arguments that the operation does not have are 0.
  Node apply(ScoreOp op, Node a, Node b = 0, Node c = 0, Node d = 0);

  /// Compiles the function whose value is `score`, and its gradients in the product and in the columns that
  /// `needs_gradient`, with an element for each column, selects. Divisions by a constant become products.
  /// Differentiates as autograd does, with 0 for abs(0), and with the gradient of the chosen argument alone for
  /// selections.
  ScoreProgram compile(Node score, const std::vector<bool>& needs_gradient);

 private:
  struct NodeData {
    ScoreOp op;
    std::int32_t column;
    double constant;
    std::array<Node, 4> arguments;
  };
  struct Output {
    ScoreOp op;
    std::int32_t column;
    std::array<Node, 2> arguments;
  };

  Node add_node(const NodeData& data);
  bool is_constant(Node node, double value) const;
  Node simplify(ScoreOp op, const std::array<Node, 4>& arguments);
  std::vector<Output> differentiate(Node score, const std::vector<bool>& needs_gradient);
  ScoreList schedule(const std::vector<Output>& outputs, Node result) const;

  std::vector<NodeData> nodes_;  // a node is behind its arguments
  std::map<std::array<std::int64_t, 7>, Node> node_of_;
};

/// Compiles a score function that is written as numbers, for callers in other languages. `code` has six numbers for
/// each node: the operation (a ScoreOp that is no output), the column of kColumn and kLookup, and four arguments, which
/// are earlier nodes; numbers that the operation does not have may be any. `constants` has a number for each node,
/// which kConstant reads. The last node is the score. `needs_gradient` has an element for each column. Throws Error for
/// other numbers, beginning with `function`.
ScoreProgram compile_score_code(std::string_view function, std::span<const std::int64_t> code,
                                std::span<const double> constants, const std::vector<bool>& needs_gradient);

}  // namespace edgewise::kernels

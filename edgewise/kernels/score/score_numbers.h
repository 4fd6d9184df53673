// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "edgewise/kernels/score/score_program.h"

// The machine of score_program.h in plain C++, for one edge at a time: the definition of its operations, and the
// reference for the machine of vectors.
namespace edgewise::kernels {

/// Computes a function of numbers.
template <typename T>
T compute_score_op(ScoreOp op, T a, T b, T c, T d) {
  switch (op) {
    case ScoreOp::kAdd:
      return a + b;
    case ScoreOp::kSubtract:
      return a - b;
    case ScoreOp::kMultiply:
      return a * b;
    case ScoreOp::kDivide:
      return a / b;
    case ScoreOp::kAbs:
      return std::abs(a);
    case ScoreOp::kExp:
      return std::exp(a);
    case ScoreOp::kLog:
      return std::log(a);
    case ScoreOp::kTanh:
      return std::tanh(a);
    case ScoreOp::kSigmoid:
      return 1 / (1 + std::exp(-a));
    case ScoreOp::kFloor:
      return std::floor(a);
    case ScoreOp::kSelectLess:
      return a < b ? c : d;
    case ScoreOp::kSelectLessEqual:
      return a <= b ? c : d;
    case ScoreOp::kSelectEqual:
      return a == b ? c : d;
    default:  // inputs, outputs and kLookup are no functions of numbers
      return a;
  }
}

/// Returns the index of ScoreOp::kLookup for a table of `size` numbers; 0 for NaN.
template <typename T>
std::int64_t lookup_index(T a, std::int64_t size) {
  if (!(a > 0)) return 0;
  const auto last = static_cast<T>(size - 1);
  return static_cast<std::int64_t>(a < last ? a : last);
}

/// Runs a list for one edge. `Access` has the functions
///
///     T product();
///     T column(column);
///     T gradient();
///     T lookup(column, index of a number);
///     void store(column, gradient);
///     void store_looked_up(column, index of a number, gradient);
///     std::int64_t table_size(column);
///
/// and `registers` has list.num_registers numbers.
template <typename T, class Access>
void run_score_list(const ScoreList& list, T* registers, Access& access) {
  for (const ScoreInstruction& i : list.instructions) {
    auto number = [&](int argument) {
      const ScoreOperand operand = i.in[argument];
      return operand < 0 ? static_cast<T>(list.constants[~operand]) : registers[operand];
    };
    switch (i.op) {
      case ScoreOp::kConstant:
        registers[i.out] = number(0);
        break;
      case ScoreOp::kProduct:
        registers[i.out] = access.product();
        break;
      case ScoreOp::kColumn:
        registers[i.out] = access.column(i.column);
        break;
      case ScoreOp::kGradient:
        registers[i.out] = access.gradient();
        break;
      case ScoreOp::kLookup:
        registers[i.out] = access.lookup(i.column, lookup_index(number(0), access.table_size(i.column)));
        break;
      case ScoreOp::kStore:
        access.store(i.column, number(0));
        break;
      case ScoreOp::kStoreLookedUp:
        access.store_looked_up(i.column, lookup_index(number(0), access.table_size(i.column)), number(1));
        break;
      default:
        registers[i.out] = compute_score_op(i.op, number(0), number(1), number(2), number(3));
    }
  }
}

}  // namespace edgewise::kernels

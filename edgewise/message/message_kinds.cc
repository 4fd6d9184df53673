// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "edgewise/message/functions.h"

// Makes the built-in messages and reductions.
namespace edgewise {
namespace {

using MessageKind = BuiltinMessage::Kind;
using Column = BuiltinMessage::Column;

BuiltinMessage make(MessageKind kind, Column left, Column right, std::string out) {
  return {kind, std::move(left), std::move(right), std::move(out)};
}

}  // namespace

BuiltinMessage copy_u(std::string source, std::string out) {
  return make(MessageKind::kCopy, {RowsOf::kSources, std::move(source)}, {}, std::move(out));
}
BuiltinMessage copy_e(std::string edge, std::string out) {
  return make(MessageKind::kCopy, {RowsOf::kEdges, std::move(edge)}, {}, std::move(out));
}

BuiltinMessage u_add_v(std::string left, std::string right, std::string out) {
  return make(MessageKind::kAdd, {RowsOf::kSources, std::move(left)}, {RowsOf::kDestinations, std::move(right)},
              std::move(out));
}
BuiltinMessage u_add_e(std::string left, std::string right, std::string out) {
  return make(MessageKind::kAdd, {RowsOf::kSources, std::move(left)}, {RowsOf::kEdges, std::move(right)},
              std::move(out));
}
BuiltinMessage v_add_u(std::string left, std::string right, std::string out) {
  return make(MessageKind::kAdd, {RowsOf::kDestinations, std::move(left)}, {RowsOf::kSources, std::move(right)},
              std::move(out));
}
BuiltinMessage v_add_e(std::string left, std::string right, std::string out) {
  return make(MessageKind::kAdd, {RowsOf::kDestinations, std::move(left)}, {RowsOf::kEdges, std::move(right)},
              std::move(out));
}
BuiltinMessage e_add_u(std::string left, std::string right, std::string out) {
  return make(MessageKind::kAdd, {RowsOf::kEdges, std::move(left)}, {RowsOf::kSources, std::move(right)},
              std::move(out));
}
BuiltinMessage e_add_v(std::string left, std::string right, std::string out) {
  return make(MessageKind::kAdd, {RowsOf::kEdges, std::move(left)}, {RowsOf::kDestinations, std::move(right)},
              std::move(out));
}
BuiltinMessage u_sub_v(std::string left, std::string right, std::string out) {
  return make(MessageKind::kSubtract, {RowsOf::kSources, std::move(left)}, {RowsOf::kDestinations, std::move(right)},
              std::move(out));
}
BuiltinMessage u_sub_e(std::string left, std::string right, std::string out) {
  return make(MessageKind::kSubtract, {RowsOf::kSources, std::move(left)}, {RowsOf::kEdges, std::move(right)},
              std::move(out));
}
BuiltinMessage v_sub_u(std::string left, std::string right, std::string out) {
  return make(MessageKind::kSubtract, {RowsOf::kDestinations, std::move(left)}, {RowsOf::kSources, std::move(right)},
              std::move(out));
}
BuiltinMessage v_sub_e(std::string left, std::string right, std::string out) {
  return make(MessageKind::kSubtract, {RowsOf::kDestinations, std::move(left)}, {RowsOf::kEdges, std::move(right)},
              std::move(out));
}
BuiltinMessage e_sub_u(std::string left, std::string right, std::string out) {
  return make(MessageKind::kSubtract, {RowsOf::kEdges, std::move(left)}, {RowsOf::kSources, std::move(right)},
              std::move(out));
}
BuiltinMessage e_sub_v(std::string left, std::string right, std::string out) {
  return make(MessageKind::kSubtract, {RowsOf::kEdges, std::move(left)}, {RowsOf::kDestinations, std::move(right)},
              std::move(out));
}
BuiltinMessage u_mul_v(std::string left, std::string right, std::string out) {
  return make(MessageKind::kMultiply, {RowsOf::kSources, std::move(left)}, {RowsOf::kDestinations, std::move(right)},
              std::move(out));
}
BuiltinMessage u_mul_e(std::string left, std::string right, std::string out) {
  return make(MessageKind::kMultiply, {RowsOf::kSources, std::move(left)}, {RowsOf::kEdges, std::move(right)},
              std::move(out));
}
BuiltinMessage v_mul_u(std::string left, std::string right, std::string out) {
  return make(MessageKind::kMultiply, {RowsOf::kDestinations, std::move(left)}, {RowsOf::kSources, std::move(right)},
              std::move(out));
}
BuiltinMessage v_mul_e(std::string left, std::string right, std::string out) {
  return make(MessageKind::kMultiply, {RowsOf::kDestinations, std::move(left)}, {RowsOf::kEdges, std::move(right)},
              std::move(out));
}
BuiltinMessage e_mul_u(std::string left, std::string right, std::string out) {
  return make(MessageKind::kMultiply, {RowsOf::kEdges, std::move(left)}, {RowsOf::kSources, std::move(right)},
              std::move(out));
}
BuiltinMessage e_mul_v(std::string left, std::string right, std::string out) {
  return make(MessageKind::kMultiply, {RowsOf::kEdges, std::move(left)}, {RowsOf::kDestinations, std::move(right)},
              std::move(out));
}
BuiltinMessage u_div_v(std::string left, std::string right, std::string out) {
  return make(MessageKind::kDivide, {RowsOf::kSources, std::move(left)}, {RowsOf::kDestinations, std::move(right)},
              std::move(out));
}
BuiltinMessage u_div_e(std::string left, std::string right, std::string out) {
  return make(MessageKind::kDivide, {RowsOf::kSources, std::move(left)}, {RowsOf::kEdges, std::move(right)},
              std::move(out));
}
BuiltinMessage v_div_u(std::string left, std::string right, std::string out) {
  return make(MessageKind::kDivide, {RowsOf::kDestinations, std::move(left)}, {RowsOf::kSources, std::move(right)},
              std::move(out));
}
BuiltinMessage v_div_e(std::string left, std::string right, std::string out) {
  return make(MessageKind::kDivide, {RowsOf::kDestinations, std::move(left)}, {RowsOf::kEdges, std::move(right)},
              std::move(out));
}
BuiltinMessage e_div_u(std::string left, std::string right, std::string out) {
  return make(MessageKind::kDivide, {RowsOf::kEdges, std::move(left)}, {RowsOf::kSources, std::move(right)},
              std::move(out));
}
BuiltinMessage e_div_v(std::string left, std::string right, std::string out) {
  return make(MessageKind::kDivide, {RowsOf::kEdges, std::move(left)}, {RowsOf::kDestinations, std::move(right)},
              std::move(out));
}
BuiltinMessage u_dot_v(std::string left, std::string right, std::string out) {
  return make(MessageKind::kDot, {RowsOf::kSources, std::move(left)}, {RowsOf::kDestinations, std::move(right)},
              std::move(out));
}
BuiltinMessage u_dot_e(std::string left, std::string right, std::string out) {
  return make(MessageKind::kDot, {RowsOf::kSources, std::move(left)}, {RowsOf::kEdges, std::move(right)},
              std::move(out));
}
BuiltinMessage v_dot_u(std::string left, std::string right, std::string out) {
  return make(MessageKind::kDot, {RowsOf::kDestinations, std::move(left)}, {RowsOf::kSources, std::move(right)},
              std::move(out));
}
BuiltinMessage v_dot_e(std::string left, std::string right, std::string out) {
  return make(MessageKind::kDot, {RowsOf::kDestinations, std::move(left)}, {RowsOf::kEdges, std::move(right)},
              std::move(out));
}
BuiltinMessage e_dot_u(std::string left, std::string right, std::string out) {
  return make(MessageKind::kDot, {RowsOf::kEdges, std::move(left)}, {RowsOf::kSources, std::move(right)},
              std::move(out));
}
BuiltinMessage e_dot_v(std::string left, std::string right, std::string out) {
  return make(MessageKind::kDot, {RowsOf::kEdges, std::move(left)}, {RowsOf::kDestinations, std::move(right)},
              std::move(out));
}

BuiltinReduction sum(std::string message, std::string out) {
  return {BuiltinReduction::Kind::kSum, std::move(message), std::move(out)};
}
BuiltinReduction mean(std::string message, std::string out) {
  return {BuiltinReduction::Kind::kMean, std::move(message), std::move(out)};
}
BuiltinReduction max(std::string message, std::string out) {
  return {BuiltinReduction::Kind::kMax, std::move(message), std::move(out)};
}
BuiltinReduction min(std::string message, std::string out) {
  return {BuiltinReduction::Kind::kMin, std::move(message), std::move(out)};
}

}  // namespace edgewise

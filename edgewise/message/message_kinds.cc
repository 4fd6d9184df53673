// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "edgewise/message/functions.h"

// Makes the built-in messages and reductions.
namespace edgewise {

#define EDGEWISE_MESSAGE(name, kind, left_rows, right_rows)                   \
  BuiltinMessage name(std::string left, std::string right, std::string out) { \
    return {BuiltinMessage::Kind::kind,                                       \
            {RowsOf::left_rows, std::move(left)},                             \
            {RowsOf::right_rows, std::move(right)},                           \
            std::move(out)};                                                  \
  }
#define EDGEWISE_MESSAGES(op, kind)                           \
  EDGEWISE_MESSAGE(u_##op##_v, kind, kSources, kDestinations) \
  EDGEWISE_MESSAGE(u_##op##_e, kind, kSources, kEdges)        \
  EDGEWISE_MESSAGE(v_##op##_u, kind, kDestinations, kSources) \
  EDGEWISE_MESSAGE(v_##op##_e, kind, kDestinations, kEdges)   \
  EDGEWISE_MESSAGE(e_##op##_u, kind, kEdges, kSources)        \
  EDGEWISE_MESSAGE(e_##op##_v, kind, kEdges, kDestinations)

EDGEWISE_MESSAGES(add, kAdd)
EDGEWISE_MESSAGES(sub, kSubtract)
EDGEWISE_MESSAGES(mul, kMultiply)
EDGEWISE_MESSAGES(div, kDivide)
EDGEWISE_MESSAGES(dot, kDot)

#undef EDGEWISE_MESSAGES
#undef EDGEWISE_MESSAGE

BuiltinMessage copy_u(std::string source, std::string out) {
  return {BuiltinMessage::Kind::kCopy, {RowsOf::kSources, std::move(source)}, {}, std::move(out)};
}
BuiltinMessage copy_e(std::string edge, std::string out) {
  return {BuiltinMessage::Kind::kCopy, {RowsOf::kEdges, std::move(edge)}, {}, std::move(out)};
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

// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/max.h>

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/message/calls.h"
#include "edgewise/message/describe.h"

namespace edgewise {

BuiltinMessage u_mul_e(std::string source, std::string edge, std::string out) {
  return {BuiltinMessage::Kind::kSourceTimesEdge, std::move(source), std::move(edge), std::move(out)};
}

BuiltinMessage u_add_v(std::string source, std::string destination, std::string out) {
  return {BuiltinMessage::Kind::kSourcePlusDestination, std::move(source), std::move(destination), std::move(out)};
}

BuiltinMessage u_dot_v(std::string source, std::string destination, std::string out) {
  return {BuiltinMessage::Kind::kSourceDotDestination, std::move(source), std::move(destination), std::move(out)};
}

BuiltinMessage copy_u(std::string source, std::string out) {
  return {BuiltinMessage::Kind::kCopySource, std::move(source), {}, std::move(out)};
}

BuiltinMessage copy_e(std::string edge, std::string out) {
  return {BuiltinMessage::Kind::kCopyEdge, std::move(edge), {}, std::move(out)};
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

namespace {

/// Inserts dimensions of size 1 after the first, which is that of the edges.
at::Tensor with_dimensions(at::Tensor x, std::int64_t count) {
  while (x.dim() < count) x = x.unsqueeze(1);
  return x;
}

struct Operands {
  at::Tensor left, right;  // [E, …], with equally many dimensions, whose sizes are equal or 1
};

/// Aligns the rows of two columns at their last dimensions, as DGL does.
Operands broadcast(std::string_view caller, const BuiltinMessage& message, const at::Tensor& left,
                   const at::Tensor& right) {
  const std::int64_t count = std::max(left.dim(), right.dim());
  Operands operands = {with_dimensions(left, count), with_dimensions(right, count)};
  for (std::int64_t dim = 1; dim < count; ++dim) {
    const std::int64_t a = operands.left.size(dim);
    const std::int64_t b = operands.right.size(dim);
    check(a == b || a == 1 || b == 1,
          "{}: on the edges '{}' is {} and '{}' is {}, needs last dimensions of one size or 1", caller, message.left,
          describe_shape(left), message.right, describe_shape(right));
  }
  return operands;
}

at::Tensor dot(const BuiltinMessage& message, const at::Tensor& left, const at::Tensor& right) {
  check(left.dim() > 1 && right.dim() > 1 && left.size(-1) == right.size(-1),
        "u_dot_v: on the edges '{}' is {} and '{}' is {}, needs a last dimension of one size", message.left,
        describe_shape(left), message.right, describe_shape(right));
  const auto [a, b] = broadcast("u_dot_v", message, left, right);
  return a.mul(b).sum(-1, /*keepdim=*/true);
}

at::Tensor sum_messages(const at::Tensor& message, const Mailboxes& mailboxes) {
  std::vector<std::int64_t> shape = message.sizes().vec();
  shape[0] = mailboxes.nodes().size(0);
  return message.new_zeros(shape).index_add(0, mailboxes.node_indices(), message);
}

at::Tensor average_messages(const at::Tensor& message, const Mailboxes& mailboxes) {
  check(at::isFloatingType(message.scalar_type()), "mean: the message is {}, needs a floating type", describe(message));
  std::vector<std::int64_t> shape(static_cast<std::size_t>(message.dim()), 1);
  shape[0] = mailboxes.nodes().size(0);
  return sum_messages(message, mailboxes).div(mailboxes.in_degrees().view(shape));
}

at::Tensor max_messages(const at::Tensor& message, const Mailboxes& mailboxes) {
  std::vector<at::Tensor> maxima;
  for (const Mailboxes::Bucket& bucket : mailboxes.buckets()) {
    maxima.push_back(std::get<0>(at::max(bucket.gather(message), 1)));
  }
  return mailboxes.join(maxima);
}

}  // namespace

at::Tensor compute(const BuiltinMessage& message, const EdgeBatch& edges) {
  switch (message.kind) {
    case BuiltinMessage::Kind::kCopySource:
      return edges.source(message.left);
    case BuiltinMessage::Kind::kCopyEdge:
      return edges.data(message.left);
    case BuiltinMessage::Kind::kSourceTimesEdge: {
      const auto [source, edge] = broadcast("u_mul_e", message, edges.source(message.left), edges.data(message.right));
      return source.mul(edge);
    }
    case BuiltinMessage::Kind::kSourcePlusDestination: {
      const auto [source, destination] =
          broadcast("u_add_v", message, edges.source(message.left), edges.destination(message.right));
      return source.add(destination);
    }
    case BuiltinMessage::Kind::kSourceDotDestination:
      return dot(message, edges.source(message.left), edges.destination(message.right));
  }
  fail("BuiltinMessage: kind is {}, needs one of the five that there are", static_cast<int>(message.kind));
}

at::Tensor compute(const BuiltinReduction& reduction, const at::Tensor& message, const Mailboxes& mailboxes) {
  switch (reduction.kind) {
    case BuiltinReduction::Kind::kSum:
      return sum_messages(message, mailboxes);
    case BuiltinReduction::Kind::kMean:
      return average_messages(message, mailboxes);
    case BuiltinReduction::Kind::kMax:
      return max_messages(message, mailboxes);
  }
  fail("BuiltinReduction: kind is {}, needs one of the three that there are", static_cast<int>(reduction.kind));
}

}  // namespace edgewise

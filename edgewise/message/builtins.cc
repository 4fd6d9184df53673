// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/max.h>

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

/// Needs equal numbers of dimensions: ATen aligns shapes at their last dimension, so that [E, H] times [E, H, K] would
/// pair edges with heads.
bool can_broadcast(const at::Tensor& a, const at::Tensor& b) {
  if (a.dim() != b.dim()) return false;
  for (std::int64_t dim = 1; dim < a.dim(); ++dim) {
    if (a.size(dim) != b.size(dim) && a.size(dim) != 1 && b.size(dim) != 1) return false;
  }
  return true;
}

void check_can_broadcast(std::string_view caller, const BuiltinMessage& message, const at::Tensor& left,
                         const at::Tensor& right) {
  check(can_broadcast(left, right),
        "{}: on the edges '{}' is {} and '{}' is {}, equally many dimensions are needed, each of one size or 1", caller,
        message.left, describe_shape(left), message.right, describe_shape(right));
}

at::Tensor dot(const BuiltinMessage& message, const at::Tensor& left, const at::Tensor& right) {
  check(left.dim() > 1 && left.dim() == right.dim() && left.size(-1) == right.size(-1),
        "u_dot_v: on the edges '{}' is {} and '{}' is {}, a last dimension of one size is needed", message.left,
        describe_shape(left), message.right, describe_shape(right));
  check_can_broadcast("u_dot_v", message, left, right);
  return left.mul(right).sum(-1, /*keepdim=*/true);
}

at::Tensor sum_messages(const at::Tensor& message, const Mailboxes& mailboxes) {
  std::vector<std::int64_t> shape = message.sizes().vec();
  shape[0] = mailboxes.nodes().size(0);
  return message.new_zeros(shape).index_add(0, mailboxes.node_indices(), message);
}

at::Tensor average_messages(const at::Tensor& message, const Mailboxes& mailboxes) {
  check(at::isFloatingType(message.scalar_type()), "mean: the message is {}, a floating type is needed",
        describe(message));
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
      const at::Tensor source = edges.source(message.left);
      const at::Tensor edge = edges.data(message.right);
      check_can_broadcast("u_mul_e", message, source, edge);
      return source.mul(edge);
    }
    case BuiltinMessage::Kind::kSourcePlusDestination: {
      const at::Tensor source = edges.source(message.left);
      const at::Tensor destination = edges.destination(message.right);
      check_can_broadcast("u_add_v", message, source, destination);
      return source.add(destination);
    }
    case BuiltinMessage::Kind::kSourceDotDestination:
      return dot(message, edges.source(message.left), edges.destination(message.right));
  }
  fail("BuiltinMessage: kind is {}, one of the five that there are is needed", static_cast<int>(message.kind));
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
  fail("BuiltinReduction: kind is {}, one of the three that there are is needed", static_cast<int>(reduction.kind));
}

}  // namespace edgewise

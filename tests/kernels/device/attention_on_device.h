// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "tests/kernels/attention_problem.h"
#include "tests/kernels/device/relation_on_device.h"
#include "tests/support/device_buffer.h"

// Runs AttentionProblem, whose tensors lie in memory of the host, by kernels for GPUs.
namespace edgewise::kernels {

/// A copy of an array of the host in memory of the device; a null array stays null.
template <typename T>
class CopyOnDevice {
 public:
  CopyOnDevice(T* host, std::int64_t size)
      : host_(host), buffer_(host == nullptr ? std::vector<Value>() : std::vector<Value>(host, host + size)) {}

  T* data() { return host_ == nullptr ? nullptr : buffer_.data(); }

  void copy_back() const {
    if (host_ != nullptr) std::ranges::copy(buffer_.read(), host_);
  }

 private:
  using Value = std::remove_const_t<T>;

  T* host_;
  device::Buffer<Value> buffer_;
};

/// The arguments of a forward pass on the device.
template <typename T>
class ForwardOnDevice {
 public:
  ForwardOnDevice(const AttentionForward<T>& p, const RelationView& relation)
      : host_(p),
        query_(p.query, relation.num_destinations * p.num_heads * p.head_size),
        key_(p.key, relation.num_sources * p.num_heads * p.head_size),
        value_(p.value, relation.num_sources * p.num_heads * p.value_size),
        edge_bias_(p.edge_bias, relation.num_edges() * p.num_heads),
        out_(p.out, relation.num_destinations * p.num_heads * p.value_size),
        log_normalizer_(p.log_normalizer, relation.num_destinations * p.num_heads) {}

  AttentionForward<T> arguments() {
    AttentionForward<T> p = host_;
    p.query = query_.data();
    p.key = key_.data();
    p.value = value_.data();
    p.edge_bias = edge_bias_.data();
    p.out = out_.data();
    p.log_normalizer = log_normalizer_.data();
    return p;
  }

  void copy_results_back() const {
    out_.copy_back();
    log_normalizer_.copy_back();
  }

 private:
  AttentionForward<T> host_;
  CopyOnDevice<const T> query_, key_, value_;
  CopyOnDevice<const AccumulatorType<T>> edge_bias_;
  CopyOnDevice<T> out_;
  CopyOnDevice<AccumulatorType<T>> log_normalizer_;
};

/// Calls forward(arguments, relation), backward(arguments, relation) and weights(arguments, relation), with all
/// pointers to memory of the device. `relation` is the problem's, maybe in another form.
template <typename T, class Forward, class Backward, class Weights>
AttentionResult<T> run_on_device(const AttentionProblem<T>& problem, const RelationView& relation, Forward forward,
                                 Backward backward, Weights weights) {
  const RelationOnDevice on_device(relation);
  return problem.run_with(
      [&](const AttentionForward<T>& p) {
        ForwardOnDevice<T> copies(p, relation);
        forward(copies.arguments(), on_device.view());
        copies.copy_results_back();
      },
      [&](const AttentionBackward<T>& p) {
        const AttentionForward<T>& f = p.forward;
        ForwardOnDevice<T> copies(f, relation);
        CopyOnDevice<const T> grad_out(p.grad_out, relation.num_destinations * f.num_heads * f.value_size);
        CopyOnDevice<T> grad_query(p.grad_query, relation.num_destinations * f.num_heads * f.head_size);
        CopyOnDevice<T> grad_key(p.grad_key, relation.num_sources * f.num_heads * f.head_size);
        CopyOnDevice<T> grad_value(p.grad_value, relation.num_sources * f.num_heads * f.value_size);
        CopyOnDevice<AccumulatorType<T>> grad_edge_bias(p.grad_edge_bias, relation.num_edges() * f.num_heads);
        backward(AttentionBackward<T>{copies.arguments(), grad_out.data(), grad_query.data(), grad_key.data(),
                                      grad_value.data(), grad_edge_bias.data()},
                 on_device.view());
        grad_query.copy_back();
        grad_key.copy_back();
        grad_value.copy_back();
        grad_edge_bias.copy_back();
      },
      [&](const AttentionWeights<T>& p) {
        ForwardOnDevice<T> copies(p.forward, relation);
        CopyOnDevice<AccumulatorType<T>> weight(p.weight, relation.num_edges() * p.forward.num_heads);
        weights(AttentionWeights<T>{copies.arguments(), weight.data()}, on_device.view());
        weight.copy_back();
      });
}

/// Does not compute AttentionResult::weight.
template <typename T, class Forward, class Backward>
AttentionResult<T> run_on_device(const AttentionProblem<T>& problem, const RelationView& relation, Forward forward,
                                 Backward backward) {
  return run_on_device(problem, relation, forward, backward, [](const auto& /*p*/, const auto& /*relation*/) {});
}

}  // namespace edgewise::kernels

// SPDX-License-Identifier: Apache-2.0
#include "tests/distributed/process_group_contract.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace edgewise {
namespace {

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kBFloat16, at::kLong, at::kByte, at::kBool};
constexpr std::int64_t kPart = 6;

/// The part that process `from` sends to process `to`. All types but bool represent its numbers exactly.
at::Tensor part(std::int64_t from, std::int64_t to, at::ScalarType type, std::int64_t size = kPart) {
  return at::arange(size, at::kLong).add(from * 40 + to * 7).remainder(251).to(type);
}

at::Tensor parts_from(const ProcessGroup& processes, std::int64_t from, at::ScalarType type) {
  std::vector<at::Tensor> parts;
  for (std::int64_t to = 0; to < processes.size(); ++to) parts.push_back(part(from, to, type));
  return at::cat(parts);
}

at::Tensor parts_to(const ProcessGroup& processes, std::int64_t to, at::ScalarType type) {
  std::vector<at::Tensor> parts;
  for (std::int64_t from = 0; from < processes.size(); ++from) parts.push_back(part(from, to, type));
  return at::cat(parts);
}

at::Tensor room(std::int64_t size, at::ScalarType type) { return at::zeros({size}, type); }

void expect_equal(const at::Tensor& actual, const at::Tensor& expected, const char* exchange) {
  EXPECT_TRUE(actual.equal(expected)) << exchange << " of " << c10::toString(expected.scalar_type());
}

void expect_each_exchange(ProcessGroup& processes, at::ScalarType type) {
  const std::int64_t rank = processes.rank();
  const std::int64_t size = processes.size();
  at::Tensor output = room(size * kPart, type);
  processes.all_to_all(parts_from(processes, rank, type), output);
  expect_equal(output, parts_to(processes, rank, type), "all_to_all");

  output = room(size * kPart, type);
  processes.all_gather(part(rank, 0, type), output);
  expect_equal(output, parts_to(processes, 0, type), "all_gather");

  for (std::int64_t root = 0; root < size; ++root) {
    SCOPED_TRACE("root " + std::to_string(root));
    const bool is_root = rank == root;
    output = is_root ? part(root, 0, type) : room(kPart, type);
    processes.broadcast(output, root);
    expect_equal(output, part(root, 0, type), "broadcast");

    output = is_root ? room(size * kPart, type) : at::Tensor();
    processes.gather(part(rank, root, type), output, root);
    if (is_root) expect_equal(output, parts_to(processes, root, type), "gather");

    output = room(kPart, type);
    processes.scatter(is_root ? parts_from(processes, root, type) : at::Tensor(), output, root);
    expect_equal(output, part(root, rank, type), "scatter");
  }
}

void expect_tensors_of_any_shape(ProcessGroup& processes) {
  const std::int64_t size = processes.size();
  const at::Tensor input = parts_from(processes, processes.rank(), at::kFloat).view({size, 2, kPart / 2});
  const at::Tensor output = at::zeros({2 * size, kPart / 2}, at::kFloat);
  processes.all_to_all(input, output);
  expect_equal(output.view(-1), parts_to(processes, processes.rank(), at::kFloat), "all_to_all of matrices");

  const at::Tensor scalar = processes.rank() == 0 ? at::full({}, 5, at::kLong) : at::zeros({}, at::kLong);
  processes.broadcast(scalar, 0);
  EXPECT_EQ(scalar.item<std::int64_t>(), 5);
}

void expect_exchanges_at_once(ProcessGroup& processes) {
  constexpr int kExchanges = 8;
  const std::int64_t rank = processes.rank();
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> outputs;
  std::vector<std::unique_ptr<ProcessGroup::Pending>> pending;
  for (int i = 0; i < kExchanges; ++i) {
    const at::ScalarType type = kTypes[i % 4];
    const bool is_gather = i % 3 == 0;
    inputs.push_back(is_gather ? part(rank, 0, type) : parts_from(processes, rank, type));
    outputs.push_back(room(processes.size() * kPart, type));
    pending.push_back(is_gather ? processes.begin_all_gather(inputs.back(), outputs.back())
                                : processes.begin_all_to_all(inputs.back(), outputs.back()));
  }
  // A function without `begin` may run meanwhile, and the exchanges may be waited for in any order.
  const at::Tensor number = at::full({1}, rank == 0 ? 3 : 0, at::kLong);
  processes.broadcast(number, 0);
  EXPECT_EQ(number.item<std::int64_t>(), 3);
  for (int i = kExchanges; i-- > 0;) {
    pending[i]->wait();
    expect_equal(outputs[i], parts_to(processes, i % 3 == 0 ? 0 : rank, kTypes[i % 4]), "one of several exchanges");
  }

  const at::Tensor output = room(processes.size() * kPart, at::kLong);
  const at::Tensor input = part(rank, 0, at::kLong);
  processes.begin_all_gather(input, output).reset();
  expect_equal(output, parts_to(processes, 0, at::kLong), "an all_gather that the destructor waited for");
}

/// Fills a tensor with `first`, `first` + 1 and so on, without the threads that a large arange starts.
void fill_from(const at::Tensor& tensor, std::int64_t first) {
  std::int64_t* data = tensor.mutable_data_ptr<std::int64_t>();
  std::iota(data, data + tensor.numel(), first);
}

void expect_large_tensors(ProcessGroup& processes) {
  constexpr std::int64_t kLarge = 1 << 18;  // more bytes than the buffers of a socket
  const std::int64_t size = processes.size();
  const at::Tensor input = at::empty({size * kLarge}, at::kLong);
  const at::Tensor output = at::empty({size * kLarge}, at::kLong);
  fill_from(input, processes.rank() * 1000);
  fill_from(output, -1);
  processes.all_to_all(input, output);
  const std::int64_t* data = output.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < output.numel(); ++i) {
    const std::int64_t from = i / kLarge;
    ASSERT_EQ(data[i], processes.rank() * kLarge + i % kLarge + from * 1000) << i;
  }
}

void expect_empty_tensors(ProcessGroup& processes) {
  const bool is_root = processes.rank() == 0;
  const at::Tensor empty = at::empty({0}, at::kFloat);
  const at::Tensor other = at::empty({0}, at::kFloat);
  processes.all_to_all(empty, other);
  processes.all_gather(empty, other);
  processes.broadcast(empty, 0);
  processes.gather(empty, is_root ? other : at::Tensor(), 0);
  processes.scatter(is_root ? empty : at::Tensor(), other, 0);
  EXPECT_EQ(other.numel(), 0);
}

void expect_strings_of_any_size(ProcessGroup& processes) {
  const auto text = [](std::int64_t rank) { return std::string(static_cast<std::size_t>(rank * 3), 'x'); };
  const std::vector<std::string> all = all_gather_bytes(processes, text(processes.rank()));
  ASSERT_EQ(std::ssize(all), processes.size());
  for (std::int64_t rank = 0; rank < processes.size(); ++rank)
    EXPECT_EQ(all[static_cast<std::size_t>(rank)], text(rank));
  const std::int64_t last = processes.size() - 1;
  EXPECT_EQ(broadcast_bytes(processes, "of " + std::to_string(processes.rank()), last), "of " + std::to_string(last));
}

}  // namespace

void expect_contract(ProcessGroup& processes) {
  for (const at::ScalarType type : kTypes) expect_each_exchange(processes, type);
  expect_tensors_of_any_shape(processes);
  expect_exchanges_at_once(processes);
  expect_large_tensors(processes);
  expect_empty_tensors(processes);
  expect_strings_of_any_size(processes);
  expect_each_exchange(processes, at::kLong);  // the exchanges before left the group in order
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/process_group.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cstring>

namespace edgewise {
namespace {

class Done : public ProcessGroup::Pending {
 public:
  void wait() override {}
};

class SingleProcess : public ProcessGroup {
 public:
  std::int64_t rank() const override { return 0; }
  std::int64_t size() const override { return 1; }

  std::unique_ptr<Pending> begin_all_to_all(const at::Tensor& input, const at::Tensor& output) override {
    output.view(-1).copy_(input.view(-1));
    return std::make_unique<Done>();
  }
  std::unique_ptr<Pending> begin_all_gather(const at::Tensor& input, const at::Tensor& output) override {
    return begin_all_to_all(input, output);
  }
  void broadcast(const at::Tensor&, std::int64_t) override {}
  void gather(const at::Tensor& input, const at::Tensor& output, std::int64_t) override {
    begin_all_to_all(input, output);
  }
  void scatter(const at::Tensor& input, const at::Tensor& output, std::int64_t) override {
    begin_all_to_all(input, output);
  }
};

at::Tensor to_tensor(const std::string& bytes, std::int64_t size) {
  at::Tensor tensor = at::empty({size}, at::kByte);
  std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

std::string to_string(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

ProcessGroup& single_process() {
  static SingleProcess process;
  return process;
}

std::vector<std::string> all_gather_bytes(ProcessGroup& processes, const std::string& bytes) {
  if (processes.size() == 1) return {bytes};
  const at::Tensor size = at::full({1}, std::ssize(bytes), at::kLong);
  const at::Tensor sizes = at::empty({processes.size()}, at::kLong);
  processes.all_gather(size, sizes);
  const std::int64_t longest =
      *std::max_element(sizes.const_data_ptr<std::int64_t>(), sizes.const_data_ptr<std::int64_t>() + processes.size());
  const at::Tensor all = at::empty({processes.size(), longest}, at::kByte);
  if (longest > 0) processes.all_gather(to_tensor(bytes, longest), all);
  std::vector<std::string> parts;
  for (std::int64_t i = 0; i < processes.size(); ++i) {
    parts.push_back(to_string(all[i].narrow(0, 0, sizes.const_data_ptr<std::int64_t>()[i])));
  }
  return parts;
}

std::string broadcast_bytes(ProcessGroup& processes, const std::string& bytes, std::int64_t root) {
  if (processes.size() == 1) return bytes;
  const at::Tensor size = at::full({1}, std::ssize(bytes), at::kLong);
  processes.broadcast(size, root);
  const std::int64_t count = *size.const_data_ptr<std::int64_t>();
  if (count == 0) return {};
  const at::Tensor all = processes.rank() == root ? to_tensor(bytes, count) : at::empty({count}, at::kByte);
  processes.broadcast(all, root);
  return to_string(all);
}

/// Each string follows its size in 8 bytes.
std::string pack_strings(const std::vector<std::string>& strings) {
  std::string bytes;
  for (const std::string& string : strings) {
    const std::uint64_t size = string.size();
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    bytes += string;
  }
  return bytes;
}

std::vector<std::string> unpack_strings(const std::string& bytes) {
  std::vector<std::string> strings;
  for (std::size_t begin = 0; begin < bytes.size();) {
    std::uint64_t size = 0;
    const std::size_t left = bytes.size() - begin;
    if (left >= sizeof(size)) std::memcpy(&size, bytes.data() + begin, sizeof(size));
    check(left >= sizeof(size) && left - sizeof(size) >= size,
          "unpack_strings: bytes have {} after byte {}, needs a whole string", left, begin);
    begin += sizeof(size);
    strings.push_back(bytes.substr(begin, size));
    begin += size;
  }
  return strings;
}

/// Chooses by the device of `tensor`; `other` is on the same device or undefined.
ProcessGroup& RoutedProcessGroup::group_of(const char* caller, const at::Tensor& tensor,
                                           const at::Tensor& other) const {
  if (other.defined() && other.device() != tensor.device()) {
    fail("{}: the tensors are on {} and {}, needs both on one device", caller, tensor.device().str(),
         other.device().str());
  }
  return tensor.is_cpu() ? *cpu_ : *gpu_;
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/device.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace edgewise {
namespace {

/// Returns the words of a text between two others; "" if they are not there.
std::string_view words_between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t found = text.find(before);
  if (found == std::string_view::npos) return {};
  const std::size_t begin = found + before.size();
  const std::size_t end = text.find(after, begin);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin);
}

}  // namespace

at::Device choose_device(const DeviceRequest& request) {
  const std::optional<std::int64_t> gpu = choose_gpu(request);
  return gpu ? at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(*gpu)) : at::Device(at::kCPU);
}

void prepare_device(at::Device device) {
  if (device.is_cpu()) return;
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);  // cuBLAS reads the variable when it starts
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(false);  // the operations here write all that they read
  context.setAllowBF16ReductionCuBLAS(/*allow_reduced_precision=*/false);
  c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
}

std::optional<std::string> explain_gpu_memory(const std::exception& error) {
  const auto* memory = dynamic_cast<const c10::OutOfMemoryError*>(&error);
  if (memory == nullptr) return std::nullopt;
  const std::string_view text = memory->what_without_backtrace();
  const std::string_view needed = words_between(text, "Tried to allocate ", ". ");
  const std::string_view total = words_between(text, "total capacity of ", " of which ");
  const std::string_view free = words_between(text, " of which ", " is free");
  std::string sizes;
  if (!needed.empty()) sizes += fmt::format(": {} more were needed", needed);
  if (!needed.empty() && !free.empty()) sizes += fmt::format(", {} of {} are free", free, total);
  return fmt::format(
      "the memory of the GPU ran out{}; set a smaller batch.tokens, and a larger train.accumulate for as many tokens "
      "in a step, train.precision=bf16, or choose a smaller model",
      sizes);
}

}  // namespace edgewise

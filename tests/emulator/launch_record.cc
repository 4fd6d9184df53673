// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/launch_record.h"

#include <algorithm>
#include <mutex>

namespace edgewise::kernels::gpu::emulator {
namespace {

std::mutex mutex_of_records;
std::vector<LaunchRecord*> records;

}  // namespace

LaunchRecord::LaunchRecord() {
  const std::lock_guard lock(mutex_of_records);
  records.push_back(this);
}

LaunchRecord::~LaunchRecord() {
  const std::lock_guard lock(mutex_of_records);
  records.erase(std::ranges::find(records, this));
}

std::vector<std::string> LaunchRecord::kernels() const {
  const std::lock_guard lock(mutex_of_records);
  return kernels_;
}

void LaunchRecord::add(const char* kernel) {
  const std::lock_guard lock(mutex_of_records);
  for (LaunchRecord* record : records) record->kernels_.emplace_back(kernel);
}

}  // namespace edgewise::kernels::gpu::emulator

// SPDX-License-Identifier: Apache-2.0
// Adds the names of all kernels that the tests launch to the report of --gtest_output, for scripts/gpu_check.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/emulator/launch_record.h"

namespace edgewise::kernels::gpu {
namespace {

class LaunchedKernels : public testing::Environment {
 public:
  void SetUp() override { record_.emplace(); }

  void TearDown() override {
    std::string names;
    const std::vector<std::string> kernels = record_->kernels();
    for (const std::string& name : std::set<std::string>(kernels.begin(), kernels.end())) names += name + "\n";
    testing::Test::RecordProperty("kernels", names);
    record_.reset();
  }

 private:
  std::optional<emulator::LaunchRecord> record_;
};

[[maybe_unused]] const testing::Environment* const kLaunchedKernels =
    testing::AddGlobalTestEnvironment(new LaunchedKernels);

}  // namespace
}  // namespace edgewise::kernels::gpu

// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "edgewise/distributed/process_group.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Records the names of the functions that are called.
class RecordingGroup : public ProcessGroup {
 public:
  explicit RecordingGroup(std::vector<std::string>& calls) : calls_(calls) {}

  std::int64_t rank() const override { return 2; }
  std::int64_t size() const override { return 3; }
  std::unique_ptr<Pending> begin_all_to_all(const at::Tensor&, const at::Tensor&) override {
    return record("all_to_all");
  }
  std::unique_ptr<Pending> begin_all_gather(const at::Tensor&, const at::Tensor&) override {
    return record("all_gather");
  }
  void broadcast(const at::Tensor&, std::int64_t root) override { record("broadcast from " + std::to_string(root)); }
  void gather(const at::Tensor&, const at::Tensor&, std::int64_t root) override {
    record("gather to " + std::to_string(root));
  }
  void scatter(const at::Tensor&, const at::Tensor&, std::int64_t root) override {
    record("scatter from " + std::to_string(root));
  }

 private:
  class Waiting : public Pending {
   public:
    explicit Waiting(std::vector<std::string>& calls) : calls_(calls) {}
    void wait() override { calls_.push_back("wait"); }

   private:
    std::vector<std::string>& calls_;
  };

  std::unique_ptr<Pending> record(const std::string& name) {
    calls_.push_back(name);
    return std::make_unique<Waiting>(calls_);
  }

  std::vector<std::string>& calls_;
};

// Tensors of the device "meta", which have no memory, are in the place of tensors on a GPU.
class RoutedGroup : public testing::Test {
 protected:
  std::vector<std::string> cpu_calls_;
  std::vector<std::string> gpu_calls_;
  RoutedProcessGroup group_{std::make_unique<RecordingGroup>(cpu_calls_), std::make_unique<RecordingGroup>(gpu_calls_)};
  at::Tensor on_cpu_ = at::empty({3}, at::kFloat);
  at::Tensor on_gpu_ = at::empty({3}, at::device(at::kMeta).dtype(at::kFloat));
};

void call_each(ProcessGroup& group, const at::Tensor& tensor) {
  group.all_to_all(tensor, tensor);
  group.all_gather(tensor, tensor);
  group.broadcast(tensor, 0);
  group.gather(tensor, {}, 1);
  group.gather(tensor, tensor, 2);
  group.scatter({}, tensor, 1);
  group.scatter(tensor, tensor, 2);
}

const auto kEachCall = [] {
  return ElementsAre("all_to_all", "wait", "all_gather", "wait", "broadcast from 0", "gather to 1", "gather to 2",
                     "scatter from 1", "scatter from 2");
};

TEST_F(RoutedGroup, ExchangesTensorsOfTheCpuInTheFirstGroup) {
  call_each(group_, on_cpu_);
  EXPECT_THAT(cpu_calls_, kEachCall());
  EXPECT_THAT(gpu_calls_, IsEmpty());
}

TEST_F(RoutedGroup, ExchangesOtherTensorsInTheSecondGroup) {
  call_each(group_, on_gpu_);
  EXPECT_THAT(gpu_calls_, kEachCall());
  EXPECT_THAT(cpu_calls_, IsEmpty());
}

TEST_F(RoutedGroup, HasTheRankAndSizeOfItsGroups) {
  EXPECT_EQ(group_.rank(), 2);
  EXPECT_EQ(group_.size(), 3);
}

TEST_F(RoutedGroup, RefusesTensorsOfTwoDevices) {
  EXPECT_EQ(error_of([&] { group_.all_to_all(on_cpu_, on_gpu_); }),
            "all_to_all: the tensors are on cpu and meta, needs both on one device");
  EXPECT_EQ(error_of([&] { group_.all_gather(on_gpu_, on_cpu_); }),
            "all_gather: the tensors are on meta and cpu, needs both on one device");
  EXPECT_EQ(error_of([&] { group_.gather(on_gpu_, on_cpu_, 0); }),
            "gather: the tensors are on meta and cpu, needs both on one device");
  EXPECT_EQ(error_of([&] { group_.scatter(on_gpu_, on_cpu_, 0); }),
            "scatter: the tensors are on cpu and meta, needs both on one device");
  EXPECT_THAT(cpu_calls_, IsEmpty());
  EXPECT_THAT(gpu_calls_, IsEmpty());
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
// Whole runs with train.device, and with the operations of devices that have no kernels of this project.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/ops/backend.h"
#include "edgewise/train/device.h"
#include "tests/support/error_of.h"
#include "tests/train/experiment_run.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

class ExperimentDevice : public ExperimentRun {
 protected:
  // A GPU has no number as high as this one.
  void choose_absent_gpu() { experiment_.train.device = "cuda:127"; }
};

/// Records the device and the losses of a run.
struct LossObserver : RunObserver {
  void on_device(at::Device chosen) override { device = chosen; }
  void on_step(const StepReport& report) override { losses.push_back(report.loss); }
  void on_validation(std::int64_t /*step*/, const Validation& validation, bool /*is_best*/) override {
    losses.push_back(validation.loss);
  }

  at::Device device = at::kMeta;
  std::vector<double> losses;
};

TEST_F(ExperimentDevice, IsRefusedWithTheReasonBeforeTheRunBegins) {
  choose_absent_gpu();
  const std::string reason = error_of([] { choose_device({"train: train.device", "cuda:127"}); });
  EXPECT_NE(reason, "no error");
  EXPECT_EQ(error_of([&] { train(folder() / "run"); }), reason);
  EXPECT_FALSE(fs::exists(folder() / "run"));
}

TEST_F(ExperimentDevice, StaysTheCpuForAutoWithoutGpus) {
  if (!find_gpus().gpus.empty()) GTEST_SKIP() << "this machine has GPUs";
  experiment_.train.device = "auto";
  LossObserver observer;
  train(folder() / "run", observer);
  EXPECT_EQ(observer.device, at::kCPU);
}

TEST_F(ExperimentDevice, MayBeAnotherOneWhenARunIsResumed) {
  if (!find_gpus().gpus.empty()) GTEST_SKIP() << "this machine has GPUs, whose results have other bits";
  train(folder() / "whole");
  const std::int64_t steps = std::exchange(experiment_.train.steps, 3);
  train(folder() / "run");
  experiment_.train.steps = steps;
  experiment_.train.device = "auto";
  EXPECT_EQ(train(folder() / "run"), steps);
  for (const char* file : {"last/model.safetensors", "last/training.safetensors", "best/model.safetensors"}) {
    EXPECT_TRUE(read_file(folder() / "run" / file) == read_file(folder() / "whole" / file)) << file;
  }
}

/// Expects the losses of a run with the kernels of this project in a run of the definitions, which every device runs.
/// The two add in different orders, and each step of Adam may enlarge the difference.
void expect_equal_losses(const std::vector<double>& kernels, const std::vector<double>& definitions,
                         double relative_tolerance) {
  ASSERT_EQ(kernels.size(), definitions.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_NEAR(definitions[i], kernels[i], relative_tolerance * std::abs(kernels[i])) << "loss " << i;
  }
}

class ExperimentOfDefinitions : public ExperimentDevice,
                                public testing::WithParamInterface<std::pair<Precision, double>> {};

TEST_P(ExperimentOfDefinitions, HasTheLossesOfTheKernels) {
  const auto [precision, relative_tolerance] = GetParam();
  experiment_.train.precision = precision;
  experiment_.train.average = 0.5;
  experiment_.train.clip_norm = 1.0;
  LossObserver kernels;
  train(folder() / "kernels", kernels);
  LossObserver definitions;
  const OperationsGuard guard(Operations::kDefinition);
  train(folder() / "definitions", definitions);
  EXPECT_GT(kernels.losses.size(), 5U);
  expect_equal_losses(kernels.losses, definitions.losses, relative_tolerance);
}

INSTANTIATE_TEST_SUITE_P(Precisions, ExperimentOfDefinitions,
                         testing::Values(std::pair(Precision::kFp32, 1e-5), std::pair(Precision::kBf16, 1e-2)),
                         [](const auto& test) { return std::string(enum_name(test.param.first)); });

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "edgewise/translate/model_files.h"
#include "tests/support/error_of.h"

namespace edgewise {

/// Expects that options of a model's config neither contradict each other nor lack an effect in a training that starts
/// from the model.
inline void expect_trainable(const std::filesystem::path& model) {
  Experiment experiment = read_model_config(model, "test");
  experiment.vocabulary.file = model.string();
  experiment.data.train = {(model / kConfigFile).string()};
  EXPECT_EQ(error_of([&] { check_options(experiment, "test"); }), "no error");
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "edgewise/translate/model_paths.h"
#include "tests/apps/forked_program.h"
#include "tests/support/process.h"

namespace edgewise {

/// Gives each test its own folder and runs the program in it.
class ProgramTest : public testing::Test {
 protected:
  ProgramTest() : folder_(std::filesystem::temp_directory_path() / unique_name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ProgramTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name), std::ios::binary).rdbuf();
    return text.str();
  }

  ProcessResult run(const std::vector<std::string>& arguments, ProcessOptions options = {}) const {
    options.folder = folder_.string();
    return complete(start_edgewise(arguments, options), options);
  }

  /// Runs a command that must succeed and returns its output.
  std::string run_well(const std::vector<std::string>& arguments, const ProcessOptions& options = {}) const {
    const ProcessResult result = run(arguments, options);
    EXPECT_EQ(result.exit_code, 0) << result.errors << result.output;
    return result.output;
  }

  /// Runs a command that must fail as a mistake of the user: exit code 2 and one line of error text.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& text,
                      const ProcessOptions& options = {}) const {
    const ProcessResult result = run(arguments, options);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.errors, text + "\n");
  }

 private:
  static std::string unique_name() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    return "edgewise-" + std::to_string(getpid()) + "-" + test->test_suite_name() + "-" + test->name();
  }

  std::filesystem::path folder_;
};

/// Returns the error for a model that does not exist and whose name no folder of models has.
inline std::string absent_model_text(const std::string& caller, const std::string& name) {
  return caller + ": " + name + " does not exist, needs a run or model directory, or " + describe_model_names(caller);
}

/// The config of a tiny model, without a [data] section; tests append more options of [train], and more sections.
inline const std::string kTinyModelConfig = R"(
[vocabulary]
shared = true

[batch]
tokens = 0
sentences = 32

[model]
encoder_layers = 1
decoder_layers = 1
size = 16
heads = 2
feed_forward = 16

[train]
epochs = 2
warmup = 20
)";

/// The [data] section of a tiny copy task.
inline const std::string kTinyDataConfig = R"(
[data]
task = "copy"
train_size = 300
valid_size = 20
test_size = 20
symbols = 4
length_mean = 3.0
length_deviation = 1.0
)";

/// The config of a copy task that trains in two seconds.
inline const std::string kTinyConfig = kTinyDataConfig + kTinyModelConfig;

/// The config of a tiny language model of the text `in`, which trains in a second; tests append more options of
/// [train], and more sections.
inline const std::string kTinyLanguageConfig = R"(
[data]
train = ["in"]
valid = ["in"]

[batch]
length = 16
tokens = 64

[model]
kind = "language_model"
decoder_layers = 1
size = 16
heads = 2
feed_forward = 16

[train]
epochs = 0
steps = 20
schedule = "constant"
learning_rate = 0.01
warmup = 0
validate_every = 10
)";

}  // namespace edgewise

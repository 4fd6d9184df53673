// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <utility>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/base/files/file_system.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

/// Calls a function before the first file is read.
class BeforeReading : public FileSystem {
 public:
  explicit BeforeReading(std::function<void()> act) : act_(std::move(act)) {}

  ssize_t read_at(int file, std::uint64_t offset, std::span<char> buffer) override {
    if (act_) std::exchange(act_, nullptr)();
    return FileSystem::read_at(file, offset, buffer);
  }

 private:
  std::function<void()> act_;
};

using InspectTest = ProgramTest;

TEST_F(InspectTest, ShowsOneVersionOfAModelThatIsReplacedMeanwhile) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run"});
  run_well({"train", "tiny.toml", "--out", "wide", "--set", "model.feed_forward=32"});
  std::string manifest = read("run/best/manifest.json");
  const std::size_t tool = manifest.find("\"edgewise ");
  ASSERT_NE(tool, std::string::npos) << manifest;
  write("run/best/manifest.json", manifest.insert(tool + 1, "another "));
  BeforeReading files([&] {
    std::filesystem::rename(path("run/best"), path("run/replaced"));
    std::filesystem::rename(path("wide/best"), path("run/best"));
  });
  CLI::App program("", "edgewise");
  add_inspect(program);
  testing::internal::CaptureStdout();
  {
    const ScopedFileSystem scope(files);
    program.parse("inspect " + path("run").string());
  }

  const std::string output = testing::internal::GetCapturedStdout();

  EXPECT_TRUE(std::filesystem::exists(path("run/replaced")));
  EXPECT_NE(output.find("written by  another edgewise"), std::string::npos) << output;
  EXPECT_NE(output.find("feed-forward 16"), std::string::npos) << output;
}

TEST_F(InspectTest, ShowsTheEdgesAndTheCostOfPatterns) {
  std::string config = kTinyConfig;
  const std::string layers = "decoder_layers = 1";
  config.replace(config.find(layers), layers.size(), "decoder_layers = 2\nrelation = [[\"window 2\"], [\"causal\"]]");
  write("patterns.toml", config);
  const std::string patterns =
      "encoder layers 0: complete; in documents of 64, 512, 4096 tokens 64.0, 512.0, 4096.0 edges a token, ";
  const std::string windows =
      "decoder layers 0: window 2; in documents of 64, 512, 4096 tokens 2.0, 2.0, 2.0 edges a token, ";
  const auto expect_patterns = [&](const std::string& output, const std::string& prefix) {
    EXPECT_NE(output.find("\n" + prefix + patterns), std::string::npos) << output;
    EXPECT_NE(output.find("\n" + prefix + windows), std::string::npos) << output;
    EXPECT_NE(output.find("\n" + prefix + "decoder layers 1: causal; "), std::string::npos) << output;
  };

  const std::string printed = run_well({"inspect", "patterns.toml"});
  expect_patterns(printed, "# ");
  write("again.toml", printed);
  EXPECT_EQ(run_well({"inspect", "again.toml"}), printed);

  run_well({"train", "patterns.toml", "--out", "run"});
  expect_patterns(run_well({"inspect", "run"}), "relation    ");
}

}  // namespace
}  // namespace edgewise

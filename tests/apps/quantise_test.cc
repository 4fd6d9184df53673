// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "edgewise/base/files/safetensors.h"
#include "tests/apps/alterations.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

template <typename T>
std::vector<T> elements_of(const TensorInfo& tensor) {
  std::vector<T> elements(tensor.bytes.size() / sizeof(T));
  std::memcpy(elements.data(), tensor.bytes.data(), tensor.bytes.size());
  return elements;
}

class QuantiseProgram : public ProgramTest {
 protected:
  void train(const std::string& run, const std::vector<std::string>& settings = {}) const {
    write("tiny.toml", kTinyConfig);
    std::vector<std::string> command = {"train", "tiny.toml", "--out", run, "--set", "train.epochs=1"};
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    run_well(command);
  }

  SafetensorsFile parameters(const std::string& directory) const {
    return SafetensorsFile::open(path(directory) / "model.safetensors");
  }
};

/// Expects integers and a scale for each row that makes the row's largest magnitude 127, each integer the nearest one.
void expect_rounded(const TensorInfo& matrix, const TensorInfo& scales, const TensorInfo& original) {
  const auto integers = elements_of<std::int8_t>(matrix);
  const auto scale = elements_of<float>(scales);
  const auto values = elements_of<float>(original);
  ASSERT_EQ(integers.size(), values.size());
  const auto columns = static_cast<std::size_t>(matrix.shape.at(1));
  ASSERT_EQ(scale.size() * columns, values.size());
  for (std::size_t row = 0; row < scale.size(); ++row) {
    float largest = 0;
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) largest = std::max(largest, std::abs(values[i]));
    EXPECT_FLOAT_EQ(scale[row], largest / 127);
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) {
      EXPECT_NEAR(static_cast<float>(integers[i]) * scale[row], values[i], scale[row] * 0.5001F) << matrix.name;
    }
  }
}

TEST_F(QuantiseProgram, StoresMatricesIn8BitsAndTheOtherParametersAsTheyAre) {
  train("run");
  EXPECT_EQ(run_well({"quantise", "run", "--out", "small"}), "small: run with matrices in 8 bits\n");

  const SafetensorsFile original = parameters("run/best");
  const SafetensorsFile small = parameters("small");
  int matrices = 0;
  for (const TensorInfo& tensor : original.tensors()) {
    const TensorInfo* found = small.find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    if (found->dtype == DType::kI8) {
      ++matrices;
      const TensorInfo* scales = small.find(tensor.name + ".scale");
      ASSERT_NE(scales, nullptr) << tensor.name;
      expect_rounded(*found, *scales, tensor);
    } else {
      EXPECT_EQ(tensor.shape.size(), 1U) << tensor.name;
      EXPECT_EQ(elements_of<float>(*found), elements_of<float>(tensor)) << tensor.name;
    }
  }
  // The embeddings, four matrices of each of the three attention layers, and two of each of the two feed-forward
  // layers.
  EXPECT_EQ(matrices, 1 + 3 * 4 + 2 * 2);
  EXPECT_EQ(small.tensors().size(), original.tensors().size() + 17);
}

TEST_F(QuantiseProgram, WritesAModelThatEveryCommandReads) {
  for (const std::vector<std::string>& settings : std::vector<std::vector<std::string>>{
           {}, {"model.kind=universal"}, {"model.tying=none"}, {"model.positions=learned", "data.max_length=30"}}) {
    std::filesystem::remove_all(path("run"));
    std::filesystem::remove_all(path("small"));
    std::filesystem::remove_all(path("more"));
    std::filesystem::remove_all(path("mean"));
    train("run", settings);
    run_well({"quantise", "run", "--out", "small"});
    for (const char* precision : {"fp32", "bf16", "int8"}) {
      run_well({"translate", "--model", "small", "--precision", precision}, {.input = "a b\n"});
    }
    run_well({"inspect", "small"});
    run_well({"average", "--out", "mean", "small"});
    std::vector<std::string> command = {"train", "tiny.toml", "--from", "small",
                                        "--out", "more",      "--set",  "train.epochs=1"};
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    run_well(command);
  }
}

TEST_F(QuantiseProgram, KeepsTheBitsOfMatricesThatHave8BitsAlready) {
  train("run");
  run_well({"quantise", "run", "--out", "small"});
  run_well({"quantise", "small", "--out", "again"});
  EXPECT_EQ(read("again/model.safetensors"), read("small/model.safetensors"));
}

TEST_F(QuantiseProgram, RefusesAModelWhoseTensorsAreNotThoseOfItsConfigAndWritesNothing) {
  train("run");
  std::filesystem::copy(path("run/best"), path("other"));
  std::string config = read("other/config.toml");
  config.replace(config.find("encoder_layers = 1"), 18, "encoder_layers = 2");
  write("other/config.toml", config);
  write_manifest(path("other"), {"config.toml", "model.safetensors", "vocabulary.txt"});
  const ProcessResult result = run({"quantise", "other", "--out", "small"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors.substr(0, result.errors.find(',')),
            "read_parameters: other/model.safetensors lacks \"encoder.layers.1.self_attention.query.weight\"");
  EXPECT_FALSE(std::filesystem::exists(path("small")));
  expect_refused({"quantise", "none", "--out", "small"}, absent_model_text("quantise", "none"));
}

}  // namespace
}  // namespace edgewise

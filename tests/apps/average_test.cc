// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <map>
#include <vector>

#include "edgewise/base/files/safetensors.h"
#include "tests/apps/alterations.h"
#include "tests/apps/program.h"
#include "tests/apps/stored_model.h"

namespace edgewise {
namespace {

class AverageProgram : public ProgramTest {
 protected:
  AverageProgram() {
    write("tiny.toml", kTinyConfig);
    run_well({"train", "tiny.toml", "--out", "one", "--set", "train.epochs=1"});
    run_well({"train", "tiny.toml", "--out", "two", "--set", "train.epochs=1", "--set", "train.seed=7"});
  }

  std::map<std::string, std::vector<float>> parameters(const std::string& directory) const {
    const SafetensorsFile file = SafetensorsFile::open(path(directory) / "model.safetensors");
    std::map<std::string, std::vector<float>> values;
    for (const TensorInfo& tensor : file.tensors()) {
      std::vector<float>& of_tensor = values[tensor.name];
      of_tensor.resize(tensor.bytes.size() / sizeof(float));
      std::memcpy(of_tensor.data(), tensor.bytes.data(), tensor.bytes.size());
    }
    return values;
  }
};

TEST_F(AverageProgram, WritesAModelWithTheMeanOfParameters) {
  run_well({"average", "--out", "mean", "one", "two/last"});

  const auto mean = parameters("mean");
  const auto one = parameters("one/best");
  const auto two = parameters("two/last");
  ASSERT_EQ(mean.size(), one.size());
  for (const auto& [name, values] : mean) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i], static_cast<float>((double{one.at(name)[i]} + double{two.at(name)[i]}) / 2)) << name;
    }
  }
  run_well({"translate", "--model", "mean"}, {.input = "a b\n"});
}

TEST_F(AverageProgram, WritesTheMeanInFp32OfModelsThatAreStoredInAnyType) {
  const auto one = parameters("one/best");
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kI8}) {
    SCOPED_TRACE(dtype_name(dtype));
    std::filesystem::remove_all(path("mean"));
    std::filesystem::remove_all(path("stored"));
    std::filesystem::copy(path("two/best"), path("stored"));
    const StoredModel stored = store(SafetensorsFile::open(path("two/best/model.safetensors")), dtype);
    write("stored/model.safetensors", stored.bytes);
    write_manifest(path("stored"), {"config.toml", "model.safetensors", "vocabulary.txt"});

    run_well({"average", "--out", "mean", "stored", "one/best"});

    const auto mean = parameters("mean");
    ASSERT_EQ(mean.size(), one.size());
    for (const auto& [name, values] : mean) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(values[i], static_cast<float>((double{one.at(name)[i]} + double{stored.values.at(name)[i]}) / 2))
            << name;
      }
    }
    run_well({"translate", "--model", "stored"}, {.input = "a b\n"});
    run_well({"translate", "--model", "stored", "--precision", "int8"}, {.input = "a b\n"});
    run_well({"inspect", "stored"});
  }
}

TEST_F(AverageProgram, GivesTheSameModelForOneModel) {
  run_well({"average", "--out", "same", "one"});

  EXPECT_EQ(parameters("same"), parameters("one/best"));
}

TEST_F(AverageProgram, KeepsTheTreatmentOfCapitals) {
  run_well({"train", "tiny.toml", "--out", "lower", "--set", "train.epochs=1", "--set", "vocabulary.input_case=lower"});
  run_well({"average", "--out", "same", "lower"});

  const ProcessOptions input = {.input = "A B c\n"};
  EXPECT_EQ(run_well({"translate", "--model", "same"}, input), run_well({"translate", "--model", "lower"}, input));
  EXPECT_EQ(read("same/input_case.txt"), read("lower/best/input_case.txt"));
}

TEST_F(AverageProgram, RefusesModelsThatDoNotFitTogether) {
  run_well({"train", "tiny.toml", "--out", "wide", "--set", "train.epochs=1", "--set", "model.feed_forward=8"});
  run_well({"train", "tiny.toml", "--out", "other", "--set", "train.epochs=1", "--set", "data.symbols=3"});

  expect_refused({"average", "--out", "mean", "one", "wide"},
                 "average: wide has another [model] section of config.toml than one, needs the same");
  expect_refused({"average", "--out", "mean", "one", "other"},
                 "average: other has another input vocabulary than one, needs the same");
  expect_refused({"average", "--out", "mean", "none"}, absent_model_text("average", "none"));
  EXPECT_FALSE(std::filesystem::exists(path("mean")));
}

}  // namespace
}  // namespace edgewise

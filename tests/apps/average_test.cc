// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <list>
#include <map>
#include <span>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/float16.h"
#include "edgewise/base/safetensors.h"
#include "tests/apps/alterations.h"
#include "tests/apps/program.h"

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

/// Returns a number's upper 16 bits, or for F16 the nearest smaller half-precision number, 0 for those below its range.
std::uint16_t bits_of(float value, DType dtype) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (dtype == DType::kBF16) return static_cast<std::uint16_t>(bits >> 16);
  const std::uint32_t magnitude = (bits & 0x7FFFFFFF) >> 13;
  const std::uint32_t offset = (127 - 15) << 10;
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | (magnitude < offset + 1024 ? 0 : magnitude - offset));
}

float value_of(std::uint16_t bits, DType dtype) {
  return dtype == DType::kBF16 ? float{std::bit_cast<BFloat16>(bits)} : float{std::bit_cast<Float16>(bits)};
}

/// Tensors that were stored in another type, and their values.
struct StoredModel {
  std::string bytes;
  std::map<std::string, std::vector<float>> values;
};

/// Stores matrices as `dtype`; I8 with the scale 1/64.
StoredModel store(const SafetensorsFile& file, DType dtype) {
  StoredModel model;
  std::list<std::vector<std::byte>> memory;
  std::vector<TensorInfo> tensors;
  const auto add = [&](const std::string& name, DType type, const std::vector<std::int64_t>& shape, const auto& all) {
    const auto bytes = std::as_bytes(std::span(all));
    tensors.push_back({name, type, shape, memory.emplace_back(bytes.begin(), bytes.end())});
  };
  for (const TensorInfo& tensor : file.tensors()) {
    std::vector<float>& values = model.values[tensor.name];
    values.resize(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    if (tensor.shape.size() != 2) {
      add(tensor.name, DType::kF32, tensor.shape, values);
    } else if (dtype == DType::kI8) {
      std::vector<std::int8_t> integers;
      for (float& value : values) {
        integers.push_back(static_cast<std::int8_t>(std::clamp(std::lround(value * 64), -127L, 127L)));
        value = static_cast<float>(integers.back()) / 64;
      }
      add(tensor.name, dtype, tensor.shape, integers);
      add(tensor.name + ".scale", DType::kF32, {tensor.shape[0]},
          std::vector<float>(static_cast<std::size_t>(tensor.shape[0]), 1.0F / 64));
    } else {
      std::vector<std::uint16_t> bits;
      for (float& value : values) {
        bits.push_back(bits_of(value, dtype));
        value = value_of(bits.back(), dtype);
      }
      add(tensor.name, dtype, tensor.shape, bits);
    }
  }
  model.bytes = serialize_safetensors(tensors);
  return model;
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
                 "average: wide has another [model] section of config.toml than one; they must be equal");
  expect_refused({"average", "--out", "mean", "one", "other"},
                 "average: other has another input vocabulary than one; they must be equal");
  expect_refused({"average", "--out", "mean", "none"},
                 "average: none does not exist, a run or model directory is needed");
  EXPECT_FALSE(std::filesystem::exists(path("mean")));
}

}  // namespace
}  // namespace edgewise

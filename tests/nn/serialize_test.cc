// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/serialize.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "edgewise/nn/transformer_layers.h"
#include "tests/nn/convert_parameters.h"
#include "tests/nn/stored_types.h"
#include "tests/nn/tensors.h"

namespace edgewise {
namespace {

SafetensorsFile parse(const std::string& bytes) { return SafetensorsFile::parse(bytes, "model.safetensors"); }

struct TiedPair {
  Linear first;
  Linear second;

  template <typename Self, typename Visitor>
  static void list_parts(Self& self, Visitor&& part) {
    part("first", self.first);
    part("second", self.second);
  }
};

TiedPair tied_pair() {
  RandomStream random(1);
  TiedPair pair{Linear(3, 2, Bias::kZero, random), Linear(3, 2, Bias::kNone, random)};
  pair.second.weight = pair.first.weight;
  return pair;
}

TEST(Parameters, AreNamedByThePathToThemAndListedInOrder) {
  RandomStream random(1);
  LayerOptions options;
  options.size = 4;
  options.heads = 2;
  options.feed_forward = 6;
  options.attention_bias = false;

  std::vector<std::string> names;
  for (const NamedTensor& named : parameters(EncoderLayer(options, random))) names.push_back(named.name);

  EXPECT_EQ(names, (std::vector<std::string>{
                       "self_attention_norm.gain", "self_attention_norm.bias", "self_attention.query.weight",
                       "self_attention.key.weight", "self_attention.value.weight", "self_attention.output.weight",
                       "feed_forward_norm.gain", "feed_forward_norm.bias", "feed_forward.inner.weight",
                       "feed_forward.inner.bias", "feed_forward.outer.weight", "feed_forward.outer.bias"}));
}

TEST(Parameters, NameATiedTensorOnceByItsFirstName) {
  const auto named = parameters(tied_pair());

  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[0].name, "first.weight");
  EXPECT_EQ(named[1].name, "first.bias");
  EXPECT_EQ(count_parameters(named), 3 * 2 + 2);
}

TEST(ConvertParameters, KeepsValuesAndTies) {
  TiedPair pair = tied_pair();
  const at::Tensor before = pair.first.weight;

  convert_parameters(pair, at::kDouble);

  EXPECT_TRUE(at::equal(pair.first.weight, before.to(at::kDouble)));
  EXPECT_TRUE(pair.second.weight.is_same(pair.first.weight));
  EXPECT_TRUE(pair.first.weight.requires_grad() && pair.first.weight.is_leaf());
}

TEST(ConvertParameters, CopiesParametersThatHaveTheTypeAlready) {
  TiedPair pair = tied_pair();
  const at::Tensor before = pair.first.weight;

  convert_parameters(pair, at::kFloat);

  EXPECT_FALSE(pair.first.weight.is_same(before));
  EXPECT_NE(pair.first.weight.data_ptr(), before.data_ptr());
}

TEST(MoveParameters, LeavesThoseThatAreOnTheDeviceButDiscardsGradients) {
  const TiedPair pair = tied_pair();
  const at::Tensor weight = pair.first.weight;
  const void* values = weight.const_data_ptr();
  weight.mutable_grad() = at::ones_like(weight);
  move_parameters(parameters(pair), at::kCPU);
  EXPECT_EQ(pair.second.weight.const_data_ptr(), values);
  EXPECT_FALSE(weight.grad().defined());
  EXPECT_TRUE(weight.requires_grad());
}

TEST(LoadTensors, ReadsBackWhatWasSerialised) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kLong}) {
    const std::vector<NamedTensor> saved = {{"a", (100 * random_tensor({2, 3}, 1)).to(dtype)},
                                            {"scalar", (100 * random_tensor({}, 2)).to(dtype)},
                                            {"strided", (100 * random_tensor({4, 2}, 3)).to(dtype).t()}};
    std::vector<NamedTensor> loaded;
    for (const NamedTensor& named : saved) loaded.push_back({named.name, at::zeros(named.tensor.sizes(), dtype)});

    load_tensors(loaded, parse(serialize_tensors(saved, {{"made by", "a test"}})), "model.safetensors");

    for (std::size_t i = 0; i < saved.size(); ++i) EXPECT_TRUE(at::equal(saved[i].tensor, loaded[i].tensor));
  }
}

TEST(LoadTensors, ReadsFp32TensorsFromAnyTypeThatAFileMayStore) {
  const std::vector<NamedTensor> parameters = {{"matrix", random_tensor({70, 33}, 1)},
                                               {"vector", random_tensor({33}, 2)}};
  for (const DType dtype : kStoredTypes) {
    SCOPED_TRACE(dtype_name(dtype));
    const StoredParameters files = store_parameters(parameters, dtype);
    const std::vector<NamedTensor> from_stored = {{"matrix", at::zeros({70, 33})}, {"vector", at::zeros({33})}};
    const std::vector<NamedTensor> from_floats = {{"matrix", at::zeros({70, 33})}, {"vector", at::zeros({33})}};

    load_tensors(from_stored, files.stored.file(), "model.safetensors");
    load_tensors(from_floats, files.floats.file(), "model.safetensors");

    for (std::size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_TRUE(at::equal(from_stored[i].tensor, from_floats[i].tensor)) << parameters[i].name;
      expect_close(from_stored[i].tensor, parameters[i].tensor, 0.05);
    }
  }
}

TEST(LoadTensors, NeedsTheScalesOfAMatrixOfEightBits) {
  StoredTensorList file;
  file.add("a", DType::kI8, at::ones({2, 3}, at::kChar));
  file.add("b.scale", DType::kF32, at::ones({2}));
  const std::vector<NamedTensor> needed = {{"a", at::zeros({2, 3})}};

  EXPECT_EQ(
      error_of([&] { load_tensors(needed, file.file(), "m"); }),
      "load_tensors: m lacks \"a.scale\", has \"b.scale\", which is not needed, needs exactly the tensors that the "
      "config describes; use the config and the file of one training");
}

TEST(LoadTensors, WritesIntoParametersWithoutLosingTheirTies) {
  TiedPair saved = tied_pair();
  const std::string bytes = serialize_tensors(parameters(saved));
  TiedPair loaded = randomised(tied_pair());
  convert_parameters(loaded, at::kFloat);

  load_tensors(parameters(loaded), parse(bytes), "model.safetensors");

  EXPECT_TRUE(at::equal(loaded.first.weight, saved.first.weight));
  EXPECT_TRUE(loaded.second.weight.is_same(loaded.first.weight));
  EXPECT_TRUE(loaded.first.weight.requires_grad());
}

TEST(LoadTensors, ListsMissingUnknownAndUnfitTensorsAndChangesNothing) {
  const std::vector<NamedTensor> saved = {{"extra", at::zeros({1})},
                                          {"same", at::ones({2})},
                                          {"shape", at::zeros({2, 3})},
                                          {"type", at::zeros({4}, at::kDouble)}};
  const std::vector<NamedTensor> needed = {{"missing", at::zeros({1})},
                                           {"same", at::zeros({2})},
                                           {"shape", at::zeros({3, 2})},
                                           {"type", at::zeros({4})},
                                           {"missing too", at::zeros({1})}};
  const SafetensorsFile file = parse(serialize_tensors(saved));

  EXPECT_EQ(error_of([&] { load_tensors(needed, file, "model.safetensors"); }),
            "load_tensors: model.safetensors lacks \"missing\", lacks \"missing too\", has \"extra\", which is not "
            "needed, has \"shape\" as F32 [2, 3] instead of F32 [3, 2], has \"type\" as F64 [4] instead of F32 [4], "
            "needs exactly the tensors that the config describes; use the config and the file of one training");
  EXPECT_TRUE(at::equal(needed[1].tensor, at::zeros({2})));
}

TEST(LoadTensors, ListsSomeOfManyDifferences) {
  std::vector<NamedTensor> needed;
  for (int i = 0; i < 1000; ++i) needed.push_back({fmt::format("t{}", i), at::zeros({1})});
  const SafetensorsFile file = parse(serialize_tensors(std::vector<NamedTensor>{}));

  EXPECT_EQ(error_of([&] { load_tensors(needed, file, "m"); }),
            "load_tensors: m lacks \"t0\", lacks \"t1\", lacks \"t2\", lacks \"t3\", lacks \"t4\", lacks \"t5\", "
            "lacks \"t6\", lacks \"t7\", has 992 more differences, needs exactly the tensors that the config "
            "describes; use the config and the file of one training");
}

TEST(LoadTensors, RefusesToFillAStridedTensor) {
  const std::vector<NamedTensor> saved = {{"a", at::ones({2, 3})}};
  const std::vector<NamedTensor> needed = {{"a", at::zeros({3, 2}).t()}};
  const SafetensorsFile file = parse(serialize_tensors(saved));

  EXPECT_EQ(error_of([&] { load_tensors(needed, file, "model.safetensors"); }),
            "load_tensors: a is strided, needs to be contiguous");
}

TEST(SerializeTensors, NamesATypeThatItCannotWrite) {
  EXPECT_EQ(error_of([] {
              serialize_tensors(std::vector<NamedTensor>{{"a", at::zeros({2}, at::kBool)}});
            }),
            "list_tensors: a is Bool, needs Float, Double or Long");
}

}  // namespace
}  // namespace edgewise

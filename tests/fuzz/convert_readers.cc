// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "edgewise/convert/ctranslate2_model.h"
#include "edgewise/convert/marian_binary.h"
#include "edgewise/convert/npz.h"
#include "edgewise/convert/pytorch_model.h"
#include "edgewise/convert/yaml.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

bool is_equal_tensor(const TensorInfo& left, const TensorInfo& right) {
  return left.name == right.name && left.dtype == right.dtype && left.shape == right.shape &&
         std::ranges::equal(left.bytes, right.bytes);
}

void check_tensors(const StoredTensors& file) {
  for (const TensorInfo& tensor : file.tensors) {
    require(tensor.bytes.size() == checked_byte_size(tensor.dtype, tensor.shape, "fuzzed"));
    accept_errors([&] { to_floats(tensor, "fuzzed"); });
    accept_errors([&] { to_whole_number(tensor, "fuzzed"); });
    accept_errors([&] { to_text(tensor, "fuzzed"); });
  }
}

void check_yaml(const YamlValue& value, std::size_t depth) {
  require(depth <= 16);
  const bool is_map = value.kind == YamlValue::Kind::kMap;
  require(value.keys.size() == (is_map ? value.items.size() : 0));
  require(value.kind != YamlValue::Kind::kScalar || value.items.empty());
  for (const YamlValue& item : value.items) check_yaml(item, depth + 1);
}

}  // namespace

// Reads the bytes as an archive, and also as an array, because altered archives have wrong checksums.
void read_npz_archive(std::string_view bytes) {
  accept_errors([&] {
    const StoredTensors file = parse_npz(std::string(bytes), "fuzzed");
    check_tensors(file);
    if (file.tensors.empty()) return;
    const StoredTensors again = parse_npz(serialize_npz(file.tensors), "written");
    require(std::ranges::equal(file.tensors, again.tensors, is_equal_tensor));
  });
  accept_errors([&] {
    StoredTensors file;
    parse_npy(std::string(bytes), "w", "fuzzed", file);
    check_tensors(file);
    parse_npy(serialize_npy(file.tensors.front()), "w", "written", file);
    require(is_equal_tensor(file.tensors.front(), file.tensors.back()));
  });
}

// Reads the bytes as the pickle of a state dict, whose storages have as many bytes as the number that their key spells.
void read_pickle(std::string_view bytes) {
  accept_errors([&] {
    const StoredTensors file = read_state_dict(bytes, "fuzzed", [](std::string_view key) {
      std::size_t size = 0;
      for (const char digit : key.substr(0, 4)) size = size * 10 + static_cast<unsigned char>(digit) % 10;
      return std::string(size, 'x');
    });
    check_tensors(file);
  });
}

void read_yaml_text(std::string_view bytes) {
  accept_errors([&] { check_yaml(parse_yaml(bytes, "fuzzed"), 0); });
}

void read_marian_arrays(std::string_view bytes) {
  accept_errors([&] { check_tensors(parse_marian_binary(std::string(bytes), "fuzzed")); });
}

void read_ctranslate2_model(std::string_view bytes) {
  accept_errors([&] {
    const Ctranslate2Model model = parse_ctranslate2(std::string(bytes), "fuzzed");
    check_tensors(model.variables);
    const std::string written =
        serialize_ctranslate2(model.specification, model.revision, model.variables.tensors, model.aliases);
    // The first four bytes are the version, which the writer sets to the newest.
    require(written.size() == bytes.size() && written.substr(4) == bytes.substr(4));
  });
}

}  // namespace edgewise::fuzz

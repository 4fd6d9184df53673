// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/hugging_face_tensors.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json_settings.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/base/sorting.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/pytorch_model.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

StoredTensors read_safetensors(const fs::path& path, std::string_view caller) {
  const auto file = std::make_shared<const SafetensorsFile>(SafetensorsFile::open(path, caller));
  return {.tensors = {file->tensors().begin(), file->tensors().end()}, .memory = {file}};
}

/// Reads the files of a model that is stored in several ones.
StoredTensors read_shards(const fs::path& index, std::string_view caller) {
  const JsonSettings settings = JsonSettings::read(index, caller);
  const JsonValue* files = settings.find("weight_map");
  if (files == nullptr) settings.refuse("weight_map", "missing", "the file of each tensor");
  std::vector<std::string> names;
  for (const auto& [tensor, file] : files->members) names.push_back(file.text);
  sort_unique(names);
  StoredTensors all;
  for (const std::string& name : names) {
    if (!is_plain_name(name)) settings.refuse("weight_map", quote(name), "names of files beside it");
    StoredTensors part = read_safetensors(index.parent_path() / name, caller);
    std::ranges::move(part.tensors, std::back_inserter(all.tensors));
    std::ranges::move(part.memory, std::back_inserter(all.memory));
  }
  return all;
}

}  // namespace

StoredTensors read_hugging_face_tensors(const fs::path& directory, std::string_view caller) {
  constexpr const char* kSafetensors = "model.safetensors";
  constexpr const char* kIndex = "model.safetensors.index.json";
  constexpr const char* kPytorch = "pytorch_model.bin";
  if (has_entry(directory / kSafetensors, caller)) return read_safetensors(directory / kSafetensors, caller);
  if (has_entry(directory / kIndex, caller)) return read_shards(directory / kIndex, caller);
  check(has_entry(directory / kPytorch, caller), "{}: {} has no parameters, needs {}, {} or {}", caller,
        directory.string(), kSafetensors, kIndex, kPytorch);
  return read_pytorch_model(directory / kPytorch, caller);
}

}  // namespace edgewise

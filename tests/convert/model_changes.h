// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/convert/imported_model.h"
#include "tests/base/support.h"
#include "tests/support/whole_files.h"

// Changes of a model's files that import_model refuses.

namespace edgewise {

using Change = std::function<void(const std::filesystem::path& model)>;

inline void write(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::remove(path);
  write_file_atomically(path, bytes, "test");
}

/// Replaces the first occurrence of a text in a file.
inline Change replace(const std::string& file, const std::string& before, const std::string& after) {
  return [=](const std::filesystem::path& model) {
    std::string text = read_file(model / file, "test");
    const std::size_t found = text.find(before);
    ASSERT_NE(found, std::string::npos) << file << " lacks " << before;
    write(model / file, text.replace(found, before.size(), after));
  };
}

/// Adds a member to a JSON object.
inline Change add(const std::string& file, const std::string& member) { return replace(file, "{", "{" + member + ","); }

inline Change with_file(const std::string& file, const std::string& bytes) {
  return [=](const std::filesystem::path& model) { write(model / file, bytes); };
}

/// Changes the tensors of model.safetensors.
inline Change with_tensors(const std::function<void(std::vector<TensorInfo>&)>& change) {
  return [=](const std::filesystem::path& model) {
    const SafetensorsFile file = SafetensorsFile::open(model / "model.safetensors");
    std::vector<TensorInfo> tensors(file.tensors().begin(), file.tensors().end());
    change(tensors);
    write(model / "model.safetensors", serialize_safetensors(tensors));
  };
}

inline void remove_tensor(std::vector<TensorInfo>& tensors, std::string_view name) {
  ASSERT_EQ(std::erase_if(tensors, [&](const TensorInfo& tensor) { return tensor.name == name; }), 1U);
}

inline TensorInfo& find(std::vector<TensorInfo>& tensors, std::string_view name) {
  return *std::ranges::find(tensors, name, &TensorInfo::name);
}

struct HostileModel {
  std::string name;
  Change change;
  std::string error;  // {} is the path of the directory
};

/// Applies each change to a copy of a model, and compares the errors of importing it.
class ModelChangeTest : public testing::Test {
 protected:
  void expect_errors(const std::filesystem::path& model, const std::vector<HostileModel>& hostile) const {
    for (const auto& [name, change, error] : hostile) {
      SCOPED_TRACE(name);
      const std::filesystem::path copy = folder_ / "copy";
      std::filesystem::remove_all(copy);
      std::filesystem::copy(model, copy);
      change(copy);
      std::string expected = "test: " + error;
      const std::size_t place = expected.find("{}");
      if (place != std::string::npos) expected.replace(place, 2, copy.string());
      const std::string found = error_of([&] { import_model(copy, "test"); });
      EXPECT_TRUE(found.starts_with(expected)) << "found:    " << found << "\nexpected: " << expected;
      EXPECT_EQ(found.find('\n'), std::string::npos);
    }
  }

  const TemporaryFolder folder_;
};

}  // namespace edgewise

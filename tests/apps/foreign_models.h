// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/imported_model.h"
#include "tests/apps/alterations.h"
#include "tests/apps/program.h"

namespace edgewise {

/// The end of an error about a destination with other files.
inline const std::string kNoManifest =
    " exists without a manifest.json, needs to be absent, empty or written by this program; choose another directory";

/// A small model of another system.
struct ForeignModel {
  std::string family;
  std::filesystem::path directory;
  std::vector<std::string> files;           // those that an import reads
  std::vector<std::string> optional_files;  // those of them without which the model is another valid one
  bool translates = true;
};

/// Copies the files of a model to a directory, which is made.
inline void copy_model(const ForeignModel& model, const std::filesystem::path& to) {
  std::filesystem::create_directories(to);
  for (const std::string& file : model.files) std::filesystem::copy_file(model.directory / file, to / file);
}

/// Lists a model of each family.
inline std::vector<ForeignModel> list_foreign_models() {
  const std::filesystem::path models = EDGEWISE_SOURCE "/tests/convert/models";
  const std::filesystem::path ctranslate2 = EDGEWISE_SOURCE "/tests/convert/ctranslate2_models";
  const std::filesystem::path causal = EDGEWISE_SOURCE "/tests/convert/causal_models";
  return {
      {"MarianMT",
       models / "marian_2",
       {"config.json", "generation_config.json", "model.safetensors", "source.spm", "target.spm",
        "tokenizer_config.json", "vocab.json"},
       {"generation_config.json", "tokenizer_config.json"}},
      {"M2M-100",
       models / "m2m100_1",
       {"config.json", "generation_config.json", "model.safetensors", "sentencepiece.bpe.model",
        "special_tokens_map.json", "tokenizer_config.json", "vocab.json"},
       {"generation_config.json", "tokenizer_config.json"}},
      {"Marian", models / "marian_npz", {"decoder.yml", "model.npz", "source.spm", "target.spm", "vocab.yml"}, {}},
      {"CTranslate2",
       ctranslate2 / "marian_2_float32",
       {"config.json", "model.bin", "shared_vocabulary.json", "source.spm", "target.spm"},
       {}},
      {"CTranslate2 with two vocabularies",
       ctranslate2 / "opennmt_float32",
       {"config.json", "model.bin", "source_vocabulary.json", "target_vocabulary.json"},
       {"config.json"}},
      {"GPT-2",
       causal / "gpt2",
       {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json"},
       {"generation_config.json"},
       /*translates=*/false},
      {"Qwen 2",
       causal / "qwen2",
       {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json"},
       {"generation_config.json"},
       /*translates=*/false},
  };
}

/// Widens the layers of a MarianMT model to 50 MB, so that writing it takes a while.
inline void widen(const std::filesystem::path& model) {
  constexpr std::int64_t kWidth = 262'144;
  const SafetensorsFile file = SafetensorsFile::open(model / "model.safetensors");
  std::vector<TensorInfo> tensors(file.tensors().begin(), file.tensors().end());
  std::int64_t width = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.name.ends_with("fc1.bias")) width = tensor.shape[0];
  }
  const std::string zeros(static_cast<std::size_t>(kWidth) * 8 * sizeof(float), '\0');
  for (TensorInfo& tensor : tensors) {
    const bool is_wide = tensor.name.find(".fc1.") != std::string::npos || tensor.name.ends_with("fc2.weight");
    if (!is_wide) continue;
    std::size_t size = sizeof(float);
    for (std::int64_t& dimension : tensor.shape) {
      if (dimension == width) dimension = kWidth;
      size *= static_cast<std::size_t>(dimension);
    }
    tensor.bytes = std::as_bytes(std::span(zeros)).first(size);
  }
  write_bytes(model / "model.safetensors", serialize_safetensors(tensors));
  std::string config = read_bytes(model / "config.json");
  for (const char* side : {"encoder", "decoder"}) {
    const std::string key = std::string("\"") + side + "_ffn_dim\": ";
    const std::size_t begin = config.find(key) + key.size();
    config.replace(begin, config.find_first_not_of("0123456789", begin) - begin, std::to_string(kWidth));
  }
  write_bytes(model / "config.json", config);
}

}  // namespace edgewise

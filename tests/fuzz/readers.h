// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

// Functions for fuzzers, which pass any bytes, and for tests, which pass the files of tests/fuzz/corpus. Each function
// reads the bytes as an untrusted file, accepts an Error, and aborts if the result is inconsistent.
namespace edgewise::fuzz {

struct Reader {
  std::string_view name;  // of its folder in tests/fuzz/corpus
  void (*read)(std::string_view bytes);
};

/// Lists all readers.
std::span<const Reader> readers();

// Single files (file_readers.cc).
void read_safetensors(std::string_view bytes);
void read_config(std::string_view bytes);
void read_manifest(std::string_view bytes);
void read_json(std::string_view bytes);

// Vocabularies and corpora (text_readers.cc).
void read_vocabulary(std::string_view bytes);
void read_sentencepiece(std::string_view bytes);
void read_token_list(std::string_view bytes);
void read_case(std::string_view bytes);
void read_corpus(std::string_view bytes);

// Files of other programs (convert_readers.cc).
void read_npz_archive(std::string_view bytes);
void read_pickle(std::string_view bytes);
void read_yaml_text(std::string_view bytes);
void read_ctranslate2_model(std::string_view bytes);

// Directories (directory_readers.cc).
void read_model(std::string_view bytes);
void read_state(std::string_view bytes);
void read_metrics(std::string_view bytes);

/// Makes a relation of the bytes (graph_reader.cc).
void read_graph(std::string_view bytes);

}  // namespace edgewise::fuzz

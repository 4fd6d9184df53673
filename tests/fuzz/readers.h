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

/// Lists the readers of files and requests that need no libtorch.
std::span<const Reader> readers();
/// Lists the readers of files of runs (run_readers.cc).
std::span<const Reader> run_readers();

// Single files (file_readers.cc).
void read_safetensors(std::string_view bytes);
void read_config(std::string_view bytes);
void read_settings(std::string_view bytes);  // one `section.key=value` on each line
void read_manifest(std::string_view bytes);
void read_json(std::string_view bytes);
void read_shortlist(std::string_view bytes);

// Vocabularies and corpora (text_readers.cc).
void read_vocabulary(std::string_view bytes);
void read_sentencepiece(std::string_view bytes);
void read_token_list(std::string_view bytes);
void read_tokenizer(std::string_view bytes);
void read_case(std::string_view bytes);
void read_corpus(std::string_view bytes);
void read_pairs(std::string_view bytes);  // a byte for the options, and an archive with "input" and "output"
void read_html(std::string_view bytes);   // html_reader.cc: a document to translate

// Clients of the server.
void read_http(std::string_view bytes);     // http_reader.cc: sizes of fragments, a line feed, and the client's bytes
void read_request(std::string_view bytes);  // request_reader.cc: lines with method, path, query, Content-Type and
                                            // Authorization, and a body

// Files of other programs (convert_readers.cc).
void read_npz_archive(std::string_view bytes);
void read_pickle(std::string_view bytes);
void read_yaml_text(std::string_view bytes);
void read_ctranslate2_model(std::string_view bytes);
void read_marian_arrays(std::string_view bytes);

// Archives of directories (archive.h).
void read_model(std::string_view bytes);       // directory_readers.cc
void read_checkpoint(std::string_view bytes);  // run_readers.cc: "last/", "previous/", "best/"
void read_comparison(std::string_view bytes);  // run_readers.cc: "first/" and "second/"

// Files of runs (run_readers.cc).
void read_state(std::string_view bytes);
void read_metrics(std::string_view bytes);
void read_attention(std::string_view bytes);

// Graphs whose nodes and edges the bytes choose.
void read_graph(std::string_view bytes);        // graph_reader.cc: a relation
void read_large_graph(std::string_view bytes);  // large_graph_reader.cc: a relation with up to 2^31 - 1 sources
void read_batch(std::string_view bytes);        // batch_reader.cc: Graph::batch
void read_tree(std::string_view bytes);         // tree_reader.cc: calls of HypothesisTree

}  // namespace edgewise::fuzz

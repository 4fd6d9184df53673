// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

constexpr Reader kReaders[] = {
    {"batch", read_batch},
    {"case", read_case},
    {"config", read_config},
    {"corpus", read_corpus},
    {"ctranslate2", read_ctranslate2_model},
    {"graph", read_graph},
    {"html", read_html},
    {"http", read_http},
    {"json", read_json},
    {"large_graph", read_large_graph},
    {"manifest", read_manifest},
    {"marian_binary", read_marian_arrays},
    {"model", read_model},
    {"npz", read_npz_archive},
    {"pairs", read_pairs},
    {"pickle", read_pickle},
    {"request", read_request},
    {"safetensors", read_safetensors},
    {"sentencepiece", read_sentencepiece},
    {"settings", read_settings},
    {"shortlist", read_shortlist},
    {"token_list", read_token_list},
    {"tokenizer", read_tokenizer},
    {"tree", read_tree},
    {"vocabulary", read_vocabulary},
    {"yaml", read_yaml_text},
};

}  // namespace

std::span<const Reader> readers() { return kReaders; }

}  // namespace edgewise::fuzz

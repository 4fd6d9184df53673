// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

constexpr Reader kReaders[] = {
    {"case", read_case},
    {"config", read_config},
    {"corpus", read_corpus},
    {"ctranslate2", read_ctranslate2_model},
    {"graph", read_graph},
    {"json", read_json},
    {"manifest", read_manifest},
    {"metrics", read_metrics},
    {"model", read_model},
    {"npz", read_npz_archive},
    {"pickle", read_pickle},
    {"safetensors", read_safetensors},
    {"sentencepiece", read_sentencepiece},
    {"state", read_state},
    {"token_list", read_token_list},
    {"vocabulary", read_vocabulary},
    {"yaml", read_yaml_text},
};

}  // namespace

std::span<const Reader> readers() { return kReaders; }

}  // namespace edgewise::fuzz

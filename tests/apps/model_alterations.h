// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/apps/alterations.h"

// Alterations of a directory with the model of kTinyConfig, whose manifest.json is written by write_manifest.

namespace edgewise {

inline constexpr const char* kConfig = "config.toml";
inline constexpr const char* kModel = "model.safetensors";
inline constexpr const char* kVocabulary = "vocabulary.txt";
inline constexpr const char* kSentencePieceFile = "vocabulary.model";
inline constexpr const char* kManifest = "manifest.json";

std::vector<Alteration> alter_parameters();
std::vector<Alteration> alter_config();
std::vector<Alteration> alter_vocabulary();

/// Returns alterations of kSentencePieceFile, for a model with such a vocabulary.
std::vector<Alteration> alter_sentencepiece();

std::vector<Alteration> alter_manifest();

/// Returns an alteration of the manifest that removes the entry of a file.
Alteration leave_out(const std::string& file);

/// Returns alterations that add a file, which the manifest does not list.
std::vector<Alteration> add_files_that_are_not_listed();

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/generate/generation_engine.h"

namespace edgewise {

/// A continuation of a prompt.
struct GeneratedText {
  std::string text;
  FinishReason end = FinishReason::kEnd;
  std::int64_t tokens = 0;
};

/// The continuations of a prompt.
struct GeneratedTexts {
  std::int64_t prompt_tokens = 0;  // with the begin token
  std::vector<GeneratedText> samples;

  /// Appends a part of a continuation.
  void add(const GeneratedPiece& piece) {
    GeneratedText& sample = samples[static_cast<std::size_t>(piece.sample)];
    sample.text += piece.text;
    sample.tokens = piece.tokens;
    if (piece.end) sample.end = *piece.end;
  }
};

/// Receives the parts of continuations as soon as they are certain. Returns whether the continuation goes on; if not, a
/// last part with FinishReason::kStop follows.
using PieceSink = std::function<bool(const GeneratedPiece&)>;

/// Writes texts with a language model:
///
///     Generator generator("runs/shakespeare");
///     std::string text = generator.generate("To be, or", {.max_tokens = 100, .temperature = 0.8}).samples[0].text;
///
/// A continuation depends on its prompt and its options only, not on other prompts of a call or the number of threads.
/// The prompt is computed in blocks, once for all its continuations; then each step computes a token of each
/// continuation. Threads may call all functions at the same time.
class Generator {
 public:
  /// Loads a model directory, or the best model of a run directory. Throws Error for a model that is no language model,
  /// and StopException if options.stop is set meanwhile.
  explicit Generator(const std::filesystem::path& model, const GeneratorOptions& options = {});
  explicit Generator(ModelFiles model, const GeneratorOptions& options = {});
  explicit Generator(std::shared_ptr<GenerationEngine> engine) : engine_(std::move(engine)) {}

  /// Continues a prompt in UTF-8, which may be empty. Throws Error as GenerationEngine::begin does.
  GeneratedTexts generate(std::string_view prompt, const GenerateOptions& options = {});
  std::vector<GeneratedTexts> generate(std::span<const GenerationRequest> requests);

  /// Continues prompts and calls `sink` in the calling thread for each part. Memory does not grow with the texts beyond
  /// what the model's relation needs. Exceptions of `sink` end the call. All overloads throw StopException if
  /// GeneratorOptions::stop is set before the end.
  void stream(std::span<const GenerationRequest> requests, const PieceSink& sink);

 private:
  void run(std::vector<ContinuedText> texts, const PieceSink& sink);

  std::shared_ptr<GenerationEngine> engine_;
};

}  // namespace edgewise

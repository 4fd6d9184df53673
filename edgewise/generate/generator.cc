// SPDX-License-Identifier: Apache-2.0
#include "edgewise/generate/generator.h"

#include <utility>

namespace edgewise {
namespace {

/// Serves a list of texts, whose ids are their indices, and passes the parts of their continuations to a sink.
class TextList : public GenerationQueue {
 public:
  TextList(std::vector<ContinuedText>& texts, const PieceSink& sink, const StopRequest* stop)
      : texts_(texts), sink_(sink), stop_(stop) {}

  std::optional<GenerationInput> next(bool /*is_busy*/) override {
    if (next_ == texts_.size()) return std::nullopt;
    GenerationInput& input = texts_[next_].input();
    input.id = static_cast<std::int64_t>(next_++);
    return std::move(input);
  }

  bool put_token(std::int64_t id, std::int64_t sample, std::int64_t token) override {
    ContinuedText& text = texts_[static_cast<std::size_t>(id)];
    GeneratedPiece piece = text.put_token(sample, token);
    piece.request = static_cast<std::size_t>(id);
    const bool goes_on = piece.text.empty() || sink_(piece);
    return goes_on && !text.is_stopped(sample);
  }

  void put_end(std::int64_t id, std::int64_t sample, FinishReason reason) override {
    GeneratedPiece piece = texts_[static_cast<std::size_t>(id)].put_end(sample, reason);
    piece.request = static_cast<std::size_t>(id);
    sink_(piece);
  }

  bool is_stopped() const override { return stop_ != nullptr && *stop_; }

 private:
  std::vector<ContinuedText>& texts_;
  const PieceSink& sink_;
  const StopRequest* stop_;
  std::size_t next_ = 0;
};

}  // namespace

Generator::Generator(const std::filesystem::path& model, const GeneratorOptions& options)
    : Generator(read_model_files(model, "Generator"), options) {}

Generator::Generator(ModelFiles model, const GeneratorOptions& options)
    : engine_(std::make_shared<GenerationEngine>(std::move(model), options)) {}

void Generator::run(std::vector<ContinuedText> texts, const PieceSink& sink) {
  const StopRequest* stop = engine_->options().stop;
  TextList list(texts, sink, stop);
  engine_->run(list);
  throw_if_set(stop);
}

void Generator::stream(std::span<const GenerationRequest> requests, const PieceSink& sink) {
  std::vector<ContinuedText> texts;
  for (const GenerationRequest& request : requests) texts.push_back(engine_->begin(request));
  run(std::move(texts), sink);
}

std::vector<GeneratedTexts> Generator::generate(std::span<const GenerationRequest> requests) {
  std::vector<ContinuedText> texts;
  std::vector<GeneratedTexts> generated;
  for (const GenerationRequest& request : requests) {
    texts.push_back(engine_->begin(request));
    const GenerationInput& input = texts.back().input();
    generated.push_back({.prompt_tokens = std::ssize(input.prompt), .samples = {}});
    generated.back().samples.resize(static_cast<std::size_t>(input.samples));
  }
  run(std::move(texts), [&](const GeneratedPiece& piece) {
    generated[piece.request].add(piece);
    return true;
  });
  return generated;
}

GeneratedTexts Generator::generate(std::string_view prompt, const GenerateOptions& options) {
  const GenerationRequest request = {std::string(prompt), options};
  return std::move(generate(std::span(&request, 1)).front());
}

}  // namespace edgewise

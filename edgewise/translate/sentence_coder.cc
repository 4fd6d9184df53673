// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/sentence_coder.h"

#include <utility>

#include "edgewise/base/utf8.h"
#include "edgewise/translate/long_sentences.h"

namespace edgewise {
namespace {

/// Without encoding megabytes of which little is left.
Tokens encode_beginning(std::string_view text, const Coding& coding, bool& was_cut) {
  const std::string_view enough = utf8_prefix(text, static_cast<std::size_t>(coding.max_input) * kMostBytesOfAToken);
  Tokens tokens = coding.vocabularies.input->encode(enough);
  was_cut = enough.size() < text.size() || std::ssize(tokens) > coding.max_input;
  if (std::ssize(tokens) > coding.max_input) tokens.resize(static_cast<std::size_t>(coding.max_input));
  return tokens;
}

std::vector<std::string> texts_of(const Tokens& tokens, std::size_t count, const Vocabulary& vocabulary) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) texts.emplace_back(vocabulary.token_text(tokens[i]));
  return texts;
}

std::size_t size_without_end(const Tokens& input, const Coding& coding) {
  return input.empty() || !coding.end_input ? input.size() : input.size() - 1;
}

/// Tokens look at the part of the input that they translate; the weight of its end token is left out.
void append_attention(TranslatedText& text, const Hypothesis& hypothesis, std::size_t num_inputs,
                      std::size_t input_offset) {
  const auto stride = static_cast<std::ptrdiff_t>(hypothesis.attention.size() / (hypothesis.tokens.size() + 1));
  auto row = hypothesis.attention.begin();
  for (std::size_t token = 0; token < hypothesis.tokens.size(); ++token, row += stride) {
    std::vector<float>& weights = text.attention.emplace_back(input_offset);
    weights.insert(weights.end(), row, row + static_cast<std::ptrdiff_t>(num_inputs));
  }
}

/// Behind what is there already, whose input had `input_offset` tokens.
void append(TranslatedText& text, const Hypothesis& hypothesis, std::size_t num_inputs, std::size_t input_offset,
            const Coding& coding) {
  const Vocabulary& vocabulary = *coding.vocabularies.output;
  const std::string part = vocabulary.decode(hypothesis.tokens);
  if (!text.text.empty() && !part.empty()) text.text += ' ';
  text.text += part;
  text.log_probability += hypothesis.log_probability;
  const auto output_offset = std::ssize(text.tokens);
  for (std::string& token : texts_of(hypothesis.tokens, hypothesis.tokens.size(), vocabulary)) {
    text.tokens.push_back(std::move(token));
  }
  text.token_numbers.insert(text.token_numbers.end(), hypothesis.tokens.begin(), hypothesis.tokens.end());
  text.steps.insert(text.steps.end(), hypothesis.steps.begin(), hypothesis.steps.end());
  if (hypothesis.attention.empty()) return;
  append_attention(text, hypothesis, num_inputs, input_offset);
  const std::vector<std::int64_t> aligned = alignment(hypothesis);
  for (std::size_t i = 0; i < aligned.size(); ++i) {
    if (aligned[i] >= static_cast<std::int64_t>(num_inputs)) continue;  // the end token
    text.alignment.push_back(
        {aligned[i] + static_cast<std::int64_t>(input_offset), output_offset + static_cast<std::int64_t>(i)});
  }
}

}  // namespace

Coding coding_of(const Experiment& experiment, const Vocabularies& vocabularies) {
  return {
      .vocabularies = vocabularies, .end_input = experiment.data.end_input, .max_input = experiment.data.max_length};
}

std::int64_t CodedSentence::num_tokens() const {
  std::int64_t count = std::ssize(prefix);
  for (const Tokens& part : parts) count += std::ssize(part);
  return count;
}

CodedSentence encode(const TranslationRequest& request, const Coding& coding) {
  CodedSentence coded;
  const Vocabulary& vocabulary = *coding.vocabularies.input;
  if (coding.max_input == 0) {
    coded.parts = {vocabulary.encode(request.input)};
  } else if (coding.long_inputs == LongInputs::kCut) {
    coded.parts = {encode_beginning(request.input, coding, coded.was_cut)};
  } else {
    coded.parts = split_to_fit(request.input, vocabulary, coding.max_input);
  }
  if (coded.parts.empty()) coded.parts.emplace_back();
  for (Tokens& part : coded.parts) {
    if (coding.end_input && !part.empty()) part.push_back(kEndToken);
  }
  if (!request.prefix.empty()) coded.prefix = coding.vocabularies.output->encode(request.prefix);
  return coded;
}

Translation decode(const CodedSentence& sentence, std::span<const std::vector<Hypothesis>> found,
                   const Coding& coding) {
  Translation translation;
  translation.was_cut = sentence.was_cut;
  translation.outputs.resize(found.size() == 1 ? found.front().size() : 1);
  for (std::size_t part = 0; part < found.size(); ++part) {
    const Tokens& input = sentence.parts[part];
    const std::size_t num_inputs = size_without_end(input, coding);
    const std::size_t input_offset = translation.input_tokens.size();
    for (std::string& token : texts_of(input, num_inputs, *coding.vocabularies.input)) {
      translation.input_tokens.push_back(std::move(token));
    }
    for (std::size_t i = 0; i < translation.outputs.size(); ++i) {
      append(translation.outputs[i], found[part][i], num_inputs, input_offset, coding);
      translation.outputs[i].score += found[part][i].score / static_cast<double>(found.size());
    }
  }
  for (TranslatedText& output : translation.outputs) {
    for (std::vector<float>& weights : output.attention) weights.resize(translation.input_tokens.size());
  }
  return translation;
}

}  // namespace edgewise

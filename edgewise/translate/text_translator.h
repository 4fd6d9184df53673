// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/sentences/sentence_splitter.h"
#include "edgewise/translate/markup.h"
#include "edgewise/translate/text_sentences.h"
#include "edgewise/translate/translation.h"
#include "edgewise/translate/translator.h"

// Translates whole texts: each sentence alone, and everything between the sentences stays as it is (text_sentences.h).

namespace edgewise {

struct TextOptions {
  std::string language = {};  // the text's, for SentenceSplitter; empty: that of `languages`
  LineBreaks line_breaks = LineBreaks::kEnd;
  PairLanguages languages = {};  // languages of each request
};

/// A translated text, and its sentences. After two models, the bytes of a sentence's input are in the text between
/// them.
struct TextTranslation {
  std::string text;
  std::vector<TextSentence> sentences = {};
  std::vector<std::string> alternatives = {};    // other texts, best first, without duplicates
  std::optional<std::string> intermediate = {};  // after two models: the text between them
};

/// Returns one translation for each request, in their order; each has one output or more. A text
/// has the first output.
using TranslateSentences = std::function<std::vector<Translation>(std::span<const TranslationRequest>)>;

/// Texts in UTF-8 as sentences, which the requests number through all texts.
class DividedTexts {
 public:
  DividedTexts(std::span<const std::string> texts, const TextOptions& options);

  /// Returns a request for each sentence that needs a translation.
  std::vector<TranslationRequest> requests() const;

  /// Returns the text between each requested sentence and the one before in its text: white space, and sentences that
  /// are copied.
  std::vector<std::string> gaps() const;

  /// Returns the translated texts. `translations` has one for each request, with one output or more. A text has the
  /// first output.
  std::vector<TextTranslation> join(std::span<Translation> translations) &&;

 private:
  std::vector<std::vector<TextSentence>> texts_;
  PairLanguages languages_;
};

/// Translates texts in UTF-8 with one call of `translate`; without a call if no sentence needs a translation.
std::vector<TextTranslation> translate_texts(std::span<const std::string> texts, const TextOptions& options,
                                             const TranslateSentences& translate);
TextTranslation translate_text(std::string_view text, const TextOptions& options, const TranslateSentences& translate);

/// Returns the next piece of a text; nullopt at the end. A sentence does not go on in the next piece.
using TextSource = std::function<std::optional<std::string>()>;

/// Receives the next piece of a translated text, and the number of sentences in it.
using TextSink = std::function<void(std::string_view text, int sentences)>;

/// Translates a text of any length in the memory of a few pieces and of the translator's queue. Calls `next` and `take`
/// from two threads, and throws and calls `interrupt` as Translator::translate does. If `options.languages` names no
/// languages, those of the translator hold.
void translate_text(Translator& translator, const TextSource& next, const TextSink& take, const TextOptions& options,
                    const std::function<void()>& interrupt = {});

/// Translates texts of one line each sentence by sentence, with alignments, for translate_markup.
/// The language of the texts is that of TextOptions; empty: the translator's input language. Throws Error if the
/// translator was made without TranslatorOptions::alignment, and as Translator::translate does.
std::vector<AlignedTranslation> translate_aligned(Translator& translator, std::span<const std::string> texts,
                                                  std::string_view language = {});

/// Translates texts in the same way with one call of `translate`, whose translations have alignments; without a call if
/// no sentence needs a translation. options.line_breaks has no effect.
std::vector<AlignedTranslation> translate_aligned(const TranslateSentences& translate,
                                                  std::span<const std::string> texts, const TextOptions& options);

}  // namespace edgewise

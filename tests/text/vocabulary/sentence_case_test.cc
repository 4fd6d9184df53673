// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/sentence_case.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"
#include "edgewise/text/vocabulary/vocabulary.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using Lines = std::vector<std::string>;

const Lines kSentences = {"Der Hund sieht der Katze zu.", "Hier ist das Haus, und der Mann ist da.",
                          "Ein Haus. Ein Mann. Das ist die EU! Die Frau kauft ein Ei.", "Wo ist die EU?"};

SentenceCase truecase() { return SentenceCase::learn(CaseKind::kTruecase, kSentences); }

TEST(SentenceCase, TruecasesTheFirstWord) {
  const SentenceCase learned = truecase();

  EXPECT_EQ(learned.apply("Der Hund."), "der Hund.");
  EXPECT_EQ(learned.apply("Haus und Hof"), "Haus und Hof");
  EXPECT_EQ(learned.apply("EU-Recht"), "EU-Recht");
  EXPECT_EQ(learned.apply("„Das ist“"), "„das ist“");
  EXPECT_EQ(learned.apply("– Die Frau"), "– die Frau");
  EXPECT_EQ(learned.apply("Unbekannt ist er."), "Unbekannt ist er.");
  EXPECT_EQ(learned.apply("Ein Haus. Ein Mann."), "ein Haus. Ein Mann.");
  EXPECT_EQ(learned.apply("3 Der"), "3 Der");
  EXPECT_EQ(learned.apply(""), "");
}

TEST(SentenceCase, LearnsFromWordsInsideSentences) {
  const Lines sentences = {"Ab ab. Ab: Ab! Ab? Ab"};

  EXPECT_EQ(SentenceCase::learn(CaseKind::kTruecase, sentences).apply("Ab"), "ab");
  EXPECT_EQ(SentenceCase::learn(CaseKind::kTruecase, Lines{"Ab. Ab"}).apply("Ab"), "Ab");
}

TEST(SentenceCase, UndoCapitalisesTheFirstWord) {
  const SentenceCase learned = truecase();

  EXPECT_EQ(learned.undo("der Hund."), "Der Hund.");
  EXPECT_EQ(learned.undo("„das ist“"), "„Das ist“");
  EXPECT_EQ(learned.undo("über"), "Über");
  EXPECT_EQ(learned.undo("3 der"), "3 der");
  for (const std::string& sentence : kSentences) EXPECT_EQ(learned.undo(learned.apply(sentence)), sentence);
}

TEST(SentenceCase, LowerCannotBeUndone) {
  const SentenceCase lower = SentenceCase::learn(CaseKind::kLower, {});

  EXPECT_EQ(lower.apply("Die Straße ÜBER"), "die straße über");
  EXPECT_EQ(lower.undo("die straße"), "die straße");
}

TEST(SentenceCase, TruecasingChangesAtMostOneLetter) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint32_t>& values) {
    std::string text;
    for (const std::uint32_t value : values) append_utf8(text, value % 0x3000);

    const SentenceCase learned = SentenceCase::learn(CaseKind::kTruecase, Lines{"x " + text});
    const SentenceCase read = SentenceCase::parse(learned.serialize(), "case.txt");

    RC_ASSERT(lower_case(learned.apply(text)).size() + 4 >= lower_case(text).size());
    RC_ASSERT(read.apply(text) == learned.apply(text));
    RC_ASSERT(read.serialize() == learned.serialize());
  }));
}

TEST(SentenceCase, ParseChecksTheFile) {
  const std::string bytes = SentenceCase::learn(CaseKind::kTruecase, Lines{"Wo ist der Hund und die Maus"}).serialize();
  const auto error = [](const std::string& altered) {
    return error_of([&] { SentenceCase::parse(altered, "case.txt"); });
  };

  EXPECT_EQ(bytes, "#edgewise-case 1 truecase 4\nder\ndie\nist\nund\n");
  EXPECT_EQ(error(""), "load_vocabulary: case.txt:1 has \"\", needs #edgewise-case 1, a kind and a number of words");
  EXPECT_EQ(error("#edgewise-case 1 truecase 1\nDer\n"),
            "load_vocabulary: case.txt has \"Der\", needs words that begin with a small letter");
  EXPECT_EQ(error("#edgewise-case 1 truecase 1\nd\xFF\n"),
            "load_vocabulary: case.txt has \"d\\xff\", needs words that begin with a small letter");
  EXPECT_EQ(error("#edgewise-case 1 truecase 2\ndie\nder\n"),
            "load_vocabulary: case.txt has \"der\" after \"die\", needs sorted words; the file was altered");
  EXPECT_EQ(error("#edgewise-case 1 truecase 2\ndie\ndie\n"),
            "load_vocabulary: case.txt has \"die\" after \"die\", needs sorted words; the file was altered");
  const std::string end = " and a line feed at the end; the file was cut or altered, copy it again";
  EXPECT_EQ(error(bytes.substr(0, bytes.size() - 4)),
            "load_vocabulary: case.txt has 3 words after the line \"#edgewise-case 1 truecase 4\", needs "
            "\"#edgewise-case 1 truecase 3\"" +
                end);
  EXPECT_EQ(error(bytes.substr(0, bytes.size() - 1)),
            "load_vocabulary: case.txt has 4 words after the line \"#edgewise-case 1 truecase 4\", needs "
            "\"#edgewise-case 1 truecase 4\"" +
                end);
  EXPECT_EQ(
      error("#edgewise-case 1 lower 7\n"),
      "load_vocabulary: case.txt has 0 words after the line \"#edgewise-case 1 lower 7\", needs \"#edgewise-case 1 "
      "lower 0\"" +
          end);
}

TEST(CasedVocabulary, AppliesItsCaseBeforeEncodingAndUndoesItAfterDecoding) {
  const auto plain = build_vocabulary({Lines{"der Hund Der"}});
  const auto cased = with_case(plain, truecase());

  EXPECT_EQ(cased->encode("Der Hund"), plain->encode("der Hund"));
  EXPECT_EQ(cased->decode(plain->encode("der Hund")), "Der Hund");
  EXPECT_EQ(cased->serialize(), plain->serialize());
  EXPECT_EQ(cased->serialize_case(), truecase().serialize());
  EXPECT_EQ(with_case(plain, SentenceCase()), plain);
  EXPECT_EQ(plain->case_kind(), CaseKind::kKeep);
  EXPECT_EQ(cased->case_kind(), CaseKind::kTruecase);
}

}  // namespace
}  // namespace edgewise

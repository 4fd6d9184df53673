// SPDX-License-Identifier: Apache-2.0
// Altered model directories whose vocabulary is a SentencePiece model: a library reads it that trusts its input.
#include "tests/apps/hostile_model.h"

namespace edgewise {
namespace {

class HostileSentencePieceModel : public HostileModelTest {
 protected:
  static void SetUpTestSuite() {
    set_up_model({"vocabulary.kind=sentencepiece", "vocabulary.size=9"}, {kConfig, kModel, kSentencePieceFile});
  }
};

TEST_F(HostileSentencePieceModel, IsRefusedIfItsVocabularyIsSpoiled) {
  expect_effects(spoil(kSentencePieceFile), false);
}

TEST_F(HostileSentencePieceModel, IsRefusedIfItsVocabularyIsSpoiledAndListedSo) {
  for (const Alteration& alteration : spoil(kSentencePieceFile)) {
    if (alteration.name != kFlippedBit) expect_effect(alteration, true);
  }
}

TEST_F(HostileSentencePieceModel, IsRefusedForAVocabularyThatDoesNotFit) {
  expect_effects(alter_sentencepiece(), true);
}

TEST_F(HostileSentencePieceModel, IsRefusedByEachCommandThatReadsModels) {
  expect_effects_on_commands(alter_sentencepiece(), true);
}

}  // namespace
}  // namespace edgewise

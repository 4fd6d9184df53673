// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "edgewise/server/languages.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

TEST(LanguageCode, IsThatOfBcp47ForTheNamesOfClientsAndModels) {
  const std::pair<const char*, const char*> cases[] = {{"de", "de"},
                                                       {"DE", "de"},
                                                       {"deu", "de"},
                                                       {"deu_Latn", "de"},
                                                       {"__de__", "de"},
                                                       {">>deu<<", "de"},
                                                       {"pb", "pt-BR"},
                                                       {"pt-BR", "pt-BR"},
                                                       {"PT-br", "pt-BR"},
                                                       {"zh", "zh-Hans"},
                                                       {"zh-Hans", "zh-Hans"},
                                                       {"zh-hant", "zh-Hant"},
                                                       {"zt", "zh-Hant"},
                                                       {"zh_TW", "zh-Hant"},
                                                       {"zho_Hans", "zh-Hans"},
                                                       {"cmn_Hant", "zh-Hant"},
                                                       {"arb_Arab", "ar"},
                                                       {"kor_Hang", "ko"},
                                                       {"sr_Latn", "sr-Latn"},
                                                       {"srp_Cyrl", "sr"},
                                                       {"EN-US", "en-US"},
                                                       {"ace_Arab", "ace-Arab"},
                                                       {"nob_Latn", "nb"},
                                                       {"es-419", "es-419"}};
  for (const auto& [name, code] : cases) EXPECT_EQ(find_language_code(name), code) << name;
}

TEST(LanguageCode, IsMissingForOtherTexts) {
  for (const char* name :
       {"", "a", "auto", "<pad>", "d1", "de-", "-de", "de--AT", "de AT", "deu_Latn_AT_x", "dé", "__"}) {
    EXPECT_EQ(find_language_code(name), std::nullopt) << name;
  }
}

TEST(LanguageCode, IsNoPairOfLanguages) {
  for (const char* pair :
       {"en-de", "de-en", "EN-DE", "en_fr", "fr-de", "de-it", "en-ja", "en-uk", "en-ar", "eng-deu"}) {
    EXPECT_EQ(find_language_code(pair), std::nullopt) << pair;
  }
  const std::pair<const char*, const char*> regions[] = {{"en-us", "en-US"}, {"pt-br", "pt-BR"}, {"PT-BR", "pt-BR"},
                                                         {"de-de", "de-DE"}, {"de-at", "de-AT"}, {"en-DE", "en-DE"},
                                                         {"es-ar", "es-AR"}, {"fr-ca", "fr-CA"}, {"zh-tw", "zh-Hant"},
                                                         {"en_XX", "en-XX"}, {"no-no", "nb-NO"}, {"ca-ES", "ca-ES"}};
  for (const auto& [name, code] : regions) EXPECT_EQ(find_language_code(name), code) << name;
}

TEST(LanguageCode, HasBroaderCodes) {
  EXPECT_THAT(broader_codes("de"), ElementsAre("de"));
  EXPECT_THAT(broader_codes("pt-BR"), ElementsAre("pt-BR", "pt"));
  EXPECT_THAT(broader_codes("sr-Latn"), ElementsAre("sr-Latn", "sr"));
  EXPECT_THAT(broader_codes("zh-Hant"), ElementsAre("zh-Hant"));
}

TEST(LanguageName, IsEnglish) {
  EXPECT_EQ(language_name("de"), "German");
  EXPECT_EQ(language_name("pt-BR"), "Portuguese (Brazil)");
  EXPECT_EQ(language_name("zh-Hans"), "Chinese (Simplified)");
  EXPECT_EQ(language_name("xq"), "xq");
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/word_aligner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "edgewise/base/random.h"
#include "edgewise/base/sorting.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(AlignWords, FindsTheTranslationsOfADictionary) {
  RandomStream random(1);
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::vector<WordLink>> expected;
  for (int i = 0; i < 400; ++i) {
    // Different words of a dictionary of 30 in a random order, whose translations have another random order.
    std::vector<std::int64_t> words(30);
    for (std::int64_t word = 0; word < 30; ++word) words[static_cast<std::size_t>(word)] = word;
    random.shuffle(words);
    words.resize(2 + random.next_below(6));
    std::vector<std::int64_t> places(words.size());
    for (std::size_t place = 0; place < places.size(); ++place) places[place] = static_cast<std::int64_t>(place);
    random.shuffle(places);
    std::string input;
    std::string output;
    std::vector<WordLink> links;
    for (std::size_t j = 0; j < words.size(); ++j) {
      const std::int64_t place = places[j];
      input += "in" + std::to_string(words[j]) + " ";
      output += (j == 0 ? "(Out" : "out") + std::to_string(words[static_cast<std::size_t>(place)]) + ". ";
      links.push_back({place, static_cast<std::int64_t>(j)});
    }
    sort_unique(links);
    inputs.push_back(input);
    outputs.push_back(output);
    expected.push_back(links);
  }

  EXPECT_EQ(align_words(inputs, outputs, /*iterations=*/8), expected);
}

TEST(AlignWords, LinksRepeatedWordsInTheirOrder) {
  const std::vector<std::string> inputs = {"the cat and the dog", "the cat", "the dog", "and", "the"};
  const std::vector<std::string> outputs = {"die Katze und die Hund", "die Katze", "die Hund", "und", "die"};
  EXPECT_THAT(align_words(inputs, outputs, 10)[0],
              ElementsAre(WordLink{0, 0}, WordLink{1, 1}, WordLink{2, 2}, WordLink{3, 3}, WordLink{4, 4}));
}

TEST(AlignWords, LinksNothingInPairsWithAnEmptySide) {
  const std::vector<std::string> inputs = {"", "a", " "};
  const std::vector<std::string> outputs = {"a", "", ""};
  EXPECT_THAT(align_words(inputs, outputs, 2), ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
  EXPECT_THAT(align_words({}, {}, 2), IsEmpty());
  EXPECT_EQ(error_of([&] { align_words(inputs, {}, 2); }), "align_words: inputs are 3 and outputs 0, needs as many");
}

TEST(AlignWords, EndsWhenAsked) {
  const StopRequest stop = true;
  const std::vector<std::string> text = {"a b"};
  EXPECT_THROW(align_words(text, text, 2, &stop), StopException);
}

}  // namespace
}  // namespace edgewise

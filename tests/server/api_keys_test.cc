// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/api_keys.h"

#include <gtest/gtest.h>

#include "edgewise/base/sha256.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

ApiKeys::Time at(int month, int day) {
  return std::chrono::sys_days(std::chrono::year(2026) / month / day) + std::chrono::hours(23);
}

TEST(ApiKeys, HaveNamesAndQuotas) {
  const std::vector<ApiKey> keys = parse_api_keys({"plain", "alice  secret", "bob other 500"});
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(keys[0].name, "");
  EXPECT_EQ(keys[1].name, "alice");
  EXPECT_EQ(keys[1].hash, sha256("secret"));
  EXPECT_FALSE(keys[1].characters);
  EXPECT_EQ(keys[2].characters, 500);
}

TEST(ApiKeys, AreRefusedByErrorsWithoutAKey) {
  const auto error = [](const std::vector<std::string>& texts) { return error_of([&] { parse_api_keys(texts); }); };
  EXPECT_EQ(error({"a", " "}), "server: server.api_keys has an empty key, needs characters");
  EXPECT_EQ(error({"a b 1 c"}),
            "server: key 1 of server.api_keys has 4 words, needs KEY, NAME KEY or NAME KEY CHARACTERS");
  EXPECT_EQ(error({"a b -1"}),
            "server: key 1 of server.api_keys has \"-1\" characters, needs a whole number of at least 0");
  EXPECT_EQ(error({"a/b c"}),
            "server: key 1 of server.api_keys has the name \"a/b\", needs one of letters, digits and -._");
  EXPECT_EQ(error({"a", "b a"}), "server: key 2 of server.api_keys is there twice, needs to be there once");
  EXPECT_EQ(error({"a b", "a c"}), "server: server.api_keys has the name a twice, needs it once");
}

TEST(ApiKeys, CountTheCharactersOfAMonth) {
  ApiKeys keys({"bob secret 10"});
  const ApiKey key = *keys.find("secret");
  EXPECT_TRUE(keys.charge(key, 7, at(1, 31)));
  EXPECT_FALSE(keys.charge(key, 4, at(1, 31)));
  EXPECT_EQ(keys.characters_of(key, at(1, 31)), 7);
  keys.refund(key, 5);
  EXPECT_TRUE(keys.charge(key, 8, at(1, 31)));
  EXPECT_EQ(keys.characters_of(key, at(2, 1)), 0);
  EXPECT_TRUE(keys.charge(key, 10, at(2, 1)));
  EXPECT_FALSE(keys.charge(key, 1, at(2, 28)));
}

TEST(ApiKeys, KeepTheCountOfANameWhenTheyAreReplaced) {
  ApiKeys keys({"bob old 10"});
  EXPECT_TRUE(keys.charge(*keys.find("old"), 9));
  keys.replace({"bob new 10", "x"}, true);
  EXPECT_TRUE(keys.is_required());
  EXPECT_FALSE(keys.charge(*keys.find("new"), 2));
  EXPECT_EQ(error_of([&] { keys.find("old"); }), "Invalid API key");
  EXPECT_EQ(error_of([&] { keys.find(std::nullopt); }), "Please contact the server operator to get an API key");
}

}  // namespace
}  // namespace edgewise

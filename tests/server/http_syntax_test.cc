// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_syntax.h"

#include <gtest/gtest.h>

namespace edgewise {
namespace {

TEST(HttpSyntax, FindsTheEndOfAHead) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(find_head_end(head + "body\r\n\r\n"), head.size());
  for (std::size_t size = 0; size < head.size(); ++size) EXPECT_EQ(find_head_end(head.substr(0, size)), 0u) << size;
}

TEST(HttpSyntax, EndsAHeadAtALineFeedWithoutCarriageReturn) {
  EXPECT_EQ(find_head_end("GET / HTTP/1.1\nHost: a"), 15u);
  EXPECT_EQ(check_head("GET / HTTP/1.1\n"), "a line without CR LF at its end");
}

TEST(HttpSyntax, AcceptsOrdinaryHeads) {
  EXPECT_EQ(check_head("GET / HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nX-Tab:\ta\tb\r\nX-Text: \xc3\xa4\r\n\r\n"), "");
  EXPECT_EQ(check_head("GET / HTTP/1.0\r\n\r\n"), "");
}

TEST(HttpSyntax, NamesWhatIsWrongWithAHead) {
  const auto wrong_with = [](const std::string& fields) {
    return check_head("GET / HTTP/1.1\r\n" + fields + "\r\n\r\n");
  };
  EXPECT_EQ(wrong_with("A: b\r\n c"), "a folded header field");
  EXPECT_EQ(wrong_with("A: b\r\n\tc"), "a folded header field");
  EXPECT_EQ(wrong_with("Content-Length : 3"), "white space before the colon of a header field");
  EXPECT_EQ(wrong_with(": 3"), "a header field without a name");
  EXPECT_EQ(wrong_with("Host"), "a header field without a name");
  EXPECT_EQ(wrong_with(std::string("A: b\0c", 6)), "a control character in the head");
  EXPECT_EQ(wrong_with("A: b\rc"), "a control character in the head");
  EXPECT_EQ(check_head("GET /\x7f HTTP/1.1\r\n\r\n"), "a control character in the head");
  EXPECT_EQ(check_head("\r\n"), "an empty line before the request");
}

TEST(HttpSyntax, KnowsTheCharactersOfAHost) {
  for (const char* host : {"", "a", "a.b:80", "[::1]:80", "127.0.0.1"}) EXPECT_TRUE(is_host(host)) << host;
  for (const char* host : {"a b", "a/b", "a@b", "a, b", "a?b", "a#b", "a\\b", "\xE9"})
    EXPECT_FALSE(is_host(host)) << host;
}

TEST(HttpSyntax, DividesTargets) {
  const auto divide = [](std::string_view target) {
    const auto [path, query] = divide_target(target);
    return path + " " + query;
  };
  EXPECT_EQ(divide("/a/b?c=d?e"), "/a/b c=d?e");
  EXPECT_EQ(divide("/a"), "/a ");
  EXPECT_EQ(divide("http://host:80/a?b"), "/a b");
  EXPECT_EQ(divide("https://host"), "/ ");
  EXPECT_EQ(divide("http://host?b"), "/ b");
  EXPECT_EQ(divide("HTTP://host/a"), "/a ");
  EXPECT_EQ(divide("http:///a"), " ");
  EXPECT_EQ(divide("http://"), " ");
  EXPECT_EQ(divide("ftp://host/a"), " ");
  EXPECT_EQ(divide("/a#b"), " ");
  EXPECT_EQ(divide("*"), "* ");
  EXPECT_EQ(divide("host:443"), " ");
  EXPECT_EQ(divide(""), " ");
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/frame.h"

#include "tests/message/support.h"

namespace edgewise {
namespace {

TEST(Frame, HoldsColumnsOfAnyTypeAndShape) {
  Frame frame(3);
  frame.set("x", at::ones({3, 2, 4}));
  frame.set("token", numbers({7, 8, 9}));

  EXPECT_TRUE(frame.has("x"));
  EXPECT_FALSE(frame.has("y"));
  expect_equal(frame.get("token"), numbers({7, 8, 9}));
  expect_equal(frame.get("token", numbers({2, 0, 2})), numbers({9, 7, 9}));
  EXPECT_EQ(frame.columns().size(), 2u);
}

TEST(Frame, ReplacesAColumnByOneOfAnotherTypeAndShape) {
  Frame frame(3);
  frame.set("x", at::ones({3, 2}));
  frame.set("x", numbers({1, 2, 3}));

  expect_equal(frame.get("x"), numbers({1, 2, 3}));
}

TEST(Frame, KeepsRowsThatAreNotWritten) {
  Frame frame(4);
  frame.set("x", numbers({1, 2, 3, 4}));
  frame.set("x", numbers({3, 1}), numbers({30, 10}));

  expect_equal(frame.get("x"), numbers({1, 10, 3, 30}));
}

TEST(Frame, FillsANewColumnWithZeros) {
  Frame frame(4);
  frame.set("x", numbers({2}), numbers({5}));
  frame.set("empty", numbers({}), at::ones({0, 3}));

  expect_equal(frame.get("x"), numbers({0, 0, 5, 0}));
  expect_equal(frame.get("empty"), at::zeros({4, 3}));
}

TEST(Frame, DoesNotChangeTheTensorsItWasGiven) {
  const at::Tensor given = numbers({1, 2, 3});
  Frame frame(3);
  frame.set("x", given);
  frame.set("x", numbers({0}), numbers({9}));

  expect_equal(given, numbers({1, 2, 3}));
}

TEST(Frame, PassesGradientsToWrittenAndToKeptRows) {
  const at::Tensor before = at::ones({3}, at::kDouble).requires_grad_();
  const at::Tensor values = at::ones({2}, at::kDouble).requires_grad_();
  Frame frame(3);
  frame.set("x", before);
  frame.set("x", numbers({2, 0}), values);
  (frame.get("x") * at::tensor({1.0, 2.0, 4.0}, at::kDouble)).sum().backward();

  expect_equal(before.grad(), at::tensor({0.0, 2.0, 0.0}, at::kDouble));
  expect_equal(values.grad(), at::tensor({4.0, 1.0}, at::kDouble));
}

TEST(Frame, HasNoColumnThatWasErased) {
  Frame frame(2);
  frame.set("x", numbers({1, 2}));
  frame.erase("x");

  EXPECT_FALSE(frame.has("x"));
}

TEST(Frame, MayHaveNoRows) {
  Frame frame;
  frame.set("x", at::ones({0, 2}));
  frame.set("x", numbers({}), at::ones({0, 2}));

  expect_equal(frame.get("x"), at::ones({0, 2}));
}

TEST(Frame, ListsItsColumnsInTheErrorForAMissingColumn) {
  Frame frame(3, "node");
  EXPECT_EQ(error_of([&] { frame.get("q"); }), "Frame::get: node column 'q' is missing, the columns are none");

  frame.set("v", numbers({1, 2, 3}));
  frame.set("k", numbers({1, 2, 3}));
  EXPECT_EQ(error_of([&] { frame.get("q"); }), "Frame::get: node column 'q' is missing, the columns are 'k', 'v'");
  EXPECT_EQ(error_of([&] { frame.erase("q"); }), "Frame::erase: node column 'q' is missing, the columns are 'k', 'v'");
}

TEST(Frame, RefusesAColumnWithoutOneRowForEachNodeOrEdge) {
  Frame frame(3, "edge");
  EXPECT_EQ(error_of([&] { frame.set("x", at::Tensor()); }),
            "Frame::set: edge column 'x' is undefined, needs a tensor with one row per edge");
  EXPECT_EQ(error_of([&] {
              frame.set("x", at::ones({2, 4}));
            }),
            "Frame::set: edge column 'x' is Float [2, 4], but there are 3 edges, needs one row per edge");
  EXPECT_EQ(error_of([&] { frame.set("x", at::ones({})); }),
            "Frame::set: edge column 'x' is Float [], but there are 3 edges, needs one row per edge");
  EXPECT_EQ(error_of([&] {
              frame.set("x", numbers({0, 1}), at::ones({3, 4}));
            }),
            "Frame::set: values of edge column 'x' is Float [3, 4], but 2 rows are named, needs one value per row");
  EXPECT_EQ(error_of([&] {
              frame.set("x", numbers({0, 1}), at::Tensor());
            }),
            "Frame::set: values of edge column 'x' is undefined, but 2 rows are named, needs one value per row");
}

TEST(Frame, RefusesRowsOfAnotherTypeOrShapeThanTheColumn) {
  Frame frame(3);
  frame.set("x", at::ones({3, 2}));

  EXPECT_EQ(
      error_of([&] {
        frame.set("x", numbers({0}), at::ones({1, 4}));
      }),
      "Frame::set: values of row column 'x' is Float [1, 4], but the column is Float [3, 2]; rows of one type and "
      "shape are needed");
  EXPECT_EQ(
      error_of([&] {
        frame.set("x", numbers({0}), at::ones({1, 2}, at::kDouble));
      }),
      "Frame::set: values of row column 'x' is Double [1, 2], but the column is Float [3, 2]; rows of one type and "
      "shape are needed");
}

TEST(Frame, RefusesTensorsThatAreNotOnTheCpu) {
  Frame frame(3);
  EXPECT_EQ(error_of([&] { frame.set("x", at::ones({3}, at::kMeta)); }),
            "Frame::set: row column 'x' is on meta, needs a tensor on the CPU");
  EXPECT_EQ(error_of([&] { frame.set("x", numbers({1}), at::ones({1}, at::kMeta)); }),
            "Frame::set: row column 'x' is on meta, needs a tensor on the CPU");
}

TEST(Frame, RefusesRowNumbersOutOfRangeOrWrittenTwice) {
  Frame frame(3, "node");
  frame.set("x", numbers({1, 2, 3}));

  EXPECT_EQ(error_of([&] {
              frame.get("x", numbers({0, 3}));
            }),
            "Frame::get: rows holds 3, but there are 3 nodes, counted from 0");
  EXPECT_EQ(error_of([&] { frame.set("x", numbers({-1}), numbers({5})); }),
            "Frame::set: rows holds -1, but there are 3 nodes, counted from 0");
  EXPECT_EQ(error_of([&] {
              frame.set("x", numbers({1, 1}), numbers({5, 6}));
            }),
            "Frame::set: rows holds 1 twice, needs each number once");
  EXPECT_EQ(error_of([&] { frame.get("x", at::ones({2})); }),
            "Frame::get: rows is Float [2], needs Long [count] on the CPU");
  EXPECT_EQ(error_of([&] { frame.get("x", at::Tensor()); }),
            "Frame::get: rows is undefined, needs Long [count] on the CPU");
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "edgewise/graph/builders.h"
#include "edgewise/ops/add_norm.h"
#include "edgewise/ops/attend.h"
#include "edgewise/ops/dropout.h"
#include "edgewise/ops/edge_softmax.h"
#include "edgewise/ops/embed.h"
#include "edgewise/ops/loss.h"
#include "tests/ops/tensors.h"

// Compares the error texts of operations, word for word, for arguments that do not fit.
namespace edgewise {
namespace {

at::Tensor zeros(at::IntArrayRef sizes, at::ScalarType type = at::kFloat) { return at::zeros(sizes, type); }

// Valid arguments for bipartite(9, 5); each test makes one of them invalid.
struct Arguments {
  at::Tensor query = zeros({5, 2, 8});
  at::Tensor key = zeros({9, 2, 8});
  at::Tensor value = zeros({9, 2, 4});
  AttentionOptions options = {};

  std::string attend_error() const {
    return error_of([this] { attend(bipartite(9, 5), query, key, value, options); });
  }
  std::string plain_error() const {
    return error_of([this] { attend_plain(bipartite(9, 5), query, key, value, options); });
  }
  std::string weights_error() const {
    return error_of([this] { attention_weights(bipartite(9, 5), query, key, options); });
  }
};

TEST(AttendErrors, AreNoneForArgumentsThatFit) {
  EXPECT_EQ(Arguments().attend_error(), "no error");
  EXPECT_EQ(Arguments().plain_error(), "no error");
  EXPECT_EQ(Arguments().weights_error(), "no error");
}

TEST(AttendErrors, NameTheNumberOfRows) {
  EXPECT_EQ(Arguments{.key = zeros({7, 2, 8})}.attend_error(),
            "attend: key has 7 rows, but the relation has 9 sources, needs one row per source");
  EXPECT_EQ(Arguments{.query = zeros({7, 2, 8})}.attend_error(),
            "attend: query has 7 rows, but the relation has 5 destinations, needs one row per destination");
  EXPECT_EQ(Arguments{.value = zeros({5, 2, 4})}.attend_error(),
            "attend: value has 5 rows, but the relation has 9 sources, needs one row per source");
  EXPECT_EQ(Arguments{.options = {.edge_bias = zeros({44, 2})}}.attend_error(),
            "attend: edge_bias has 44 rows, but the relation has 45 edges, needs one row per edge");
}

TEST(AttendErrors, NameHeadsAndSizes) {
  EXPECT_EQ(Arguments{.key = zeros({9, 3, 8})}.attend_error(),
            "attend: key has 3 heads but query has 2, needs as many, or a divisor");
  EXPECT_EQ(Arguments{.value = zeros({9, 1, 8})}.attend_error(),
            "attend: value has 1 heads but key has 2, needs as many");
  EXPECT_EQ(Arguments{.options = {.edge_bias = zeros({45, 1})}}.attend_error(),
            "attend: edge_bias has 1 heads but query has 2, needs as many");
  EXPECT_EQ(Arguments{.key = zeros({9, 2, 4})}.attend_error(),
            "attend: key is [9, 2, 4] but query is [5, 2, 8], needs equal last dimensions (head sizes)");
  const Arguments no_size = {.query = zeros({5, 2, 0}), .key = zeros({9, 2, 0})};
  EXPECT_EQ(no_size.attend_error(), "attend: query is [5, 2, 0], needs a head size of at least 1");
}

TEST(AttendErrors, NameDimensions) {
  EXPECT_EQ(Arguments{.query = zeros({5, 16})}.attend_error(),
            "attend: query is [5, 16], needs 3 dimensions: destinations, heads, head size");
  EXPECT_EQ(Arguments{.key = zeros({9, 16})}.attend_error(),
            "attend: key is [9, 16], needs 3 dimensions: sources, heads, head size");
  EXPECT_EQ(Arguments{.value = zeros({9, 16})}.attend_error(),
            "attend: value is [9, 16], needs 3 dimensions: sources, heads, size of a head's value");
  EXPECT_EQ(Arguments{.options = {.edge_bias = zeros({45})}}.attend_error(),
            "attend: edge_bias is [45], needs 2 dimensions: edges, heads");
}

TEST(AttendErrors, NameTypesAndDevices) {
  EXPECT_EQ(Arguments{.query = zeros({5, 2, 8}, at::kHalf)}.attend_error(),
            "attend: query has type Half, needs Float, BFloat16 or Double");
  EXPECT_EQ(Arguments{.key = zeros({9, 2, 8}, at::kBFloat16)}.attend_error(),
            "attend: key has type BFloat16 but query has type Float, needs the same type");
  EXPECT_EQ(Arguments{.value = zeros({9, 2, 4}, at::kLong)}.attend_error(),
            "attend: value has type Long, needs Float, BFloat16 or Double");
  EXPECT_EQ(Arguments{.key = zeros({9, 2, 8}, at::kDouble)}.attend_error(),
            "attend: key has type Double but query has type Float, needs the same type");
  EXPECT_EQ(Arguments{.options = {.edge_bias = zeros({45, 2}, at::kDouble)}}.attend_error(),
            "attend: edge_bias has type Double, needs Float where query has type Float");
  EXPECT_EQ(Arguments{.query = at::empty({5, 2, 8}, at::kMeta)}.attend_error(),
            "attend: key is on cpu but query is on meta, needs one device");
  EXPECT_EQ(Arguments{.value = at::Tensor()}.attend_error(), "attend: value is undefined, needs a tensor");
}

TEST(AttendErrors, NameRelationsOfHeadsThatDoNotFit) {
  auto error = [](const std::vector<Relation>& relation_H, const AttentionOptions& options = {}) {
    const Arguments fit;
    return error_of([&] { attend(relation_H, fit.query, fit.key, fit.value, options); });
  };
  EXPECT_EQ(error({bipartite(9, 5), bipartite(9, 5)}), "no error");
  EXPECT_EQ(error({bipartite(9, 5)}),
            "attend: relation_H has 1 relations but query has 2 heads, needs one relation per head");
  EXPECT_EQ(error({bipartite(9, 5), bipartite(8, 5)}),
            "attend: relation_H[1] has 8 sources and 5 destinations, needs 9 and 5, as relation_H[0] has");
  EXPECT_EQ(error({bipartite(8, 5), bipartite(8, 5)}),
            "attend: key has 9 rows, but the relation has 8 sources, needs one row per source");
  EXPECT_EQ(error({bipartite(9, 5), bipartite(9, 5)}, {.edge_bias = zeros({45, 2})}),
            "attend: edge_bias is defined, needs to be undefined where each head has edges of its own");
}

TEST(AttendErrors, NameOptionsOutOfRange) {
  EXPECT_EQ(Arguments{.options = {.scale = std::numeric_limits<double>::infinity()}}.attend_error(),
            "attend: scale is inf, needs a finite number");
  EXPECT_EQ(Arguments{.options = {.clamp = -1.0}}.attend_error(), "attend: clamp is -1, needs a positive bound");
  EXPECT_EQ(Arguments{.options = {.dropout = 1.0}}.attend_error(),
            "attend: dropout is 1, needs at least 0 and less than 1");
}

TEST(AttendErrors, BeginWithTheFunctionCalled) {
  EXPECT_EQ(Arguments{.key = zeros({7, 2, 8})}.weights_error(),
            "attention_weights: key has 7 rows, but the relation has 9 sources, needs one row per source");
  EXPECT_EQ(Arguments{.key = zeros({7, 2, 8})}.plain_error(),
            "attend_plain: key has 7 rows, but the relation has 9 sources, needs one row per source");
  EXPECT_EQ(Arguments{.query = at::Tensor()}.plain_error(), "attend_plain: query is undefined, needs a tensor");
}

// Differentiates f in `x` with create_graph, and returns the error text.
std::string second_derivative_error(const std::function<at::Tensor(const at::Tensor&)>& f, const at::Tensor& x) {
  const at::Tensor leaf = x.detach().requires_grad_();
  return error_of([&] { torch::autograd::grad({f(leaf).sum()}, {leaf}, {}, {}, /*create_graph=*/true); });
}

TEST(OpErrors, AreThrownForASecondDerivative) {
  const at::Tensor x = zeros({4, 1, 3});
  const Relation relation = complete(4);
  auto text = [](const std::string& name) {
    return name + ": backward is asked for a graph of its own (create_graph), but " + name +
           " can be differentiated once";
  };

  EXPECT_EQ(second_derivative_error([&](const at::Tensor& q) { return attend(relation, q, x, x); }, x), text("attend"));
  EXPECT_EQ(second_derivative_error([&](const at::Tensor& q) { return attention_weights(relation, q, x); }, x),
            text("attention_weights"));
  const at::Tensor one = zeros({3});
  EXPECT_EQ(second_derivative_error(
                [&](const at::Tensor& y) { return normalise(y, one, one, NormKind::kLayerNorm, 1e-5); }, zeros({2, 3})),
            text("normalise"));
  EXPECT_EQ(
      second_derivative_error([&](const at::Tensor& y) { return add_norm(y, y, one, one).normed_TM; }, zeros({2, 3})),
      text("add_norm"));
  EXPECT_EQ(
      second_derivative_error([&](const at::Tensor& y) { return add_dropout(y, y, 0.1, DropoutKey{}); }, zeros({2, 3})),
      text("add_dropout"));
  EXPECT_EQ(second_derivative_error([&](const at::Tensor& w) { return embed(w, std::vector<std::int64_t>{1}, {}, {}); },
                                    zeros({2, 3})),
            text("embed"));
  EXPECT_EQ(
      second_derivative_error([](const at::Tensor& logits) { return smoothed_loss(logits, at::zeros({2}, at::kLong)); },
                              zeros({2, 3})),
      text("smoothed_loss"));
}

TEST(OpErrors, NameEdgeTensorsThatDoNotFit) {
  const Relation relation = complete(3);
  EXPECT_EQ(error_of([&] {
              edge_softmax(relation, zeros({8, 1}));
            }),
            "edge_softmax: score has 8 rows, but the relation has 9 edges, needs one row per edge");
  EXPECT_EQ(error_of([&] { edge_softmax(relation, zeros({})); }),
            "edge_softmax: score has no dimensions, needs at least one: edges");
  EXPECT_EQ(error_of([&] {
              edge_softmax(relation, zeros({9, 1}, at::kHalf));
            }),
            "edge_softmax: score has type Half, needs Float or Double");
  EXPECT_EQ(error_of([&] {
              aggregate(relation, zeros({9}), zeros({3, 1, 2}));
            }),
            "aggregate: weight is [9], needs 2 dimensions: edges, heads");
  EXPECT_EQ(error_of([&] {
              aggregate(relation, zeros({9, 2}), zeros({3, 1, 2}));
            }),
            "aggregate: value has 1 heads but weight has 2, needs as many");
  EXPECT_EQ(error_of([&] {
              additive_scores(relation, zeros({3, 1, 2}), zeros({3, 1, 2}), zeros({2, 2}));
            }),
            "additive_scores: vector has 2 heads but query has 1, needs as many");
  EXPECT_EQ(error_of([&] {
              additive_scores(relation, zeros({3, 1, 2}), zeros({3, 1, 2}), zeros({1, 4}));
            }),
            "additive_scores: vector is [1, 4] but query is [3, 1, 2], needs equal last dimensions (head sizes)");
}

TEST(OpErrors, NameDropoutArgumentsThatDoNotFit) {
  EXPECT_EQ(error_of([] { dropout(zeros({2}), -0.1, DropoutKey{}); }),
            "dropout: rate is -0.1, needs at least 0 and less than 1");
  EXPECT_EQ(error_of([] { dropout(zeros({2}, at::kInt), 0.1, DropoutKey{}); }),
            "dropout: x has type Int, needs Float, BFloat16 or Double");
}

TEST(OpErrors, NameLossArgumentsThatDoNotFit) {
  const at::Tensor labels = at::zeros({2}, at::kLong);
  EXPECT_EQ(error_of([&] {
              smoothed_loss(zeros({3, 4}), labels);
            }),
            "smoothed_loss: labels are 2 but logits have 3 rows, needs one label per row");
  EXPECT_EQ(error_of([&] { smoothed_loss(zeros({8}), labels); }),
            "smoothed_loss: logits is [8], needs 2 dimensions: tokens, words");
  EXPECT_EQ(error_of([&] {
              smoothed_loss(zeros({2, 4}), zeros({2}));
            }),
            "smoothed_loss: labels have type Float, needs Long");
  EXPECT_EQ(error_of([&] {
              smoothed_loss(zeros({2, 4}), labels.to(at::kMeta));
            }),
            "smoothed_loss: the tensor of labels is on meta but that of logits is on cpu, needs one device");
  EXPECT_EQ(error_of([&] {
              smoothed_loss(zeros({2, 4}), labels + 4);
            }),
            "smoothed_loss: labels hold 4, but logits have 4 words, needs 0 to 3");
  EXPECT_EQ(error_of([&] {
              smoothed_loss(zeros({2, 4}), labels - 100);
            }),
            "smoothed_loss: labels hold -100, but logits have 4 words, needs 0 to 3");
  EXPECT_EQ(error_of([&] {
              smoothed_loss(zeros({2, 4}), labels, {.smoothing = 1.5});
            }),
            "smoothed_loss: smoothing is 1.5, needs 0 to 1");
  EXPECT_EQ(error_of([&] {
              smoothed_loss(zeros({2, 4}), labels, {.ignored = 4});
            }),
            "smoothed_loss: ignored is 4, but logits have 4 words, needs a word's number or -1");
  EXPECT_EQ(error_of([&] {
              count_correct(zeros({2, 0}), labels);
            }),
            "count_correct: logits are of 0 words, needs at least one");
}

TEST(OpErrors, NameNormArgumentsThatDoNotFit) {
  const at::Tensor one = zeros({1});
  EXPECT_EQ(error_of([&] {
              normalise(zeros({3, 1}), one, one, NormKind::kStdNorm, 1e-5);
            }),
            "normalise: x has 1 feature, but kStdNorm needs at least 2; its deviation is over n - 1");
  EXPECT_EQ(error_of([&] {
              normalise(zeros({3, 4}), zeros({3}), zeros({4}), NormKind::kLayerNorm, 1e-5);
            }),
            "normalise: gain is [3], but x has 4 features, needs one number per feature");
  EXPECT_EQ(error_of([&] {
              normalise(zeros({3, 4}), zeros({4}), zeros({4, 1}), NormKind::kLayerNorm, 1e-5);
            }),
            "normalise: bias is [4, 1], but x has 4 features, needs one number per feature");
  EXPECT_EQ(error_of([&] {
              normalise(zeros({3, 1}), one, one, NormKind::kLayerNorm, -1);
            }),
            "normalise: epsilon is -1, needs at least 0");
  EXPECT_EQ(error_of([&] { normalise(zeros({}), one, one, NormKind::kLayerNorm, 1e-5); }),
            "normalise: x has no dimensions, needs at least one: features");
}

TEST(OpErrors, NameAddNormArgumentsThatDoNotFit) {
  const at::Tensor x = zeros({3, 4});
  const at::Tensor one = zeros({4});
  const auto error = [&](const at::Tensor& y, const AddNormOptions& options = {}) {
    return error_of([&] { add_norm(x, y, one, one, options); });
  };
  EXPECT_EQ(error(x), "no error");
  EXPECT_EQ(error(zeros({4, 3})), "add_norm: y is [4, 3] but x is [3, 4], needs the same shape");
  EXPECT_EQ(error(zeros({3, 4}, at::kDouble)), "add_norm: y has type Double but x has type Float, needs the same type");
  EXPECT_EQ(error(zeros({3, 4}, at::kHalf)), "add_norm: y has type Half, needs Float, BFloat16 or Double");
  EXPECT_EQ(error(x, {.dropout = 1.0}), "add_norm: dropout is 1, needs at least 0 and less than 1");
  EXPECT_EQ(error(x, {.type = at::kDouble}), "add_norm: type is Double, but x has type Float, needs Float or BFloat16");
  EXPECT_EQ(error(at::Tensor(), {.epsilon = -1}), "normalise: epsilon is -1, needs at least 0");
  EXPECT_EQ(error_of([&] {
              add_norm(zeros({3, 4}, at::kBFloat16), x, one, one);
            }),
            "add_norm: y has type Float but x has type BFloat16, needs the same type");
  EXPECT_EQ(error_of([&] { add_norm(x, x, zeros({4}, at::kDouble), one); }),
            "add_norm: gain has type Double, needs Float where x has type Float");
  EXPECT_EQ(error_of([&] { add_dropout(x, {}, 0.0, DropoutKey{}); }), "add_dropout: y is undefined, needs a tensor");
}

TEST(OpErrors, NameEmbedArgumentsThatDoNotFit) {
  const at::Tensor weight = zeros({5, 4});
  const at::Tensor table = zeros({3, 4});
  const auto error = [&](const std::vector<std::int64_t>& tokens, const std::vector<std::int64_t>& positions,
                         const at::Tensor& rows) { return error_of([&] { embed(weight, tokens, rows, positions); }); };
  EXPECT_EQ(error({4, 0}, {2, 0}, table), "no error");
  EXPECT_EQ(error({4, 5}, {0, 0}, table), "embed: token 1 is 5, needs a number from 0 to 4");
  EXPECT_EQ(error({-1}, {0}, table), "embed: token 0 is -1, needs a number from 0 to 4");
  EXPECT_EQ(error({0}, {3}, table), "embed: position 0 is 3, needs a number from 0 to 2");
  EXPECT_EQ(error({0, 1}, {0}, table), "embed: positions are 1, needs 2: one for each token");
  EXPECT_EQ(error({0, 1}, {0}, {}), "embed: positions are 1, needs 0: there is no table");
  EXPECT_EQ(error({0}, {0}, zeros({3, 5})), "embed: table has 5 features but weight has 4, needs as many");
  EXPECT_EQ(error({0}, {0}, zeros({3, 4}, at::kDouble)),
            "embed: table has type Double but weight has type Float, needs the same type");
}

template <class Key>
concept IsDropoutKey = requires(const at::Tensor& x, Key key) {
  dropout(x, 0.1, key);
};

template <class Tensor>
concept MayLeaveOutTheKey = requires(const Tensor& x) {
  dropout(x, 0.1, {});
};

TEST(Dropout, DoesNotCompileWithoutAKey) {
  static_assert(IsDropoutKey<DropoutKey>);
  static_assert(!MayLeaveOutTheKey<at::Tensor>);
}

}  // namespace
}  // namespace edgewise

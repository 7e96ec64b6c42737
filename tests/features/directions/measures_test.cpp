#include "attnscope/features/directions/measures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "tests/support/compute.h"

namespace attnscope::test {
namespace {

constexpr std::int64_t kTokens = 2500, kWidth = 24;  // more than a few blocks, and not a multiple

double product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Tokens whose rows have a mean far from zero, and follow their rarity along one direction.
struct Basis {
  CandidateTokens tokens;
  Matrix<float> rows{2 * kTokens, kWidth};  // rows of all ids; odd ids are not candidate tokens

  explicit Basis(bool known) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    std::vector<double> rarity;
    for (std::int64_t token = 0; token < kTokens; ++token) {
      tokens.ids.push_back(2 * token);
      rarity.push_back(normal(random));
    }
    const double mean = std::accumulate(rarity.begin(), rarity.end(), 0.0) / kTokens;
    for (double& value : rarity) value -= mean;
    const double length = std::sqrt(product(rarity, rarity));
    for (double& value : rarity) value /= length;
    for (std::int64_t id = 0; id < rows.rows(); ++id) {
      const double rare = rarity[static_cast<std::size_t>(id / 2)];
      for (std::int64_t col = 0; col < kWidth; ++col) {
        const double value = normal(random) + 10 + (col == 2 ? 100 * rare : 0);
        rows(id, col) = static_cast<float>(value);
      }
    }
    if (known) tokens.rarity = rarity;
  }

  RowsOfTokens rows_of() const {
    return [this](std::span<const std::int64_t> ids, const Compute&) {
      Matrix<float> out(std::ssize(ids), kWidth);
      for (std::int64_t row = 0; row < out.rows(); ++row) {
        std::copy_n(&rows(ids[static_cast<std::size_t>(row)], 0), kWidth, &out(row, 0));
      }
      return out;
    };
  }

  NamedDirections names(const Matrix<double>& directions, std::int64_t top,
                        std::int64_t max_rows_in_memory, const Compute& compute = {}) const {
    const Matrix<double> random = random_directions(kWidth);
    return name_directions(tokens, rows_of(),
                           {.directions = directions.view(),
                            .random = random.view(),
                            .top = top,
                            .max_rows_in_memory = max_rows_in_memory},
                           compute);
  }
};

Matrix<double> unit_rows(std::int64_t count) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  Matrix<double> out(count, kWidth);
  for (std::int64_t row = 0; row < count; ++row) {
    double squares = 0;
    for (std::int64_t col = 0; col < kWidth; ++col) {
      out(row, col) = normal(random);
      squares += out(row, col) * out(row, col);
    }
    for (std::int64_t col = 0; col < kWidth; ++col) out(row, col) /= std::sqrt(squares);
  }
  return out;
}

/// The definitions of docs/metrics.md in float64, for all tokens at once.
class Reference {
 public:
  explicit Reference(const Basis& basis) : tokens_(basis.tokens) {
    std::vector<double> mean(kWidth, 0.0);
    for (const std::int64_t id : tokens_.ids) {
      std::vector<double>& row = raw_.emplace_back();
      for (std::int64_t col = 0; col < kWidth; ++col) {
        row.push_back(basis.rows(id, col));
        mean[static_cast<std::size_t>(col)] += row.back() / kTokens;
      }
    }
    for (std::vector<double>& row : raw_) {
      for (std::size_t col = 0; col < row.size(); ++col) row[col] -= mean[col];
    }
    rows_ = raw_;
    if (tokens_.rarity.empty()) return;
    std::vector<double> axis(kWidth, 0.0);
    for (std::size_t token = 0; token < raw_.size(); ++token) {
      for (std::size_t col = 0; col < axis.size(); ++col) {
        axis[col] += tokens_.rarity[token] * raw_[token][col];
      }
    }
    const double squares = product(axis, axis);
    for (std::vector<double>& row : rows_) {
      const double along = product(row, axis) / squares;
      for (std::size_t col = 0; col < row.size(); ++col) row[col] -= along * axis[col];
    }
  }

  static std::vector<double> scores(const std::vector<std::vector<double>>& rows,
                                    const std::vector<double>& direction) {
    std::vector<double> out;
    for (const std::vector<double>& row : rows) out.push_back(product(row, direction));
    return out;
  }

  double coherence(std::span<const std::size_t> list) const {
    double sum = 0;
    for (std::size_t a = 0; a < list.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) sum += cosine(rows_[list[a]], rows_[list[b]]);
    }
    return 2 * sum / static_cast<double>(list.size() * (list.size() - 1));
  }

  static double cosine(const std::vector<double>& a, const std::vector<double>& b) {
    return product(a, b) / std::sqrt(product(a, a) * product(b, b));
  }

  void expect(const NamedDirection& found, const std::vector<double>& direction,
              std::size_t top) const {
    std::vector<double> own = scores(rows_, direction);
    const std::vector<double> raw = scores(raw_, direction);
    double cubes = 0;
    for (const double score : own) cubes += score * score * score;
    EXPECT_NEAR(found.skewness, cubes, 1e-3 * std::abs(cubes) + 1e-2);
    for (const SignedDirection& of_sign : found.signs) {
      std::vector<std::size_t> order(own.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::sort(order.begin(), order.end(),
                [&](std::size_t a, std::size_t b) { return own[a] > own[b]; });
      ASSERT_EQ(of_sign.tokens.size(), top);
      for (std::size_t at = 0; at < top; ++at) {
        const NamedToken& token = of_sign.tokens[at];
        EXPECT_EQ(token.id, tokens_.ids[order[at]]);
        EXPECT_NEAR(token.score, own[order[at]], 1e-6 * own[order[0]]);
        EXPECT_NEAR(token.cosine,
                    own[order[at]] / std::sqrt(product(rows_[order[at]], rows_[order[at]])), 1e-6);
      }
      EXPECT_NEAR(of_sign.coherence, coherence(std::span(order).first(kCoherentTokens)), 1e-6);
      EXPECT_EQ(of_sign.rarity.has_value(), !tokens_.rarity.empty());
      const double sign = &of_sign == &found.signs[0] ? 1 : -1;
      if (of_sign.rarity) {
        EXPECT_NEAR(*of_sign.rarity, sign * cosine(raw, tokens_.rarity), 1e-6);
      }
      for (double& score : own) score = -score;
    }
  }

  /// The 99% quantile over random directions.
  double null() const {
    const Matrix<double> random = random_directions(kWidth);
    std::vector<double> coherences;
    for (std::int64_t at = 0; at < random.rows(); ++at) {
      const std::vector<double> own =
          scores(rows_, {&random(at, 0), &random(at, 0) + random.cols()});
      std::vector<std::size_t> order(own.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::partial_sort(order.begin(), order.begin() + kCoherentTokens, order.end(),
                        [&](std::size_t a, std::size_t b) { return own[a] > own[b]; });
      coherences.push_back(coherence(std::span(order).first(kCoherentTokens)));
    }
    std::sort(coherences.begin(), coherences.end());
    return coherences[989] + 0.01 * (coherences[990] - coherences[989]);  // at index 0.99 · 999
  }

 private:
  const CandidateTokens& tokens_;
  std::vector<std::vector<double>> raw_, rows_;  // centered; also without the rarity axis
};

TEST(NamedLists, EqualTheDefinitions) {
  const Matrix<double> directions = unit_rows(60);  // more than one batch
  for (const bool known : {true, false}) {
    const Basis basis(known);
    const Reference reference(basis);
    const double null = reference.null();
    for (const std::size_t top : {3u, 40u}) {
      const NamedDirections names =
          basis.names(directions, static_cast<std::int64_t>(top), /*max_rows_in_memory=*/kTokens);
      ASSERT_EQ(names.directions.size(), 60u);
      for (std::size_t at = 0; at < names.directions.size(); ++at) {
        const double* direction = &directions(static_cast<std::int64_t>(at), 0);
        reference.expect(names.directions[at], {direction, direction + kWidth}, top);
      }
      EXPECT_NEAR(names.random_coherence, null, 1e-6);
    }
  }
}

void expect_same(const NamedDirections& a, const NamedDirections& b) {
  EXPECT_EQ(a.random_coherence, b.random_coherence);
  ASSERT_EQ(a.directions.size(), b.directions.size());
  for (std::size_t at = 0; at < a.directions.size(); ++at) {
    EXPECT_EQ(a.directions[at].skewness, b.directions[at].skewness);
    for (std::size_t of_sign = 0; of_sign < 2; ++of_sign) {
      const SignedDirection &one = a.directions[at].signs[of_sign],
                            &other = b.directions[at].signs[of_sign];
      EXPECT_EQ(one.coherence, other.coherence);
      EXPECT_EQ(one.rarity, other.rarity);
      ASSERT_EQ(one.tokens.size(), other.tokens.size());
      for (std::size_t token = 0; token < one.tokens.size(); ++token) {
        EXPECT_EQ(one.tokens[token].id, other.tokens[token].id);
        EXPECT_EQ(one.tokens[token].score, other.tokens[token].score);
        EXPECT_EQ(one.tokens[token].cosine, other.tokens[token].cosine);
      }
    }
  }
}

TEST(NamedLists, HaveTheSameDigitsForAnyThreadsAndMemory) {
  const Basis basis(/*known=*/true);
  const Matrix<double> directions = unit_rows(50);
  const NamedDirections all = basis.names(directions, 10, kTokens);
  expect_same(basis.names(directions, 10, /*max_rows_in_memory=*/0), all);
  LentTeam lent(3);
  expect_same(basis.names(directions, 10, /*max_rows_in_memory=*/1000, lent.compute()),
              basis.names(directions, 10, kTokens, test_compute()));
}

/// A vocabulary with fewer tokens than requested, some of them equal.
TEST(NamedLists, SmallVocabulariesListAllTokensBySmallestId) {
  const CandidateTokens tokens{.ids = {4, 7, 9, 12, 15, 16, 17, 18, 19, 20, 21}, .rarity = {}};
  const RowsOfTokens rows_of = [](std::span<const std::int64_t> ids, const Compute&) {
    Matrix<float> out(std::ssize(ids), 1);
    for (std::int64_t row = 0; row < out.rows(); ++row) {
      out(row, 0) = ids[static_cast<std::size_t>(row)] < 10 ? 1 : -1;
    }
    return out;
  };
  Matrix<double> direction(1, 1);
  direction(0, 0) = 1;
  const Matrix<double> random = random_directions(1);
  const NamedDirections names = name_directions(tokens, rows_of,
                                                {.directions = direction.view(),
                                                 .random = random.view(),
                                                 .top = 100,
                                                 .max_rows_in_memory = 100},
                                                {});
  std::vector<std::int64_t> ids;
  for (const NamedToken& token : names.directions[0].signs[0].tokens) ids.push_back(token.id);
  EXPECT_EQ(ids, tokens.ids);
  EXPECT_NEAR(names.directions[0].signs[0].tokens[0].score, 16.0 / 11, 1e-6);
  EXPECT_EQ(names.directions[0].signs[1].tokens[0].id, 12);
}

}  // namespace
}  // namespace attnscope::test

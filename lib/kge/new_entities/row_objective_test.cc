#include "lib/kge/new_entities/row_objective.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/kge/new_entities/minimize.h"
#include "lib/kge/new_entities/new_entities_testing.h"
#include "lib/kge/training/model_scorer.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

constexpr KgeModel kProductModels[] = {KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal,
                                       KgeModel::kCp,       KgeModel::kSimple,  KgeModel::kTucker};
constexpr KgeModel kAllModels[] = {KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp,
                                   KgeModel::kSimple,   KgeModel::kConvE,   KgeModel::kTucker};
constexpr int32_t kNew = 9;  // of a model with 9 entities
const std::vector<Triple> kTrain = {{0, 0, 1}, {0, 0, 2}, {1, 1, 3}, {4, 0, 5}, {6, 1, 7}, {8, 1, 3}};
const std::vector<Triple> kTriples = {{kNew, 0, 1}, {kNew, 0, 4}, {8, 1, kNew}};

// All that an objective needs.
struct Fixture {
  Fixture(KgeModel kind, KgeLoss loss, ConveVariant variant = ConveVariant::kDettmers,
          const std::vector<double>& of_triples = {})
      : weights(kTrain, of_triples, 2, true),
        model(SmallModel(kind, loss, 9, 2, DType::kF64, variant)),
        scorer(MakeScorer(model.shape, model.parameters, 1)),
        known(KnownTails::Build({kTrain}, 2, true)),
        prior(RowPrior::Create(model.shape, model.parameters, &pool).value()),
        queries(MakeRowQueries(model.shape, model.parameters, &pool)),
        table(model.shape, model.parameters, &pool),
        others(model.shape, known, weights, scorer, &table, &pool),
        examples(MakeRowExamples(model.shape, known, weights, kTriples, kNew, 2, true)),
        objective(examples, model.shape, scorer, prior, others, queries.get(), &table) {}

  KeyWeights weights;
  ThreadPool pool{1};
  TrainedKge model;
  KgeScorer scorer;
  KnownTails known;
  RowPrior prior;
  std::unique_ptr<RowQueries> queries;
  TableLoss table;
  OtherQueries others;
  RowExamples examples;
  RowObjective objective;
};

std::vector<double> RandomPoint(int64_t size) {
  RandomStream random(4, "z");
  std::vector<double> z(size);
  for (double& x : z) x = random.Normal();
  return z;
}

// Returns the largest difference of a gradient and central differences of the value.
double GradientError(RowObjective* objective, std::vector<double> z, double step) {
  std::vector<double> gradient(z.size()), unused(z.size());
  (*objective)(z, absl::MakeSpan(gradient));
  double most = 0;
  for (size_t k = 0; k < z.size(); ++k) {
    const double at = z[k];
    z[k] = at + step;
    const double above = (*objective)(z, absl::MakeSpan(unused));
    z[k] = at - step;
    const double below = (*objective)(z, absl::MakeSpan(unused));
    z[k] = at;
    most = std::max(most, std::abs(gradient[k] - (above - below) / (2 * step)));
  }
  return most;
}

// The objective of DistMult with 1vsAll, by its definition: the loss of all training triples in both directions, with x
// a candidate of all queries but its own, less what it is without x.
TEST(RowObjectiveTest, IsTheTrainingLossByPlainLoops) {
  const std::vector<double> none, some = {0.5, 3, 0, 1, 2, 2.5};  // mean 1.5
  for (const auto& [smoothing, of_triples] :
       {std::pair(0.0, none), std::pair(0.1, none), std::pair(0.0, some), std::pair(0.1, some)}) {
    Fixture fixture(KgeModel::kDistMult, KgeLoss::kOneVsAll, ConveVariant::kDettmers, of_triples);
    KgeShape shape = fixture.model.shape;
    shape.options.label_smoothing = smoothing;
    const RowExamples examples = MakeRowExamples(shape, fixture.known, fixture.weights, kTriples, kNew, 2, true);
    const OtherQueries others(shape, fixture.known, fixture.weights, fixture.scorer, &fixture.table, &fixture.pool);
    RowObjective objective(examples, shape, fixture.scorer, fixture.prior, others, fixture.queries.get(),
                           &fixture.table);
    const std::vector<double> z = RandomPoint(12), x = fixture.prior.FromStandard(z);
    const absl::Span<const double> p = fixture.model.parameters.values<double>();
    const auto row = [&](int32_t e) {
      return e == kNew ? x : std::vector<double>(p.begin() + 12 * e, p.begin() + 12 * (e + 1));
    };
    const auto score = [&](int32_t h, int32_t r, int32_t t) {
      const std::vector<double> a = row(h), b = row(t);
      double sum = 0;
      for (int k = 0; k < 12; ++k) sum += a[k] * p[shape.offsets().relation + 12 * r + k] * b[k];
      return sum;
    };
    double expected = 0;
    for (const double s : z) expected += kPriorWeight * s * s / 2;
    std::vector<Triple> all = kTrain;
    all.insert(all.end(), kTriples.begin(), kTriples.end());
    for (size_t i = 0; i < all.size(); ++i) {
      const Triple& t = all[i];
      const double weight = i < of_triples.size() ? of_triples[i] / 1.5 : 1;
      for (const auto& [head, relation, tail] :
           {std::tuple(t.head, t.relation, t.tail), std::tuple(t.tail, t.relation + 2, t.head)}) {
        const int32_t num = head == kNew ? 9 : 10;
        const SmoothedLabels labels = SmoothLabels(shape.options, num, 1);
        double with = 0, without = 0;
        for (int32_t e = 0; e < num; ++e) with += std::exp(score(head, relation, e));
        for (int32_t e = 0; e < 9; ++e) without += std::exp(score(head, relation, e));
        if (head == kNew) {
          expected += std::log(with);
          for (int32_t e = 0; e < num; ++e) {
            expected -= (labels.base + (e == tail ? labels.extra : 0)) * score(head, relation, e);
          }
        } else {
          // What does not depend on x is left out; log Z stays where x is the answer.
          expected += weight * (std::log(with) - (tail == kNew ? 0 : std::log(without)));
          expected -= weight * (labels.base + (tail == kNew ? labels.extra : 0)) * score(head, relation, kNew);
        }
      }
    }
    std::vector<double> gradient(12);
    EXPECT_NEAR(objective(z, absl::MakeSpan(gradient)), expected, 1e-10) << smoothing;
  }
}

// The same of losses over keys, whose labels are smoothed and weighted as query_weights.h says.
TEST(RowObjectiveTest, IsTheTrainingLossOfKeysByPlainLoops) {
  const std::vector<double> none, some = {0.5, 3, 0, 1, 2, 2.5};  // mean 1.5
  for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kKvsAll}) {
    for (const auto& [smoothing, of_triples] :
         {std::pair(0.0, none), std::pair(0.1, none), std::pair(0.0, some), std::pair(0.1, some)}) {
      Fixture fixture(KgeModel::kDistMult, loss, ConveVariant::kDettmers, of_triples);
      KgeShape shape = fixture.model.shape;
      shape.options.label_smoothing = smoothing;
      const RowExamples examples = MakeRowExamples(shape, fixture.known, fixture.weights, kTriples, kNew, 2, true);
      const OtherQueries others(shape, fixture.known, fixture.weights, fixture.scorer, &fixture.table, &fixture.pool);
      TableLoss table(shape, fixture.model.parameters, &fixture.pool);
      RowObjective objective(examples, shape, fixture.scorer, fixture.prior, others, fixture.queries.get(), &table);
      const std::vector<double> z = RandomPoint(12), x = fixture.prior.FromStandard(z);
      const absl::Span<const double> p = fixture.model.parameters.values<double>();
      const auto score = [&](int32_t h, int32_t r, int32_t t) {
        const double* const a = h == kNew ? x.data() : p.data() + 12 * h;
        const double* const b = t == kNew ? x.data() : p.data() + 12 * t;
        double sum = 0;
        for (int k = 0; k < 12; ++k) sum += a[k] * p[shape.offsets().relation + 12 * r + k] * b[k];
        return sum;
      };
      std::map<std::pair<int32_t, int32_t>, std::map<int32_t, double>> keys;  // tails and their weights
      for (size_t i = 0; i < kTrain.size() + kTriples.size(); ++i) {
        const Triple& t = i < kTrain.size() ? kTrain[i] : kTriples[i - kTrain.size()];
        const double weight = i < of_triples.size() ? of_triples[i] / 1.5 : 1;
        keys[{t.head, t.relation}][t.tail] = weight;
        keys[{t.tail, t.relation + 2}][t.head] = weight;
      }
      double expected = 0;
      for (const double s : z) expected += kPriorWeight * s * s / 2;
      for (const auto& [key, tails] : keys) {
        const auto [head, relation] = key;
        const int32_t num = head == kNew ? 9 : 10;
        const SmoothedLabels labels = SmoothLabels(shape.options, num, static_cast<int64_t>(tails.size()));
        double sum = 0, with = 0, without = 0;
        for (const auto& [tail, weight] : tails) sum += weight;
        const double mean = sum / static_cast<double>(tails.size());
        for (int32_t e = 0; e < num; ++e) with += std::exp(score(head, relation, e));
        for (int32_t e = 0; e < 9; ++e) without += std::exp(score(head, relation, e));
        if (sum == 0) continue;
        // What does not depend on x is left out; log Z stays where x is the answer.
        if (loss == KgeLoss::kKvsAll) expected += mean * std::log(with);
        if (loss == KgeLoss::kKvsAll && head != kNew && tails.count(kNew) == 0) expected -= mean * std::log(without);
        for (int32_t e = head == kNew ? 0 : kNew; e < num; ++e) {
          const auto found = tails.find(e);
          const double weight = found == tails.end() ? 0 : found->second, s = score(head, relation, e);
          if (loss == KgeLoss::kKvsAll) {
            expected -= mean * (labels.base + labels.extra * weight / mean) * s;
          } else {
            const double label = labels.base + (found == tails.end() ? 0 : labels.extra);
            expected += (found == tails.end() ? 1 : weight) * (std::log1p(std::exp(s)) - label * s);
          }
        }
      }
      std::vector<double> gradient(12);
      EXPECT_NEAR(objective(z, absl::MakeSpan(gradient)), expected, 1e-10) << kKgeLossNames.Name(loss) << smoothing;
    }
  }
}

TEST(RowObjectiveTest, GradientsAreDerivatives) {
  for (const KgeLoss loss : {KgeLoss::kOneVsAll, KgeLoss::kKvsAll, KgeLoss::kOneToN, KgeLoss::kOneOfN}) {
    for (const KgeModel kind : kProductModels) {
      Fixture fixture(kind, loss);
      // Third derivatives are of the order of 10 and the step is 1e-5; values of 100 are rounded to 1e-14.
      EXPECT_LT(GradientError(&fixture.objective, RandomPoint(fixture.prior.size()), 1e-5), 1e-8);
    }
    for (const ConveVariant variant : {ConveVariant::kDettmers, ConveVariant::kTiepin, ConveVariant::kLibkge}) {
      Fixture fixture(KgeModel::kConvE, loss, variant);
      // A step this small crosses no kink of relu here.
      EXPECT_LT(GradientError(&fixture.objective, RandomPoint(fixture.prior.size()), 1e-6), 1e-7);
    }
  }
}

TEST(RowObjectiveTest, TheMinimumHasNoGradientByCentralDifferences) {
  for (const KgeLoss loss : {KgeLoss::kOneVsAll, KgeLoss::kOneToN}) {
    for (const KgeModel kind : kProductModels) {
      Fixture fixture(kind, loss);
      const Minimum minimum =
          Minimize([&](absl::Span<const double> z, absl::Span<double> g) { return fixture.objective(z, g); },
                   std::vector<double>(fixture.prior.size(), 0.0), 1e-10, 1000);
      EXPECT_LE(minimum.gradient_norm, 1e-10);
      std::vector<double> z = minimum.x, unused(z.size());
      for (size_t k = 0; k < z.size(); ++k) {
        const double step = 1e-5;
        z[k] = minimum.x[k] + step;
        const double above = fixture.objective(z, absl::MakeSpan(unused));
        z[k] = minimum.x[k] - step;
        const double below = fixture.objective(z, absl::MakeSpan(unused));
        z[k] = minimum.x[k];
        EXPECT_NEAR((above - below) / (2 * step), 0, 1e-8);
        EXPECT_GT(above, minimum.value - 1e-12);
      }
    }
  }
}

// A key that has x among its tails is one example of a loss over keys: its label is shared, and it is no other query.
TEST(RowObjectiveTest, ExamplesOfKeysAndTriples) {
  const Fixture keys(KgeModel::kDistMult, KgeLoss::kKvsAll), triples(KgeModel::kDistMult, KgeLoss::kOneVsAll);
  EXPECT_THAT(keys.examples.relations, ElementsAre(0, 3));  // 3: the inverse of relation 1
  EXPECT_THAT(keys.examples.queries[0].tails, ElementsAre(1, 4));
  EXPECT_THAT(keys.examples.queries[1].tails, ElementsAre(8));
  EXPECT_THAT(triples.examples.relations, ElementsAre(0, 0, 3));
  EXPECT_THAT(keys.examples.tail_heads, ElementsAre(1, 4, 8));
  EXPECT_THAT(keys.examples.tail_relations, ElementsAre(2, 2, 1));
  // Of the query (1, 2) there is one known tail, 0, of (4, 2) none, of (8, 1) one, 3.
  const KgeOptions& options = keys.model.shape.options;
  const SmoothedLabels two = SmoothLabels(options, 10, 2), one = SmoothLabels(options, 10, 1);
  EXPECT_THAT(keys.examples.tail_labels, ElementsAre(two.base + two.extra, one.base + one.extra, two.base + two.extra));
  EXPECT_GE(keys.others.Find(1, 2), 0);
  EXPECT_EQ(keys.others.Find(4, 2), -1);
  // Queries count once for each of their triples, or once.
  EXPECT_EQ(triples.others.weights()[triples.others.Find(0, 0)], 2);
  EXPECT_EQ(keys.others.weights()[keys.others.Find(0, 0)], 1);
}

// With KvsAll a query counts the mean of the weights of its tails, of which x has one, and the labels are their shares;
// with 1-N it counts where any has a weight.
TEST(RowObjectiveTest, WeightsOfKeys) {
  const std::vector<double> of_triples = {0.5, 3, 0, 1, 2, 2.5};  // mean 1.5
  const Fixture keys(KgeModel::kDistMult, KgeLoss::kKvsAll, ConveVariant::kDettmers, of_triples);
  const Fixture terms(KgeModel::kDistMult, KgeLoss::kOneToN, ConveVariant::kDettmers, of_triples);
  // (8, 1) has the tails 3, of weight 2.5, and x; (1, 2) the tails 0, of 0.5, and x; (4, 2) has x alone.
  const double mean_8 = (2.5 / 1.5 + 1) / 2, mean_1 = (0.5 / 1.5 + 1) / 2;
  EXPECT_THAT(keys.examples.tail_counts, ElementsAre(mean_1, 1, mean_8));
  EXPECT_THAT(terms.examples.tail_counts, ElementsAre(1, 1, 1));
  const SmoothedLabels two = SmoothLabels(keys.model.shape.options, 10, 2);
  EXPECT_NEAR(keys.examples.tail_labels[2], two.base + two.extra / mean_8, 1e-15);
  EXPECT_NEAR(keys.others.weights()[keys.others.Find(0, 0)], (0.5 + 3) / 1.5 / 2, 1e-15);
  EXPECT_EQ(terms.others.weights()[terms.others.Find(0, 0)], 1);
  EXPECT_EQ(keys.others.weights()[keys.others.Find(1, 1)], 0);
  EXPECT_EQ(terms.others.weights()[terms.others.Find(1, 1)], 0);
  Fixture weighted(KgeModel::kComplEx, KgeLoss::kKvsAll, ConveVariant::kDettmers, of_triples);
  EXPECT_LT(GradientError(&weighted.objective, RandomPoint(weighted.prior.size()), 1e-5), 1e-8);
}

// Every second query counts twice, so that the sum of weights is that of all to one query.
TEST(RowObjectiveTest, FewerQueriesCountMore) {
  Fixture fixture(KgeModel::kDistMult, KgeLoss::kKvsAll);
  const OtherQueries half(fixture.model.shape, fixture.known, fixture.weights, fixture.scorer, &fixture.table,
                          &fixture.pool, 6);
  ASSERT_EQ(fixture.others.weights().size(), 10);
  EXPECT_THAT(half.weights(), ElementsAre(2, 2, 2, 2, 2));
  ThreadPool two(2);
  const OtherQueries again(fixture.model.shape, fixture.known, fixture.weights, fixture.scorer, &fixture.table, &two,
                           6);
  const std::vector<double> y = RandomPoint(12);
  std::vector<double> one_gradient(12), two_gradient(12);
  EXPECT_EQ(half.Add(half.weights(), y, absl::MakeSpan(one_gradient)),
            again.Add(again.weights(), y, absl::MakeSpan(two_gradient)));
  EXPECT_EQ(one_gradient, two_gradient);
}

// v of a row that the model has is that of ranking.
TEST(RowQueriesTest, HiddenVectorsAreThoseOfRanking) {
  for (const KgeModel kind : kAllModels) {
    const Fixture fixture(kind, KgeLoss::kOneToN);
    const std::vector<int32_t> relations = {0, 3, 2};
    const std::vector<double> expected = KnownHidden(fixture.scorer, {5, 5, 5}, relations);
    const absl::Span<const double> row = fixture.model.parameters.values<double>().subspan(12 * 5, 12);
    std::vector<double> v(3 * 12);
    fixture.queries->Forward(row, relations, absl::MakeSpan(v));
    for (size_t i = 0; i < v.size(); ++i) EXPECT_NEAR(v[i], expected[i], 1e-12);
  }
}

}  // namespace
}  // namespace rutile

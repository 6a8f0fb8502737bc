#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/training/model_scorer.h"
#include "lib/ranking/kge_scorer.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/graphs/kge_data.h"
#include "tools/tracin/graphs/kge_question.h"
#include "tools/tracin/judge/judged_run.h"

namespace rutile {
namespace {

// log(1 + exp(x)) without overflow.
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// Returns log sum exp of scores.
double LogSumExp(absl::Span<const double> scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - top);
  return top + std::log(sum);
}

// The training loss whose labels an influence loss over entities has.
KgeLoss LabelLoss(KgeInfluenceLoss loss) {
  switch (loss) {
    case KgeInfluenceLoss::kOneToN:
      return KgeLoss::kOneToN;
    case KgeInfluenceLoss::kOneOfN:
    case KgeInfluenceLoss::kTriple:
      return KgeLoss::kOneOfN;
    case KgeInfluenceLoss::kCrossEntropy:
      return KgeLoss::kOneVsAll;
    case KgeInfluenceLoss::kKvsAll:
      return KgeLoss::kKvsAll;
  }
  return KgeLoss::kOneOfN;
}

class JudgedGraph : public JudgedRun {
 public:
  explicit JudgedGraph(KgeData data) : data_(std::move(data)) {
    const absl::Span<const Triple> train = data_.graph.train;
    known_ = KnownTails::Build({&train, 1}, data_.graph.num_relations(), data_.graph.inverse_relations);
  }

  const char* examples() const override { return kTripleExamples; }

  absl::StatusOr<std::vector<std::string>> Lines(const std::string& directory) const override {
    std::vector<std::string> lines;
    for (const Triple& triple : data_.graph.train) lines.push_back(LineOf(triple));
    return lines;
  }

  absl::StatusOr<std::vector<int64_t>> Strata(const std::vector<std::string>& lines,
                                              const std::string& property) const override {
    ASSIGN_OR_RETURN(const std::vector<Triple> triples, TriplesOf("the run", lines));
    std::vector<int64_t> strata;
    for (const Triple& triple : triples) {
      if (property == "relation") {
        strata.push_back(triple.relation);
      } else if (property == "head" || property == "tail") {
        strata.push_back(property == "head" ? triple.head : triple.tail);
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat("--stratify_by=", property, ": expected relation, head or tail with triples"));
      }
    }
    return strata;
  }

  std::vector<std::array<int32_t, 2>> Links(const std::vector<std::string>& lines) const override {
    std::vector<std::array<int32_t, 2>> links;
    for (const Triple& triple : data_.graph.train) links.push_back({triple.head, triple.tail});
    return links;
  }

  absl::StatusOr<std::vector<int64_t>> LinesOfExamples(const SubsetPlan& plan,
                                                       absl::Span<const int64_t> examples) const override {
    absl::flat_hash_map<absl::string_view, int64_t> place;
    for (int64_t i = 0; i < plan.num_examples(); ++i) place.emplace(plan.lines[i], i);
    std::vector<int64_t> lines;
    for (const int64_t example : examples) {
      if (example >= static_cast<int64_t>(data_.train.size())) {
        return absl::InvalidArgumentError(absl::StrCat("training triple ", example, " is not in --train, which has ",
                                                       data_.train.size(),
                                                       " (the scores may need --inverse_examples)"));
      }
      if (data_.IsFalse(example)) {
        lines.push_back(-1);
        continue;
      }
      const std::string line = LineOf(data_.Plain(data_.train[example]));
      const auto found = place.find(line);
      if (found == place.end()) {
        return absl::InvalidArgumentError(absl::StrCat("training triple ", example, ", \"", line, "\", is not in ",
                                                       plan.path, ": the scores are of another run"));
      }
      lines.push_back(found->second);
    }
    return lines;
  }

  // Scores may be of all triples without their inverses, though these are examples here (--inverse_examples).
  absl::Status CheckTrainingData(const InfluenceFile& influence) const override {
    if (TrainExamplesSha256(data_) == influence.description.train_sha256) return absl::OkStatus();
    for (const std::vector<Triple>* triples : {&data_.train, &data_.graph.train}) {
      if (TripleExamplesSha256(data_.graph, *triples) == influence.description.train_sha256) return absl::OkStatus();
    }
    return OtherTrainingData(influence);
  }

  absl::Status ChooseTests(const InfluenceFile& influence) override {
    const InfluenceDescription& description = influence.description;
    tests_.clear();
    std::vector<std::string> names;
    for (const int64_t test : influence.influence.tests) {
      if (test < 0 || test >= static_cast<int64_t>(data_.tests.size())) {
        names.emplace_back();
        continue;
      }
      tests_.push_back(data_.tests[test]);
      names.push_back(absl::StrJoin(data_.Cells(data_.tests[test]), " "));
    }
    RETURN_IF_ERROR(CheckTestNames(influence, names));
    const absl::StatusOr<KgeInfluenceLoss> loss =
        kKgeInfluenceLossNames.Parse(absl::StripPrefix(description.train_quantity, "loss "));
    if (loss.ok()) question_.loss = *loss;
    if (!loss.ok() || !ParseKgeQuantityText(description.test_quantity, data_.graph, &question_).ok()) {
      return absl::InvalidArgumentError(absl::StrCat(influence.path, ": scores of \"", description.test_quantity,
                                                     "\", a quantity that cannot be compared with retrained models"));
    }
    RETURN_IF_ERROR(CheckAskedQuantity(influence.path, question_, data_.graph));
    loss_ = question_.loss;
    const auto label = description.settings.find("label_test_tails");
    label_test_tails_ = label != description.settings.end() && label->second == "true";
    return absl::OkStatus();
  }

  int SignOfHelp() const override { return question_.quantity == KgeQuantity::kLoss ? 1 : -1; }

  absl::StatusOr<std::vector<double>> Predict(const std::string& model) const override {
    return Values(model, tests_, question_, label_test_tails_);
  }

  absl::StatusOr<std::vector<double>> TrainingLosses(const std::string& model, const SubsetPlan& plan) const override {
    ASSIGN_OR_RETURN(const std::vector<Triple> triples, TriplesOf(plan.path, plan.lines));
    KgeInfluenceOptions loss;
    loss.loss = loss_;
    return Values(model, triples, loss, /*label_own=*/false);
  }

  absl::StatusOr<std::vector<uint8_t>> Akin(const SubsetPlan& plan, int64_t t) const override {
    ASSIGN_OR_RETURN(const std::vector<Triple> triples, TriplesOf(plan.path, plan.lines));
    const Triple test = data_.Plain(tests_[t]);
    std::vector<uint8_t> akin;
    for (const Triple& triple : triples) {
      const auto is_end = [&](int32_t entity) { return entity == test.head || entity == test.tail; };
      akin.push_back(is_end(triple.head) || is_end(triple.tail) ? 1 : 0);
    }
    return akin;
  }
  const char* akin() const override { return "shared entity"; }

 private:
  std::string LineOf(const Triple& triple) const {
    const KnowledgeGraph& graph = data_.graph;
    return absl::StrCat(graph.entities[triple.head], "\t", graph.relations[triple.relation], "\t",
                        graph.entities[triple.tail]);
  }

  absl::StatusOr<std::vector<Triple>> TriplesOf(const std::string& path, const std::vector<std::string>& lines) const {
    absl::flat_hash_map<std::string, const Triple*> triple_of;
    for (const Triple& triple : data_.graph.train) triple_of.emplace(LineOf(triple), &triple);
    std::vector<Triple> triples;
    for (const std::string& line : lines) {
      const auto found = triple_of.find(line);
      if (found == triple_of.end()) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": \"", line, "\" is no training triple of --train"));
      }
      triples.push_back(*found->second);
    }
    return triples;
  }

  absl::StatusOr<std::vector<double>> Values(const std::string& path, absl::Span<const Triple> triples,
                                             const KgeInfluenceOptions& question, bool label_own) const {
    ASSIGN_OR_RETURN(const TrainedKge model, ReadKgeModel(path));
    if (const absl::Status status = CheckSameVocabulary(model, data_.graph); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
    }
    return model.parameters.dtype() == DType::kF64 ? ValuesAs<double>(model, triples, question, label_own)
                                                   : ValuesAs<float>(model, triples, question, label_own);
  }

  template <typename T>
  absl::StatusOr<std::vector<double>> ValuesAs(const TrainedKge& model, absl::Span<const Triple> triples,
                                               const KgeInfluenceOptions& question, bool label_own) const {
    const KgeScorer scorer = MakeScorer(model.shape, model.parameters, ThreadsFromFlags());
    std::vector<int32_t> heads, relations;
    for (const Triple& triple : triples) {
      heads.push_back(triple.head);
      relations.push_back(triple.relation);
    }
    const int64_t dim = scorer.dim(), num = scorer.num_entities();
    std::vector<T> hidden(triples.size() * dim);
    RETURN_IF_ERROR(FillHidden<T>(scorer, heads, relations, absl::MakeSpan(hidden)));
    const ScoreTable<T> table = EntityTable<T>(scorer);
    std::vector<double> values, scores(num);
    for (size_t i = 0; i < triples.size(); ++i) {
      const T* const v = hidden.data() + i * dim;
      const auto score = [&](int64_t e) {
        double sum = table.Bias(e);
        for (int64_t k = 0; k < dim; ++k) sum += static_cast<double>(v[k]) * table.entity[e * dim + k];
        return sum;
      };
      if (!IsOverEntities(loss_, question.quantity)) {
        const double own = score(triples[i].tail);
        values.push_back(question.quantity == KgeQuantity::kScore ? own : Softplus(-own));
        continue;
      }
      if (question.quantity == KgeQuantity::kDifference) {
        values.push_back(score(triples[i].tail) - score(question.rival));
        continue;
      }
      for (int64_t e = 0; e < num; ++e) scores[e] = score(e);
      if (question.quantity == KgeQuantity::kMargin) {
        values.push_back(MarginOf(triples[i], scores));
        continue;
      }
      values.push_back(LossOf(model.shape.options, triples[i], scores, label_own));
    }
    return values;
  }

  // Returns the margin over entities that are not known in training (kge_influence_options.h).
  double MarginOf(const Triple& triple, absl::Span<const double> scores) const {
    const absl::Span<const int32_t> known = known_.Tails(triple.head, triple.relation);
    std::vector<double> others;
    for (int32_t e = 0; e < static_cast<int32_t>(scores.size()); ++e) {
      if (e != triple.tail && !std::binary_search(known.begin(), known.end(), e)) others.push_back(scores[e]);
    }
    return scores[triple.tail] - (others.empty() ? 0 : LogSumExp(others));
  }

  // Returns the loss over all entities (kge_influence_options.h).
  double LossOf(KgeOptions options, const Triple& triple, absl::Span<const double> scores, bool label_own) const {
    std::vector<int32_t> tails;
    if (NeedsKnownTails(loss_)) {
      const absl::Span<const int32_t> known = known_.Tails(triple.head, triple.relation);
      tails.assign(known.begin(), known.end());
    }
    const bool is_known = std::find(tails.begin(), tails.end(), triple.tail) != tails.end();
    if (tails.empty() || (label_own && !is_known)) tails.push_back(triple.tail);
    options.loss = LabelLoss(loss_);
    options.group_queries = false;
    const SmoothedLabels labels =
        SmoothLabels(options, static_cast<int64_t>(scores.size()), static_cast<int64_t>(tails.size()));
    double labeled = 0, sum = 0;  // sum of label times score; sum over entities of softplus
    for (const double score : scores) labeled += labels.base * score;
    for (const int32_t tail : tails) labeled += labels.extra * scores[tail];
    if (IsSoftmaxLoss(options.loss)) return LogSumExp(scores) - labeled;
    for (const double score : scores) sum += Softplus(score);
    return (sum - labeled) / static_cast<double>(scores.size());
  }

  const KgeData data_;
  KnownTails known_;
  std::vector<Triple> tests_;
  bool label_test_tails_ = false;
  KgeInfluenceOptions question_;  // quantity, loss and rival of the tests
  KgeInfluenceLoss loss_ = KgeInfluenceLoss::kTriple;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JudgedRun>> OpenJudgedGraph(const std::string& model,
                                                           const std::vector<std::string>& train,
                                                           const std::vector<std::string>& test) {
  ASSIGN_OR_RETURN(std::optional<TrainedKge> trained, ReadKgeModel(model));
  RETURN_IF_ERROR(CheckInfluenceModel(trained->shape.options.model));
  ASSIGN_OR_RETURN(KgeData data, ReadKgeData(train, test, trained, model));
  if (data.triples_sha256.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(train[0], ": text: give the triples.safetensors of the run, whose order and inverses count here"));
  }
  const auto known_false = std::count(data.is_false.begin(), data.is_false.end(), 1);
  if (known_false > 0) {
    PrintMessage(absl::StrCat(known_false,
                              " triples of --train that are known to be false stay in every subset: their ",
                              "scores do not count"));
  }
  return std::unique_ptr<JudgedRun>(std::make_unique<JudgedGraph>(std::move(data)));
}

}  // namespace rutile

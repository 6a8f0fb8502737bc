#include "tools/tracin/graphs/kge_domain.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/neighborhood.h"
#include "lib/graph/triples_file.h"
#include "lib/influence/files/subsets_file.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_products.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_options_text.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/task/precision.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/graphs/kge_curvature.h"
#include "tools/tracin/graphs/kge_data.h"
#include "tools/tracin/graphs/kge_models.h"
#include "tools/tracin/graphs/kge_question.h"
#include "tools/tracin/graphs/kge_weights.h"
#include "tools/tracin/inverse_sums.h"
#include "tools/tracin/projection_flags.h"

DEFINE_bool(sum_inverse, false,
            "Triples: the score of a training triple is that of (head, relation, tail) and of (tail, inverse relation, "
            "head) together, as for a fact that is left out as a whole.");
DEFINE_int32(hops, -1,
             "Triples: only training triples of which at most so many others separate head and tail from those of the "
             "test. -1: all.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

// Positions of parameters in the models, in the order of a forward pass.
struct Place {
  const char* prefix;
  const char* block;
  int depth;
};
constexpr Place kPlaces[] = {{"entity.weight", "entity", -1},
                             {"entity.bias", "scoring", 5},
                             {"relation.", "relation", -1},
                             {"bn0.", "norms", 0},
                             {"conv.", "conv", 1},
                             {"bn1.", "norms", 2},
                             {"fc.", "fc", 3},
                             {"bn2.", "norms", 4}};

// With fewer weights, waking threads takes longer than they save (as in train).
constexpr int64_t kWeightsWorthThreads = 500000;

// Approximate memory for the products of a checkpoint beside its parameters, and for losses over all entities.
constexpr int64_t kWorkspaceBytes = int64_t{32} << 20, kErrorBytes = int64_t{96} << 20;

class KgeDomain : public InfluenceDomain {
 public:
  KgeDomain(const TracinFlags& flags, const CheckpointSet* checkpoint_set, KgeData data, const KgeShape& shape,
            KgeReference reference)
      : flags_(flags), checkpoint_set_(checkpoint_set), data_(std::move(data)), shape_(shape), reference_(reference) {}

  absl::Status Start() {
    ASSIGN_OR_RETURN(options_, KgeQuestionFromFlags(flags_, shape_.options, data_.graph));
    RETURN_IF_ERROR(SumInverseFromFlags());
    ASSIGN_OR_RETURN(curvature_,
                     KgeCurvatureChoice::Create(flags_, *checkpoint_set_, shape_, options_.loss, data_.graph));
    ASSIGN_OR_RETURN(options_.projection, ProjectionFromFlags(flags_));
    if (flags_.aggregate) {
      RETURN_IF_ERROR(
          RefuseFlags("with --aggregate of triples: the sum's gradient has no factors to project", {"projection_dim"}));
    }
    RETURN_IF_ERROR(SetRounding());
    const int64_t weights = shape_.dim() * (shape_.has_features() ? shape_.num_features() : 1) +
                            (IsOverEntities(options_.loss) ? shape_.dim() * shape_.num_entities : 0);
    const int threads = FlagGiven("threads") || weights >= kWeightsWorthThreads ? ThreadsFromFlags() : 1;
    pool_.emplace(threads);
    weights_ = LossWeights(data_, shape_.options.negative_weight);
    is_false_ = data_.is_false;
    RETURN_IF_ERROR(CheckUnweighted());
    if (sums_inverses()) {
      const std::vector<double> of_inverses = weights_;
      weights_.insert(weights_.end(), of_inverses.begin(), of_inverses.end());
      is_false_.insert(is_false_.end(), data_.is_false.begin(), data_.is_false.end());
    }
    if (NeedsKnown() || flags_.gauss_newton) RETURN_IF_ERROR(CheckLabels());
    if (NeedsKnown()) {
      known_ = KnownTails::Build({absl::MakeConstSpan(data_.graph.train)}, data_.graph.num_relations(),
                                 data_.graph.inverse_relations);
    }
    if (NeedsKnownTails(options_.loss)) {
      known_weights_ = KnownWeights(data_, known_);
      if (flags_.has_tests() && options_.quantity == KgeQuantity::kLoss) SayWhichTailsAreUnknown();
    }
    return CheckKgeInfluenceOptions(options_, precision_);
  }
  void set_precision(DType precision) { precision_ = precision; }

  int64_t num_train() const override { return static_cast<int64_t>(data_.train.size()); }
  int64_t num_tests() const override { return static_cast<int64_t>(data_.tests.size()); }

  std::vector<int64_t> TrainExamples() const override {
    std::vector<int64_t> examples(data_.train.size());
    for (size_t i = 0; i < examples.size(); ++i) examples[i] = static_cast<int64_t>(i);
    return examples;
  }

  std::vector<int64_t> StreamOrder(std::vector<int64_t> train) const override {
    std::vector<Triple> triples;
    for (const int64_t i : train) triples.push_back(data_.train[i]);
    std::vector<int64_t> ordered;
    for (const int64_t place : PreferredOrder(triples)) ordered.push_back(train[place]);
    return ordered;
  }

  absl::StatusOr<std::vector<int64_t>> Strata(const std::string& property,
                                              absl::Span<const int64_t> train) const override {
    std::vector<int64_t> strata;
    for (const int64_t i : train) {
      const Triple& triple = data_.train[i];
      if (property == "relation") {
        strata.push_back(triple.relation);
      } else if (property == "head") {
        strata.push_back(triple.head);
      } else if (property == "tail") {
        strata.push_back(triple.tail);
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat("--stratify_by=", property, ": expected relation, head or tail with triples"));
      }
    }
    return strata;
  }

  std::function<bool(int64_t, int64_t)> Near(absl::Span<const int64_t> tests,
                                             std::vector<int64_t>* train) const override {
    if (FLAGS_hops < 0) return nullptr;
    const EntityNeighbors neighbors(data_.graph);
    auto near = std::make_shared<absl::flat_hash_map<int64_t, std::vector<bool>>>();
    for (const int64_t test : tests) {
      const Triple& triple = data_.tests[test];
      near->emplace(test, neighbors.Within({triple.head, triple.tail}, FLAGS_hops));
    }
    const auto is_near = [this, near](int64_t test, int64_t example) {
      const std::vector<bool>& entities = near->at(test);
      const Triple& triple = data_.train[example];
      return entities[triple.head] && entities[triple.tail];
    };
    train->erase(std::remove_if(train->begin(), train->end(),
                                [&](int64_t example) {
                                  return std::none_of(tests.begin(), tests.end(),
                                                      [&](int64_t test) { return is_near(test, example); });
                                }),
                 train->end());
    return is_near;
  }

  std::vector<ParameterSlice> slices() const override { return shape_.Slices(); }

  ParameterPlace Place(const ParameterSlice& slice) const override {
    for (const rutile::Place& place : kPlaces) {
      if (slice.name.rfind(place.prefix, 0) != 0) continue;
      return {place.block, slice.name.substr(0, slice.name.rfind('.')), shape_.is_conve() ? place.depth : -1};
    }
    return {"other", slice.name, -1};
  }

  absl::StatusOr<std::unique_ptr<GradientProducts>> Products(size_t index) const override {
    WeightedCheckpoint at;
    if (checkpoint_set_->are_models()) {
      ASSIGN_OR_RETURN(const TrainedKge model, ReadKgeModel(checkpoint_set_->paths[index]));
      at.parameters = ConvertTensor(model.parameters, precision_);
    } else {
      ASSIGN_OR_RETURN(at, ReadWeightedCheckpoint(*checkpoint_set_, index, shape_.Slices(), precision_, flags_.adam));
    }
    KgeInfluenceOptions options = options_;
    options.curvature = curvature_.At(index);
    ASSIGN_OR_RETURN(std::unique_ptr<GradientProducts> products,
                     MakeKgeProducts(shape_, at,
                                     {sums_inverses() ? both_ : data_.train, data_.tests,
                                      NeedsKnown() ? &known_ : nullptr, weights_, is_false_, known_weights_},
                                     options, &*pool_, reference_));
    return sums_inverses() ? SumInverses(std::move(products)) : std::move(products);
  }

  int64_t bytes_per_point() const override {
    int64_t numbers = 0;
    for (const ParameterSlice& slice : slices()) numbers += slice.num_elements();
    return numbers * (flags_.adam || checkpoint_set_->has_group_rates ? 2 : 1) * (precision_ == DType::kF64 ? 8 : 4) +
           curvature_.bytes() + kWorkspaceBytes +
           (IsOverEntities(options_.loss) || IsOverEntities(options_.loss, options_.quantity) ? kErrorBytes : 0);
  }

  double tolerance() const override { return options_.bf16 ? 3e-2 : precision_ == DType::kF64 ? 1e-10 : 2e-4; }

  void Describe(InfluenceDescription* description) const override {
    description->model = std::string(kKgeModelNames.Name(shape_.options.model));
    description->train_quantity = absl::StrCat("loss ", kKgeInfluenceLossNames.Name(options_.loss));
    description->test_quantity = KgeQuantityText(options_, data_.graph);
    description->train_sha256 = TrainSha256({});
    description->test_sha256 = TestSha256();
    auto& settings = description->settings;
    settings["precision"] =
        std::string(kPrecisionNames.Name(options_.bf16 ? Precision::kBf16 : PrecisionOf(precision_)));
    if (options_.projection.kind != ProjectionKind::kNone) {
      settings["projection"] = absl::StrCat(ProjectionKindName(options_.projection.kind), " ", options_.projection.dim,
                                            " seed ", options_.projection.seed);
    }
    curvature_.Describe(&settings);
    if (options_.by_triple) settings["by_triple"] = "true";
    if (sums_inverses()) settings["sum_inverse"] = "true";
    if (options_.penalized) {
      settings["regularizer"] =
          absl::StrCat(kKgeRegularizerNames.Name(shape_.options.regularizer), " ", shape_.options.regularization);
    }
    if (FLAGS_hops >= 0) settings["hops"] = absl::StrCat(FLAGS_hops);
    if (options_.label_test_tails) settings["label_test_tails"] = "true";
    if (IsOverEntities(options_.loss)) {
      settings["label_smoothing"] = absl::StrCat(shape_.options.label_smoothing);
    }
  }

  std::string TrainSha256(absl::Span<const int64_t> /*train*/) const override { return TrainExamplesSha256(data_); }
  std::string TestSha256() const override { return TripleExamplesSha256(data_.graph, data_.tests); }

  std::vector<std::string> train_columns() const override { return data_.TrainColumns(); }
  std::vector<std::string> test_columns() const override { return data_.Columns(); }
  std::vector<std::string> TrainCells(int64_t train) const override { return data_.TrainCells(train); }
  std::vector<std::string> TestCells(int64_t test) const override { return data_.Cells(data_.tests[test]); }
  int SignOfHelp() const override { return options_.quantity == KgeQuantity::kLoss ? 1 : -1; }
  bool TrainTriple(int64_t train, NamedTriple* triple) const override {
    *triple = data_.Named(data_.train[train]);
    return true;
  }
  bool TestTriple(int64_t test, NamedTriple* triple) const override {
    *triple = data_.Named(data_.tests[test]);
    return true;
  }

 private:
  bool sums_inverses() const { return !both_.empty(); }

  // Curvature and gradients by triple count triples, and not weights.
  absl::Status CheckUnweighted() const {
    if (weights_.empty() && data_.is_false.empty()) return absl::OkStatus();
    if (!data_.is_false.empty()) {
      RETURN_IF_ERROR(
          RefuseFlags("with known-false triples, which these forms do not mark", {"csv_output", "json_output"}));
    }
    const char* option = flags_.gauss_newton  ? "--precondition=gauss-newton"
                         : options_.by_triple ? "--by_triple"
                                              : nullptr;
    if (option == nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(option, " counts each triple once, but the training triples have ",
                     data_.is_false.empty() ? "weights other than 1" : "known-false ones among them",
                     ": leave it out, or give triples without"));
  }
  bool NeedsKnown() const { return NeedsKnownTails(options_.loss) || options_.quantity == KgeQuantity::kMargin; }

  absl::Status SumInverseFromFlags() {
    if (!FLAGS_sum_inverse) return absl::OkStatus();
    RETURN_IF_ERROR(RefuseFlags("with --sum_inverse, which has both examples of a triple in one score",
                                {"inverse_examples", "normalize", "verify", "self"}));
    if (flags_.mode == TracinMode::kSelf) {
      return absl::InvalidArgumentError("--sum_inverse has no effect with --mode=self: leave it out");
    }
    if (!data_.graph.inverse_relations) {
      return absl::InvalidArgumentError("--sum_inverse: the model has no inverse relations, and learned tails alone");
    }
    both_ = data_.train;
    const auto relations = static_cast<int32_t>(data_.graph.num_relations());
    for (const Triple& triple : data_.train) both_.push_back({triple.tail, triple.relation + relations, triple.head});
    return absl::OkStatus();
  }

  absl::Status SetRounding() {
    options_.bf16 = flags_.precision == Precision::kBf16;
    if (!options_.bf16 || HasRoundedProducts(shape_.options.model, options_.loss)) return absl::OkStatus();
    const std::string why = absl::StrCat("gradients of ", kKgeModelNames.Name(shape_.options.model), " with the loss ",
                                         kKgeInfluenceLossNames.Name(options_.loss),
                                         " are a few embedding rows, whose products are not rounded");
    if (!FlagGiven("use_mixed_precision")) {
      return absl::InvalidArgumentError(absl::StrCat("--precision=bf16 has no effect: ", why, ": leave it out"));
    }
    options_.bf16 = false;  // the flag requests bf16 only where it is available
    PrintMessage(absl::StrCat("--use_mixed_precision: ", why, ": fp32 is used"));
    return absl::OkStatus();
  }

  // The tails that a loss over keys or a margin takes for true are those of the run's training triples, and so is what
  // a curvature is of: of a part of them, true tails would count as false, and scores be too large.
  absl::Status CheckLabels() const {
    if (!data_.triples_sha256.empty()) return absl::OkStatus();  // CheckSameTriples has compared them
    const std::string loss(kKgeInfluenceLossNames.Name(options_.loss));
    const std::string who = NeedsKnownTails(options_.loss) ? absl::StrCat("the loss ", loss)
                            : NeedsKnown()                 ? "a margin"
                                                           : "--precondition=gauss-newton";
    if (data_.learned_sha256.empty()) {
      PrintWarning(absl::StrCat(who, " takes the triples in ", flags_.train[0],
                                " for all that the run learned from: give the triples.safetensors of the run if it is "
                                "only a part"));
      return absl::OkStatus();
    }
    if (TripleSetSha256(data_.graph, data_.graph.train) == data_.learned_sha256) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(flags_.train[0], ": not the triples that the model learned from, which ", who,
                     " counts on: give the triples.safetensors of the run",
                     flags_.gauss_newton ? "" : ", or a loss of single tails such as --loss=triple"));
  }

  // The tests that are asked, of all that the files hold.
  std::vector<int64_t> AskedTests() const {
    if (!flags_.test_indices.empty()) return flags_.test_indices;
    std::vector<int64_t> asked(flags_.max_tests == 0 ? num_tests() : std::min(num_tests(), flags_.max_tests));
    std::iota(asked.begin(), asked.end(), int64_t{0});
    return asked;
  }

  // Says of how many tests the labels are a choice: training knows tails of the same head and relation, but not theirs.
  void SayWhichTailsAreUnknown() const {
    const std::vector<int64_t> asked = AskedTests();
    int64_t count = 0;
    for (const int64_t index : asked) {
      if (index >= num_tests()) continue;
      const Triple& test = data_.tests[index];
      const absl::Span<const int32_t> tails = known_.Tails(test.head, test.relation);
      if (!tails.empty() && !std::binary_search(tails.begin(), tails.end(), test.tail)) ++count;
    }
    if (count == 0) return;
    PrintMessage(absl::StrCat(
        "the loss ", kKgeInfluenceLossNames.Name(options_.loss), " takes the tails of ", count, " of ", asked.size(),
        options_.label_test_tails
            ? " tests for true, which training does not know; --label_test_tails=false makes them false, as in training"
            : " tests for false: training has others of the same head and relation"));
  }

  const TracinFlags& flags_;
  const CheckpointSet* const checkpoint_set_;
  const KgeData data_;
  const KgeShape shape_;
  const KgeReference reference_;
  DType precision_ = DType::kF32;
  KgeInfluenceOptions options_;
  KgeCurvatureChoice curvature_;
  std::vector<Triple> both_;  // with --sum_inverse: triples and their inverses
  KnownTails known_;
  std::vector<double> weights_, known_weights_;  // of the examples, and of the known tails; empty: all 1
  std::vector<uint8_t> is_false_;                // of the examples, as in data_
  mutable std::optional<ThreadPool> pool_;
};

// Returns the shape of the checkpoints' model, with the names of this graph.
absl::StatusOr<KgeShape> ShapeOf(const CheckpointSet& checkpoint_set, const std::optional<TrainedKge>& model,
                                 const KnowledgeGraph& graph) {
  if (checkpoint_set.are_models()) return model->shape;
  KgeShape shape;
  const absl::StatusOr<KgeOptions> options = ParseKgeOptions(checkpoint_set.checkpoints[0].task);
  if (!options.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(checkpoint_set.paths[0], ": config: ", options.status().message()));
  }
  shape.options = *options;
  shape.num_entities = graph.num_entities();
  shape.num_relations = graph.num_query_relations();
  for (const CheckpointSummary& checkpoint : checkpoint_set.checkpoints) {
    const absl::Status status = CheckSameParameters(checkpoint, shape.Slices());
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(status.message(), ", with the ", graph.num_entities(),
                                                     " entities and ", graph.num_relations(), " relations of --train"));
    }
  }
  return shape;
}

absl::Status CheckModels(const CheckpointSet& checkpoint_set, const KgeShape& shape, const KnowledgeGraph& graph) {
  for (const std::string& path : checkpoint_set.paths) {
    ASSIGN_OR_RETURN(const TrainedKge model, ReadKgeModel(path));
    const std::map<std::string, std::string> here = DescribeKgeOptions(model.shape.options);
    for (const auto& [key, value] : DescribeKgeOptions(shape.options)) {
      const auto found = here.find(key);
      if (found != here.end() && found->second == value) continue;
      return absl::InvalidArgumentError(absl::StrCat(path, ": of another model than ", checkpoint_set.paths[0], ": ",
                                                     key, " is ", found == here.end() ? "not there" : found->second,
                                                     ", there it is ", value));
    }
    if (const absl::Status status = CheckSameVocabulary(model, graph); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

// Triples that a subset left out would be listed as if they had been learned. (Of structures train_frames.txt says
// which counted.)
absl::Status RefuseSubset(const CheckpointSet& checkpoint_set, const std::optional<TrainedKge>& model) {
  std::string subset;
  if (checkpoint_set.are_models()) {
    const auto found = model->metadata.find(kSubsetKey);
    if (found != model->metadata.end()) subset = found->second;
  } else {
    const auto& config = checkpoint_set.checkpoints[0].task;
    const auto found = config.find("subset");
    if (found != config.end()) subset = found->second;
  }
  if (subset.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(checkpoint_set.paths[0], ": learned from subset ", subset,
                   " alone (train --subset), and --train holds the others, too: compute influence for the run on all"));
}

absl::Status CheckSameTriples(const TracinFlags& flags, const CheckpointSet& checkpoint_set, const KgeData& data) {
  const bool is_text = data.triples_sha256.empty();
  if (checkpoint_set.are_models()) {
    if (is_text || data.learned_sha256.empty() ||
        TripleSetSha256(data.graph, data.graph.train) == data.learned_sha256) {
      return absl::OkStatus();
    }
    return WarnOrRefuse(flags, absl::StrCat(flags.train[0], ": these are not the training triples that ",
                                            checkpoint_set.paths[0], " learned from"));
  }
  if (is_text) {  // from text: training triples alone
    if (!flags.strict) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(flags.train[0], ": --strict compares triples with those that ", checkpoint_set.paths[0],
                     " was trained on, which text does not allow: give the triples.safetensors of the run"));
  }
  const auto& config = checkpoint_set.checkpoints[0].task;
  const auto found = config.find("triples_sha256");
  if (found == config.end() || found->second == data.triples_sha256) return absl::OkStatus();
  return WarnOrRefuse(flags, absl::StrCat(flags.train[0], ": these are not the triples that ", checkpoint_set.paths[0],
                                          " was trained on: they have changed since"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<InfluenceDomain>> MakeKgeDomain(const TracinFlags& flags,
                                                               const CheckpointSet* checkpoint_set,
                                                               KgeReference reference) {
  if (flags.ek_fac) {
    return absl::InvalidArgumentError(
        "--precondition=ek-fac: is for structures; of triples, --precondition=gauss-newton has the curvature in blocks "
        "already (a row of a table, a tensor, a Kronecker product)");
  }
  if (!flags.has_tests()) {
    RETURN_IF_ERROR(RefuseFlags(flags.mode == TracinMode::kSelf ? "with --self" : "with --merge",
                                {"hops", "test_quantity", "label_test_tails"}));
  }
  if (flags.mode == TracinMode::kSelf) {
    RETURN_IF_ERROR(RefuseFlags("with --self", {"test_split", "test_direction"}));
    RETURN_IF_ERROR(RefuseFlags("with --self of triples, whose squares are exact and as fast", {"projection_dim"}));
  }
  if (checkpoint_set == nullptr) RETURN_IF_ERROR(RefuseKgeQuestion("with --merge"));
  if (FLAGS_hops < -1) {
    return absl::InvalidArgumentError(absl::StrCat("--hops=", FLAGS_hops, ": expected 0 or more, or -1 for all"));
  }
  std::optional<TrainedKge> model;
  const std::string path = checkpoint_set != nullptr ? ModelPath(*checkpoint_set, flags) : flags.model;
  if (!path.empty()) {
    ASSIGN_OR_RETURN(model, ReadKgeModel(path));
  }
  ASSIGN_OR_RETURN(KgeData data, ReadKgeData(flags.train, flags.test, model, path));
  if (checkpoint_set == nullptr) {
    return std::unique_ptr<InfluenceDomain>(
        std::make_unique<KgeDomain>(flags, checkpoint_set, std::move(data), KgeShape(), reference));
  }
  ASSIGN_OR_RETURN(const KgeShape shape, ShapeOf(*checkpoint_set, model, data.graph));
  RETURN_IF_ERROR(CheckInfluenceModel(shape.options.model));
  if (checkpoint_set->are_models()) RETURN_IF_ERROR(CheckModels(*checkpoint_set, shape, data.graph));
  RETURN_IF_ERROR(CheckSameTriples(flags, *checkpoint_set, data));
  RETURN_IF_ERROR(CheckSameWeights(flags, *checkpoint_set, model, data));
  RETURN_IF_ERROR(RefuseSubset(*checkpoint_set, model));
  RETURN_IF_ERROR(CheckNoNewEntities(flags, *checkpoint_set));
  RETURN_IF_ERROR(CheckTrainedLossIsKnown(flags, *checkpoint_set));
  const DType own = checkpoint_set->are_models() ? model->parameters.dtype() : checkpoint_set->checkpoints[0].dtype;
  auto domain = std::make_unique<KgeDomain>(flags, checkpoint_set, std::move(data), shape, reference);
  domain->set_precision(flags.gauss_newton && flags.precision == Precision::kAuto ? DType::kF64
                                                                                  : CheckpointPrecision(flags, own));
  RETURN_IF_ERROR(domain->Start());
  return std::unique_ptr<InfluenceDomain>(std::move(domain));
}

}  // namespace rutile

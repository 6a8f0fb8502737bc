#include "lib/kge/influence/kge_products.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/kge/influence/direction_products.h"
#include "lib/kge/influence/gradient_factors.h"
#include "lib/kge/influence/kge_curvature.h"
#include "lib/kge/influence/kge_pair_products.h"
#include "lib/kge/influence/kge_part_plan.h"
#include "lib/kge/influence/kge_products_checks.h"
#include "lib/kge/influence/row_projection.h"
#include "lib/kge/layers/workspace.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Triples of a tile, and limits of the examples whose factors are in memory at once: at least kFewestExamples, whose
// maps and errors over entities take at most kMapBytes and kErrorBytes.
constexpr int64_t kTile = 1024;
constexpr int64_t kColumns = 16, kColumnNumbers = int64_t{1} << 21;  // gradients solved for together; their numbers
constexpr int64_t kFewestExamples = 8;
constexpr int64_t kMapBytes = 12 << 20, kErrorBytes = 32 << 20;
// With bf16, fc's weight is packed again for each such group, which takes as long as its product with 200 examples.
constexpr int64_t kRoundedMapBytes = 24 << 20;
// Likewise for gradients of rows of relations, which are matrices for RESCAL.
constexpr int64_t kRelationBytes = 32 << 20;

template <typename T>
class KgeProducts final : public GradientProducts {
 public:
  KgeProducts(const KgeShape& shape, const WeightedCheckpoint& point, const KgeInfluenceData& data,
              const KgeInfluenceOptions& options, ThreadPool* pool, KgeReference reference)
      : shape_(shape),
        slices_(shape.Slices()),
        parameters_(point.parameters),
        metric_memory_(point.preconditioner),
        metric_(point.preconditioner.num_elements() == 0 ? nullptr : point.preconditioner.values<T>().data()),
        loss_scale_(point.loss_weight.empty() ? 1 : point.loss_weight[0]),
        data_(data),
        options_(options),
        pool_(pool),
        reference_(reference),
        of_tests_{options.quantity, options.rival, false},
        of_train_{KgeQuantity::kLoss, -1, options.by_triple, options.penalized},
        factorizer_(shape, point.parameters.values<T>().data(), options, loss_scale_, pool) {
    ProductPart all;
    all.name = "all";
    for (size_t s = 0; s < slices_.size(); ++s) {
      if (!slices_[s].buffer) all.slices.push_back(static_cast<int>(s));
    }
    parts_ = {all};
    SetPlan();
    if (options.projection.kind == ProjectionKind::kNone) return;
    const int64_t dim = options.projection.dim;
    if (shape.has_features() && dim < shape.num_features()) {
      map_projection_.emplace(options.projection, shape.num_features(), "projection of maps");
    }
    if (OverEntities() && dim < shape.num_entities) {
      error_projection_.emplace(options.projection, shape.num_entities, "projection of errors");
    }
  }

  int64_t num_train() const override { return static_cast<int64_t>(data_.train.size()); }
  int64_t num_tests() const override { return static_cast<int64_t>(data_.tests.size()); }
  const std::vector<ParameterSlice>& slices() const override { return slices_; }
  void SetParts(const std::vector<ProductPart>& parts) override { parts_ = parts; }
  int64_t tile_size() const override { return kTile; }
  int64_t num_set_tests() const override { return num_set_tests_; }
  std::vector<double> TestNorms() override { return test_norms_; }
  std::string Notes() const override { return curvature_ == nullptr ? "" : curvature_->Describe(); }

  int64_t bytes_per_test() const override {
    const int64_t maps = shape_.has_features() ? shape_.num_features() : 0;
    const int64_t features = map_projection_.has_value() ? map_projection_->width() : maps;
    const int64_t errors = OverEntities() ? shape_.num_entities : 1;
    const int64_t numbers =
        AsDirections() ? parameters_.num_elements()
                       : features + 4 * shape_.dim() + shape_.relation_dim() + SmallColumns(shape_).size + errors;
    return numbers * static_cast<int64_t>(sizeof(T));
  }

  absl::Status SetTests(absl::Span<const int64_t> tests) override {
    SetPlan();
    RETURN_IF_ERROR(MakeCurvature());
    num_set_tests_ = static_cast<int64_t>(tests.size());
    test_norms_.assign(plan_->num_parts * num_set_tests_, 0);
    if (!AsDirections()) {
      factorizer_.Factorize(TestInput(tests), *plan_, of_tests_, /*maps=*/true, &tests_);
      directions_->Squares(tests_, nullptr, num_set_tests_, test_norms_.data());
      Shorten(&tests_);
      if (SkipsMaps()) {
        const bool needed = plan_->fc_weight >= 0 && tests_.maps != nullptr;
        factorizer_.SetTestMaps(tests_.maps, needed ? tests_.keys : 0);
      }
      pairs_->SetTests(&tests_);
      return absl::OkStatus();
    }
    test_directions_.assign(num_set_tests_, Tensor());
    for (int64_t j = 0; j < num_set_tests_; ++j) {
      factorizer_.Factorize(TestInput(tests.subspan(j, 1)), *plan_, of_tests_, /*maps=*/true, &tests_);
      test_directions_[j] = Tensor::Zeros(DTypeOf<T>(), {parameters_.num_elements()});
      const absl::Span<T> direction = test_directions_[j].template mutable_values<T>();
      directions_->AddGradients(tests_, {1.0}, direction.data());
      ApplyMetric(direction, num_set_tests_, test_norms_.data() + j);
    }
    return absl::OkStatus();
  }

  absl::Status SetWeightedTests(absl::Span<const double> weights) override {
    CHECK_EQ(static_cast<int64_t>(weights.size()), num_tests());
    SetPlan();
    RETURN_IF_ERROR(MakeCurvature());
    num_set_tests_ = 1;
    test_directions_ = {Tensor::Zeros(DTypeOf<T>(), {parameters_.num_elements()})};
    const absl::Span<T> direction = test_directions_[0].template mutable_values<T>();
    std::vector<int64_t> tests;
    std::vector<double> some;
    for (int64_t j = 0; j < num_tests(); ++j) {
      if (weights[j] != 0) tests.push_back(j);
    }
    const size_t most = static_cast<size_t>(MaxExamples(/*maps=*/true));
    for (size_t first = 0; first < tests.size(); first += most) {
      const absl::Span<const int64_t> chunk = absl::MakeConstSpan(tests).subspan(first, most);
      factorizer_.Factorize(TestInput(chunk), *plan_, of_tests_, /*maps=*/true, &tests_);
      some.clear();
      for (const int64_t j : chunk) some.push_back(weights[j]);
      directions_->AddGradients(tests_, some, direction.data());
    }
    test_norms_.assign(plan_->num_parts, 0);
    ApplyMetric(direction, 1, test_norms_.data());
    return absl::OkStatus();
  }

  absl::Status Products(absl::Span<const int64_t> train, bool squares, ProductTile* tile) override {
    RETURN_IF_ERROR(MakeCurvature());
    const int64_t size = static_cast<int64_t>(train.size());
    tile->product.resize(plan_->num_parts * size * num_set_tests_);
    tile->train_square.resize(squares ? plan_->num_parts * size : 0);
    // What is compared is contiguous: whether the triple is false, it, and its place in `train`.
    std::vector<std::tuple<bool, Triple, int64_t>> sorted;
    sorted.reserve(train.size());
    for (const int64_t i : train) {
      CHECK(i >= 0 && i < num_train()) << i;
      sorted.emplace_back(IsFalse(i), data_.train[i], static_cast<int64_t>(sorted.size()));
    }
    std::sort(sorted.begin(), sorted.end());
    std::vector<int64_t> order;
    for (const auto& [is_false, triple, place] : sorted) order.push_back(place);
    const int64_t most = MaxExamples(/*maps=*/!SkipsMaps());
    int64_t begin = 0;
    std::vector<int64_t> place;  // index of each triple's example in the chunk
    while (begin < size) {
      KgeFactorInput input;
      place.clear();
      int64_t end = begin;
      for (; end < size; ++end) {
        const int64_t example = train[std::get<2>(sorted[end])];
        if (input.triples.empty() || !SameExample(input, example)) {
          if (static_cast<int64_t>(input.triples.size()) == most) break;
          AddTraining(example, &input);
        }
        place.push_back(static_cast<int64_t>(input.triples.size()) - 1);
      }
      MultiplyChunk(input, squares);
      Scatter(absl::MakeConstSpan(order).subspan(begin, end - begin), place, size,
              static_cast<int64_t>(input.triples.size()), squares, tile);
      begin = end;
    }
    return absl::OkStatus();
  }

  absl::Status ReferenceTrainGradient(int64_t train, absl::Span<double> gradient) override {
    CHECK(train >= 0 && train < num_train()) << train;
    KgeFactorInput input;
    AddTraining(train, &input);
    RETURN_IF_ERROR(Reference(input, KgeQuantity::kLoss, gradient, options_.penalized));
    const auto tail = std::find(input.positive.begin(), input.positive.end(), input.triples[0].tail);
    if (!options_.by_triple || input.positive.size() < 2 || tail == input.positive.end()) return absl::OkStatus();
    input.positive.erase(tail);
    std::vector<double> without(gradient.size());
    RETURN_IF_ERROR(Reference(input, KgeQuantity::kLoss, absl::MakeSpan(without)));
    for (size_t p = 0; p < gradient.size(); ++p) gradient[p] -= without[p];
    return absl::OkStatus();
  }

  absl::Status ReferenceTestGradient(int64_t test, absl::Span<double> gradient) override {
    CHECK(test >= 0 && test < num_tests()) << test;
    return Reference(TestInput({test}), options_.quantity, gradient);
  }

 private:
  bool OverEntities() const { return IsOverEntities(options_.loss, options_.quantity); }

  // True if tests are directions of P numbers, because what multiplies them does not factor, or because errors over
  // entities meet those of single tails.
  bool AsDirections() const {
    return metric_ != nullptr || options_.curvature.has_value() || (OverEntities() && !IsOverEntities(options_.loss));
  }

  absl::Status MakeCurvature() {
    if (!options_.curvature.has_value() || curvature_ != nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(curvature_, KgeCurvature::Make(shape_, parameters_.values<T>().data(), options_, pool_));
    return absl::OkStatus();
  }

  // True if training examples need nothing of their maps but squares and products.
  bool SkipsMaps() const {
    return factorizer_.CanSkipMaps() && test_directions_.empty() && !map_projection_.has_value() && !AsDirections();
  }

  int64_t MaxExamples(bool maps) const {
    const int64_t size = static_cast<int64_t>(sizeof(T));
    int64_t examples = kTile;
    const int64_t map_bytes = options_.bf16 ? kRoundedMapBytes : kMapBytes;
    if (shape_.has_features() && maps) examples = std::min(examples, map_bytes / (shape_.num_features() * size));
    if (OverEntities() || IsOverEntities(options_.loss))
      examples = std::min(examples, kErrorBytes / (shape_.num_entities * size));
    if (shape_.relation_dim() > shape_.dim()) {
      examples = std::min(examples, kRelationBytes / (shape_.relation_dim() * size));
    }
    return std::max(examples, kFewestExamples);
  }

  void SetPlan() {
    plan_.emplace(shape_, parts_);
    directions_.emplace(shape_, *plan_, pool_);
    pairs_.emplace(shape_, *plan_, options_.bf16, pool_);
    test_directions_.clear();
    num_set_tests_ = 0;
    test_norms_.clear();
  }

  bool IsFalse(int64_t train) const { return !data_.is_false.empty() && data_.is_false[train] != 0; }

  // True if a training example has the same gradient as the last of the input.
  bool SameExample(const KgeFactorInput& input, int64_t train) const {
    const Triple &a = input.triples.back(), &b = data_.train[train];
    if (a.head != b.head || a.relation != b.relation) return false;
    const bool is_false = !input.is_false.empty() && input.is_false.back() != 0;
    if (is_false != IsFalse(train)) return false;
    return a.tail == b.tail || (!is_false && !options_.by_triple && NeedsKnownTails(options_.loss) &&
                                data_.known->Find(a.head, a.relation) >= 0);
  }

  // Adds a triple to the input, with its true tails if the loss has labels.
  void AddExample(const Triple& triple, bool own_tail, KgeFactorInput* input) const {
    input->triples.push_back(triple);
    if (!IsOverEntities(options_.loss)) return;
    absl::Span<const int32_t> known;
    if (NeedsKnownTails(options_.loss)) known = data_.known->Tails(triple.head, triple.relation);
    if (known.empty()) own_tail = true;
    own_tail = own_tail && !std::binary_search(known.begin(), known.end(), triple.tail);
    const auto middle = std::lower_bound(known.begin(), known.end(), triple.tail);
    input->positive.insert(input->positive.end(), known.begin(), middle);
    if (own_tail) input->positive.push_back(triple.tail);
    input->positive.insert(input->positive.end(), middle, known.end());
    input->positive_offset.push_back(static_cast<int64_t>(input->positive.size()));
  }

  // Adds a training triple with its weights.
  void AddTraining(int64_t train, KgeFactorInput* input) const {
    const Triple& triple = data_.train[train];
    if (!data_.is_false.empty()) input->is_false.push_back(IsFalse(train) ? 1 : 0);
    const size_t begin = input->positive.size();
    const bool single = IsFalse(train) || !NeedsKnownTails(options_.loss);
    if (IsFalse(train) && IsOverEntities(options_.loss)) {
      input->triples.push_back(triple);
      input->positive.push_back(triple.tail);
      input->positive_offset.push_back(static_cast<int64_t>(input->positive.size()));
    } else {
      AddExample(triple, /*own_tail=*/false, input);
    }
    if (data_.weights.empty() && data_.known_weights.empty()) return;
    const double own = data_.weights.empty() ? 1 : data_.weights[train];
    input->weight.push_back(own);
    const int64_t key = single ? -1 : data_.known->Find(triple.head, triple.relation);
    for (size_t k = begin; k < input->positive.size(); ++k) {
      const bool of_known = key >= 0 && !data_.known_weights.empty();
      input->positive_weight.push_back(!of_known ? (single ? own : 1)
                                                 : data_.known_weights[data_.known->offsets()[key] + (k - begin)]);
    }
  }

  KgeFactorInput TestInput(absl::Span<const int64_t> tests) const {
    KgeFactorInput input;
    for (const int64_t j : tests) {
      CHECK(j >= 0 && j < num_tests()) << j;
      const Triple& test = data_.tests[j];
      if (options_.quantity == KgeQuantity::kMargin) {
        const absl::Span<const int32_t> known = data_.known->Tails(test.head, test.relation);
        input.triples.push_back(test);
        input.positive.insert(input.positive.end(), known.begin(), known.end());
        input.positive_offset.push_back(static_cast<int64_t>(input.positive.size()));
      } else {
        AddExample(test, options_.label_test_tails, &input);
      }
    }
    return input;
  }

  // Multiplies the columns of gradients [P, columns] by the metric or the inverse of the curvature.
  void Precondition(int64_t columns, std::vector<double>* gradients) const {
    if (curvature_ != nullptr) curvature_->Solve(gradients->data(), columns, pool_);
    for (size_t i = 0; metric_ != nullptr && i < gradients->size(); ++i) {
      (*gradients)[i] *= static_cast<double>(metric_[static_cast<int64_t>(i) / columns]);
    }
  }

  // Preconditions one gradient, and overwrites norms[part * stride] with its products with the result.
  void ApplyMetric(absl::Span<T> direction, int64_t stride, double* norms) const {
    std::vector<double> result(direction.begin(), direction.end());
    Precondition(1, &result);
    for (int part = 0; part < plan_->num_parts; ++part) {
      double& norm = norms[part * stride] = 0;
      for (const int s : parts_[part].slices) {
        const ParameterSlice& slice = slices_[s];
        for (int64_t i = slice.offset; i < slice.offset + slice.num_elements(); ++i) {
          norm += static_cast<double>(direction[i]) * result[i];
        }
      }
    }
    for (size_t i = 0; i < result.size(); ++i) direction[i] = static_cast<T>(result[i]);
  }

  // Computes squares_ of a chunk's gradients without weights, each multiplied by the inverse of the curvature.
  void CurvatureSquares(const KgeFactorInput& input) {
    const int64_t n = parameters_.num_elements(), size = static_cast<int64_t>(input.triples.size());
    // A loss over entities has a gradient in each of their rows; others hardly share one.
    const int64_t most = OverEntities() ? std::clamp<int64_t>(kColumnNumbers / n, 1, kColumns) : 1;
    std::vector<T> direction(n);
    std::vector<double> gradients, solved;  // [n, columns]
    for (int64_t first = 0; first < size; first += most) {
      const int64_t columns = std::min(most, size - first);
      gradients.resize(n * columns);
      for (int64_t c = 0; c < columns; ++c) {
        factorizer_.Factorize(ExampleOf(input, first + c), *plan_, of_train_, /*maps=*/true, &train_);
        std::fill(direction.begin(), direction.end(), T(0));
        directions_->AddGradients(train_, {1.0}, direction.data());
        for (int64_t i = 0; i < n; ++i) gradients[i * columns + c] = static_cast<double>(direction[i]);
      }
      solved = gradients;
      Precondition(columns, &solved);
      for (int part = 0; part < plan_->num_parts; ++part) {
        double* const squares = squares_.data() + part * size + first;
        std::fill_n(squares, columns, 0.0);
        for (const int s : parts_[part].slices) {
          const int64_t end = (slices_[s].offset + slices_[s].num_elements()) * columns;
          for (int64_t i = slices_[s].offset * columns; i < end; i += columns) {
            for (int64_t c = 0; c < columns; ++c) squares[c] += gradients[i + c] * solved[i + c];
          }
        }
      }
    }
  }

  // Projects the long factors, if the options ask for it.
  void Shorten(GradientFactors<T>* factors) const {
    const ProfileScope scope(Stage::kProducts);
    if (map_projection_.has_value() && factors->maps != nullptr && plan_->fc_weight >= 0) {
      factors->short_map_width = map_projection_->width();
      T* const maps = Take<T>(&factors->short_map_memory, factors->keys * factors->short_map_width);
      map_projection_->Apply(factors->maps, factors->keys, pool_, maps);
      factors->short_maps = maps;
    }
    if (error_projection_.has_value() && factors->errors != nullptr) {
      factors->short_error_width = error_projection_->width();
      T* const errors = Take<T>(&factors->short_error_memory, factors->size * factors->short_error_width);
      error_projection_->Apply(factors->errors, factors->size, pool_, errors);
      factors->short_errors = errors;
    }
  }

  // Returns the nominal operations for one example: fc and convolution once forward and once backward to their inputs,
  // and the gradient of the convolution's weights.
  int64_t GradientFlop() const {
    if (shape_.is_tucker()) return shape_.num_features() * 4 * shape_.dim();
    const int64_t taps = shape_.options.kernel_height * shape_.options.kernel_width;
    return shape_.is_conve() ? shape_.num_features() * (4 * shape_.dim() + 6 * taps) : 0;
  }

  // Computes products_ [parts, examples, H] and, if asked for, squares_ [parts, examples].
  void MultiplyChunk(const KgeFactorInput& input, bool squares) {
    const int64_t size = static_cast<int64_t>(input.triples.size());
    {
      const ProfileScope scope(Stage::kGradients);
      scope.Add(Counter::kExamples, size);
      scope.Add(Counter::kFlop, size * GradientFlop());
      factorizer_.Factorize(input, *plan_, of_train_, /*maps=*/!SkipsMaps(), &train_);
    }
    if (num_set_tests_ > 0 && test_directions_.empty()) Shorten(&train_);
    const ProfileScope scope(Stage::kProducts);
    const int64_t depth = map_projection_.has_value() ? map_projection_->width()
                          : shape_.has_features()     ? shape_.num_features()
                                                      : shape_.dim();
    scope.Add(Counter::kFlop, 2 * size * num_set_tests_ * depth);
    T* const products = Take<T>(&products_, plan_->num_parts * size * std::max<int64_t>(num_set_tests_, 1));
    if (num_set_tests_ > 0 && test_directions_.empty()) pairs_->Multiply(train_, products);
    for (size_t j = 0; j < test_directions_.size(); ++j) {
      directions_->Multiply(train_, test_directions_[j].template values<T>().data(), size * num_set_tests_,
                            num_set_tests_, products + j);
    }
    if (!squares) return;
    squares_.resize(plan_->num_parts * size);
    if (curvature_ != nullptr) return CurvatureSquares(input);
    directions_->Squares(train_, metric_, size, squares_.data());
  }

  // Copies the chunk's products to the tile. order: the triples' places in the tile of `size`; place: index of their
  // example in the chunk.
  void Scatter(absl::Span<const int64_t> order, absl::Span<const int64_t> place, int64_t size, int64_t examples,
               bool squares, ProductTile* tile) {
    const T* const products = products_.values<T>().data();
    for (int64_t part = 0; part < plan_->num_parts; ++part) {
      for (size_t i = 0; i < order.size(); ++i) {
        const T* const from = products + (part * examples + place[i]) * num_set_tests_;
        std::copy_n(from, num_set_tests_, tile->product.data() + (part * size + order[i]) * num_set_tests_);
        if (squares) tile->train_square[part * size + order[i]] = squares_[part * examples + place[i]];
      }
    }
  }

  absl::Status Reference(const KgeFactorInput& input, KgeQuantity quantity, absl::Span<double> gradient,
                         bool penalized = false) const {
    if (reference_ == nullptr) return absl::UnimplementedError("products that were made without a reference");
    KgeReferenceExample example = {input.triples[0], input.positive, quantity, options_.rival};
    example.positive_weight = input.positive_weight;
    if (!input.weight.empty()) example.weight = input.weight[0];
    example.penalized = penalized;
    example.is_false = !input.is_false.empty() && input.is_false[0] != 0;
    reference_(shape_, parameters_, example, options_.loss, gradient);
    for (double& x : gradient) x *= quantity == KgeQuantity::kLoss ? loss_scale_ : 1;
    return absl::OkStatus();
  }

  const KgeShape shape_;
  const std::vector<ParameterSlice> slices_;
  const Tensor parameters_, metric_memory_;
  const T* const metric_;
  const double loss_scale_;
  const KgeInfluenceData data_;
  const KgeInfluenceOptions options_;
  ThreadPool* const pool_;
  const KgeReference reference_;
  const KgeTarget of_tests_, of_train_;
  std::vector<ProductPart> parts_;
  std::optional<KgePartPlan> plan_;
  GradientFactorizer<T> factorizer_;
  std::optional<RowProjection<T>> map_projection_, error_projection_;
  std::optional<DirectionProducts<T>> directions_;
  std::optional<KgePairProducts<T>> pairs_;
  int64_t num_set_tests_ = 0;
  std::vector<double> test_norms_;  // [parts, H]
  GradientFactors<T> tests_, train_;
  std::vector<Tensor> test_directions_;  // [H] directions of P numbers, with a preconditioner or weighted tests
  Tensor products_;
  std::vector<double> squares_;
  std::unique_ptr<KgeCurvature> curvature_;
};

}  // namespace

std::vector<int64_t> PreferredOrder(absl::Span<const Triple> train) {
  std::vector<std::tuple<int32_t, int32_t, int64_t>> keys;  // contiguous, since sorting compares them
  keys.reserve(train.size());
  for (const Triple& triple : train) {
    keys.emplace_back(triple.head, triple.relation, static_cast<int64_t>(keys.size()));
  }
  std::sort(keys.begin(), keys.end());
  std::vector<int64_t> order;
  order.reserve(keys.size());
  for (const auto& [head, relation, place] : keys) order.push_back(place);
  return order;
}

absl::StatusOr<std::unique_ptr<GradientProducts>> MakeKgeProducts(const KgeShape& shape,
                                                                  const WeightedCheckpoint& point,
                                                                  const KgeInfluenceData& data,
                                                                  const KgeInfluenceOptions& options, ThreadPool* pool,
                                                                  KgeReference reference) {
  RETURN_IF_ERROR(CheckKgeProducts(shape, point, data, options));
  const DType dtype = point.parameters.dtype();
  std::unique_ptr<GradientProducts> products;
  if (dtype == DType::kF64) {
    products = std::make_unique<KgeProducts<double>>(shape, point, data, options, pool, reference);
  } else {
    products = std::make_unique<KgeProducts<float>>(shape, point, data, options, pool, reference);
  }
  return products;
}

}  // namespace rutile

#include "lib/potential/influence/potential_products.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/machine/parallel_for.h"
#include "lib/network/kernels/row_products.h"
#include "lib/potential/influence/curvature/gauss_newton.h"
#include "lib/potential/influence/gradient_example.h"
#include "lib/potential/influence/gradient_projection.h"
#include "lib/potential/influence/gradient_rows.h"
#include "lib/potential/influence/output_rows.h"
#include "lib/potential/model/labels/learned_labels.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// The number of rows that a thread makes before it multiplies them: several row groups of the product, but at most a
// few MB, so that they are still in the cache.
constexpr int64_t kMinRows = 8, kMaxRows = 64, kRowBytes = int64_t{1} << 22;
// The number of such chunks of rows that a tile has for each thread.
constexpr int64_t kChunks = 4;
// The number of rows that SetWeightedTests makes at a time.
constexpr int64_t kSumRows = 32;

// Returns the columns of a part, with adjacent slices merged into one range.
std::vector<ColumnRange> RangesOf(const std::vector<ParameterSlice>& slices, const ProductPart& part) {
  std::vector<ColumnRange> ranges;
  for (const int slice : part.slices) {
    CHECK(slice >= 0 && slice < static_cast<int>(slices.size())) << part.name << ": slice " << slice;
    ranges.push_back({slices[slice].offset, slices[slice].offset + slices[slice].num_elements()});
  }
  std::sort(ranges.begin(), ranges.end(), [](const ColumnRange& a, const ColumnRange& b) { return a.begin < b.begin; });
  std::vector<ColumnRange> merged;
  for (const ColumnRange& range : ranges) {
    if (!merged.empty() && merged.back().end == range.begin) {
      merged.back().end = range.end;
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

template <typename T>
class PotentialProducts : public GradientProducts {
 public:
  PotentialProducts(const Potential& potential, const AtomicData& train, const AtomicData& test,
                    std::vector<PotentialTest> tests, const TermWeights& weights, const Tensor& preconditioner,
                    const PotentialProductsOptions& options, GradientReference reference)
      : potential_(potential),
        train_(train),
        test_(test),
        tests_(std::move(tests)),
        options_(options),
        reference_(reference),
        num_parameters_(potential.shape.num_parameters()),
        max_rows_(std::clamp(kRowBytes / static_cast<int64_t>(num_parameters_ * sizeof(T)), kMinRows, kMaxRows)),
        slices_(NetworkSlices(potential.descriptor, potential.shape)),
        formulas_(potential, options.loss, weights, options.angular),
        preconditioner_(preconditioner.ToDoubles()),
        pool_(options.num_threads) {
    if (options.projection.kind != ProjectionKind::kNone) {
      projection_ = std::make_unique<GradientProjection<T>>(options.projection, num_parameters_);
    }
    for (int t = 0; t < options.num_threads; ++t) workers_.push_back(std::make_unique<Worker>(*this));
    ProductPart all{"all", std::vector<int>(slices_.size())};
    std::iota(all.slices.begin(), all.slices.end(), 0);
    SetParts({all});
  }

  int64_t num_train() const override { return train_.num_structures(); }
  int64_t num_tests() const override { return static_cast<int64_t>(tests_.size()); }
  const std::vector<ParameterSlice>& slices() const override { return slices_; }

  void SetParts(const std::vector<ProductPart>& parts) override {
    CHECK(!parts.empty());
    CHECK(projection_ == nullptr || parts.size() == 1) << "a projection mixes the parts";
    parts_.clear();
    std::vector<bool> taken(slices_.size(), false);
    for (const ProductPart& part : parts) {
      parts_.push_back(RangesOf(slices_, part));
      for (const int slice : part.slices) {
        CHECK(!taken[slice]) << part.name << ": slice " << slice << " comes twice";
        taken[slice] = true;
      }
    }
    held_ = PackedRows<T>();
    test_norms_.clear();
    curvature_ = nullptr;
    columns_.clear();
    for (const std::vector<ColumnRange>& ranges : parts_) columns_.insert(columns_.end(), ranges.begin(), ranges.end());
    std::sort(columns_.begin(), columns_.end(),
              [](const ColumnRange& a, const ColumnRange& b) { return a.begin < b.begin; });
    if (projection_ == nullptr) return;
    // Factors before the projection: the root of the preconditioner, as it acts on both sides of a product, or 0 for
    // columns outside the part.
    factor_.assign(num_parameters_, 0.0);
    for (const ColumnRange& range : parts_[0]) {
      for (int64_t p = range.begin; p < range.end; ++p) {
        factor_[p] = preconditioner_.empty() ? 1.0 : std::sqrt(preconditioner_[p]);
      }
    }
    parts_ = {{{0, projection_->dim()}}};
  }

  int64_t tile_size() const override { return kChunks * max_rows_ * options_.num_threads; }
  int64_t bytes_per_test() const override {
    return num_columns() * static_cast<int64_t>(sizeof(T)) + num_parts() * static_cast<int64_t>(sizeof(double));
  }

  absl::Status SetTests(absl::Span<const int64_t> tests) override {
    const auto h = static_cast<int64_t>(tests.size());
    RETURN_IF_ERROR(MakeCurvature());
    held_ = PackedRows<T>();  // freed first, so that there is never memory for both
    held_ = PackedRows<T>(h, num_columns());
    test_norms_.assign(num_parts() * h, 0.0);
    return ForRows(
        h, PackedRows<T>::kWidth, test_, [&](int64_t k) { return TestExample(tests[k]); },
        [&](int64_t begin, int64_t count, T* rows, const Worker&) { Hold(begin, count, rows); });
  }

  absl::Status SetWeightedTests(absl::Span<const double> weights) override {
    CHECK_EQ(weights.size(), num_tests());
    RETURN_IF_ERROR(MakeCurvature());
    held_ = PackedRows<T>();
    std::vector<double> sum(row_size(), 0.0);
    std::vector<T> rows(kSumRows * row_size());
    std::vector<int64_t> counted;
    for (int64_t j = 0; j < num_tests(); ++j) {
      if (weights[j] != 0) counted.push_back(j);
    }
    const auto n = static_cast<int64_t>(counted.size());
    for (int64_t first = 0; first < n; first += kSumRows) {
      const int64_t here = std::min(kSumRows, n - first);
      RETURN_IF_ERROR(ForRows(
          here, kMinRows, test_, [&](int64_t k) { return TestExample(counted[first + k]); },
          [&](int64_t begin, int64_t count, T* made, const Worker&) {
            std::copy_n(made, count * row_size(), &rows[begin * row_size()]);
          }));
      for (int64_t k = 0; k < here; ++k) {
        const double weight = weights[counted[first + k]];
        const T* const row = &rows[k * row_size()];
        for (int64_t p = 0; p < row_size(); ++p) sum[p] += weight * row[p];
      }
    }
    held_ = PackedRows<T>(1, num_columns());
    test_norms_.assign(num_parts(), 0.0);
    std::vector<T> row(sum.begin(), sum.end());
    Hold(0, 1, row.data());
    return absl::OkStatus();
  }

  std::string Notes() const override { return curvature_ == nullptr ? "" : curvature_->Describe(); }

  int64_t num_set_tests() const override { return held_.rows(); }
  std::vector<double> TestNorms() override { return test_norms_; }

  absl::Status Products(absl::Span<const int64_t> train, bool squares, ProductTile* tile) override {
    const auto b = static_cast<int64_t>(train.size()), h = num_set_tests();
    tile->product.assign(num_parts() * b * h, 0.0);
    tile->train_square.assign(squares ? num_parts() * b : 0, 0.0);
    const bool coupled = curvature_ != nullptr && curvature_->is_coupled();
    tile->train_self.assign(squares && coupled ? num_parts() * b : 0, 0.0);
    if (h == 0 && !squares) return absl::OkStatus();
    const ProfileScope scope(Stage::kGradients);
    scope.Add(Counter::kExamples, b);
    train_.Prefetch(train);
    return ForRows(
        b, max_rows_, train_,
        [&](int64_t k) {
          CHECK(train[k] >= 0 && train[k] < num_train()) << train[k];
          return GradientExample{train[k]};
        },
        [&](int64_t begin, int64_t count, T* rows, const Worker& worker) {
          const ProfileScope products(Stage::kProducts);
          products.Add(Counter::kFlop, 2 * count * h * row_size());
          if (squares) AddSquares(begin, count, rows, b, tile->train_square.data());
          if (squares && coupled) {
            AddProducts(begin, count, rows, Solved(count, worker.own_rows.data()).data(), b, tile->train_self.data());
          }
          int64_t column = 0;
          for (int64_t part = 0; part < num_parts(); ++part) {
            double* const out = tile->product.data() + (part * b + begin) * h;
            for (const ColumnRange& range : parts_[part]) {
              if (h > 0) AddRowProducts(count, rows + range.begin, row_size(), range.size(), held_, column, out);
              column += range.size();
            }
          }
        });
  }

  absl::Status ReferenceTrainGradient(int64_t train, absl::Span<double> gradient) override {
    return Reference(train_, {train}, gradient);
  }
  absl::Status ReferenceTestGradient(int64_t test, absl::Span<double> gradient) override {
    return Reference(test_, TestExample(test), gradient);
  }

 private:
  // The scratch memory of one thread.
  struct Worker {
    explicit Worker(const PotentialProducts& owner)
        : gradients(owner.formulas_), gradient(owner.num_parameters_), rows(owner.max_rows_ * owner.num_parameters_) {
      if (owner.projection_ != nullptr) projected.resize(owner.max_rows_ * owner.projection_->dim());
    }
    GradientRows gradients;
    std::vector<double> gradient;  // [P]
    std::vector<T> rows;           // [max_rows_, P]
    std::vector<T> projected;      // [max_rows_, dim], or empty
    // Made with the first training row of a loss that couples its structures.
    std::unique_ptr<OutputRows> outputs;
    std::vector<T> own_rows;  // [max_rows_, P], the gradients of `rows` without what the coupling takes off
    std::vector<StructureOutput> output;
    std::vector<double> slopes, part;
  };

  int64_t num_parts() const { return static_cast<int64_t>(parts_.size()); }
  // The number of columns of a test's packed row: those of all parts, one part after another.
  int64_t num_columns() const {
    int64_t columns = 0;
    for (const std::vector<ColumnRange>& ranges : parts_) {
      for (const ColumnRange& range : ranges) columns += range.size();
    }
    return columns;
  }
  // The number of elements in a row, projected or not.
  int64_t row_size() const { return projection_ == nullptr ? num_parameters_ : projection_->dim(); }

  GradientExample TestExample(int64_t test) const {
    CHECK(test >= 0 && test < num_tests()) << test;
    return {tests_[test].structure, options_.test.quantity, tests_[test].atom, options_.test.component};
  }

  // Calls use(first, count, rows [count, row_size()], worker) for all n examples. One thread takes `grain` consecutive
  // examples, at most max_rows_ at once. Returns the first error; the rows of examples with errors are unspecified.
  template <typename Example, typename Use>
  absl::Status ForRows(int64_t n, int64_t grain, const AtomicData& data, const Example& example, const Use& use) {
    std::vector<absl::Status> status(n);
    pool_.For(n, grain, [&](int64_t begin, int64_t end, int index) {
      Worker* const worker = workers_[index].get();
      for (int64_t first = begin; first < end; first += max_rows_) {
        const int64_t count = std::min(max_rows_, end - first);
        for (int64_t k = 0; k < count; ++k) {
          status[first + k] = MakeRow(data, example(first + k), k, worker);
        }
        T* rows = worker->rows.data();
        if (projection_ != nullptr) {
          projection_->Apply(count, rows, worker->projected.data());
          rows = worker->projected.data();
        }
        use(first, count, rows, *worker);
      }
    });
    for (const absl::Status& each : status) RETURN_IF_ERROR(each);
    return absl::OkStatus();
  }

  absl::Status MakeCurvature() {
    if (!options_.gauss_newton.has_value() || curvature_ != nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(curvature_, GaussNewton::Make(formulas_, train_, columns_, *options_.gauss_newton, &pool_));
    return absl::OkStatus();
  }

  // Copies the columns that count from rows [count, P] to a matrix [count, C], and back.
  std::vector<double> Gather(int64_t count, const T* rows) const {
    std::vector<double> gathered(count * curvature_->size());
    double* next = gathered.data();
    for (int64_t k = 0; k < count; ++k) {
      for (const ColumnRange& range : columns_) {
        next = std::copy_n(rows + k * num_parameters_ + range.begin, range.size(), next);
      }
    }
    return gathered;
  }
  void Scatter(int64_t count, const double* from, T* rows) const {
    for (int64_t k = 0; k < count; ++k) {
      for (const ColumnRange& range : columns_) {
        for (int64_t p = range.begin; p < range.end; ++p) rows[k * num_parameters_ + p] = static_cast<T>(*from++);
      }
    }
  }

  // Makes row k, the gradient by the weight of training structure s under a loss that couples them, and its own row.
  absl::Status MakeCoupledRow(int64_t s, int64_t k, Worker* worker) const {
    if (worker->outputs == nullptr) {
      worker->outputs = std::make_unique<OutputRows>(formulas_, columns_);
      worker->own_rows.resize(worker->rows.size());
    }
    T *const row = worker->rows.data() + k * num_parameters_, *const own =
                                                                  worker->own_rows.data() + k * num_parameters_;
    StructureTerms terms;
    RETURN_IF_ERROR(worker->outputs->Predict(train_, s, &worker->output, &terms));
    std::fill_n(row, num_parameters_, T{0});
    std::fill_n(own, num_parameters_, T{0});
    if (worker->output.empty()) return absl::OkStatus();
    worker->slopes.clear();
    for (const StructureOutput& output : worker->output) worker->slopes.push_back(output.slope);
    worker->part.resize(curvature_->size());
    worker->outputs->Combination(worker->slopes, worker->part.data());
    Scatter(1, worker->part.data(), own);
    curvature_->Couple(terms, worker->part.data());
    Scatter(1, worker->part.data(), row);
    return absl::OkStatus();
  }

  absl::Status MakeRow(const AtomicData& data, const GradientExample& example, int64_t k, Worker* worker) const {
    if (&data == &train_ && curvature_ != nullptr && curvature_->is_coupled()) {
      return MakeCoupledRow(example.structure, k, worker);
    }
    T* const row = worker->rows.data() + k * num_parameters_;
    std::vector<double>& gradient = worker->gradient;
    RETURN_IF_ERROR(worker->gradients.Compute(data, example, absl::MakeSpan(gradient)));
    if (projection_ != nullptr) {
      for (int64_t p = 0; p < num_parameters_; ++p) gradient[p] *= factor_[p];
    }
    std::copy(gradient.begin(), gradient.end(), row);
    return absl::OkStatus();
  }

  // Returns rows [count, P] whose columns that count are those of `rows` multiplied by the Gauss-Newton solution.
  std::vector<T> Solved(int64_t count, const T* rows) const {
    std::vector<double> columns = Gather(count, rows);
    curvature_->Solve(count, columns.data(), nullptr);
    std::vector<T> solved(rows, rows + count * num_parameters_);
    Scatter(count, columns.data(), solved.data());
    return solved;
  }

  // Sets squares[part, first + k] for each row k. n: the number of rows in all calls together.
  void AddSquares(int64_t first, int64_t count, const T* rows, int64_t n, double* squares) const {
    if (curvature_ == nullptr) {
      AddProducts(first, count, rows, rows, n, squares);
    } else {
      AddProducts(first, count, rows, Solved(count, rows).data(), n, squares);
    }
  }

  // Sets squares[part, first + k] to the product of row k of both matrices [count, row_size()], with the
  // preconditioner.
  void AddProducts(int64_t first, int64_t count, const T* rows, const T* by, int64_t n, double* squares) const {
    const bool weighted = projection_ == nullptr && !preconditioner_.empty();
    for (int64_t part = 0; part < num_parts(); ++part) {
      for (int64_t k = 0; k < count; ++k) {
        const T *const row = rows + k * row_size(), *const other = by + k * row_size();
        double sum = 0;
        for (const ColumnRange& range : parts_[part]) {
          for (int64_t p = range.begin; p < range.end; ++p) {
            const double product = double{row[p]} * other[p];
            sum += weighted ? product * preconditioner_[p] : product;
          }
        }
        squares[part * n + first + k] = sum;
      }
    }
  }

  // Packs the gradients of tests first, first + 1, ... into held_, and their norms into test_norms_. Changes `rows`.
  void Hold(int64_t first, int64_t count, T* rows) {
    if (curvature_ != nullptr) {
      const std::vector<T> solved = Solved(count, rows);
      AddProducts(first, count, rows, solved.data(), held_.rows(), test_norms_.data());
      std::copy(solved.begin(), solved.end(), rows);
    } else {
      AddSquares(first, count, rows, held_.rows(), test_norms_.data());
    }
    for (int64_t k = 0; k < count; ++k) {
      T* const row = rows + k * row_size();
      if (projection_ == nullptr && !preconditioner_.empty()) {
        for (int64_t p = 0; p < num_parameters_; ++p) row[p] = static_cast<T>(row[p] * preconditioner_[p]);
      }
      int64_t column = 0;
      for (const std::vector<ColumnRange>& ranges : parts_) {
        for (const ColumnRange& range : ranges) {
          held_.Set(first + k, column, absl::MakeConstSpan(row + range.begin, range.size()));
          column += range.size();
        }
      }
    }
  }

  absl::Status Reference(const AtomicData& data, const GradientExample& example, absl::Span<double> gradient) const {
    if (reference_ == nullptr) return absl::UnimplementedError("products that were made without a reference");
    return reference_(potential_, options_.loss, formulas_.weights, data, example, gradient);
  }

  const Potential potential_;
  const AtomicData train_, test_;
  const std::vector<PotentialTest> tests_;
  const PotentialProductsOptions options_;
  const GradientReference reference_;
  const int64_t num_parameters_, max_rows_;
  const std::vector<ParameterSlice> slices_;
  const GradientFormulas formulas_;
  const std::vector<double> preconditioner_;                 // [P], or empty
  std::unique_ptr<const GradientProjection<T>> projection_;  // may be null
  std::vector<double> factor_;                               // [P], set with a projection
  std::vector<ColumnRange> columns_;                         // of all parts together, ascending
  std::unique_ptr<GaussNewton> curvature_;  // of these columns; null until tests are set, or without gauss_newton
  ThreadPool pool_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::vector<ColumnRange>> parts_;  // columns of rows, projected or not
  PackedRows<T> held_;                           // [tests, num_columns()], multiplied by the preconditioner
  std::vector<double> test_norms_;               // [parts, tests]
};

absl::Status CheckDescriptor(const Potential& potential, const AtomicData& data, absl::string_view which) {
  if (data.descriptor() == potential.descriptor) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the ", which, " data has the descriptor ", data.descriptor().ToJson(),
                                                 ", but the model has ", potential.descriptor.ToJson()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<GradientProducts>> MakePotentialProducts(
    const Potential& potential, const AtomicData& given_train, const AtomicData& given_test,
    const WeightedCheckpoint& point, const PotentialProductsOptions& options, GradientReference reference) {
  RETURN_IF_ERROR(CheckPotentialProducts(potential, point, options));
  RETURN_IF_ERROR(CheckDescriptor(potential, given_train, "training"));
  RETURN_IF_ERROR(CheckDescriptor(potential, given_test, "test"));
  ASSIGN_OR_RETURN(const AtomicData train, LearnedLabels(given_train, potential.repulsion, options.num_threads));
  ASSIGN_OR_RETURN(const AtomicData test, LearnedLabels(given_test, potential.repulsion, options.num_threads));
  ASSIGN_OR_RETURN(std::vector<PotentialTest> tests, PotentialTests(test, options.test));
  ASSIGN_OR_RETURN(const TermWeights weights, TermWeightsOf(options.loss, point.loss_weight));
  Potential at_point = potential;
  at_point.parameters = point.parameters;
  std::unique_ptr<GradientProducts> products;
  if (options.precision == DType::kF64) {
    products = std::make_unique<PotentialProducts<double>>(at_point, train, test, std::move(tests), weights,
                                                           point.preconditioner, options, reference);
  } else {
    products = std::make_unique<PotentialProducts<float>>(at_point, train, test, std::move(tests), weights,
                                                          point.preconditioner, options, reference);
  }
  return products;
}

}  // namespace rutile

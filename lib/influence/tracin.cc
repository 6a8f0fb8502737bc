#include "lib/influence/tracin.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/sha256.h"
#include "lib/influence/block_sums.h"
#include "lib/influence/files/influence_state.h"
#include "lib/influence/score_sums.h"
#include "lib/influence/top_scores.h"
#include "lib/influence/tracin_inputs.h"
#include "lib/influence/tracin_passes.h"
#include "lib/machine/parallel_for.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr int64_t kTestsPerPiece = 256;  // a thread's piece of work on a tile

// One computation: passes over the training examples, each for as many tests as memory allows, in tiles.
class Computation {
 public:
  Computation(const InfluenceInputs& inputs, const TracInOptions& options, const InfluenceHooks& hooks)
      : train_(inputs.train), allowed_(inputs.allowed), options_(options), hooks_(hooks), pool_(options.threads) {
    // Checkpoints of rate 0 are left out.
    for (size_t c = 0; c < inputs.rates.size(); ++c) {
      if (inputs.rates[c] == 0) continue;
      checkpoints_.push_back({inputs.checkpoints[c], inputs.rates[c], static_cast<int>(c) + 1, {}, {}, {}});
    }
    if (options.scores || options.test_self) {
      tests_.assign(inputs.tests.begin(), inputs.tests.end());
      if (!options.test_weight.empty()) tests_ = {-1};
    }
    for (const ProductPart& part : options.parts) result_.part_names.push_back(part.name);
    if (options.parts.empty()) result_.part_names = {"all"};
    parts_ = static_cast<int64_t>(result_.part_names.size());
    kept_parts_ = options.part_scores ? parts_ : 0;
    result_.offset = {0};
  }

  absl::StatusOr<Influence> Run() {
    SetParts();
    RETURN_IF_ERROR(SetPasses());
    last_save_ = std::chrono::steady_clock::now();
    if (hooks_.resume != nullptr) RETURN_IF_ERROR(Restore(*hooks_.resume));
    for (; pass_ == 0 || pass_ * tests_per_pass_ < num_tests(); ++pass_, position_ = 0) RETURN_IF_ERROR(RunPass());
    result_.train_order.assign(train_.begin(), train_.end());
    return std::move(result_);
  }

 private:
  struct Checkpoint {
    GradientProducts* products;
    double rate;
    int number;                       // among the given checkpoints, from 1 on
    ProductTile tile;                 // products of the current training examples
    std::vector<double> train_scale;  // [B] 1 / |g| of these, if scores are divided by |g|
    std::vector<double> test_scale;   // [H] 1 / |g'| of the current tests, if scores are divided by |g'|
  };

  int64_t num_tests() const { return static_cast<int64_t>(tests_.size()); }
  bool needs_squares() const { return options_.train_self || options_.normalization != InfluenceNormalization::kNone; }
  bool goes_through_training() const { return options_.scores || (options_.train_self && pass_ == 0); }

  void SetParts() {
    std::vector<ProductPart> parts = options_.parts;
    if (parts.empty()) {
      const std::vector<ParameterSlice>& slices = checkpoints_[0].products->slices();
      parts = {{"all", {}}};
      for (size_t s = 0; s < slices.size(); ++s) {
        if (!slices[s].buffer) parts[0].slices.push_back(static_cast<int>(s));
      }
    }
    for (Checkpoint& checkpoint : checkpoints_) checkpoint.products->SetParts(parts);
  }

  absl::Status SetPasses() {
    std::vector<const GradientProducts*> products;
    for (const Checkpoint& checkpoint : checkpoints_) products.push_back(checkpoint.products);
    ASSIGN_OR_RETURN(const TracInPasses passes, ChoosePasses(products, train_.size(), num_tests(), options_));
    tile_size_ = passes.tile_size;
    tests_per_pass_ = passes.tests_per_pass;
    at_once_ = passes.at_once;
    block_size_ = passes.block_size;
    return absl::OkStatus();
  }

  bool in_turns() const { return at_once_ < static_cast<int64_t>(checkpoints_.size()); }
  // Returns the checkpoints of the turn that begins with checkpoint `first`.
  absl::Span<Checkpoint> CheckpointsOfTurn(int64_t first) {
    return absl::MakeSpan(checkpoints_).subspan(first, at_once_);
  }
  int64_t num_turns() const { return (static_cast<int64_t>(checkpoints_.size()) + at_once_ - 1) / at_once_; }

  absl::Status RunPass() {
    const int64_t first = pass_ * tests_per_pass_;
    tests_in_pass_ = absl::MakeConstSpan(tests_).subspan(first, tests_per_pass_);
    if (goes_through_training() && lists_.empty()) MakeLists();
    test_self_.assign(tests_in_pass_.size(), 0);
    test_self_part_.assign(tests_in_pass_.size() * parts_, 0);
    RETURN_IF_ERROR(in_turns() ? RunInTurns() : RunTogether());
    if (options_.test_self) {
      result_.test_self.insert(result_.test_self.end(), test_self_.begin(), test_self_.end());
      if (kept_parts_ > 0) {
        result_.test_self_part.insert(result_.test_self_part.end(), test_self_part_.begin(), test_self_part_.end());
      }
    }
    for (const int64_t test : tests_in_pass_) result_.tests.push_back(test);
    for (size_t h = 0; h < tests_in_pass_.size(); ++h) {
      if (options_.scores) lists_[h].AppendSorted(&result_.train, &result_.score, &result_.part_score);
      result_.offset.push_back(static_cast<int64_t>(result_.train.size()));
    }
    lists_.clear();
    return absl::OkStatus();
  }

  // Runs a pass tile by tile, with all checkpoints in memory.
  absl::Status RunTogether() {
    RETURN_IF_ERROR(SetTests(absl::MakeSpan(checkpoints_), /*add_self=*/true));
    while (goes_through_training() && position_ < static_cast<int64_t>(train_.size())) {
      RETURN_IF_ERROR(RunTile());
      RETURN_IF_ERROR(AfterTile(Progress(position_)));
    }
    return absl::OkStatus();
  }

  // Runs a pass block by block, with some checkpoints in memory: each turn of them adds its part to the block's sums.
  absl::Status RunInTurns() {
    const int64_t n = goes_through_training() ? static_cast<int64_t>(train_.size()) : 0;
    bool add_self = true;  // added in the first block
    do {
      const int64_t rows = std::min(block_size_, n - position_);
      RETURN_IF_ERROR(RunBlock(train_.subspan(position_, rows), add_self));
      add_self = false;
      position_ += rows;
      if (n > 0) RETURN_IF_ERROR(AfterTile(Progress(position_)));
    } while (position_ < n);
    return absl::OkStatus();
  }

  absl::Status RunBlock(absl::Span<const int64_t> examples, bool add_self) {
    const int64_t n = static_cast<int64_t>(examples.size());
    const bool self = options_.train_self && pass_ == 0;
    std::vector<double> train_self(self ? n : 0), train_self_part(self ? n * parts_ : 0);
    BlockSums sums(options_.scores ? n : 0, tests_in_pass_.size(), parts_, kept_parts_ > 0);
    for (int64_t turn = 0; turn < num_turns(); ++turn) {
      const absl::Span<Checkpoint> group = CheckpointsOfTurn(turn * at_once_);
      RETURN_IF_ERROR(SetTests(group, add_self));
      for (int64_t at = 0; at < n; at += tile_size_) {
        const absl::Span<const int64_t> tile = examples.subspan(at, tile_size_);
        RETURN_IF_ERROR(FillTiles(group, tile));
        if (self) {
          RETURN_IF_ERROR(AddTrainSelf(group, tile, &train_self[at], &train_self_part[at * parts_]));
        }
        if (options_.scores) {
          SetTerms(group, tile.size());
          sums.Add(terms_, turn == 0, at, tile.size());
        }
        const int64_t done = position_ + (turn * n + at) / num_turns();
        if (const absl::Status status = Progress(done); !status.ok()) return AfterTile(status);
      }
      for (Checkpoint& checkpoint : group) {
        checkpoint.products->Release();
        checkpoint.tile = {};
      }
    }
    if (self) KeepTrainSelf(train_self, train_self_part);
    if (!options_.scores) return absl::OkStatus();
    terms_ = {sums.total()};
    sums_ = &sums;
    const ProfileScope scope(Stage::kRank);
    const absl::Status status = AddScores(examples);
    sums_ = nullptr;
    return status;
  }

  // Sets the tests of this pass at these checkpoints. add_self: add to the tests' self-influence.
  absl::Status SetTests(absl::Span<Checkpoint> group, bool add_self) {
    const int64_t num_in_pass = static_cast<int64_t>(tests_in_pass_.size());
    const bool cosine = options_.scores && options_.normalization == InfluenceNormalization::kCosine;
    add_self = add_self && options_.test_self;
    for (Checkpoint& checkpoint : group) {
      const bool weighted = num_in_pass > 0 && !options_.test_weight.empty();
      const ProfileScope scope(Stage::kGradients);  // gradients of the tests
      RETURN_IF_ERROR(weighted ? checkpoint.products->SetWeightedTests(options_.test_weight)
                               : checkpoint.products->SetTests(tests_in_pass_));
      if (cosine || options_.test_self) {
        const std::vector<double> squares = checkpoint.products->TestNorms();
        CHECK_EQ(squares.size(), parts_ * num_in_pass);
        if (cosine) SetScale(squares, num_in_pass, &checkpoint.test_scale);
        for (int64_t h = 0; add_self && h < num_in_pass; ++h) {
          RETURN_IF_ERROR(AddSelf(checkpoint, squares, num_in_pass, h, absl::StrCat("test ", tests_in_pass_[h]),
                                  &test_self_[h], &test_self_part_[h * parts_]));
        }
      }
      if (!options_.scores && options_.test_self && goes_through_training()) {
        RETURN_IF_ERROR(checkpoint.products->SetTests({}));
      }
    }
    return absl::OkStatus();
  }

  // Sets scale to 1 / |g| of n examples, and to 0 if |g| is 0, as the product is.
  void SetScale(const std::vector<double>& squares, int64_t n, std::vector<double>* scale) const {
    scale->assign(n, 0);
    for (int64_t p = 0; p < parts_; ++p) {
      for (int64_t i = 0; i < n; ++i) (*scale)[i] += squares[p * n + i];
    }
    for (double& value : *scale) value = value == 0 ? 0 : 1 / std::sqrt(value);
  }

  // Adds the checkpoint's part of the self-influence of the i-th of n examples to *self and self_part [parts].
  absl::Status AddSelf(const Checkpoint& checkpoint, const std::vector<double>& squares, int64_t n, int64_t i,
                       absl::string_view name, double* self, double* self_part) const {
    double sum = 0;
    for (int64_t p = 0; p < parts_; ++p) {
      sum += squares[p * n + i];
      self_part[p] += checkpoint.rate * squares[p * n + i];
    }
    *self += checkpoint.rate * sum;
    if (std::isfinite(sum)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(name, ": the square of its gradient is ", sum, " at checkpoint ",
                                                   checkpoint.number, "; is it a state that diverged?"));
  }

  void MakeLists() {
    if (!options_.scores) return;
    for (size_t h = 0; h < tests_in_pass_.size(); ++h) {
      lists_.emplace_back(options_.ranking, options_.top_k, kept_parts_);
    }
  }

  absl::Status RunTile() {
    const absl::Span<const int64_t> examples = train_.subspan(position_, tile_size_);
    const int64_t n = static_cast<int64_t>(examples.size());
    const absl::Span<Checkpoint> group = absl::MakeSpan(checkpoints_);
    RETURN_IF_ERROR(FillTiles(group, examples));
    if (options_.train_self && pass_ == 0) {
      std::vector<double> self(n), self_part(n * parts_);
      RETURN_IF_ERROR(AddTrainSelf(group, examples, self.data(), self_part.data()));
      KeepTrainSelf(self, self_part);
    }
    if (options_.scores) {
      const ProfileScope scope(Stage::kRank);
      SetTerms(group, n);
      RETURN_IF_ERROR(AddScores(examples));
    }
    position_ += n;
    return absl::OkStatus();
  }

  absl::Status FillTiles(absl::Span<Checkpoint> group, absl::Span<const int64_t> examples) {
    const int64_t n = static_cast<int64_t>(examples.size());
    for (Checkpoint& checkpoint : group) {
      RETURN_IF_ERROR(checkpoint.products->Products(examples, needs_squares(), &checkpoint.tile));
      if (options_.scores) CHECK_EQ(checkpoint.tile.product.size(), parts_ * n * tests_in_pass_.size());
      if (needs_squares()) CHECK_EQ(checkpoint.tile.train_square.size(), parts_ * n);
      if (options_.scores && options_.normalization != InfluenceNormalization::kNone) {
        SetScale(checkpoint.tile.train_square, n, &checkpoint.train_scale);
      }
    }
    return absl::OkStatus();
  }

  // Adds the self-influence of a tile's examples to self [n] and self_part [n, parts].
  absl::Status AddTrainSelf(absl::Span<const Checkpoint> group, absl::Span<const int64_t> examples, double* self,
                            double* self_part) {
    const int64_t n = static_cast<int64_t>(examples.size());
    for (const Checkpoint& checkpoint : group) {
      const ProductTile& tile = checkpoint.tile;
      const std::vector<double>& products = tile.train_self.empty() ? tile.train_square : tile.train_self;
      CHECK_EQ(products.size(), parts_ * n);
      for (int64_t b = 0; b < n; ++b) {
        RETURN_IF_ERROR(AddSelf(checkpoint, products, n, b, absl::StrCat("training example ", examples[b]), self + b,
                                self_part + b * parts_));
      }
    }
    return absl::OkStatus();
  }

  void KeepTrainSelf(const std::vector<double>& self, const std::vector<double>& self_part) {
    result_.train_self.insert(result_.train_self.end(), self.begin(), self.end());
    if (kept_parts_ == 0) return;
    result_.train_self_part.insert(result_.train_self_part.end(), self_part.begin(), self_part.end());
  }

  // Sets terms_ to the products of the n examples in the checkpoints' tiles.
  void SetTerms(absl::Span<const Checkpoint> group, int64_t n) {
    const int64_t num_in_pass = static_cast<int64_t>(tests_in_pass_.size());
    terms_.clear();
    for (const Checkpoint& checkpoint : group) {
      for (int64_t p = 0; p < parts_; ++p) {
        terms_.push_back({checkpoint.tile.product.data() + p * n * num_in_pass, checkpoint.rate,
                          checkpoint.train_scale.empty() ? nullptr : checkpoint.train_scale.data(),
                          checkpoint.test_scale.empty() ? nullptr : checkpoint.test_scale.data()});
      }
    }
  }

  // Adds the scores of the examples, which terms_ add up to, to the lists.
  absl::Status AddScores(absl::Span<const int64_t> examples) {
    const int64_t num_in_pass = static_cast<int64_t>(tests_in_pass_.size());
    const int64_t pieces = (num_in_pass + kTestsPerPiece - 1) / kTestsPerPiece;
    std::vector<absl::Status> status(pieces);
    pool_.For(pieces, 1, [&](int64_t piece, int64_t, int) {
      const int64_t first = piece * kTestsPerPiece;
      status[piece] = AddScoresOf(examples, first, std::min(num_in_pass, first + kTestsPerPiece));
    });
    for (const absl::Status& one : status) RETURN_IF_ERROR(one);
    return absl::OkStatus();
  }

  absl::Status AddScoresOf(absl::Span<const int64_t> examples, int64_t first, int64_t last) {
    const int64_t num_in_pass = static_cast<int64_t>(tests_in_pass_.size());
    std::vector<ScoreBounds> bounds;
    for (int64_t h = first; h < last; ++h) bounds.push_back({lists_[h].low(), lists_[h].high()});
    int64_t at_b = 0, at_h = 0;
    const std::function<double(int64_t)> part = [&](int64_t p) {
      if (sums_ != nullptr) return sums_->Part(p, at_b, at_h);
      double sum = 0;
      for (size_t term = p; term < terms_.size(); term += parts_) sum += terms_[term].At(num_in_pass, at_b, at_h);
      return sum;
    };
    absl::Status status;
    FindScores(terms_, examples.size(), num_in_pass, first, last, absl::MakeSpan(bounds),
               [&](int64_t b, int64_t h, double score) {
                 if (!std::isfinite(score)) {
                   status = NotFinite(examples[b], b, h, score);
                   return false;
                 }
                 if (allowed_ && !allowed_(tests_in_pass_[h], examples[b])) return true;
                 at_b = b;
                 at_h = h;
                 lists_[h].Add(score, examples[b], part);
                 bounds[h - first] = {lists_[h].low(), lists_[h].high()};
                 return true;
               });
    return status;
  }

  // Returns the error of a score that is not finite, naming the checkpoint of the first such product.
  absl::Status NotFinite(int64_t train, int64_t b, int64_t h, double score) const {
    const int64_t num_in_pass = static_cast<int64_t>(tests_in_pass_.size());
    std::string where;
    for (size_t t = 0; sums_ == nullptr && t < terms_.size() && where.empty(); ++t) {
      const Checkpoint& checkpoint = checkpoints_[t / parts_];
      if (!std::isfinite(terms_[t].At(num_in_pass, b, h))) where = absl::StrCat(" at checkpoint ", checkpoint.number);
    }
    const std::string test = tests_in_pass_[h] < 0 ? "the weighted tests" : absl::StrCat("test ", tests_in_pass_[h]);
    return absl::InvalidArgumentError(absl::StrCat("training example ", train, " and ", test, ": the score is ", score,
                                                   where, "; is it a state that diverged?"));
  }

  // Reports progress after `position` training examples of this pass.
  absl::Status Progress(int64_t position) const {
    if (!hooks_.progress) return absl::OkStatus();
    const int64_t n = static_cast<int64_t>(train_.size());
    const int64_t passes = options_.scores ? (num_tests() + tests_per_pass_ - 1) / tests_per_pass_ : 1;
    return hooks_.progress(pass_ * n + position, passes * n);
  }

  // Saves the state if it is time, or if `status` ends the computation.
  absl::Status AfterTile(const absl::Status& status) {
    if (!hooks_.save) return status;
    const auto now = std::chrono::steady_clock::now();
    if (status.ok() && std::chrono::duration<double>(now - last_save_).count() < hooks_.save_seconds) return status;
    RETURN_IF_ERROR(hooks_.save(State()));
    last_save_ = std::chrono::steady_clock::now();
    return status;
  }

  // Returns a hash of all that decides the result and of its division into tiles and passes.
  std::string Fingerprint() const {
    Sha256 sha;
    const auto add_numbers = [&sha](const auto& values) {
      const int64_t size = static_cast<int64_t>(values.size());
      sha.Update(absl::string_view(reinterpret_cast<const char*>(&size), sizeof(size)));
      sha.Update(absl::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])));
    };
    std::string text =
        absl::StrCat(tile_size_, " ", tests_per_pass_, " ", InfluenceNormalizationName(options_.normalization), " ",
                     InfluenceRankingName(options_.ranking), " ", options_.top_k, " ", options_.scores,
                     options_.train_self, options_.test_self, options_.part_scores, allowed_ ? 1 : 0, "\n");
    if (in_turns()) absl::StrAppend(&text, "blocks of ", block_size_, "\n");
    for (const ProductPart& part : options_.parts) {
      absl::StrAppend(&text, part.name);
      for (const int slice : part.slices) absl::StrAppend(&text, " ", slice);
      absl::StrAppend(&text, "\n");
    }
    sha.Update(text);
    std::vector<double> rates;
    for (const Checkpoint& checkpoint : checkpoints_) {
      rates.push_back(checkpoint.number);
      rates.push_back(checkpoint.rate);
    }
    add_numbers(rates);
    add_numbers(train_);
    add_numbers(tests_);
    add_numbers(options_.test_weight);
    return sha.HexDigest();
  }

  InfluenceState State() {
    InfluenceProgress progress = {pass_, position_, result_, {}};
    Influence& done = progress.done;  // results of completed passes, except the training examples' self-influence
    const int64_t first = pass_ * tests_per_pass_;
    if (options_.test_self) {
      done.test_self.resize(first);
      done.test_self_part.resize(first * kept_parts_);
    }
    done.train_order.assign(train_.begin(), train_.begin() + result_.train_self.size());
    Influence& open = progress.open;
    open.part_names = result_.part_names;
    open.tests.assign(tests_in_pass_.begin(), tests_in_pass_.end());
    open.offset = {0};
    for (size_t h = 0; h < tests_in_pass_.size(); ++h) {
      if (options_.scores) lists_[h].AppendSorted(&open.train, &open.score, &open.part_score);
      open.offset.push_back(static_cast<int64_t>(open.train.size()));
    }
    return PackInfluenceState(Fingerprint(), progress);
  }

  absl::Status Restore(const InfluenceState& state) {
    ASSIGN_OR_RETURN(InfluenceProgress progress, UnpackInfluenceState(state, Fingerprint(), result_.part_names));
    Influence& done = progress.done;
    const Influence& open = progress.open;
    pass_ = progress.pass;
    position_ = progress.position;
    const int64_t n = static_cast<int64_t>(train_.size()), first = pass_ * tests_per_pass_;
    bool fits = pass_ >= 0 && (pass_ == 0 || first < num_tests()) && position_ >= 0 && position_ <= n &&
                (position_ == n || position_ % (in_turns() ? block_size_ : tile_size_) == 0);
    if (fits) tests_in_pass_ = absl::MakeConstSpan(tests_).subspan(first, tests_per_pass_);
    fits = fits && static_cast<int64_t>(done.tests.size()) == first &&
           absl::MakeConstSpan(open.tests) == tests_in_pass_ &&
           done.train_self.size() == (options_.train_self ? (pass_ > 0 ? n : position_) : 0) &&
           done.train_self_part.size() == done.train_self.size() * kept_parts_ &&
           done.test_self.size() == (options_.test_self ? first : 0) &&
           done.test_self_part.size() == done.test_self.size() * kept_parts_ &&
           done.part_score.size() == done.score.size() * kept_parts_ &&
           open.part_score.size() == open.score.size() * kept_parts_;
    if (!fits) return absl::InvalidArgumentError("the state's place does not fit what else it holds");
    MakeLists();
    for (size_t h = 0; h < lists_.size(); ++h) {
      for (int64_t i = open.offset[h]; i < open.offset[h + 1]; ++i) {
        lists_[h].Add(open.score[i], open.train[i], [&](int64_t p) { return open.part_score[i * parts_ + p]; });
      }
    }
    done.train_order.clear();
    result_ = std::move(done);
    return absl::OkStatus();
  }

  const absl::Span<const int64_t> train_;
  const std::function<bool(int64_t, int64_t)> allowed_;
  const TracInOptions& options_;
  const InfluenceHooks& hooks_;
  ThreadPool pool_;
  std::vector<Checkpoint> checkpoints_;  // those with a rate above 0
  std::vector<int64_t> tests_;           // {-1}: the weighted sum
  int64_t parts_ = 1, kept_parts_ = 0;
  int64_t tile_size_ = 1, tests_per_pass_ = 1;
  int64_t at_once_ = 1, block_size_ = 1;  // for checkpoints that take turns

  int64_t pass_ = 0, position_ = 0;                 // position: training examples done in this pass
  absl::Span<const int64_t> tests_in_pass_;         // tests of this pass
  std::vector<TopScores> lists_;                    // [H] list of each test
  std::vector<double> test_self_, test_self_part_;  // [H], [H, parts]
  std::vector<ScoreTerm> terms_;                    // [checkpoints, parts] of the tile, or the total of a block
  const BlockSums* sums_ = nullptr;                 // sums of that block
  Influence result_;                                // results of completed passes
  std::chrono::steady_clock::time_point last_save_;
};

}  // namespace

absl::StatusOr<Influence> ComputeInfluence(const InfluenceInputs& inputs, const TracInOptions& options,
                                           const InfluenceHooks& hooks) {
  RETURN_IF_ERROR(CheckInfluenceInputs(inputs, options));
  return Computation(inputs, options, hooks).Run();
}

}  // namespace rutile

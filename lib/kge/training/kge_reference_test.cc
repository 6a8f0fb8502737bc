// Compares with golden values of testdata/kg, made by another program in fp64 without dropout.

#include "lib/kge/training/kge_reference.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/layers/running_statistics.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

double Largest(const at::Tensor& x) { return x.abs().max().item<double>(); }

// The tolerance is 1e-11 in fp64 and 1e-5 in fp32, of the largest element or of `scale`. Steps of Adam divide by the
// roots of small means of squares, which magnifies rounding: 2.7e-12 with LibTorch's kernels for AVX-512.
void ExpectNear(const at::Tensor& actual, const at::Tensor& expected, const std::string& what, double scale = 0) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  if (scale == 0) scale = Largest(expected);
  EXPECT_LE(Largest(actual.to(at::kDouble) - expected), actual.scalar_type() == at::kFloat ? 1e-5 * scale : 1e-11)
      << what;
}

struct Case {
  std::string variant;
  at::ScalarType type;
};

class GoldenTest : public ::testing::TestWithParam<Case> {
 protected:
  GoldenTest() : golden_(GetParam().variant), shape_(golden_.shape()) {}

  at::Tensor Parameters(const std::string& prefix = "param.") const {
    return ToTorch(golden_.Flat(prefix)).to(GetParam().type);
  }
  // Returns the mean over the batch.
  at::Tensor Loss(const at::Tensor& parameters, const OwnedKgeBatch& batch, bool training,
                  BatchStatistics* statistics = nullptr) const {
    const KgeBatch view = batch.View(training);
    const KgeHidden hidden = ReferenceHidden(shape_, parameters, view);
    if (statistics != nullptr) *statistics = hidden.statistics.Fetch();
    return ReferenceLosses(shape_, ReferenceScores(shape_, parameters, view, hidden.v), view).mean();
  }

  const GoldenConve golden_;
  KgeShape shape_;
};

TEST_P(GoldenTest, HiddenAndScores) {
  const OwnedKgeBatch batch = golden_.Batch(false);
  const KgeHidden hidden = ReferenceHidden(shape_, Parameters(), batch.View(/*training=*/false));
  ExpectNear(hidden.v, ToTorch(golden_.Array("eval.hidden")), "hidden");
  EXPECT_TRUE(hidden.statistics.Fetch().bn2.mean.empty());
  ExpectNear(ReferenceScores(shape_, Parameters(), batch.View(false), hidden.v), ToTorch(golden_.Array("eval.scores")),
             "scores");
}

TEST_P(GoldenTest, Losses) {
  struct Expected {
    const char* name;
    KgeLoss loss;
    LabelSmoothing form;
    double eps;
  };
  const Expected cases[] = {{"bce_multihot_dettmers", KgeLoss::kOneToN, LabelSmoothing::kDettmers, 0.1},
                            {"bce_multihot_std", KgeLoss::kOneToN, LabelSmoothing::kStandard, 0.1},
                            {"bce_multihot_pykeen", KgeLoss::kOneToN, LabelSmoothing::kPykeen, 0.1},
                            {"bce_multihot_nosmooth", KgeLoss::kOneToN, LabelSmoothing::kDettmers, 0},
                            {"bce_1ofK_tiepin", KgeLoss::kOneOfN, LabelSmoothing::kStandard, 0.1},
                            {"bce_1ofK_nosmooth", KgeLoss::kOneOfN, LabelSmoothing::kPykeen, 0},
                            {"ce_1vsAll", KgeLoss::kOneVsAll, LabelSmoothing::kDettmers, 0}};
  for (const Expected& expected : cases) {
    shape_.options.loss = expected.loss;
    shape_.options.smoothing_form = expected.form;
    shape_.options.label_smoothing = expected.eps;
    const OwnedKgeBatch batch = golden_.Batch(expected.loss != KgeLoss::kOneToN);
    for (const bool training : {false, true}) {
      const std::string name = absl::StrCat(training ? "train" : "eval", ".loss.", expected.name);
      ExpectNear(Loss(Parameters(), batch, training), at::scalar_tensor(golden_.Scalar(name), at::kDouble), name);
    }
  }
}

// True for biases that a batch norm follows, if only after linear layers: they have no gradient in training but
// rounding.
bool HasNoGradient(const ParameterSlice& slice, bool training) {
  return slice.buffer ||
         (training && (slice.name == "fc.bias" || slice.name == "conv.bias" || slice.name == "bn0.bias"));
}

TEST_P(GoldenTest, Gradients) {
  for (const bool training : {false, true}) {
    for (const char* name : {"bce_multihot_dettmers", "bce_1ofK_tiepin"}) {
      const bool own = absl::StrContains(name, "1ofK");
      shape_.options.loss = own ? KgeLoss::kOneOfN : KgeLoss::kOneToN;
      shape_.options.smoothing_form = own ? LabelSmoothing::kStandard : LabelSmoothing::kDettmers;
      const at::Tensor parameters = Parameters().requires_grad_(true);
      const at::Tensor gradient =
          torch::autograd::grad({Loss(parameters, golden_.Batch(own), training)}, {parameters})[0];
      const std::string prefix = absl::StrCat(training ? "train" : "eval", ".grad.", name, ".");
      const at::Tensor expected = ToTorch(golden_.Flat(prefix));
      for (const ParameterSlice& slice : shape_.Slices()) {
        const int64_t size = slice.num_elements();
        const at::Tensor part = gradient.narrow(0, slice.offset, size);
        if (HasNoGradient(slice, training)) {
          EXPECT_LE(Largest(part), slice.buffer ? 0 : 1e-7) << prefix << slice.name;
        } else {
          ExpectNear(part, expected.narrow(0, slice.offset, size), prefix + slice.name, Largest(expected));
        }
      }
    }
  }
}

// The loss softplus(-score) of the triple's own tail is the one that TracIn uses.
TEST_P(GoldenTest, GradientOfOneScore) {
  const OwnedKgeBatch batch = golden_.Batch(true);
  for (const bool training : {false, true}) {
    const at::Tensor parameters = Parameters().requires_grad_(true);
    const KgeBatch view = batch.View(training);
    const at::Tensor scores = ReferenceScores(shape_, parameters, view, ReferenceHidden(shape_, parameters, view).v);
    const at::Tensor own = at::tensor(batch.positive, at::kInt).to(at::kLong).unsqueeze(1);
    const at::Tensor loss = at::softplus(-scores.gather(1, own)).mean();
    const std::string name = training ? "train" : "eval";
    ExpectNear(loss, at::scalar_tensor(golden_.Scalar(name + ".loss.bce_triple"), at::kDouble), name);
    const at::Tensor gradient = torch::autograd::grad({loss}, {parameters})[0];
    const at::Tensor expected = ToTorch(golden_.Flat(name + ".grad.bce_triple."));
    for (const ParameterSlice& slice : shape_.Slices()) {
      if (HasNoGradient(slice, training)) continue;
      const int64_t size = slice.num_elements();
      ExpectNear(gradient.narrow(0, slice.offset, size), expected.narrow(0, slice.offset, size), name + slice.name,
                 Largest(expected));
    }
  }
}

TEST_P(GoldenTest, TwoStepsOfAdamWithRunningStatistics) {
  const bool own = GetParam().variant == "tiepin";
  shape_.options.loss = own ? KgeLoss::kOneOfN : KgeLoss::kOneToN;
  shape_.options.smoothing_form = own ? LabelSmoothing::kStandard : LabelSmoothing::kDettmers;
  const OwnedKgeBatch batch = golden_.Batch(own);
  at::Tensor parameters = Parameters();
  at::Tensor first = at::zeros_like(parameters), second = at::zeros_like(parameters);
  for (int step = 1; step <= 2; ++step) {
    const at::Tensor leaf = parameters.clone().requires_grad_(true);
    BatchStatistics statistics;
    const at::Tensor loss = Loss(leaf, batch, /*training=*/true, &statistics);
    ExpectNear(loss, at::scalar_tensor(golden_.Scalar(absl::StrCat("adam.loss_before_step", step)), at::kDouble),
               "loss");
    const at::Tensor gradient = torch::autograd::grad({loss}, {leaf})[0];
    first = 0.9 * first + 0.1 * gradient;
    second = 0.999 * second + 0.001 * gradient * gradient;
    const at::Tensor root = second.sqrt() / std::sqrt(1 - std::pow(0.999, step)) + 1e-8;
    parameters = parameters - 0.003 * first / (1 - std::pow(0.9, step)) / root;
    Tensor updated = Tensor::Zeros(DTypeOfTorch(parameters.scalar_type()), {parameters.numel()});
    ToTorch(updated).copy_(parameters);
    UpdateRunningStatistics(shape_, statistics, &updated);
    parameters = ToTorch(updated);
    const at::Tensor expected = ToTorch(golden_.Flat(absl::StrCat("adam.step", step, ".")));
    for (const ParameterSlice& slice : shape_.Slices()) {
      if (!slice.buffer && HasNoGradient(slice, true)) continue;
      const int64_t size = slice.num_elements();
      // Adam divides a gradient by its own size: where that is near 0, rounding in fp32 becomes a step, and the next
      // means are of other values.
      if (GetParam().type == at::kFloat && (!slice.buffer || step == 2)) continue;
      ExpectNear(parameters.narrow(0, slice.offset, size), expected.narrow(0, slice.offset, size),
                 absl::StrCat("step ", step, " ", slice.name));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, GoldenTest,
                         ::testing::Values(Case{"dettmers", at::kDouble}, Case{"tiepin", at::kDouble},
                                           Case{"dettmers", at::kFloat}, Case{"tiepin", at::kFloat}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.variant, info.param.type == at::kDouble ? "64" : "32");
                         });

}  // namespace
}  // namespace rutile

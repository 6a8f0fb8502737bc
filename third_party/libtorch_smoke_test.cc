// What rutile needs of LibTorch, in one file: run this first after setting LIBTORCH (docs/libtorch.md).
//
// The include order is the awkward one, glog before ATen: c10 may define LOG and CHECK of its own.

#include "lib/base/logging.h"

// Keeps the line above first.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <gflags/gflags.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/optim/lbfgs.h>
#include <torch/version.h>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

// A second registry of flags, or the same name twice, would end the program before main.
DEFINE_int32(libtorch_smoke_test_answer, 42, "Registered once, beside glog's flags and those of LibTorch.");

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

at::TensorOptions Double() { return at::TensorOptions().dtype(at::kDouble); }

// 50 -> 20 -> 20 -> 1 with tanh: the size of an interatomic potential's network. x: [N, 50]; returns [N].
struct Mlp {
  Mlp() {
    at::manual_seed(7);
    const std::vector<int64_t> widths = {50, 20, 20, 1};
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      weights.push_back((at::randn({widths[i], widths[i + 1]}, Double()) / 5).requires_grad_(true));
    }
  }

  at::Tensor operator()(const at::Tensor& x) const {
    at::Tensor h = x;
    for (size_t i = 0; i + 1 < weights.size(); ++i) h = at::tanh(at::matmul(h, weights[i]));
    return at::matmul(h, weights.back()).squeeze(1);
  }

  // Mean square of dE/dx, as in a loss on forces: its gradient differentiates twice. Leaves the graph in place.
  at::Tensor ForceLoss(const at::Tensor& x) const {
    const at::Tensor energy = (*this)(x).sum();
    const at::Tensor slope = torch::autograd::grad({energy}, {x}, /*grad_outputs=*/{}, /*retain_graph=*/true,
                                                   /*create_graph=*/true)[0];
    return slope.square().mean();
  }

  std::vector<at::Tensor> weights;
};

TEST(LibtorchSmokeTest, HeadersAndLibraryAreOfOneVersion) {
  const std::string config = at::show_config();
  const bool cuda = at::CUDAHooksRegistry()->Has("CUDAHooks");
  std::cout << "LibTorch " << TORCH_VERSION << ", CUDA backend "
            << (at::hasCUDA() ? "with a GPU"
                : cuda        ? "without a GPU"
                              : "not linked")
            << "\n"
            << config;
  EXPECT_THAT(config, HasSubstr(std::string("TORCH_VERSION=") + TORCH_VERSION + ","));
}

TEST(LibtorchSmokeTest, FromBlobSharesMemoryAndReleasesItOnce) {
  std::vector<double> values = {1, 2, 3, 4, 5, 6};
  int released = 0;
  {
    const at::Tensor view = at::from_blob(
        values.data(), {2, 3}, [&released](void*) { ++released; }, at::TensorOptions(at::kDouble));
    EXPECT_EQ(view.data_ptr(), values.data());
    values[5] = 60;
    EXPECT_EQ(view[1][2].item<double>(), 60);
    const at::Tensor row = view[0];
    EXPECT_EQ(at::matmul(view, row).sum().item<double>(), (1 + 4 + 9) + (4 + 10 + 180));
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(LibtorchSmokeTest, ErrorsAreExceptionsThatWeCanCatch) {
  EXPECT_THROW(at::matmul(at::ones({2, 3}), at::ones({2, 3})), c10::Error);
  try {
    at::matmul(at::ones({2, 3}), at::ones({2, 3}));
  } catch (const c10::Error& error) {  // a std::string made by LibTorch: its layout depends on the C++ ABI
    EXPECT_THAT(error.what_without_backtrace(), HasSubstr("2x3"));
  }
}

TEST(LibtorchSmokeTest, DoubleBackwardMatchesFiniteDifferences) {
  const Mlp mlp;
  const at::Tensor x = at::randn({32, 50}, Double()).requires_grad_(true);
  const std::vector<at::Tensor> gradient = torch::autograd::grad({mlp.ForceLoss(x)}, mlp.weights);
  for (size_t layer = 0; layer < mlp.weights.size(); ++layer) {
    double* weight = mlp.weights[layer].data_ptr<double>() + 3;
    const double kept = *weight;
    constexpr double kStep = 1e-5;
    *weight = kept + kStep;
    const double above = mlp.ForceLoss(x).item<double>();
    *weight = kept - kStep;
    const double below = mlp.ForceLoss(x).item<double>();
    *weight = kept;
    const double analytic = gradient[layer].flatten()[3].item<double>();
    EXPECT_NEAR(analytic, (above - below) / (2 * kStep), 1e-8 * (1 + std::abs(analytic))) << "layer " << layer;
  }
}

TEST(LibtorchSmokeTest, BackwardAddsToGrad) {
  const Mlp mlp;
  const at::Tensor x = at::randn({4, 50}, Double());
  torch::autograd::backward({mlp(x).sum()}, {});
  const at::Tensor once = mlp.weights[0].grad().clone();
  torch::autograd::backward({mlp(x).sum()}, {});
  EXPECT_TRUE(at::allclose(mlp.weights[0].grad(), 2 * once));
}

TEST(LibtorchSmokeTest, LbfgsFindsTheMinimum) {
  at::Tensor x = at::tensor({-1.2, 1.0}, Double()).requires_grad_(true);  // Rosenbrock's function
  torch::optim::LBFGS optimizer(
      {x}, torch::optim::LBFGSOptions(1).max_iter(100).tolerance_change(1e-14).line_search_fn("strong_wolfe"));
  const auto closure = [&] {
    optimizer.zero_grad();
    at::Tensor loss = 100 * (x[1] - x[0].square()).square() + (1 - x[0]).square();
    loss.backward();
    return loss;
  };
  optimizer.step(closure);
  EXPECT_NEAR(x[0].item<double>(), 1, 1e-5);
  EXPECT_NEAR(x[1].item<double>(), 1, 1e-5);
}

TEST(LibtorchSmokeTest, ThreadCountsCanBeSetAgain) {
  for (const int threads : {1, 2, 1}) {
    at::set_num_threads(threads);
    EXPECT_EQ(at::get_num_threads(), threads);
    EXPECT_EQ(at::ones({1 << 20}).sum().item<double>(), 1 << 20);
  }
}

class KeepMessages : public google::LogSink {
 public:
  void send(google::LogSeverity, const char*, const char*, int, const google::LogMessageTime&, const char* message,
            size_t length) override {
    messages.emplace_back(message, length);
  }
  std::vector<std::string> messages;
};

TEST(LibtorchSmokeTest, LogAndCheckAreGlogs) {
  KeepMessages sink;
  google::AddLogSink(&sink);
  LOG(INFO) << "from LOG";
  LOG_IF(WARNING, true) << "from LOG_IF";
  google::RemoveLogSink(&sink);
  EXPECT_THAT(sink.messages, ElementsAre("from LOG", "from LOG_IF"));
  CHECK(true);
  CHECK_NOTNULL(&sink);
  DCHECK_GE(2, 1);
  VLOG(9) << "not printed";
}

TEST(LibtorchSmokeDeathTest, CheckPrintsBothValues) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";  // LibTorch has threads
  EXPECT_DEATH(CHECK_EQ(1 + 1, 3) << "reason", "Check failed: 1 \\+ 1 == 3 \\(2 vs. 3\\) reason");
}

TEST(LibtorchSmokeTest, OneRegistryOfFlags) {
  EXPECT_EQ(FLAGS_libtorch_smoke_test_answer, 42);
  EXPECT_EQ(gflags::SetCommandLineOption("libtorch_smoke_test_answer", "43"), "libtorch_smoke_test_answer set to 43\n");
  EXPECT_EQ(FLAGS_libtorch_smoke_test_answer, 43);
  gflags::CommandLineFlagInfo info;
  EXPECT_TRUE(gflags::GetCommandLineFlagInfo("minloglevel", &info)) << "glog and this test use different gflags";
}

}  // namespace
}  // namespace rutile

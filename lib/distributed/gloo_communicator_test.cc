// Ranks are threads here; Gloo sees no difference. Tests are skipped if LibTorch was installed without Gloo.

#include "lib/distributed/gloo_communicator.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/distributed/communicator.h"
#include "lib/distributed/rank_settings.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Listens on a port that was free.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(socket_, 1), 0);
    socklen_t length = sizeof(address);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { ::close(socket_); }
  int port() const { return port_; }

 private:
  const int socket_;
  int port_ = 0;
};

int FreePort() { return Listener().port(); }

RankSettings Settings(int rank, int size, int port) {
  RankSettings settings;
  settings.rank = rank;
  settings.size = settings.local_size = size;
  settings.master_port = port;
  settings.launcher = "the test";
  return settings;
}

using Joined = absl::StatusOr<std::unique_ptr<Communicator>>;

// Runs `work` in `size` ranks at the same time.
void InRanks(int size, absl::Duration timeout, const std::function<void(int rank, Joined joined)>& work) {
  const int port = FreePort();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([=, &work] {
      GlooOptions options;
      options.timeout = timeout;
      work(rank, JoinGloo(Settings(rank, size, port), options));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class GlooCommunicatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Status status = JoinGloo(Settings(0, 1, FreePort()), GlooOptions()).status();
    if (absl::IsUnimplemented(status)) GTEST_SKIP() << status;
    ASSERT_TRUE(status.ok()) << status;
  }
};

TEST_F(GlooCommunicatorTest, SumsAreTheSameEverywhere) {
  for (const int size : {1, 2, 3}) {
    InRanks(size, absl::Seconds(20), [size](int rank, Joined joined) {
      ASSERT_TRUE(joined.ok()) << joined.status();
      EXPECT_EQ((*joined)->rank(), rank);
      EXPECT_EQ((*joined)->size(), size);
      std::vector<double> values = {1.0 + rank, 0.5, -2.0 * rank};
      ASSERT_TRUE((*joined)->Sum(absl::MakeSpan(values)).ok());
      EXPECT_THAT(values, ElementsAre(size + size * (size - 1) / 2, 0.5 * size, -size * (size - 1)));
      Tensor tensor = Tensor::Zeros(DType::kF32, {70000});
      auto* const data = static_cast<float*>(tensor.mutable_data());
      for (int64_t i = 0; i < 70000; ++i) data[i] = static_cast<float>(i + rank);
      ASSERT_TRUE((*joined)->Sum(&tensor).ok());
      EXPECT_EQ(data[69999], static_cast<float>(size * 69999 + size * (size - 1) / 2));
      const absl::StatusOr<std::vector<std::string>> texts =
          (*joined)->Gather(rank == 1 ? std::string() : absl::StrCat("rank ", rank));
      ASSERT_TRUE(texts.ok()) << texts.status();
      ASSERT_EQ(texts->size(), size);
      for (int r = 0; r < size; ++r) EXPECT_EQ((*texts)[r], r == 1 ? "" : absl::StrCat("rank ", r));
    });
  }
}

// Sums few values and many; sizes and types alternate.
TEST_F(GlooCommunicatorTest, SumsOfAllSizes) {
  for (const int size : {2, 4}) {
    InRanks(size, absl::Seconds(20), [size](int rank, Joined joined) {
      ASSERT_TRUE(joined.ok()) << joined.status();
      for (const int64_t n : {1, 7, 0, 65537, 3, 1310721, 2}) {
        Tensor single = Tensor::Zeros(DType::kF32, {n}), doubles = Tensor::Zeros(DType::kF64, {n});
        for (int64_t i = 0; i < n; ++i) single.mutable_values<float>()[i] = static_cast<float>(i % 1000 + rank);
        for (int64_t i = 0; i < n; ++i) doubles.mutable_values<double>()[i] = static_cast<double>(i) - rank;
        ASSERT_EQ((*joined)->Sum(&single), absl::OkStatus());
        ASSERT_EQ((*joined)->Sum(&doubles), absl::OkStatus());
        const double ranks = size * (size - 1) / 2;
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_EQ(single.values<float>()[i], static_cast<float>(size * (i % 1000) + ranks)) << n << " " << i;
          ASSERT_EQ(doubles.values<double>()[i], static_cast<double>(size * i) - ranks) << n << " " << i;
        }
      }
    });
  }
}

// Starts a sum of n values, `value` + rank each, in the background.
Tensor Start(Communicator* communicator, int64_t n, float value) {
  Tensor tensor = Tensor::Zeros(DType::kF32, {n});
  for (float& x : tensor.mutable_values<float>()) x = value + static_cast<float>(communicator->rank());
  communicator->StartSum(tensor);
  return tensor;
}

TEST_F(GlooCommunicatorTest, SumsThatAreStartedAreDoneBesideOthers) {
  for (const int size : {1, 2, 4}) {
    InRanks(size, absl::Seconds(20), [size](int rank, Joined joined) {
      ASSERT_TRUE(joined.ok()) << joined.status();
      EXPECT_EQ((*joined)->FinishSums(), absl::OkStatus());  // none is under way
      const double ranks = size * (size - 1) / 2;
      for (int round = 0; round < 3; ++round) {
        std::vector<Tensor> started;
        for (const int64_t n : {300000, 1, 70000}) started.push_back(Start(joined->get(), n, round));
        // One rank starts its own sum late, while all add up something else.
        if (rank == round) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        double value = rank;
        ASSERT_EQ((*joined)->Sum(absl::MakeSpan(&value, 1)), absl::OkStatus());
        EXPECT_EQ(value, ranks);
        started.push_back(Start(joined->get(), 500, 10));
        ASSERT_EQ((*joined)->FinishSums(), absl::OkStatus());
        for (size_t s = 0; s < started.size(); ++s) {
          const double expected = size * (s == 3 ? 10 : round) + ranks;
          for (const float x : started[s].values<float>()) ASSERT_EQ(x, static_cast<float>(expected)) << s;
        }
      }
    });
  }
}

TEST_F(GlooCommunicatorTest, SumsThatAreStartedFail) {
  for (const bool gone : {false, true}) {
    InRanks(2, absl::Seconds(gone ? 20 : 3), [gone](int rank, Joined joined) {
      ASSERT_TRUE(joined.ok()) << joined.status();
      Start(joined->get(), 100, 1);
      ASSERT_EQ((*joined)->FinishSums(), absl::OkStatus());
      if (rank == 1) {
        if (!gone) std::this_thread::sleep_for(std::chrono::seconds(5));
        return;
      }
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < 3; ++i) Start(joined->get(), 3000000, 1);
      const absl::Status status = (*joined)->FinishSums();
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr(gone ? "another process has gone" : "has not answered for 3s"));
      joined->reset();  // those that wait behind it end with it
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(gone ? 15 : 8));
    });
  }
}

TEST_F(GlooCommunicatorTest, DisagreementNamesRankKeyAndValues) {
  InRanks(2, absl::Seconds(20), [](int rank, Joined joined) {
    ASSERT_TRUE(joined.ok()) << joined.status();
    EXPECT_TRUE(CheckAgreement(**joined, {"seed=1", "batch_size=32"}).ok());
    const absl::Status status = CheckAgreement(**joined, {"seed=1", absl::StrCat("batch_size=", 32 + rank)});
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("rank 1 does not agree with rank 0: it has batch_size=33, rank 0 batch_size=32"));
  });
}

TEST_F(GlooCommunicatorTest, WhoHangsAndWhoHasGone) {
  InRanks(2, absl::Seconds(3), [](int rank, Joined joined) {
    ASSERT_TRUE(joined.ok()) << joined.status();
    double value = 1;
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(5));
      return;
    }
    const absl::Status status = (*joined)->Sum(absl::MakeSpan(&value, 1));
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("has not answered for 3s"));
  });
  InRanks(2, absl::Seconds(20), [](int rank, Joined joined) {
    ASSERT_TRUE(joined.ok()) << joined.status();
    if (rank == 1) return;
    double value = 1;
    const absl::Status status = (*joined)->Sum(absl::MakeSpan(&value, 1));
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("another process has gone"));
  });
}

TEST_F(GlooCommunicatorTest, WhyNobodyMeets) {
  GlooOptions options;
  options.timeout = absl::Seconds(1);
  const absl::Status alone = JoinGloo(Settings(0, 2, FreePort()), options).status();
  EXPECT_EQ(alone.code(), absl::StatusCode::kDeadlineExceeded) << alone;
  EXPECT_THAT(std::string(alone.message()), HasSubstr("not all of 2 processes met at 127.0.0.1:"));
  const absl::Status unreached = JoinGloo(Settings(1, 2, FreePort()), options).status();
  EXPECT_EQ(unreached.code(), absl::StatusCode::kDeadlineExceeded) << unreached;
  const Listener listener;
  const absl::Status taken = JoinGloo(Settings(0, 2, listener.port()), options).status();
  EXPECT_EQ(taken.code(), absl::StatusCode::kUnavailable) << taken;
  EXPECT_THAT(std::string(taken.message()), HasSubstr("is in use: set MASTER_PORT"));
}

}  // namespace
}  // namespace rutile

#include "lib/train/thread_communicator.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/train/tensor_values.h"

namespace rutile {
namespace {

// What all ranks meet at.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size), given_(size), texts_(size) {}

  int size() const { return size_; }

  // Everybody's, by rank, once all are here.
  std::vector<std::vector<double>> Values(int rank, std::vector<double> own) {
    given_[rank] = std::move(own);
    Wait();
    std::vector<std::vector<double>> all = given_;
    Wait();  // before anybody gives the next
    return all;
  }
  std::vector<std::string> Texts(int rank, std::string own) {
    texts_[rank] = std::move(own);
    Wait();
    std::vector<std::string> all = texts_;
    Wait();
    return all;
  }

 private:
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const int64_t round = round_;
    if (++here_ == size_) {
      here_ = 0;
      ++round_;
      all_here_.notify_all();
    } else {
      all_here_.wait(lock, [&] { return round_ != round; });
    }
  }

  const int size_;
  std::vector<std::vector<double>> given_;
  std::vector<std::string> texts_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  int here_ = 0;
  int64_t round_ = 0;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(Meeting* meeting, int rank) : meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }

  absl::Status Sum(absl::Span<double> values) override {
    const auto all = meeting_->Values(rank_, {values.begin(), values.end()});
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = 0;
      for (const std::vector<double>& one : all) {
        CHECK_EQ(one.size(), values.size());
        values[i] += one[i];
      }
    }
    return absl::OkStatus();
  }

  absl::Status Sum(Tensor* values) override {
    std::vector<double> numbers;
    AppendValues({*values}, &numbers);
    RETURN_IF_ERROR(Sum(absl::MakeSpan(numbers)));
    SetValues(numbers, absl::MakeSpan(values, 1));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> Gather(absl::string_view own) override {
    return meeting_->Texts(rank_, std::string(own));
  }

 private:
  Meeting* const meeting_;
  const int rank_;
};

}  // namespace

void RunAsThreads(int size, const std::function<void(Communicator* communicator)>& work) {
  Meeting meeting(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadCommunicator communicator(&meeting, rank);
      work(&communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace rutile

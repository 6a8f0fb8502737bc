#include "lib/distributed/thread_communicator.h"

#include <ATen/ATen.h>

#include <condition_variable>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/distributed/tensor_values.h"
#include "lib/task/device_sums.h"

namespace rutile {
namespace {

// The barrier and the shared memory of all ranks.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size), given_(size), texts_(size) {}

  int size() const { return size_; }

  // Returns the values of all ranks, by rank, once all have arrived.
  std::vector<std::vector<double>> Values(int rank, std::vector<double> own) {
    given_[rank] = std::move(own);
    Wait();
    std::vector<std::vector<double>> all = given_;
    Wait();  // before any rank brings its next values
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
  // background: the meeting of sums that StartSum starts.
  ThreadCommunicator(Meeting* meeting, Meeting* background, int rank, bool devices)
      : meeting_(meeting), background_(background), rank_(rank), devices_(devices) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }

  absl::Status Sum(absl::Span<double> values) override {
    SumIn(meeting_, values);
    return absl::OkStatus();
  }

  absl::Status Sum(Tensor* values) override {
    SumIn(meeting_, values);
    return absl::OkStatus();
  }

  void StartSum(Tensor values) override {
    started_ = std::async(std::launch::async, [this, values, before = started_]() mutable {
                 if (before.valid()) before.wait();
                 SumIn(background_, &values);
               }).share();
  }

  absl::Status FinishSums() override {
    if (started_.valid()) started_.wait();
    return absl::OkStatus();
  }

  // Sums "on a device" among the ranks of one meeting.
  class Devices : public DeviceSums {
   public:
    explicit Devices(ThreadCommunicator* communicator) : communicator_(communicator) {}
    absl::Status Sum(at::Tensor* values) override {
      at::Tensor sum = values->to(at::kDouble).contiguous();
      communicator_->SumIn(communicator_->meeting_, {sum.data_ptr<double>(), static_cast<size_t>(sum.numel())});
      values->copy_(sum);
      return absl::OkStatus();
    }

   private:
    ThreadCommunicator* const communicator_;
  };

  absl::StatusOr<std::unique_ptr<DeviceSums>> JoinDevices(const std::string& device) override {
    CHECK_EQ(device, "cpu");
    return devices_ ? std::make_unique<Devices>(this) : nullptr;
  }

  absl::StatusOr<std::vector<std::string>> Gather(absl::string_view own) override {
    return meeting_->Texts(rank_, std::string(own));
  }

 private:
  void SumIn(Meeting* meeting, absl::Span<double> values) {
    const auto all = meeting->Values(rank_, {values.begin(), values.end()});
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = 0;
      for (const std::vector<double>& one : all) {
        CHECK_EQ(one.size(), values.size());
        values[i] += one[i];
      }
    }
  }
  void SumIn(Meeting* meeting, Tensor* values) {
    std::vector<double> numbers;
    AppendValues({*values}, &numbers);
    SumIn(meeting, absl::MakeSpan(numbers));
    SetValues(numbers, absl::MakeSpan(values, 1));
  }

  Meeting* const meeting_;
  Meeting* const background_;
  const int rank_;
  const bool devices_;
  std::shared_future<void> started_;  // the last one started
};

}  // namespace

void RunAsThreads(int size, const std::function<void(Communicator* communicator)>& work, bool devices) {
  Meeting meeting(size), background(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadCommunicator communicator(&meeting, &background, rank, devices);
      work(&communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace rutile

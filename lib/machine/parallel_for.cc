#include "lib/machine/parallel_for.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "lib/base/logging.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Returns the number of processors that the cgroup (v2, then v1) allows, or 0 if it sets no limit.
int CgroupProcessors() {
  double quota = -1, period = -1;
  std::string word;
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2 >> word >> period && word != "max") {
    quota = std::atof(word.c_str());
  } else {
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? static_cast<int>(std::ceil(quota / period)) : 0;
}

}  // namespace

int AvailableProcessors() {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  if (const int quota = CgroupProcessors(); quota > 0) count = std::min(count, quota);
  return std::max(1, count);
}

namespace {

// Number of times that a thread looks for work, or for the end of a loop, before it sleeps: about 50 us, as long as the
// pause between two loops of a training step. Waking a sleeping thread takes that long too.
constexpr int kLooks = 1500;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

struct ThreadPool::Shared {
  std::mutex mutex;  // guards sleeping and waking
  std::condition_variable wake, done;
  std::atomic<int64_t> generation{0};  // number of calls of For so far
  std::atomic<int> working{0};         // number of threads still in the current call
  std::atomic<bool> stop{false};
  int looks = 0;
  // Arguments of the current call: written before `generation`, read after it.
  const std::function<void(int64_t, int64_t, int)>* body = nullptr;
  int64_t n = 0, grain = 1;
  std::atomic<int64_t> next{0};
  std::exception_ptr thrown;  // the first exception of the current call; guarded by `mutex`
  std::vector<std::thread> threads;

  void TakePieces(int worker) {
    try {
      for (int64_t begin; (begin = next.fetch_add(grain)) < n;) (*body)(begin, std::min(n, begin + grain), worker);
    } catch (...) {  // memory that is used up, as a rule: it would end the program on any thread but the caller's
      next = n;
      const std::lock_guard<std::mutex> lock(mutex);
      if (thrown == nullptr) thrown = std::current_exception();
    }
  }

  // Spins, then sleeps, until condition() is true.
  template <typename Condition>
  void Wait(std::condition_variable* sleep, const Condition& condition) {
    for (int look = 0; look < looks; ++look) {
      if (condition()) return;
      Pause();
    }
    std::unique_lock<std::mutex> lock(mutex);
    sleep->wait(lock, condition);
  }

  // Wakes sleeping threads after a change that they wait for. The lock prevents the change from falling between a
  // thread's last look and its sleep.
  void Notify(std::condition_variable* sleep) {
    { const std::lock_guard<std::mutex> lock(mutex); }
    sleep->notify_all();
  }

  void Run(int worker) {
    for (int64_t seen = 0;;) {
      Wait(&wake, [&] { return stop || generation != seen; });
      if (stop) return;
      seen = generation;
      TakePieces(worker);
      if (--working == 0) Notify(&done);
    }
  }
};

ThreadPool::ThreadPool(int num_threads) : num_threads_(num_threads), shared_(new Shared) {
  CHECK_GE(num_threads, 1);
  std::unique_ptr<Shared> not_whole(shared_);  // frees it if there is no memory for the list of threads
  shared_->threads.reserve(num_threads - 1);
  static_cast<void>(not_whole.release());
  // Spinning takes processors from other threads if there are fewer processors than threads.
  if (num_threads <= AvailableProcessors()) shared_->looks = kLooks;
  // A limit on memory or processes may allow fewer threads. Results do not depend on their number, so that the loop
  // runs on those there are.
  const char* why = nullptr;
  try {
    for (int worker = 1; worker < num_threads; ++worker) {
      shared_->threads.emplace_back([shared = shared_, worker] { shared->Run(worker); });
    }
  } catch (const std::system_error&) {
    why = "the system allows no more memory or processes (ulimit -v, ulimit -u)";
  } catch (const std::bad_alloc&) {
    why = "out of memory";
  }
  if (why != nullptr) {
    LOG_FIRST_N(WARNING, 1) << "works on " << shared_->threads.size() + 1 << " of " << num_threads
                            << " threads: " << why;
  }
}

ThreadPool::~ThreadPool() {
  shared_->stop = true;
  shared_->Notify(&shared_->wake);
  for (std::thread& thread : shared_->threads) thread.join();
  delete shared_;
}

void ThreadPool::For(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t, int)>& body) {
  CHECK_GE(grain, 1);
  if (shared_->threads.empty() || n <= grain) {
    for (int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(n, begin + grain), 0);
    return;
  }
  shared_->body = &body;
  shared_->n = n;
  shared_->grain = grain;
  shared_->next = 0;
  shared_->working = static_cast<int>(shared_->threads.size());
  ++shared_->generation;
  shared_->Notify(&shared_->wake);
  shared_->TakePieces(0);
  {
    const ProfileScope scope(Stage::kWaitForThreads);
    shared_->Wait(&shared_->done, [this] { return shared_->working == 0; });
  }
  if (shared_->thrown != nullptr) std::rethrow_exception(std::exchange(shared_->thrown, nullptr));
}

}  // namespace rutile

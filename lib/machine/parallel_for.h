// A loop over [0, n) on several threads, in pieces fixed by `n` and `grain` alone: a result that is written per index,
// or summed per piece and combined in the order of pieces, has the same bits for any number of threads.

#ifndef RUTILE_LIB_MACHINE_PARALLEL_FOR_H_
#define RUTILE_LIB_MACHINE_PARALLEL_FOR_H_

#include <cstdint>
#include <functional>

namespace rutile {

// Returns the number of processors that this process may use: those in its affinity mask, at most the cgroup's quota
// rounded up. At least 1.
int AvailableProcessors();

// Runs loops on threads that live as long as the object: starting a thread costs as much as computing thousands of
// atoms.
//
//   ThreadPool pool(num_threads);
//   pool.For(num_atoms, /*grain=*/64, [&](int64_t begin, int64_t end, int worker) {
//     for (int64_t i = begin; i < end; ++i) Compute(i, &scratch[worker]);
//   });
class ThreadPool {
 public:
  // num_threads >= 1 counts the calling thread, so 1 starts none.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  // Calls body(begin, end, worker) for consecutive ranges of at most `grain` indices in [0, n); worker < num_threads()
  // selects scratch space. Threads take ranges as they become free. Returns when all are done. An exception of `body`,
  // on whichever thread, comes back to the caller once no thread works any more; ranges that were not begun are left
  // out. Not reentrant.
  void For(int64_t n, int64_t grain, const std::function<void(int64_t begin, int64_t end, int worker)>& body);

 private:
  struct Shared;
  const int num_threads_;
  Shared* const shared_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_MACHINE_PARALLEL_FOR_H_

// A loop over [0, n) on several threads, in pieces fixed by `n` and `grain` alone: a result that is written per index,
// or summed per piece and combined in the order of pieces, has the same bits for any number of threads.

#ifndef RUTILE_LIB_BASE_PARALLEL_FOR_H_
#define RUTILE_LIB_BASE_PARALLEL_FOR_H_

#include <cstdint>
#include <functional>

namespace rutile {

// Processors that this process may use: its affinity mask, and the cgroup's quota rounded up. At least 1.
int AvailableProcessors();

// Threads that live as long as the object: starting one costs as much as thousands of atoms.
class ThreadPool {
 public:
  // num_threads >= 1 counts the calling thread, so 1 starts none.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  // Calls body(begin, end, worker) for consecutive pieces of at most `grain` indices; worker < num_threads() tells
  // scratch space apart. Threads take pieces as they become free. Returns when all are done. Not reentrant.
  void For(int64_t n, int64_t grain, const std::function<void(int64_t begin, int64_t end, int worker)>& body);

 private:
  struct Shared;
  const int num_threads_;
  Shared* const shared_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_PARALLEL_FOR_H_

// A line on the terminal that says how far a long loop is.
//
//   featurize   45 % [###########              ] 450/1000  1234/s  0:12 left

#ifndef RUTILE_LIB_BASE_PROGRESS_H_
#define RUTILE_LIB_BASE_PROGRESS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// Draws at most ten times a second, from the first tenth on, and only when standard error is a terminal: logs and pipes
// see nothing. Every member may be called by any thread.
class ProgressBar {
 public:
  // total: how many items there will be, -1 when nobody knows. Not `enabled`: never draws (--progress=false).
  ProgressBar(absl::string_view label, int64_t total, bool enabled = true);
  ~ProgressBar() { Finish(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // n more items are done. Costs a few nanoseconds when nothing is drawn.
  void Add(int64_t n = 1);
  // Leaves the last state on the terminal, if any was drawn, and goes to a new line. Further calls do nothing.
  void Finish();

 private:
  void Draw(absl::string_view end);  // the mutex is held
  double Seconds() const;

  const std::string label_;
  const int64_t total_;
  const std::chrono::steady_clock::time_point start_;
  std::atomic<bool> active_;
  std::atomic<int64_t> done_{0};
  std::atomic<int64_t> next_draw_ms_{100};  // after start_
  std::mutex mutex_;
  bool drawn_ = false;
};

// The line after `seconds`, at most `width` columns of it.
std::string FormatProgress(absl::string_view label, int64_t done, int64_t total, double seconds, int width);

// Three digits or more: 0.123/s, 12.3/s, 4567/s.
std::string FormatRate(double rate);

// "0:07", "12:30", "3:05:00".
std::string FormatDuration(double seconds);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_PROGRESS_H_

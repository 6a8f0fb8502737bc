// Shows on the terminal how far a long loop has come:
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

// A progress bar for a long loop. It draws at most ten times a second, from the first tenth of a second on, and only if
// standard error is a terminal: logs and pipes see nothing. Any thread may call any member.
class ProgressBar {
 public:
  // total: number of items, -1 if unknown. With enabled = false it never draws (--progress=false).
  ProgressBar(absl::string_view label, int64_t total, bool enabled = true);
  ~ProgressBar() { Finish(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Counts n more finished items. Costs a few nanoseconds if nothing is drawn.
  void Add(int64_t n = 1);
  // Leaves the last line on the terminal, if one was drawn, and starts a new line. Further calls do nothing.
  void Finish();

 private:
  void Draw(absl::string_view end);  // requires the mutex
  double Seconds() const;

  const std::string label_;
  const int64_t total_;
  const std::chrono::steady_clock::time_point start_;
  std::atomic<bool> active_;
  std::atomic<int64_t> done_{0};
  std::atomic<int64_t> next_draw_ms_{100};  // milliseconds after start_
  std::mutex mutex_;
  bool drawn_ = false;
};

// Returns the line to draw after `seconds`, cut to `width` columns.
std::string FormatProgress(absl::string_view label, int64_t done, int64_t total, double seconds, int width);

// Formats a rate with at least three digits: 0.123/s, 12.3/s, 4567/s.
std::string FormatRate(double rate);

// Formats a duration: "0:07", "12:30", "3:05:00".
std::string FormatDuration(double seconds);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_PROGRESS_H_

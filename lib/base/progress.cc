#include "lib/base/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/terminal_line.h"

namespace rutile {
namespace {

constexpr int64_t kDrawEveryMs = 100;
constexpr int kBarWidth = 25;

}  // namespace

std::string FormatRate(double rate) {
  return rate >= 100 ? absl::StrFormat("%.0f/s", rate) : absl::StrFormat("%.3g/s", rate);
}

std::string FormatDuration(double seconds) {
  constexpr double kLongest = 1000 * 3600.0;  // 1000 hours; longer estimates are not shown
  if (!(seconds < kLongest)) return "a long time";
  const int64_t whole = static_cast<int64_t>(std::max(0.0, seconds) + 0.5);
  const int64_t minutes = whole / 60;
  if (minutes < 60) return absl::StrFormat("%d:%02d", minutes, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", minutes / 60, minutes % 60, whole % 60);
}

std::string FormatProgress(absl::string_view label, int64_t done, int64_t total, double seconds, int width) {
  const double rate = seconds > 0 ? done / seconds : 0;
  std::string line(label);
  if (total < 0) {
    absl::StrAppend(&line, "  ", done, "  ", FormatRate(rate), "  ", FormatDuration(seconds));
  } else {
    const double part = total == 0 ? 1 : std::clamp(static_cast<double>(done) / total, 0.0, 1.0);
    const int filled = static_cast<int>(part * kBarWidth);
    absl::StrAppendFormat(&line, "  %3d %% [%s%s] %d/%d  %s", static_cast<int>(part * 100), std::string(filled, '#'),
                          std::string(kBarWidth - filled, ' '), done, total, FormatRate(rate));
    if (done >= total) {
      absl::StrAppend(&line, "  ", FormatDuration(seconds));
    } else if (done > 0) {
      absl::StrAppend(&line, "  ", FormatDuration((total - done) / rate), " left");
    }
  }
  if (line.size() > static_cast<size_t>(std::max(width, 0))) line.resize(std::max(width, 0));
  return line;
}

ProgressBar::ProgressBar(absl::string_view label, int64_t total, bool enabled)
    : label_(label), total_(total), start_(std::chrono::steady_clock::now()), active_(enabled && CanDrawLines()) {}

double ProgressBar::Seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void ProgressBar::Add(int64_t n) {
  if (!active_.load(std::memory_order_relaxed)) return;
  done_.fetch_add(n, std::memory_order_relaxed);
  const int64_t now_ms = static_cast<int64_t>(Seconds() * 1000);
  if (now_ms < next_draw_ms_.load(std::memory_order_relaxed)) return;
  // A thread that finds another one drawing returns: its line would be the same.
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !active_ || now_ms < next_draw_ms_) return;
  next_draw_ms_ = now_ms + kDrawEveryMs;
  Draw("");
}

void ProgressBar::Finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (active_.exchange(false) && drawn_) Draw("\n");
}

void ProgressBar::Draw(absl::string_view end) {
  drawn_ = true;
  DrawTerminalLine(FormatProgress(label_, done_, total_, Seconds(), TerminalLineWidth()), end);
}

}  // namespace rutile

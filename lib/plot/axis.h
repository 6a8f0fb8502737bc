// Ranges and tick marks of axes, and numbers as people read them.

#ifndef RUTILE_LIB_PLOT_AXIS_H_
#define RUTILE_LIB_PLOT_AXIS_H_

#include <string>
#include <vector>

namespace rutile {

struct AxisRange {
  double low = 0;
  double high = 1;
};

struct Tick {
  double value = 0;
  std::string label;  // "−0.5", with a real minus sign
};

// The values [low, high] with a margin of 4 % on both sides. A single value gets a range around it.
AxisRange LinearRange(double low, double high);
// The same on a logarithmic axis. CHECK-fails unless 0 < low <= high.
AxisRange LogRange(double low, double high);

// About `count` round values (steps of 1, 2 or 5 times a power of ten) inside the range, with the digits they need.
std::vector<Tick> LinearTicks(AxisRange range, int count = 6);
// Powers of ten; with 2 and 5 times them where that leaves fewer than three; linear ticks where those do, too.
std::vector<Tick> LogTicks(AxisRange range);

// Three significant digits, and no exponent between 0.001 and a million: "8.12", "127", "0.0031".
std::string FormatFigure(double value);

// "1234567" -> "1 234 567", with narrow no-break spaces.
std::string FormatCount(long long value);

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_AXIS_H_

// Log: the natural logarithm, equal to the last bit to that of the reference scheduler.
#ifndef SCHEDFW_BASE_LOG_H_
#define SCHEDFW_BASE_LOG_H_

#include <bit>
#include <cstdint>

namespace schedfw {

/// ln(x) for positive, finite, normal x.
///
/// The C library's log and Go's differ in the last bit for some arguments, which shows in rounded
/// scores. This is the algorithm of FreeBSD's e_log.c in the order of operations that Go uses on
/// amd64 (src/math/log_amd64.s); it needs IEEE doubles without fused multiply-add.
inline double Log(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kL1 = 6.666666666666735130e-01;
  constexpr double kL2 = 3.999999999940941908e-01;
  constexpr double kL3 = 2.857142874366239149e-01;
  constexpr double kL4 = 2.222219843214978396e-01;
  constexpr double kL5 = 1.818357216161805012e-01;
  constexpr double kL6 = 1.531383769920937332e-01;
  constexpr double kL7 = 1.479819860511658591e-01;
  constexpr double kHalfSqrt2 = 7.07106781186547524401e-01;

  // x = f1 · 2^k with f1 in [sqrt(2)/2, sqrt(2)).
  const auto bits = std::bit_cast<std::uint64_t>(x);
  double f1 = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) | 0x3FE0000000000000u);
  double k = static_cast<double>(static_cast<std::int64_t>(bits >> 52 & 0x7FF) - 0x3FE);
  if (f1 <= kHalfSqrt2) {
    k -= 1;
    f1 *= 2;
  }
  const double f = f1 - 1;
  const double s = f / (2 + f);
  const double s2 = s * s;
  const double s4 = s2 * s2;
  double t1 = kL7 * s4;
  t1 = (t1 + kL5) * s4;
  t1 = (t1 + kL3) * s4;
  t1 = (t1 + kL1) * s2;
  double t2 = kL6 * s4;
  t2 = (t2 + kL4) * s4;
  t2 = (t2 + kL2) * s4;
  const double r = t1 + t2;
  const double hfsq = 0.5 * f * f;
  const double correction = s * (hfsq + r) + k * kLn2Low;
  return k * kLn2High - ((hfsq - correction) - f);
}

}  // namespace schedfw

#endif  // SCHEDFW_BASE_LOG_H_

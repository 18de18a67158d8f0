// SPDX-License-Identifier: GPL-3.0-or-later
// Elementary functions of vectors, to about a unit in the last place of float32.
#pragma once

#include "lanes.h"

namespace bacsim {
namespace BACSIM_TARGET {

struct Direction {
  Float cos, sin;
};

// cos and sin of angles of a few turns. The angle is brought within π/4 of a multiple of π/2 by a
// constant in three parts (Cody & Waite 1980); then minimax polynomials (Cephes, Moshier).
inline Direction direction_of(Float angle) {
  const Float turns = nearest_of_small(angle * 0.636619772f);
  const Word quarter = bits_of<Word>(to_int(turns));
  Float x = angle - turns * 1.5703125f;
  x -= turns * 4.837512969970703125e-4f;
  x -= turns * 7.54978995489188216e-8f;
  const Float z = x * x;
  const Float sine =
      x + x * z * (-1.6666654611e-1f + z * (8.3321608736e-3f - z * 1.9515295891e-4f));
  const Float cosine =
      1.0f - 0.5f * z +
      z * z * (4.166664568298827e-2f + z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f));
  const Int odd = (quarter & 1) != 0;
  const Word sine_sign = (quarter & 2) << 30, cosine_sign = ((quarter + 1) & 2) << 30;
  const Float cos = where(odd, sine, cosine), sin = where(odd, cosine, sine);
  return {bits_of<Float>(bits_of<Word>(cos) ^ cosine_sign),
          bits_of<Float>(bits_of<Word>(sin) ^ sine_sign)};
}

// e^x, 0 and infinity where float32 has no such number.
inline Float exponential(Float x) {
  const Float bounded = minimum(maximum(x, all(-104.0f)), all(89.0f));
  const Float power = nearest_of_small(bounded * 1.44269504f);
  const Float f = (bounded - power * 0.693359375f) + power * 2.12194440e-4f;
  Float p = all(1.9875691500e-4f);
  p = p * f + 1.3981999507e-3f;
  p = p * f + 8.3334519073e-3f;
  p = p * f + 4.1665795894e-2f;
  p = p * f + 1.6666665459e-1f;
  p = p * f + 5.0000001201e-1f;
  p = p * f * f + f + 1.0f;
  // In two factors, so that neither leaves the range of exponents.
  const Int whole = to_int(power), half = whole >> 1;
  const Float first = bits_of<Float>((half + 127) << 23);
  const Float second = bits_of<Float>((whole - half + 127) << 23);
  const Float value = p * first * second;
  return where(x != x, x, value);  // NaN stays NaN
}

// The natural logarithm of positive numbers that are not subnormal (Cephes, Moshier).
inline Float logarithm(Float x) {
  const Int whole = bits_of<Int>(x);
  Int exponent = ((whole >> 23) & 0xff) - 126;
  Float m = bits_of<Float>((whole & 0x007fffff) | 0x3f000000);
  const Int low = m < 0.707106781f;
  exponent += low;
  m = where(low, m + m, m) - 1.0f;
  Float p = all(7.0376836292e-2f);
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const Float z = m * m, e = to_float(exponent);
  const Float y = p * m * z + e * -2.12194440e-4f - 0.5f * z;
  return (m + y) + e * 0.693359375f;
}

// The inverse of the error function for |x| < 1 (Giles 2010, Approximating the erfinv function).
inline Float inverse_error_function(Float x) {
  const Float w = -logarithm((1.0f - x) * (1.0f + x));
  const Float a = w - 2.5f, b = root(maximum(w, all(0.0f))) - 3.0f;
  Float p = all(2.81022636e-08f);
  p = p * a + 3.43273939e-07f;
  p = p * a - 3.5233877e-06f;
  p = p * a - 4.39150654e-06f;
  p = p * a + 0.00021858087f;
  p = p * a - 0.00125372503f;
  p = p * a - 0.00417768164f;
  p = p * a + 0.246640727f;
  p = p * a + 1.50140941f;
  Float q = all(-0.000200214257f);
  q = q * b + 0.000100950558f;
  q = q * b + 0.00134934322f;
  q = q * b - 0.00367342844f;
  q = q * b + 0.00573950773f;
  q = q * b - 0.0076224613f;
  q = q * b + 0.00943887047f;
  q = q * b + 1.00167406f;
  q = q * b + 2.83297682f;
  return where(w < 5.0f, p, q) * x;
}

// Two words of random bits from a key and a counter: Threefry-2x32 with 20 rounds (Salmon, Moraes,
// Dror & Shaw 2011, Parallel random numbers: as easy as 1, 2, 3), the generator of `jax.random`.
struct Random {
  Word first, second;
};

inline Random threefry(Word key0, Word key1, Word x, Word y) {
  const Word key2 = key0 ^ key1 ^ 0x1bd11bdau;
  x += key0;
  y += key1;
  const auto round = [&x, &y](int by) {
    x += y;
    y = (y << by) | (y >> (32 - by));
    y ^= x;
  };
  const auto even = [&round] { round(13), round(15), round(26), round(6); };
  const auto odd = [&round] { round(17), round(29), round(16), round(24); };
  even(), x += key1, y += key2 + 1u;
  odd(), x += key2, y += key0 + 2u;
  even(), x += key0, y += key1 + 3u;
  odd(), x += key1, y += key2 + 4u;
  even(), x += key2, y += key0 + 5u;
  return {x, y};
}

// Standard normal numbers from random bits: 23 of them as a uniform number in (-1, 1), then the
// inverse of the distribution, as `jax.random.normal` does.
inline Float normal(Word bits) {
  const Float low = all(-0.99999994f);
  const Float unit = bits_of<Float>((bits >> 9) | 0x3f800000u) - 1.0f;
  const Float uniform = maximum(unit * 2.0f + low, low);
  return 1.41421356f * inverse_error_function(uniform);
}

}  // namespace BACSIM_TARGET
}  // namespace bacsim

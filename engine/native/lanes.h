// SPDX-License-Identifier: GPL-3.0-or-later
// Vectors of float32 and int32, as wide as the instruction set that a file is compiled for.
//
// The types are the vector extension of GCC and Clang, so arithmetic, comparisons and the choice
// `mask ? a : b` are operators. Here is what has no operator. A file that includes this must not
// use templates of the standard library: the linker might keep their copy in instructions that the
// machine does not have.
#pragma once

#include <cstdint>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace bacsim {
// A namespace of its own for each instruction set; the build names it.
namespace BACSIM_TARGET {

#if defined(__AVX512F__)
constexpr int WIDTH = 16;
#elif defined(__AVX2__)
constexpr int WIDTH = 8;
#else
constexpr int WIDTH = 4;
#endif

using Float = float __attribute__((vector_size(4 * WIDTH)));
using Int = int32_t __attribute__((vector_size(4 * WIDTH)));
using Word = uint32_t __attribute__((vector_size(4 * WIDTH)));

template <class Vector, class Scalar>
inline Vector load(const Scalar* from) {
  Vector vector;
  __builtin_memcpy(&vector, from, sizeof vector);
  return vector;
}

template <class Vector, class Scalar>
inline void store(Scalar* to, Vector vector) {
  __builtin_memcpy(to, &vector, sizeof vector);
}

inline Float all(float value) { return value - Float{}; }
inline Int all(int32_t value) { return value - Int{}; }
inline Word all(uint32_t value) { return value - Word{}; }

template <class To, class From>
inline To bits_of(From vector) {
  To same;
  __builtin_memcpy(&same, &vector, sizeof same);
  return same;
}

inline Int counting() {
  Int vector;
  for (int lane = 0; lane < WIDTH; ++lane) vector[lane] = lane;
  return vector;
}

inline Float where(Int mask, Float a, Float b) { return mask ? a : b; }

inline Float absolute(Float value) { return bits_of<Float>(bits_of<Int>(value) & 0x7fffffff); }

// The nearest whole number, ties to even, for |value| < 2^22: adding 1.5 · 2^23 leaves no fraction.
inline Float nearest_of_small(Float value) {
  const float shift = 12582912.0f;
  return (value + shift) - shift;
}

#if defined(__AVX512F__)

inline Float minimum(Float a, Float b) { return (Float)_mm512_min_ps((__m512)a, (__m512)b); }
inline Float maximum(Float a, Float b) { return (Float)_mm512_max_ps((__m512)a, (__m512)b); }
inline Float root(Float value) { return (Float)_mm512_sqrt_ps((__m512)value); }
inline Float floor_of(Float value) {
  return (Float)_mm512_roundscale_ps((__m512)value, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
inline Float nearest(Float value) {
  return (Float)_mm512_roundscale_ps((__m512)value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Float inverse_root_estimate(Float value) { return (Float)_mm512_rsqrt14_ps((__m512)value); }
inline Float to_float(Int value) { return (Float)_mm512_cvtepi32_ps((__m512i)value); }
inline Int to_int(Float value) { return (Int)_mm512_cvtps_epi32((__m512)value); }
inline uint32_t one_bit_a_lane(Int mask) {
  return _mm512_movepi32_mask((__m512i)mask);
}
inline Float gather(const float* from, Int at) {
  return (Float)_mm512_i32gather_ps((__m512i)at, from, 4);
}

#elif defined(__AVX2__)

inline Float minimum(Float a, Float b) { return (Float)_mm256_min_ps((__m256)a, (__m256)b); }
inline Float maximum(Float a, Float b) { return (Float)_mm256_max_ps((__m256)a, (__m256)b); }
inline Float root(Float value) { return (Float)_mm256_sqrt_ps((__m256)value); }
inline Float floor_of(Float value) { return (Float)_mm256_floor_ps((__m256)value); }
inline Float nearest(Float value) {
  return (Float)_mm256_round_ps((__m256)value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Float inverse_root_estimate(Float value) { return (Float)_mm256_rsqrt_ps((__m256)value); }
inline Float to_float(Int value) { return (Float)_mm256_cvtepi32_ps((__m256i)value); }
inline Int to_int(Float value) { return (Int)_mm256_cvtps_epi32((__m256)value); }
inline uint32_t one_bit_a_lane(Int mask) { return _mm256_movemask_ps((__m256)mask); }
inline Float gather(const float* from, Int at) {
  return (Float)_mm256_i32gather_ps(from, (__m256i)at, 4);
}

#else

inline Float minimum(Float a, Float b) { return a < b ? a : b; }
inline Float maximum(Float a, Float b) { return a > b ? a : b; }
inline Float root(Float value) {
  for (int lane = 0; lane < WIDTH; ++lane) value[lane] = __builtin_sqrtf(value[lane]);
  return value;
}
// From 2^22 on, where the trick with the shift ends, nothing needs an exact whole number here.
inline Float nearest(Float value) {
  return absolute(value) < 4194304.0f ? nearest_of_small(value) : value;
}
inline Float floor_of(Float value) {
  const Float near = nearest(value);
  return near > value ? near - 1.0f : near;
}
#if defined(__aarch64__)
inline Float inverse_root_estimate(Float value) {
  const float32x4_t x = (float32x4_t)value, first = vrsqrteq_f32(x);
  return (Float)vmulq_f32(first, vrsqrtsq_f32(vmulq_f32(x, first), first));
}
#else
inline Float inverse_root_estimate(Float value) { return 1.0f / root(value); }
#endif
inline Float to_float(Int value) { return __builtin_convertvector(value, Float); }
inline Int to_int(Float value) { return __builtin_convertvector(nearest(value), Int); }
inline uint32_t one_bit_a_lane(Int mask) {
  uint32_t bits = 0;
  for (int lane = 0; lane < WIDTH; ++lane) bits |= (uint32_t)(mask[lane] & 1) << lane;
  return bits;
}
inline Float gather(const float* from, Int at) {
  Float values;
  for (int lane = 0; lane < WIDTH; ++lane) values[lane] = from[at[lane]];
  return values;
}

#endif

inline bool any(Int mask) { return one_bit_a_lane(mask) != 0; }

// 1/√value by one step of Newton's method, as exact as rounding lets it be; value > 0.
inline Float inverse_root(Float value) {
  const Float first = inverse_root_estimate(value);
  return first * (1.5f - 0.5f * value * first * first);
}

inline Float clamp(Float value, Float half) { return minimum(maximum(value, -half), half); }

// Four numbers of each rod that lie together: those of the rods `at`, a vector for each.
struct Four {
  Float a, b, c, d;
};

#if defined(__AVX512F__)

inline Four gather_four(const float* from, const int32_t* at) {
  const auto four = [from, at](int lane) {
    const auto part = [from, at](int l) { return _mm_loadu_ps(from + 4 * (int64_t)at[l]); };
    __m512 rows = _mm512_castps128_ps512(part(lane));
    rows = _mm512_insertf32x4(rows, part(lane + 4), 1);
    rows = _mm512_insertf32x4(rows, part(lane + 8), 2);
    return _mm512_insertf32x4(rows, part(lane + 12), 3);
  };
  const __m512 r0 = four(0), r1 = four(1), r2 = four(2), r3 = four(3);
  const __m512 low01 = _mm512_unpacklo_ps(r0, r1), high01 = _mm512_unpackhi_ps(r0, r1);
  const __m512 low23 = _mm512_unpacklo_ps(r2, r3), high23 = _mm512_unpackhi_ps(r2, r3);
  return {(Float)_mm512_shuffle_ps(low01, low23, 0x44), (Float)_mm512_shuffle_ps(low01, low23, 0xee),
          (Float)_mm512_shuffle_ps(high01, high23, 0x44),
          (Float)_mm512_shuffle_ps(high01, high23, 0xee)};
}

inline void store_four(float* to, const Four& values) {
  const __m512 a = (__m512)values.a, b = (__m512)values.b;
  const __m512 c = (__m512)values.c, d = (__m512)values.d;
  const __m512 low_ab = _mm512_unpacklo_ps(a, b), high_ab = _mm512_unpackhi_ps(a, b);
  const __m512 low_cd = _mm512_unpacklo_ps(c, d), high_cd = _mm512_unpackhi_ps(c, d);
  // The rods 0, 4, 8, 12, then 1, 5, 9, 13 and so on.
  const auto put = [to](int lane, __m512 rods) {
    _mm_storeu_ps(to + 4 * lane, _mm512_castps512_ps128(rods));
    _mm_storeu_ps(to + 4 * (lane + 4), _mm512_extractf32x4_ps(rods, 1));
    _mm_storeu_ps(to + 4 * (lane + 8), _mm512_extractf32x4_ps(rods, 2));
    _mm_storeu_ps(to + 4 * (lane + 12), _mm512_extractf32x4_ps(rods, 3));
  };
  put(0, _mm512_shuffle_ps(low_ab, low_cd, 0x44)), put(1, _mm512_shuffle_ps(low_ab, low_cd, 0xee));
  put(2, _mm512_shuffle_ps(high_ab, high_cd, 0x44));
  put(3, _mm512_shuffle_ps(high_ab, high_cd, 0xee));
}

#elif defined(__AVX2__)

inline Four gather_four(const float* from, const int32_t* at) {
  const auto two = [from, at](int lane) {
    const auto part = [from, at](int l) { return _mm_loadu_ps(from + 4 * (int64_t)at[l]); };
    return _mm256_insertf128_ps(_mm256_castps128_ps256(part(lane)), part(lane + 4), 1);
  };
  const __m256 r0 = two(0), r1 = two(1), r2 = two(2), r3 = two(3);
  const __m256 low01 = _mm256_unpacklo_ps(r0, r1), high01 = _mm256_unpackhi_ps(r0, r1);
  const __m256 low23 = _mm256_unpacklo_ps(r2, r3), high23 = _mm256_unpackhi_ps(r2, r3);
  return {(Float)_mm256_shuffle_ps(low01, low23, 0x44), (Float)_mm256_shuffle_ps(low01, low23, 0xee),
          (Float)_mm256_shuffle_ps(high01, high23, 0x44),
          (Float)_mm256_shuffle_ps(high01, high23, 0xee)};
}

inline void store_four(float* to, const Four& values) {
  const __m256 a = (__m256)values.a, b = (__m256)values.b;
  const __m256 c = (__m256)values.c, d = (__m256)values.d;
  const __m256 low_ab = _mm256_unpacklo_ps(a, b), high_ab = _mm256_unpackhi_ps(a, b);
  const __m256 low_cd = _mm256_unpacklo_ps(c, d), high_cd = _mm256_unpackhi_ps(c, d);
  // The rods 0 and 4, then 1 and 5 and so on.
  const auto put = [to](int lane, __m256 rods) {
    _mm_storeu_ps(to + 4 * lane, _mm256_castps256_ps128(rods));
    _mm_storeu_ps(to + 4 * (lane + 4), _mm256_extractf128_ps(rods, 1));
  };
  put(0, _mm256_shuffle_ps(low_ab, low_cd, 0x44)), put(1, _mm256_shuffle_ps(low_ab, low_cd, 0xee));
  put(2, _mm256_shuffle_ps(high_ab, high_cd, 0x44));
  put(3, _mm256_shuffle_ps(high_ab, high_cd, 0xee));
}

#else

inline Four gather_four(const float* from, const int32_t* at) {
  Four out;
  for (int lane = 0; lane < WIDTH; ++lane) {
    const float* rod = from + 4 * (int64_t)at[lane];
    out.a[lane] = rod[0], out.b[lane] = rod[1], out.c[lane] = rod[2], out.d[lane] = rod[3];
  }
  return out;
}

inline void store_four(float* to, const Four& values) {
  for (int lane = 0; lane < WIDTH; ++lane) {
    float* rod = to + 4 * lane;
    rod[0] = values.a[lane], rod[1] = values.b[lane];
    rod[2] = values.c[lane], rod[3] = values.d[lane];
  }
}

#endif

}  // namespace BACSIM_TARGET
}  // namespace bacsim

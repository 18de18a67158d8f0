// SPDX-License-Identifier: GPL-3.0-or-later
// Threads that share the parts of a job, for the time of one batch of steps.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace bacsim {

// The caller works too and waits only for parts that somebody has begun, so that a helper which the
// machine gives no time delays nobody. The caller takes parts from the first on, helpers in turn from
// the last and from the first, so that in the next job of the same kind most of a thread's parts are
// those whose data its own cache holds. Where they meet is left to chance; parts must not depend on
// that. Helpers look for work for some microseconds, then they sleep.
class Crew {
 public:
  // `threads` with the caller's; fewer where the machine refuses more.
  explicit Crew(int64_t threads);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Calls work(0) … work(parts - 1) and returns when all are done; throws what one of them threw.
  template <class Work>
  void run(int64_t parts, const Work& work) {
    if (helpers_.empty() || parts < 2 || parts > MOST_PARTS) {
      for (int64_t part = 0; part < parts; ++part) work(part);
      return;
    }
    share(parts, [](const void* work, int64_t part) { (*static_cast<const Work*>(work))(part); },
          &work);
  }

  // Calls work(begin, end) for ranges that make up 0 … size - 1.
  template <class Work>
  void run_ranges(int64_t size, const Work& work) {
    run((size + RANGE - 1) / RANGE, [size, &work](int64_t part) {
      work(part * RANGE, std::min((part + 1) * RANGE, size));
    });
  }

 private:
  // Of a job that is shared; more are done by the caller alone.
  static constexpr int64_t MOST_PARTS = (int64_t{1} << 20) - 1;  // see Ticket

  // Long enough to be worth a part, of whatever is done to a rod outside the steps.
  static constexpr int64_t RANGE = 4096;

  using Call = void (*)(const void*, int64_t);

  void share(int64_t parts, Call call, const void* work);
  bool do_a_part(bool last);
  void help(bool last);

  // The number of the job and which of its parts nobody has begun, in one word (see Ticket): whoever
  // takes a part thereby knows that the job is still the one described below.
  std::atomic<uint64_t> ticket_{0};
  std::atomic<int64_t> done_{0};
  Call call_ = nullptr;
  const void* work_ = nullptr;

  std::atomic<bool> over_{false};
  std::atomic<int> asleep_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::exception_ptr problem_;
  std::vector<std::thread> helpers_;
};

}  // namespace bacsim

// SPDX-License-Identifier: GPL-3.0-or-later
#include "crew.h"

#include <chrono>
#include <system_error>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bacsim {
namespace {

// How often a thread looks for work, or for its end, before it lets others have the core: some ten
// microseconds, about what going to sleep and waking up cost.
constexpr int LOOKS = 400;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

uint32_t left(uint64_t ticket) { return static_cast<uint32_t>(ticket); }

}  // namespace

Crew::Crew(int64_t threads) {
  try {
    for (int64_t helper = 1; helper < threads; ++helper) helpers_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
    // The others do the work.
  }
}

Crew::~Crew() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Crew::share(int64_t parts, Call call, const void* work) {
  call_ = call;
  work_ = work;
  done_ = 0;
  const uint64_t job = (ticket_.load() >> 32) + 1;
  ticket_ = job << 32 | static_cast<uint64_t>(parts);
  if (asleep_ > 0) {
    { const std::lock_guard<std::mutex> lock(mutex_); }
    wake_.notify_all();
  }
  while (do_a_part()) {
  }
  for (int look = 0; done_.load(std::memory_order_acquire) < parts; ++look) {
    if (look < LOOKS)
      pause();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
}

bool Crew::do_a_part() {
  uint64_t ticket = ticket_.load();
  do {
    if (!left(ticket)) return false;
  } while (!ticket_.compare_exchange_weak(ticket, ticket - 1));
  try {
    call_(work_, left(ticket) - 1);
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    problem_ = std::current_exception();
  }
  done_.fetch_add(1, std::memory_order_release);
  return true;
}

void Crew::help() {
  int looks = 0;
  while (!over_) {
    if (do_a_part()) {
      looks = 0;
    } else if (++looks < LOOKS) {
      pause();
    } else {
      std::unique_lock<std::mutex> lock(mutex_);
      ++asleep_;
      wake_.wait(lock, [this] { return over_ || left(ticket_); });
      --asleep_;
      looks = 0;
    }
  }
}

}  // namespace bacsim

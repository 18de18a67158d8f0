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

// The number of a job, and its parts from `first` up to, but not with, `end` are to be begun.
struct Ticket {
  static constexpr int BITS = 20;
  static constexpr uint64_t MASK = (uint64_t{1} << BITS) - 1;

  uint64_t job, first, end;

  explicit Ticket(uint64_t word)
      : job(word >> 2 * BITS), first(word >> BITS & MASK), end(word & MASK) {}
  Ticket(uint64_t job, uint64_t first, uint64_t end) : job(job), first(first), end(end) {}

  uint64_t word() const { return job << 2 * BITS | first << BITS | end; }
  bool none() const { return first == end; }
};

}  // namespace

Crew::Crew(int64_t threads) {
  try {
    for (int64_t helper = 1; helper < threads; ++helper)
      helpers_.emplace_back([this, helper] { help(helper % 2); });
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
  const uint64_t job = Ticket(ticket_.load()).job + 1;
  ticket_ = Ticket(job, 0, static_cast<uint64_t>(parts)).word();
  if (asleep_ > 0) {
    { const std::lock_guard<std::mutex> lock(mutex_); }
    wake_.notify_all();
  }
  while (do_a_part(false)) {
  }
  for (int look = 0; done_.load(std::memory_order_acquire) < parts; ++look) {
    if (look < LOOKS)
      pause();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
}

bool Crew::do_a_part(bool last) {
  uint64_t word = ticket_.load(), part;
  for (;;) {
    Ticket ticket(word);
    if (ticket.none()) return false;
    part = last ? --ticket.end : ticket.first++;
    if (ticket_.compare_exchange_weak(word, ticket.word())) break;
  }
  try {
    call_(work_, static_cast<int64_t>(part));
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    problem_ = std::current_exception();
  }
  done_.fetch_add(1, std::memory_order_release);
  return true;
}

void Crew::help(bool last) {
  int looks = 0;
  while (!over_) {
    if (do_a_part(last)) {
      looks = 0;
    } else if (++looks < LOOKS) {
      pause();
    } else {
      std::unique_lock<std::mutex> lock(mutex_);
      ++asleep_;
      wake_.wait(lock, [this] { return over_ || !Ticket(ticket_.load()).none(); });
      --asleep_;
      looks = 0;
    }
  }
}

}  // namespace bacsim

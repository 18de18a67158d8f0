// SPDX-License-Identifier: GPL-3.0-or-later
// What the compiled JAX program calls: every array is checked before it is touched.
#include <algorithm>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include "batch.h"
#include "model.h"
#include "xla/ffi/api/ffi.h"

// Counts the changes of what is called and of its arguments; `VERSION` in library.py must be equal.
#define BACSIM_NATIVE_VERSION 4

namespace bacsim {
namespace {

namespace ffi = xla::ffi;

// An argument that is not as it must be.
struct Refused {
  std::string why;
};

// Takes arrays one after the other, each with the type and the shape that it must have.
template <class Buffers>
class Taken {
 public:
  explicit Taken(Buffers buffers) : buffers_(buffers) {}

  const Buffers& all() const { return buffers_; }

  template <ffi::DataType type>
  ffi::NativeType<type>* array(std::initializer_list<int64_t> shape) {
    auto buffer = next<type>();
    const auto dimensions = buffer.dimensions();
    if (!std::equal(dimensions.begin(), dimensions.end(), shape.begin(), shape.end()))
      throw Refused{"array " + std::to_string(at_ - 1) + " has another shape than expected"};
    return buffer.typed_data();
  }

  // The next array, of any shape.
  template <ffi::DataType type>
  auto next() {
    auto buffer = buffers_.template get<ffi::Buffer<type>>(at_++);
    if (!buffer) throw Refused{buffer.error().message()};
    if constexpr (std::is_same_v<Buffers, ffi::RemainingRets>)
      return **buffer;
    else
      return *buffer;
  }

  // How large dimension `which` of the array number `at` is.
  template <ffi::DataType type>
  int64_t dimension(size_t at, size_t which) {
    const size_t now = std::exchange(at_, at);
    const auto dimensions = next<type>().dimensions();
    at_ = now;
    if (which >= dimensions.size()) throw Refused{"an array has too few dimensions"};
    return dimensions[which];
  }

 private:
  Buffers buffers_;
  size_t at_ = 0;
};

using Arguments = Taken<ffi::RemainingArgs>;
using Results = Taken<ffi::RemainingRets>;

constexpr size_t STATE_ARRAYS = 24, TABLE = 13;

template <class Buffers>
State state_in(Taken<Buffers>& taken) {
  State state{};
  const int64_t size = state.size = taken.template dimension<ffi::F32>(1, 0);
  const int64_t slots = state.slots = taken.template dimension<ffi::S32>(TABLE, 1);
  if (size < BLOCK || size % BLOCK) throw Refused{"rods do not come in whole blocks"};
  state.pos = taken.template array<ffi::F32>({size, 2});
  state.theta = taken.template array<ffi::F32>({size});
  state.direction = taken.template array<ffi::F32>({size, 2});
  state.activity = taken.template array<ffi::F32>({size});
  state.rest = taken.template array<ffi::F32>({size, 3});
  state.id = taken.template array<ffi::S32>({size});
  state.row = taken.template array<ffi::S32>({size});
  state.n = taken.template array<ffi::S32>({});
  state.step = taken.template array<ffi::U32>({});
  state.seed = taken.template array<ffi::U32>({});
  state.obstacles = taken.template array<ffi::F32>({MOST_OBSTACLES, OBSTACLE_NUMBERS});
  state.obstacle_count = taken.template array<ffi::S32>({});
  state.elapsed = taken.template array<ffi::F32>({2});
  state.table = taken.template array<ffi::S32>({size / BLOCK, slots, BLOCK});
  state.used = taken.template array<ffi::S32>({size / BLOCK});
  state.list_pos = taken.template array<ffi::F32>({size, 2});
  state.list_theta = taken.template array<ffi::F32>({size});
  state.made_for = taken.template array<ffi::F32>({3});
  state.skin = taken.template array<ffi::F32>({});
  state.age = taken.template array<ffi::S32>({});
  state.builds = taken.template array<ffi::S32>({});
  state.mean = taken.template array<ffi::F32>({});
  state.most = taken.template array<ffi::S32>({});
  state.candidates = taken.template array<ffi::S32>({});
  return state;
}

// How a call is to be done, from its static attributes.
class How {
 public:
  explicit How(const ffi::Dictionary& attributes) : attributes_(attributes) {
    laws_.hertz = chosen("contact", {"hooke", "hertz"});
    laws_.falling = chosen("activation", {"rising", "falling"});
    laws_.noise_of_active = chosen("noise_of", {"all", "active"});
    laws_.boundary = static_cast<Boundary>(chosen("boundary", {"periodic", "walls", "circle"}));
    laws_.adaptive = chosen("time_step", {"fixed", "adaptive"});
    chosen("drag", {"isotropic", "anisotropic"});  // the numbers follow from it
    // Of a law that is not known here, every choice but one would be computed wrongly.
    if (attributes_.size() != OTHERS + known_)
      throw Refused{"there is a law that it does not know"};
  }

  const Laws& laws() const { return laws_; }
  int64_t threads() const { return get<int64_t>("threads"); }

  const Target& target() const {
    const Target* target = target_named(std::string(get<std::string_view>("target")).c_str());
    if (!target) throw Refused{"this machine does not have the instructions of that name"};
    return *target;
  }

 private:
  static constexpr size_t OTHERS = 2;  // threads and target

  template <class T>
  T get(std::string_view name) const {
    const auto value = attributes_.get<T>(name);
    if (!value) throw Refused{"its attribute " + std::string(name) + " is missing"};
    return *value;
  }

  // Which of `words` a law is.
  int chosen(std::string_view law, std::initializer_list<std::string_view> words) {
    ++known_;
    const auto found = std::find(words.begin(), words.end(), get<std::string_view>(law));
    if (found == words.end())
      throw Refused{"it does not know that choice of " + std::string(law)};
    return static_cast<int>(found - words.begin());
  }

  ffi::Dictionary attributes_;
  Laws laws_{};
  size_t known_ = 0;
};

Physics params_in(Arguments& taken, const How& how) {
  Params params;
  static_assert(sizeof params % sizeof(float) == 0, "numbers only");
  std::memcpy(&params, taken.array<ffi::F32>({sizeof params / sizeof(float)}), sizeof params);
  return {params, how.laws()};
}

// What is read from the state as an index must be one.
void check(const State& state) {
  if (*state.n < 0 || *state.n > state.size)
    throw Refused{"there are more rods than places for them"};
  const auto last = static_cast<uint32_t>(state.size - 1);
  for (int64_t block = 0; block < state.size / BLOCK; ++block) {
    const int32_t used = state.used[block];
    if (used < 0 || used > state.slots) throw Refused{"a list is longer than its room"};
    const int32_t* table = state.table + block * state.slots * BLOCK;
    // The highest bit, the sign, is set where an index is below 0 or beyond the last.
    uint32_t wrong = 0;
    for (int64_t at = 0; at < static_cast<int64_t>(used) * BLOCK; ++at)
      wrong |= static_cast<uint32_t>(table[at]) | (last - static_cast<uint32_t>(table[at]));
    if (wrong >> 31) throw Refused{"a list names no rod"};
  }
}

// The state comes in as arguments and leaves as results, which share their memory.
State state_through(Arguments& arguments, Results& results) {
  state_in(arguments);
  const State state = state_in(results);
  for (size_t at = 0; at < STATE_ARRAYS; ++at) {
    const auto from = arguments.all().get<ffi::AnyBuffer>(at).value();
    const ffi::AnyBuffer to = *results.all().get<ffi::AnyBuffer>(at).value();
    if (from.size_bytes() != to.size_bytes()) throw Refused{"a result has another shape"};
    if (from.untyped_data() != to.untyped_data())
      std::memcpy(to.untyped_data(), from.untyped_data(), from.size_bytes());
  }
  check(state);
  if (*state.obstacle_count < 0 || *state.obstacle_count > MOST_OBSTACLES)
    throw Refused{"there are more obstacles than places for them"};
  return state;
}

// What `work` does with the arguments and results of a call; whatever it throws is told to XLA.
template <class Work>
ffi::Error guarded(ffi::RemainingArgs args, ffi::RemainingRets rets, ffi::Dictionary attributes,
                   const Work& work) {
  try {
    Arguments arguments(args);
    Results results(rets);
    work(arguments, results, How(attributes));
    return ffi::Error::Success();
  } catch (const Refused& refused) {
    return ffi::Error::InvalidArgument("bacsim's native code: " + refused.why + ".");
  } catch (const std::bad_alloc&) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted, "bacsim's native code: out of memory.");
  } catch (const std::exception& other) {
    return ffi::Error::Internal(std::string("bacsim's native code: ") + other.what());
  }
}

ffi::Error advance_call(ffi::RemainingArgs args, ffi::RemainingRets rets, ffi::Dictionary attrs) {
  return guarded(args, rets, attrs, [](Arguments& arguments, Results& results, const How& how) {
    const State state = state_through(arguments, results);
    const Physics params = params_in(arguments, how);
    const int32_t K = *arguments.array<ffi::S32>({});
    const float most_move = *arguments.array<ffi::F32>({});
    int32_t* done = results.array<ffi::S32>({});
    bool* ok = results.array<ffi::PRED>({});
    bool* fits = results.array<ffi::PRED>({});
    float* largest_move = results.array<ffi::F32>({});
    int32_t* worst = results.array<ffi::S32>({});
    float* speed = results.array<ffi::F32>({});
    const Result result = advance(how.target(), params, state, K, most_move, how.threads());
    *done = result.done, *ok = result.ok, *fits = result.fits;
    *largest_move = result.largest_move, *worst = result.worst;
    *speed = result.speed;
  });
}

ffi::Error build_call(ffi::RemainingArgs args, ffi::RemainingRets rets, ffi::Dictionary attrs) {
  return guarded(args, rets, attrs, [](Arguments& arguments, Results& results, const How& how) {
    const State state = state_through(arguments, results);
    const Physics params = params_in(arguments, how);
    bool* fits = results.array<ffi::PRED>({});
    *fits = build(how.target(), params, state, how.threads());
  });
}

ffi::Error sums_call(ffi::RemainingArgs args, ffi::RemainingRets rets, ffi::Dictionary attrs) {
  return guarded(args, rets, attrs, [](Arguments& arguments, Results& results, const How& how) {
    State state{};
    const int64_t size = state.size = arguments.dimension<ffi::F32>(0, 0);
    const int64_t slots = state.slots = arguments.dimension<ffi::S32>(6, 1);
    if (size < BLOCK || size % BLOCK) throw Refused{"rods do not come in whole blocks"};
    const float* x = arguments.array<ffi::F32>({size});
    const float* y = arguments.array<ffi::F32>({size});
    const float* cos = arguments.array<ffi::F32>({size});
    const float* sin = arguments.array<ffi::F32>({size});
    float* activity = arguments.array<ffi::F32>({size});
    state.n = arguments.array<ffi::S32>({});
    state.table = arguments.array<ffi::S32>({size / BLOCK, slots, BLOCK});
    state.used = arguments.array<ffi::S32>({size / BLOCK});
    check(state);
    const Physics params = params_in(arguments, how);
    const Sums sums{results.array<ffi::F32>({size, 2}), results.array<ffi::F32>({size}),
                    results.array<ffi::F32>({size})};
    sum_up(how.target(), params, state, x, y, cos, sin, activity, how.threads(), sums);
  });
}

}  // namespace
}  // namespace bacsim

#if defined(_WIN32)
#define BACSIM_VISIBLE extern "C" __declspec(dllexport)
#else
#define BACSIM_VISIBLE extern "C" __attribute__((visibility("default")))
#endif

#define BACSIM_HANDLER(name, call)                              \
  BACSIM_VISIBLE XLA_FFI_Error* name(XLA_FFI_CallFrame* frame); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(                                \
      name, call, xla::ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attrs())

BACSIM_HANDLER(bacsim_advance, bacsim::advance_call);
BACSIM_HANDLER(bacsim_build, bacsim::build_call);
BACSIM_HANDLER(bacsim_sums, bacsim::sums_call);

BACSIM_VISIBLE int bacsim_native_version() { return BACSIM_NATIVE_VERSION; }

// The instruction set of that name, or for "" the best; null where the machine does not have it.
BACSIM_VISIBLE const char* bacsim_target(const char* name) {
  const bacsim::Target* target = bacsim::target_named(name);
  return target ? target->name : nullptr;
}

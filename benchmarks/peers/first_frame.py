# SPDX-License-Identifier: GPL-3.0-or-later
"""One fresh start of bacsim as its window makes it: seconds of compiling, and to the first frame.

The persistent compile cache is the one that `BACSIM_CACHE` names ("off" for none); `cache` tells
whether the program was in it. Importing is timed apart: it is over before a window asks for steps.
"""

import argparse
import time

import protocol

from bacsim_gui import bootstrap


def main() -> None:
    """Take one step from the state of the file and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state")
    parser.add_argument("--code", choices=("JAX", "native"), default="native")
    chosen = parser.parse_args()
    bootstrap.prepare_headless()
    begin = time.perf_counter()
    import jax
    import own_code

    from engine.driver import Driver
    from engine.params import Params, Setup
    from engine.snapshot import Start

    jax.devices()
    imported = time.perf_counter()
    pos, theta, activity, values = protocol.load(chosen.state)
    asked = time.perf_counter()
    # Only now: loading native code is a part of the first frame.
    own_code.require(chosen.code)
    setup = Setup(rods=len(theta), native=own_code.SETTING[chosen.code])
    driver = Driver(setup, Params(**vars(values)), start=Start(pos, theta, activity))
    driver.advance(1)
    seconds = time.perf_counter() - asked
    stats = driver.stats
    protocol.report(
        what=f"bacsim, kernel {stats.kernel}, code: {stats.code}, fresh process",
        import_s=imported - begin,
        first_frame_s=seconds,
        compile_s=stats.compile_seconds,
        cache=stats.last.cache if stats.last else None,
    )


if __name__ == "__main__":
    main()

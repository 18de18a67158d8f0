# SPDX-License-Identifier: GPL-3.0-or-later
"""Every check, declared once. Equation numbers are those of docs/model.md."""

import difflib

from engine.schema import ParameterError
from engine.study.validate.check import Check

CHECKS = (
    Check(
        "free-rod", "v = F_prop a/(2γℓ)", "equations (8), (9)", "single.free_rods",
        quick=True, fast=True,
    ),
    Check(
        "circle", "radius v₀ ζ_R/T_prop; of Euler's polygon v₀ dt/(2 sin(ω₀dt/2))",
        "equations (8) to (10)", "single.circle_swimmers", quick=True, fast=True,
    ),
    Check(
        "contact-centres", "overlap × (1 − λ dt) each step, λ = 2k/ζ", "equations (3), (9), (10)",
        "single.contact_through_the_centres", quick=True, fast=True,
    ),
    Check(
        "contact-tips", "rate λ₀ = 8k/γℓ", "equations (3), (4), (9)", "single.tip_on_tip",
        quick=True, fast=True,
    ),
    Check(
        "contact-head-on", "rest overlap F_eff/k = q d", "equations (3), (8)", "single.head_on",
        quick=True, fast=True,
    ),
    Check(
        "contact-broadside", "overlap F_eff/2k, both at v₀/2", "equations (3), (8), (9)",
        "single.broadside", quick=True, fast=True,
    ),
    Check(
        "contact-hertz", "rest overlap q^{2/3} d of contacts after Hertz", "equations (3), (8)",
        "single.head_on_after_hertz", quick=True,
    ),
    Check(
        "drag-anisotropic", "F_prop/2ζ∥, T_prop/ζ_R, λ = 2k/ζ⊥; a = 5: ζ∥, ζ⊥, ζ_R = 3.9440, "
        "5.0371, 23.1919", "Wensink & Löwen 2012 after Tirado 1984, equation (9)",
        "single.anisotropic_drag", quick=True,
    ),
    Check(
        "memory", "a = A + (a₀ − A) exp(−t/tau_a), whatever dt", "equations (6), (7)",
        "laws.memory", quick=True, fast=True,
    ),
    Check(
        "activation", "rising: A = 1/(1 + exp(−(S − S*)/w)); falling: 1 − A", "equations (5), (6)",
        "laws.activation", quick=True,
    ),
    Check(
        "walls", "rest overlap q d after Hooke, q^{2/3} d after Hertz",
        "equations (12), (15), (16)", "laws.walls", quick=True,
    ),
    Check(
        "hand", "v = 4 push_force ρ(1 − ρ)/ζ away from it", "equation (13)", "laws.hand",
        quick=True,
    ),
    Check(
        "noise-active", "⟨Δr²⟩ = 4 D_t a t, ⟨Δθ²⟩ = 2 D_r a t", "equation (11)",
        "laws.noise_of_active", quick=True,
    ),
    Check(
        "adaptive", "a step is min(dt, 0.1 d/v) long", "equation (17)", "laws.adaptive", quick=True,
    ),
    Check(
        "conservation", "Σ F = 0, V = v₀⟨a û⟩, Σ x × F + Σ T = 0", "Newton's third law",
        "single.conservation", quick=True, fast=True,
    ),
    Check(
        "scaling", "F_prop, T_prop, k_cc × c and dt ÷ c: the same motion, to the bit for powers "
        "of two", "equations (3) to (10)", "single.scaling", quick=True, fast=True,
    ),
    Check(
        "neighbours", "ρ(2ℓ²/π + 4ℓD + πD²)", "Onsager 1949, averaged over angles",
        "random_rods.mean_neighbours", quick=True,
    ),
    Check(
        "activation-step", "p' = P(Poisson(z p) ≥ S*/w_a), rounded up", "mean field, exact for "
        "random rods", "random_rods.one_step_of_contagion", quick=True,
    ),
    Check(
        "contagion-threshold", "contagion dies below z = min m/P(Poisson(m) ≥ n*)",
        "mean field: 1, 3.351, 5.149, 6.799", "random_rods.contagion_threshold",
    ),
    Check(
        "random-order", "⟨P⟩ = ⟨S⟩ = √(π/4N)", "random walk of N steps", "random_rods.random_order",
        quick=True,
    ),
    Check(
        "walk", "⟨û·û₀⟩ = e^{−D_r t}; ⟨Δr²⟩ = (2v₀²/D_r²)(D_r t − 1 + e^{−D_r t})",
        "persistent random walk, summed over Euler steps", "noise.straight_walk", quick=True,
    ),
    Check(
        "walk-chiral", "⟨û·û₀⟩ = e^{−D_r t} cos ω₀t; ⟨Δr²⟩ = 2v₀² Re(t/λ − (1 − e^{−λt})/λ²), "
        "λ = D_r − iω₀", "persistent random walk, summed over Euler steps", "noise.circular_walk",
        quick=True,
    ),
    Check(
        "walk-tumble", "as walk, with tumble_rate in place of D_r", "equation (14); persistent "
        "random walk, summed over Euler steps", "noise.tumbling_walk", quick=True,
    ),
    Check("diffusion", "⟨Δr²⟩ = 4 D_t t", "equation (11)", "noise.diffusion", quick=True),
    Check(
        "time-step", "stable at 0.05 γℓ/k, where contacts do not chatter; far above refused",
        "ours", "numerics.time_step_rule", quick=True,
    ),
    Check(
        "time-step-long", "half of 0.05 γℓ/k will do in dense crowds of long rods, all of it not: "
        "a = 10, φ = 0.8",
        "ours", "states.time_step_of_long_rods", quick=True,
    ),
    Check(
        "convergence", "error ∝ dt", "explicit Euler, equation (10)", "numerics.convergence",
        quick=True,
    ),
    Check(
        "float64", "float32 and float64 agree: places at first, averages over ten units of "
        "time later", "the same equations in float64", "numerics.against_doubles", quick=True,
    ),
    Check(
        "long-run", "nothing leaves its range in 200,000 steps", "equations (7), (10), (11)",
        "numerics.long_run",
    ),
    Check("batches", "no bit depends on K", "ours", "same.batches", quick=True),
    Check("growth", "no bit depends on when a list of neighbours was given more room", "ours",
          "same.growth", quick=True),
    Check("threads", "no bit depends on the number of threads", "ours", "same.threads",
          quick=True),
    Check(
        "choices", "native code and JAX's agree under each choice of the model",
        "equations (3) to (14)", "same.choices", quick=True,
    ),
    Check("blocks", "sums do not depend on the size of blocks", "equations (3) to (5)",
          "same.blocks", quick=True),
    Check("kernels", "averages do not depend on the kernel", "equations (3) to (5)",
          "same.kernels"),
    Check("devices", "averages do not depend on the device", "equations (3) to (5)",
          "same.devices", quick=True),
    Check(
        "presets", "mean activity and speed of developed presets", "a float64 program of its own, "
        "four presets of 700 rods, two digits, to 0.06", "states.presets",
    ),
    Check(
        "number-fluctuations", "σ_N ∝ N̄^α: α = 0.5 where dilute, 0.7 to 0.85 in swarms",
        "Zhang 2010, as bands: 0.43 to 0.58, 0.6 to 0.9", "states.number_fluctuations",
    ),
    Check(
        "clusters", "clusters appear above κ = C/φ − 1, C ≈ 1.46: at φ = 0.24 for κ = 5; "
        "there p(m) ∝ m^−γ, γ = 0.8 to 1.5, read to 0.1",
        "Peruani 2006; Peruani & Bär 2013, as bands",
        "states.clusters",
    ),
    Check(
        "states", "disordered, swarming, turbulent, laning, and slow where stubby rods are dense",
        "Wensink & Löwen 2012, as bands", "states.ordering",
    ),
)  # fmt: skip


def chosen(names: str | None, quick: bool = False) -> tuple[Check, ...]:
    """The checks of these `names`, with commas between; None stands for all, or all `quick` ones.

    Raises `ParameterError` for a name that no check has.
    """
    if names is None:
        return tuple(check for check in CHECKS if check.quick or not quick)
    known = {check.name: check for check in CHECKS}
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise ParameterError(
                "only", name, "is no check", f"{hint}There are: {', '.join(known)}."
            )
    return tuple(known[name] for name in dict.fromkeys(wanted))

"""The faster device of a machine for a small network: measured once, then remembered.

A card takes about the same time for a step of any small network, most of it to launch the kernels.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from statistics import median

import torch

from hexlit.accelerate.autotune_cache import cached_choice, timed_in_turn
from hexlit.accelerate.compiling import autocast
from hexlit.accelerate.events import synchronize
from hexlit.accelerate.inspection import device_name
from hexlit.accelerate.profile import DeviceProfile, build_profile, restored_settings
from hexlit.accelerate.ranks import ranks
from hexlit.accelerate.threads import torch_threads
from hexlit.errors import UsageError
from hexlit.nets.evaluator import NetworkEvaluator, random_planes
from hexlit.nets.tower import build_net, forward_flops
from hexlit.search.evaluator import empty_batch
from hexlit.selfplay.placement import placement_of
from hexlit.tasks.hex.config import HexTrainConfig

SMALL_NET = 2e7
"""Most floating-point operations of a position for which a cpu may be faster than a card."""


def faster_profile(config: HexTrainConfig, profile: DeviceProfile) -> tuple[DeviceProfile, str]:
    """The profile of the run, with `accelerator.device=auto`: that of the faster device for a small
    network, and a line that tells why it is not the `profile` of the card.

    Several ranks, self-play on a cluster, and settings that only a card has keep the card.
    """
    card = profile.device
    is_open = config.hardware.device == "auto" and card.type != "cpu"
    is_alone = not ranks().several and config.selfplay.where == "here"
    small = forward_flops(config.net, config.board) <= SMALL_NET
    if not (is_open and is_alone and small):
        return profile, ""
    try:
        cpu = build_profile(replace(config.hardware, device="cpu"), config.device_defaults)
    except UsageError:
        return profile, ""
    name = device_name(card)
    depends_on = {
        "epoch on": name,
        "net": asdict(config.net),
        "board": config.board,
        "selfplay": asdict(config.selfplay) if config.data.source == "selfplay" else None,
        "search": asdict(config.search),
        "reuse": config.data.reuse,
        "profiles": [_facts(profile), _facts(cpu)],
    }
    profiles = {card.type: profile, "cpu": cpu}

    def measure() -> dict[str, float]:
        return {kind: epoch_seconds(config, one) for kind, one in profiles.items()}

    with restored_settings():
        chosen = cached_choice(depends_on, list(profiles), measure)
    if chosen != "cpu":
        return profile, ""
    return cpu, (
        f"accelerator.device=auto: cpu, which was measured to be faster than {name} for this network; "
        f"accelerator.device={card.type} takes the card"
    )


def _facts(profile: DeviceProfile) -> dict[str, object]:
    dtype = str(profile.inference_dtype)
    return {"precision": profile.precision, "dtype": dtype, "threads": profile.threads}


def epoch_seconds(config: HexTrainConfig, profile: DeviceProfile) -> float:
    """Seconds of the network in one epoch of `config` on the device of `profile`, from one step and
    one call of its evaluator.

    Play and training share a card. On a cpu training leaves the threads that it does not use.
    """
    profile.apply()
    step, threads = step_seconds(config, profile)
    if config.data.source != "selfplay":
        return step
    play = config.selfplay
    learning = step * play.positions * config.data.reuse / profile.train_batch
    fast = play.fast_simulations * (1 / play.full_share - 1)
    evaluations = play.positions * (config.search.simulations + fast)
    placement = placement_of(play, profile.device.type, profile.threads)
    _, rows = replace(placement, workers=0).cut(play.games)
    playing = evaluations / rows * call_seconds(config, profile, rows)
    if profile.device.type != "cpu":
        return learning + playing
    return max(learning, learning * threads / profile.threads + playing)


def step_seconds(config: HexTrainConfig, profile: DeviceProfile) -> tuple[float, int]:
    """Seconds of a step of training, and the threads that it takes."""
    from hexlit.tasks.hex.module import HexModule  # imports Lightning

    module = HexModule(config, profile)
    module.prepare()
    batch = module.example_batch(profile.micro_batch)
    optimizer = torch.optim.AdamW(module.net.parameters(), fused=True)

    def step() -> None:
        with torch_threads(module.threads):
            with autocast(profile):
                loss = module.losses(module.output(batch), batch)["loss"]
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad()

    parts = profile.train_batch / profile.micro_batch
    return parts * _seconds(step, profile), module.threads


def call_seconds(config: HexTrainConfig, profile: DeviceProfile, rows: int) -> float:
    """Seconds of a call of the evaluator for `rows` positions."""
    net = build_net(config.net).eval()
    evaluator = NetworkEvaluator(
        net, size=config.board, swap=config.swap, batch=rows, profile=profile
    )
    batch = empty_batch(rows, config.board, config.board**2 + config.swap)
    batch.planes[:] = random_planes(rows, config.board)
    return _seconds(lambda: evaluator.evaluate(*batch), profile)


def _seconds(call: Callable[[], None], profile: DeviceProfile) -> float:
    def finished() -> None:
        call()
        synchronize(profile.device)

    return median(timed_in_turn({"": finished})[""])

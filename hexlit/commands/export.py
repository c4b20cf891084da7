"""`hexlit export`: a trained network as a file for other programs or other people."""

from dataclasses import dataclass
from pathlib import Path

from omegaconf import MISSING

from hexlit.commands.application import command
from hexlit.errors import UsageError
from hexlit.settings import Settings, one_of, require

FORMATS = {"onnx": ".onnx", "safetensors": ".safetensors", "page": ".html"}
"""Format -> suffix of its files."""
USES = {
    "onnx": "{}.md describes it",
    "safetensors": "hexlit takes it as checkpoint={}",
    "page": "a browser opens it",
}
"""Format -> what its file is for, `{}` its name."""


@dataclass
class ExportConfig(Settings):
    """Settings of `hexlit export`."""

    checkpoint: str = MISSING
    """Checkpoint of a Hex network, the folder of its run, or a packaged network such as
    `hexlit:small`.
    """
    format: str = one_of(FORMATS, "onnx")
    """File format. onnx: for other programs, every board. safetensors: for hexlit, weights and
    shape without the training. page: one HTML file to play against the network, without hexlit.
    """
    dtype: str = one_of(("float32", "float16"), "float32")
    """Number format of the weights in safetensors."""
    target: str | None = None
    """File to write. Null: the name of the run's folder, in the working folder."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dtype != "float32" and self.format != "safetensors":
            raise UsageError(f"dtype={self.dtype}: float32, or float16 with format=safetensors")
        if self.target is not None and Path(self.target).suffix != FORMATS[self.format]:
            raise UsageError(
                f"target={self.target}: a file whose name ends with {FORMATS[self.format]} is needed"
            )


def export(settings: ExportConfig) -> None:
    """Write the file, and print its place."""
    from hexlit.nets.onnx_export import inputs_file, write_onnx
    from hexlit.tasks.hex.checkpoint import load_network, write_safetensors
    from hexlit.tasks.hex.packaged import known_first_stones
    from hexlit.web.network_page import write_page

    loaded = load_network(settings.checkpoint)
    named = Path(settings.checkpoint.rpartition(":")[2]).absolute()
    # A checkpoint of a run has the name of the run.
    named = named.parent.parent if named.parent.name == "checkpoints" else named
    name = named.name.removesuffix(".ckpt").removesuffix(".safetensors")
    target = Path(settings.target or name + FORMATS[settings.format])
    if not target.absolute().parent.is_dir():
        raise UsageError(f"target={target}: there is no folder {target.parent}")
    for file in (target, *([inputs_file(target)] if settings.format == "onnx" else [])):
        if file.exists():
            raise UsageError(
                f"target={target}: {file} is there already; name another target, or remove it"
            )
    if settings.format == "onnx":
        require("format=onnx", {"onnx": "onnx"}, "onnx")
    if settings.format == "safetensors":
        write_safetensors(
            loaded.net, target, size=loaded.size, swap=loaded.swap, dtype=settings.dtype
        )
    elif settings.format == "onnx":
        write_onnx(loaded.net, target, size=loaded.size, swap=loaded.swap)
    else:
        known = known_first_stones(settings.checkpoint)
        write_page(loaded.net, target, size=loaded.size, swap=loaded.swap, first_stones=known)
    print(f"{target}: {target.stat().st_size / 1e6:.2f} MB; {USES[settings.format].format(target)}")


main = command("export", ExportConfig, export)

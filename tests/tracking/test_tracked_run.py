"""An open W&B run takes rows, pictures, tables, and files whose lineage works offline."""

import hashlib
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest

from hexlit.files import replacing
from hexlit.tracking.config import WandbConfig
from hexlit.tracking.opening import open_run
from hexlit.tracking.tracked_run import Files, TrackedRun
from tests.wandb_records import OfflineRun, offline_runs


@pytest.fixture
def run(tmp_path: Path) -> Iterator[TrackedRun]:
    opened = open_run(WandbConfig(), tmp_path / "run", name="run", kind="train")
    assert opened is not None
    yield opened
    opened.finish()


def read(run: TrackedRun, tmp_path: Path) -> OfflineRun:
    run.finish()
    (found,) = offline_runs(tmp_path)
    return found


def test_axes_and_best_values(run: TrackedRun, tmp_path: Path) -> None:
    run.define_axes(["epoch", "cost/flops"])
    run.define_best("val/score", "max")
    for step, score in enumerate((0.3, 0.9, 0.5)):
        run.log({"epoch": step, "cost/flops": step * 10.0}, step)
        run.log({"val/score": score}, step)
    found = read(run, tmp_path)
    assert found.axes == {"cost/flops": "epoch", "*": "epoch", "val/score": "epoch"}
    assert found.best == {"val/score": "max"}
    assert found.summary["val/score"] == {"max": 0.9, "last": 0.5}
    assert [(row["_step"], row["cost/flops"], row["val/score"]) for row in found.rows] == [
        (0, 0, 0.3),
        (1, 10, 0.9),
        (2, 20, 0.5),
    ]


def test_a_row_of_media(run: TrackedRun, tmp_path: Path) -> None:
    picture = "<svg xmlns='http://www.w3.org/2000/svg'></svg>"
    run.picture("maps/openings", picture, 0)
    run.table("games/samples", ["n", "board"], [[1, picture]], 0)
    run.log({"loss": 1.0}, 0)
    found = read(run, tmp_path)
    assert found.media("html-file") == {"maps/openings": [0]}
    assert found.media("table-file") == {"games/samples": [0]}
    assert picture in found.file("maps/openings").read_text()


def test_media_and_artifacts_can_be_turned_off(tmp_path: Path) -> None:
    config = WandbConfig(artifacts=False, media=False)
    run = open_run(config, tmp_path / "run", name="run", kind="train")
    assert run is not None
    (tmp_path / "file").write_text("x")
    run.picture("a", "<svg/>", 0)
    run.table("b", ["n"], [[1]], 0)
    run.made(Files("c", "checkpoint", [tmp_path / "file"]))
    run.used(Files("d", "games", [tmp_path / "file"]))
    run.log({"loss": 1.0}, 0)
    found = read(run, tmp_path)
    assert found.artifacts == ()
    assert list(found.rows[0]) == ["_runtime", "_step", "_timestamp", "loss"]


def test_a_logged_checkpoint_stays_what_it_was_when_its_file_is_replaced(
    run: TrackedRun, tmp_path: Path
) -> None:
    path = tmp_path / "best.ckpt"
    path.write_bytes(b"first")
    run.made(Files("checkpoint-x", "checkpoint", [path], ["best"], {"epochs": 3}))
    with replacing(path) as temporary:
        temporary.write_bytes(b"second")
    run.made(Files("checkpoint-x", "checkpoint", [path], ["last"]))
    first, second = read(run, tmp_path).artifacts
    assert "best" in first["aliases"]
    assert "last" in second["aliases"]
    assert first["metadata"] == {"epochs": 3}
    for artifact, content in ((first, b"first"), (second, b"second")):
        kept = Path(artifact["files"]["best.ckpt"])
        assert kept.read_bytes() == content
        assert kept.is_relative_to(tmp_path / "run" / "wandb")
        assert b64decode(artifact["digests"]["best.ckpt"]) == hashlib.md5(content).digest()


def test_what_one_run_made_another_has_used(tmp_path: Path) -> None:
    """The same content under the same name is the same version: that is W&B's lineage."""
    path = tmp_path / "best.ckpt"
    path.write_bytes(b"weights")
    for name in ("maker", "user"):
        run = open_run(WandbConfig(), tmp_path / name, name=name, kind="train")
        assert run is not None
        (run.made if name == "maker" else run.used)(Files("checkpoint-x", "checkpoint", [path]))
        run.finish()
    (made,), (used,) = (run.artifacts for run in offline_runs(tmp_path))
    assert (made["name"], made["digest"]) == (used["name"], used["digest"])
    assert (made["used"], used["used"]) == (False, True)


def test_references_name_files_where_they_are(run: TrackedRun, tmp_path: Path) -> None:
    path = tmp_path / "part-0.parquet"
    path.write_bytes(b"games")
    run.used(Files("games-x", "games", [path], reference=True))
    (found,) = read(run, tmp_path).artifacts
    assert found["files"] == {"part-0.parquet": path.as_uri()}


def test_an_error_of_wandb_ends_its_part_of_the_logging_alone(
    run: TrackedRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(
        run.run, "log_artifact", lambda *arguments, **named: Path("/proc/none/x").write_text("x")
    )
    path = tmp_path / "net.ckpt"
    path.write_bytes(b"net")
    run.made(Files("net", "checkpoint", [path]))
    run.made(Files("net", "checkpoint", [path]))
    run.log({"epoch": 0}, 0)
    assert run.failed == {"artifacts"}
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert [row["epoch"] for row in read(run, tmp_path).rows] == [0]


def test_nothing_is_copied_into_the_home_folder(
    run: TrackedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, "/proc/none")
    monkeypatch.delenv("WANDB_DATA_DIR", raising=False)
    path = tmp_path / "net.ckpt"
    path.write_bytes(b"net")
    for epoch in range(2):
        run.table("games", ["n"], [[epoch]], epoch)
        run.log({"epoch": epoch}, epoch)
        run.made(Files(f"net-{epoch}", "checkpoint", [path]))
    assert run.failed == set()
    result = read(run, tmp_path)
    assert [row["epoch"] for row in result.rows] == [0, 1]
    assert {artifact["name"] for artifact in result.artifacts} >= {"net-0", "net-1"}

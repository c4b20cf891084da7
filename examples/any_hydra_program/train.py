"""Any Hydra program as trials of a sweep: a small network learns a curve.

    python train.py                                         # one run, as ever
    python train.py --multirun                              # the sweep of conf/config.yaml
    python train.py --multirun hydra.sweeper.resume=true    # continues it after a kill
    hexlit report multirun/DATE/TIME                        # its results

A trial is this program in a process of its own. It can be pruned where it reports, and its value
is what `main` returns.
"""

import hydra
import torch
from omegaconf import DictConfig

import hexlit.tuning.plugin


@hydra.main(config_path="conf", config_name="config", version_base="1.3")
def main(config: DictConfig) -> float:
    """Train with the settings of `config`; returns the last loss."""
    torch.manual_seed(config.seed)
    x = torch.linspace(-3, 3, 256).unsqueeze(1)
    y = torch.sin(2 * x)
    layers = [torch.nn.Linear(1, config.width), torch.nn.Tanh(), torch.nn.Linear(config.width, 1)]
    net = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(net.parameters(), config.lr)
    loss = 0.0
    for epoch in range(config.epochs):
        for _ in range(100):
            error = torch.nn.functional.mse_loss(net(x), y)
            optimizer.zero_grad()
            error.backward()  # type: ignore[no-untyped-call]  # of torch
            optimizer.step()
        loss = error.item()
        hexlit.tuning.report(loss, epoch)  # raises hexlit.tuning.TrialPruned in a hopeless trial
    print(f"loss {loss:.4f}")
    return loss


if __name__ == "__main__":
    main()

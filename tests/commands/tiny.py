"""A training of seconds: every part of a real one, on a board of size 3."""

TINY = [
    "board=3",
    "logger=csv",
    "accelerator=cpu",
    "accelerator.threads=2",
    "accelerator.selfplay_games=8",
    "accelerator.train_batch=32",
    "net.channels=8",
    "net.blocks=[1]",
    "net.dropout=0.1",
    "search.simulations=8",
    "selfplay.fast_simulations=4",
    "selfplay.positions=40",
    "selfplay.workers=0",
    "data.reuse=2",
    "data.window=70",
    "trainer.max_epochs=2",
    "evaluation.simulations=8",
    "evaluation.positions=20",
    "evaluation.quick_positions=10",
    "evaluation.every_epochs=1",
]

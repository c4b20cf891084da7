"""A user's mistake on its way past Hydra."""


class Refused(BaseException):
    """Carries a mistake out of a task or a callback, past Hydra's "Error executing job with overrides"."""

    def __init__(self, mistake: Exception) -> None:
        self.mistake = mistake

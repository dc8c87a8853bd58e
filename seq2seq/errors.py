"""The one exception whose text is meant for the user."""


class UserError(Exception):
    """Something the user can mend: one line that says what, where, and what to do.

    The scripts print it to standard error without a traceback and end with status 2.
    """


class Interrupted(BaseException):
    """A signal ended the program in good order. ``status`` is what it exits with.

    Like KeyboardInterrupt it is no Exception: it ends a row of runs as well.
    """

    def __init__(self, line: str, status: int) -> None:
        super().__init__(line)
        self.status = status

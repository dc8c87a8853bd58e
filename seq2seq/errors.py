"""The one exception whose text is meant for the user."""


class UserError(Exception):
    """Something the user can mend: one line that says what, where, and what to do.

    The scripts print it to standard error without a traceback and end with status 2.
    """

"""What the scripts share: free text quoted for Hydra, one line for a mistake, and a plain dict instead of a config.

This and ``scripts/`` are the only places that know Hydra. What is typed is checked here before Hydra composes it,
because Hydra takes a word for a number, and says "could not override" where a name is misspelt.
"""

import difflib
import errno
import itertools
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from seq2seq.errors import Interrupted, UserError

TYPED = tuple(sys.argv)  # before anything is quoted for Hydra
CONF = Path(__file__).resolve().parents[1] / "conf"
FREE_TEXT = {
    *("run_dir", "init_from", "checkpoint", "input", "output", "heatmap", "source", "reference", "hypothesis"),
    *("sentence", "target", "gold", "reverse", "data.gold"),
    *("data.dir", "data.train", "data.dev", "data.test", "data.base", "data.cache_dir"),
}
# Lists of such texts.
FREE_LISTS = {"runs", "hypotheses"}
# Settings that take more kinds of value than their default shows.
LOOSE = {"trainer.devices", "trainer.max_time", "training.patience", "layer", "jobs"}
# What settings take whose default, null, does not show it.
BEHIND_NULL = {
    **{"quantiles": 4, "max_source": 128, "most": 100, "gold_base": 1},
    **{"models": ["rnn"], "runs": ["runs/a"], "hypotheses": ["other.vi"]},
    **{
        "decoding.beam": 5,
        "decoding.alpha": 0.6,
        "decoding.coverage": 0.2,
        "decoding.max_length": 200,
        "decoding.batch_tokens": 8192,
        "decoding.precision": "bf16",
    },
}
_WITH_VALUE = {*("-c", "--cfg", "-i", "--info", "-p", "--package", "-cn", "--config-name"), *("-cd", "--config-dir")}
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "one word or number", list: "a list"}


def quote(argument: str) -> str:
    """``key=value`` with the value quoted for Hydra where it is free text, so that it arrives as it was typed.

    In a list of such texts each one is quoted; a comma stands between two of them.
    Kept as they are: an empty value, ``null``, and a value that is in quotes already. ``~/`` is the home folder,
    because shells do not see it behind ``key=``.
    """
    key, equals, value = argument.partition("=")
    if key in FREE_LISTS and value[:1] == "[" and value[-1:] == "]":
        items = (quote(f"input={item.strip()}").partition("=")[2] for item in value[1:-1].split(","))
        return f"{key}=[{','.join(items)}]"
    if key not in FREE_TEXT or value in ("", "null") or (len(value) > 1 and value[0] == value[-1] in "'\""):
        return argument
    if value.startswith("~/"):
        value = os.path.expanduser(value)
    # A backslash counts double in front of what it could escape: ``${`` for OmegaConf, a quote or the end for Hydra.
    value = re.sub(r"(\\*)\$\{", r"\1\1\\${", value)
    value = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + (r"\'" if match[2] else ""), value)
    return f"{key}{equals}'{value}'"


def check(name: str, arguments: Sequence[str], multirun: bool = True) -> list[str]:
    """The command line quoted for Hydra, after a look at each setting. Raises UserError for the first that is wrong.

    name: of the file in ``conf/``. multirun: whether the script can be run several times in a row (``-m``).
    """
    if not multirun and {"-m", "--multirun"} & set(arguments):
        raise UserError("-m runs a training several times; this script does one thing at a time: use a shell loop")
    settings = []
    for before, argument in zip(["", *arguments], arguments, strict=False):
        if argument.startswith("-") or before in _WITH_VALUE:
            continue
        if argument.startswith(("+", "~")):
            raise UserError(f"{argument}: settings cannot be added or removed; write key=value without {argument[0]!r}")
        if argument.find("=") < 1:
            raise UserError(f"{argument}: settings are written key=value; --help shows examples")
        settings.append(quote(argument))
    if settings:
        _check_settings(name, settings)
    return [quote(argument) for argument in arguments]


def split(name: str, other: str, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The command line in two: settings of ``conf/<name>.yaml``, with all options, and those of ``conf/<other>.yaml``.

    A setting of both, or of neither, is taken for one of the first.
    """
    import yaml

    keys, others = (
        set(yaml.safe_load((CONF / f"{one}.yaml").read_text(encoding="utf-8"))) | _groups(one) for one in (name, other)
    )
    parts: tuple[list[str], list[str]] = ([], [])
    for before, argument in zip(["", *arguments], arguments, strict=False):
        key = argument.partition("=")[0].partition(".")[0]
        own = key in keys or key not in others or argument.startswith("-") or before in _WITH_VALUE
        parts[not own].append(argument)
    return parts


def composed(name: str, arguments: Sequence[str]) -> dict[str, Any]:
    """The plain settings that a script would get from a command line. Raises UserError for a mistake in it."""
    from hydra import compose, initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    checked = check(name, arguments)
    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return OmegaConf.to_container(compose(name, checked), resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(_first_sentence(error)) from error


def typed_value(word: str) -> Any:
    """The value of one ``key=value`` as a script would get it."""
    return _parse(quote(word)).value()


def _check_settings(name: str, settings: list[str]) -> None:
    """Each key and each value against what the chosen files of ``conf/`` have, for every job of a multirun."""
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    groups = _groups(name)
    chosen: dict[str, list[str]] = {}
    values = {}
    for override in map(_parse, settings):
        key, typed = override.key_or_group, _typed(override)
        if key in groups:
            chosen[key] = [_choice(key, value) for value in typed]
        elif not key.startswith("hydra."):
            values[key] = typed
    if not values:
        return
    with initialize_config_dir(str(CONF), version_base="1.3"):
        for job in itertools.product(*chosen.values()):
            overrides = [f"{group}={choice}" for group, choice in zip(chosen, job, strict=True)]
            known = OmegaConf.to_container(compose(name, overrides), resolve=True)
            for key, typed in values.items():
                default = _default(name, key, known, overrides)
                for value in typed:
                    _check_kind(key, value, default)


def _parse(setting: str) -> Any:
    """One setting as Hydra reads it."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        return OverridesParser.create().parse_override(setting)
    except HydraException as error:
        key = setting.partition("=")[0]
        raise UserError(f"{setting}: this value cannot be read; write text in quotes, \"{key}='…'\"") from error


def _groups(name: str) -> set[str]:
    """The settings that choose a file: the keys of the defaults list."""
    import yaml

    defaults = yaml.safe_load((CONF / f"{name}.yaml").read_text(encoding="utf-8")).get("defaults", [])
    return {group for entry in defaults if isinstance(entry, dict) for group in entry}


def _typed(override: Any) -> list[Any]:
    """The value of an override; of a sweep over choices, each; of other sweeps, none."""
    from hydra.core.override_parser.types import ChoiceSweep, QuotedString, Sweep

    value = override.value()
    if isinstance(value, ChoiceSweep):
        return [choice.text if isinstance(choice, QuotedString) else choice for choice in value.list]
    return [] if isinstance(value, Sweep) else [value]


def _choice(group: str, value: Any) -> str:
    names = sorted(path.stem for path in (CONF / group).glob("[!_]*.yaml"))
    if value not in names:
        shown = "null" if value is None else value
        raise UserError(f"{group}={shown}: there is no such choice; choose {group}= one of {', '.join(names)}")
    return value


def _flat(known: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat = {}
    for key, value in known.items():
        flat[prefix + key] = value
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
    return flat


def _default(name: str, key: str, known: dict[str, Any], overrides: list[str]) -> Any:
    """The value a setting has when it is not typed. Raises UserError, with a suggestion, where there is no such one."""
    flat = _flat(known)
    if key in flat:
        return flat[key]
    parent, _, last = key.rpartition(".")
    beside = [other for other in flat if other.rpartition(".")[0] == parent]
    same = [other for other in flat if other.rpartition(".")[2] == last]
    close = difflib.get_close_matches(key, beside, 1, 0.8) or same or difflib.get_close_matches(key, flat, 1, 0.8)
    where = next((f" with {choice}" for choice in overrides if choice.startswith(f"{parent}=")), "")
    if close:
        hint = f"did you mean {close[0]}?"
    elif parent and beside:
        hint = f"{parent} has {', '.join(other.rpartition('.')[2] for other in beside)}"
    else:
        hint = f"--help and conf/{name}.yaml list the settings"
    raise UserError(f"{key}: no such setting{where}; {hint}")


def _check_kind(key: str, value: Any, default: Any) -> None:
    if default is None and value is not None:
        default = BEHIND_NULL.get(key)
    if key not in LOOSE and not _fits(value, default):
        kind = _KINDS.get(type(default), f"{key}.KEY=VALUE, one setting at a time,")
        raise UserError(f"{key}={'null' if value is None else value}: {kind} is expected here, such as {default}")


def _fits(value: Any, default: Any) -> bool:
    """Whether a value is of its default's kind. A default of null, and a reference ``${…}``, say nothing."""
    if default is None or (isinstance(value, str) and "${" in value):
        return True
    if isinstance(default, dict):
        return False
    if isinstance(default, list):
        return isinstance(value, list) and all(_fits(item, default[0]) for item in value)
    if isinstance(default, str):
        return isinstance(value, str | int | float)
    return type(value) is type(default) or (type(default) is float and type(value) is int)


def run(
    name: str,
    task: Callable[..., Any],
    usage: str,
    multirun: bool = True,
    tell_asked: bool = False,
    other: str | None = None,
) -> None:
    """Compose ``conf/<name>.yaml`` with the command line and call ``task`` with plain settings.

    usage: the text of ``--help``. multirun: whether ``-m`` is allowed; each job then gets a folder in ``run_dir``.
    tell_asked: give ``task`` a second argument, see ``_asked``.
    other: take settings of ``conf/<other>.yaml`` too, and give them to ``task`` as a second argument, as they were
    typed: nothing has looked at them yet.
    A mistake ends in one line on standard error and status 2.
    """
    try:
        if {"-h", "--help"} & set(sys.argv[1:]):
            print(usage.strip())
        else:
            own, rest = split(name, other, sys.argv[1:]) if other else (sys.argv[1:], [])
            jobs: list[dict[str, Any]] = []  # a task that composes settings itself waits until Hydra is done
            now = jobs.append if other else task
            _compose_and_call(name, now, check(name, own, multirun), tell_asked)
            for settings in jobs:
                task(settings, rest)
        sys.stdout.flush()
    except UserError as error:
        _fail(str(error))
    except BrokenPipeError:
        # Whoever reads has enough (``| head``). Python would complain of it once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        _fail(f"{error.filename or 'writing'}: {error.strerror}")
    except Interrupted as stop:
        print(stop, file=sys.stderr)
        raise SystemExit(stop.status) from None
    except KeyboardInterrupt:
        _fail("stopped", 130)


def _asked(settings: dict[str, Any], overrides: Sequence[str], defaults: dict[str, Any]) -> dict[str, Any]:
    """What of the settings was typed, by dotted names: each one named, and each that a choice of files changed."""
    named = {override.partition("=")[0] for override in overrides}
    return {
        key: value
        for key, value in _flat(settings).items()
        if not isinstance(value, dict) and (key in named or value != defaults.get(key))
    }


def _compose_and_call(name: str, task: Callable[..., Any], arguments: list[str], tell_asked: bool) -> None:
    """Hand the checked command line to Hydra. Raises what ``task`` raised; in a multirun the other jobs run first."""
    import hydra
    from hydra import compose, initialize_config_dir
    from hydra.core.hydra_config import HydraConfig
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors come here as they are, not printed and swallowed
    failures: list[Exception] = []
    with initialize_config_dir(str(CONF), version_base="1.3"):
        defaults = _flat(OmegaConf.to_container(compose(name), resolve=True)) if tell_asked else {}

    def job(config: Any) -> None:
        try:
            settings = OmegaConf.to_container(config, resolve=True)
            hydra_config = HydraConfig.get()
            if hydra_config.mode.name == "MULTIRUN" and settings.get("run_dir"):
                folder = f"{hydra_config.job.num}-{settings['model']['name']}"
                settings["run_dir"] = str(Path(settings["run_dir"]) / folder)
            task(settings, *([_asked(settings, hydra_config.overrides.task, defaults)] if tell_asked else []))
        except Exception as error:  # Hydra would print a line of its own before it raises it
            failures.append(error)

    sys.argv[1:] = arguments
    try:
        hydra.main(config_path=str(CONF), config_name=name, version_base="1.3")(job)()
        for error in failures[1:]:
            logging.getLogger(__name__).error("another run failed too: %s", error)
        if failures:
            raise failures[0]
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(_first_sentence(error)) from error


def _first_sentence(error: Exception) -> str:
    """What Hydra or OmegaConf complain of, without their advice on Hydra's grammar, in one line."""
    text = " ".join(str(error).split())
    return re.split(r" (?:See https://|full_key: |To append to your config |Config search path)", text)[0]


def _fail(line: str, status: int = 2) -> None:
    print(f"error: {line}", file=sys.stderr)
    raise SystemExit(status)


def plain_options(arguments: Sequence[str], defaults: dict[str, Any]) -> dict[str, Any]:
    """``key=value`` words over ``defaults``, for scripts without Hydra: text and whole numbers, as each default is.

    Numbers are at least 1, a seed at least 0; ``output`` lies in a folder that is there. Raises UserError otherwise.
    """
    options = dict(defaults)
    for word in arguments:
        key, _, value = word.partition("=")
        if key not in defaults or not value:
            raise UserError(f"{word}: write key=value with one of {', '.join(defaults)}")
        options[key] = value
        if isinstance(defaults[key], int):
            least = 0 if key == "seed" else 1
            if not value.isdecimal() or int(value) < least:
                raise UserError(f"{word}: give a whole number from {least} on")
            options[key] = int(value)
    if options.get("output") and not Path(options["output"]).absolute().parent.is_dir():
        raise UserError(f"output={options['output']}: there is no such folder")
    return options


def typed_lines() -> Iterator[str]:
    """Lines typed at a prompt, until Ctrl-D. The prompt goes to standard error where the output goes elsewhere."""
    with suppress(ImportError):
        import readline  # noqa: F401  (with it, `input` can edit and remembers)
    while True:
        try:
            with nullcontext() if sys.stdout.isatty() else redirect_stdout(sys.stderr):
                line = input("> ")
        except EOFError:
            print(file=sys.stderr)
            return
        yield line

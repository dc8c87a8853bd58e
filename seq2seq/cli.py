"""What the scripts share: free text quoted for Hydra, one line for a mistake, and a plain dict instead of a config.

This and ``scripts/`` are the only places that know Hydra.
"""

import difflib
import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from seq2seq.errors import UserError

CONF = Path(__file__).resolve().parents[1] / "conf"
FREE_TEXT = {
    *("run_dir", "init_from", "checkpoint", "input", "output", "heatmap", "source", "reference", "hypothesis"),
    *("data.dir", "data.train", "data.dev", "data.test", "data.base", "data.cache_dir"),
}


def quote(argument: str) -> str:
    """``key=value`` with the value quoted for Hydra where it is free text, so that ``=``, commas and spaces are kept."""
    key, equals, value = argument.partition("=")
    if key not in FREE_TEXT or value in ("", "null") or (len(value) > 1 and value[0] == value[-1] in "'\""):
        return argument
    escaped = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + (r"\'" if match[2] else ""), value)
    return f"{key}{equals}'{escaped.replace('${', chr(92) + '${')}'"


def check(arguments: Sequence[str]) -> None:
    """Hydra takes any new key behind ``+``; here there is none to add, so a typo cannot hide there."""
    for argument in arguments:
        if argument.startswith(("+", "~")) and "=" in argument:
            raise UserError(f"{argument}: settings cannot be added or removed; write it without {argument[0]!r}")


def _known_keys(config: Any, prefix: str = "") -> list[str]:
    keys = []
    for key in config:
        keys.append(prefix + key)
        if isinstance(config[key], dict):
            keys += _known_keys(config[key], f"{prefix}{key}.")
    return keys


def _explain(name: str, error: Exception) -> str:
    """One line for an error of Hydra or OmegaConf."""
    text = " ".join(str(error).split())
    match = re.search(r"full_key: (\S+)", text)
    if match and "not in struct" in text:
        from hydra import compose, initialize_config_dir
        from omegaconf import OmegaConf

        with initialize_config_dir(str(CONF), version_base="1.3"):
            known = _known_keys(OmegaConf.to_container(compose(name), resolve=False))
        close = difflib.get_close_matches(match[1], known, 1, 0.5)
        hint = f"did you mean {close[0]}?" if close else f"--help and conf/{name}.yaml list the settings"
        return f"{match[1]}: no such setting here; {hint}"
    return text.replace(" Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.", "")


def run(name: str, task: Callable[[dict[str, Any]], Any], usage: str) -> None:
    """Compose ``conf/<name>.yaml`` with the command line and call ``task`` with plain settings.

    usage: the text of ``--help``. A mistake ends in one line on standard error and status 2.
    """
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(usage.strip())
        return
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors come here as they are, not printed and swallowed

    def job(config: Any) -> Any:
        settings = OmegaConf.to_container(config, resolve=True)
        hydra_config = HydraConfig.get()
        if hydra_config.mode.name == "MULTIRUN" and settings.get("run_dir"):
            settings["run_dir"] = str(Path(settings["run_dir"]) / str(hydra_config.job.num))
        return task(settings)

    try:
        check(sys.argv[1:])
        sys.argv[1:] = [quote(argument) for argument in sys.argv[1:]]
        hydra.main(config_path=str(CONF), config_name=name, version_base="1.3")(job)()
    except UserError as error:
        _fail(str(error))
    except (HydraException, OmegaConfBaseException) as error:
        _fail(_explain(name, error))
    except KeyboardInterrupt:
        _fail("stopped", 130)


def _fail(line: str, status: int = 2) -> None:
    print(f"error: {line}", file=sys.stderr)
    raise SystemExit(status)

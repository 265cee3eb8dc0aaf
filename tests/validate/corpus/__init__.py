"""Small repositories over every family of rules, for the server and the validator to judge."""

from __future__ import annotations

from dataclasses import replace

from tests.validate.corpus import (
    batching,
    ensembles,
    folders,
    more,
    published,
    sequences,
    settings,
    tensors,
    text,
)
from tests.validate.corpus.base import MODEL, Case, alone

HANGS = frozenset(
    {
        "agents0",
        "bo_notarget",
        "ens_decoupled_origins",
        "f_st_file_dir",
        "file",
        "platform_tf_py",
        "r_two_one_empty",
        "r_v1_1",
        "r_v1_2a",
        "r_v1a",
        "r_vbig",
        "r_vemptydir",
        "r_vneg",
        "r_vsp",
        "s_dmf_dir",
        "s_w_optmiss",
    }
)
"""Of these a live 2.51 dies or stops answering."""


def cases() -> list[Case]:
    """All of them, by name."""
    made = [*ensembles.cases(), *published.cases(), *more.cases()]
    for module in (text, batching, sequences, tensors, settings):
        made += [
            alone(n, config, {"1/model.py": MODEL}) for n, config in module.CONFIGURATIONS.items()
        ]
    for module in (tensors, settings, folders):
        made += [alone(n, config, files) for n, (config, files) in module.FOLDERS.items()]
    marked = [replace(case, hangs=case.name in HANGS) for case in made]
    assert len({case.name for case in marked}) == len(marked)
    return sorted(marked, key=lambda case: case.name)

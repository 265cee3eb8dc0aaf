"""How the models of an ensemble fit. E0 the server refuses, E1 it accepts."""

from __future__ import annotations

from tools.validate.findings import Rule, Severity

_STATIC = (
    "Triton's core checks it when it polls the repository (ValidateEnsembleSchedulingConfig). "
    "Seen on a live 2.51."
)
_AGAINST = (
    "Triton's core checks it against the members once they are loaded (ensemble_utils.cc). "
    "Seen on a live 2.51."
)


def _error(code: str, name: str, cause: str, mend: str, evidence: str = _STATIC) -> Rule:
    return Rule(code, name, Severity.ERROR, cause, evidence, mend)


def _warning(code: str, name: str, cause: str, mend: str, evidence: str) -> Rule:
    return Rule(code, name, Severity.WARNING, cause, evidence, mend)


OWN_INSTANCES = _error(
    "E060",
    "ensemble-has-instances",
    "An ensemble runs nothing itself, so it has no instances.",
    "Move instance_group to the member that needs it.",
)
OWN_OPTIMIZATION = _error(
    "E061",
    "ensemble-has-optimization",
    "An ensemble runs nothing itself, so there is nothing to optimise.",
    "Move optimization to the member that needs it.",
)
OWN_WARMUP = _error(
    "E062",
    "ensemble-has-warmup",
    "An ensemble has no warm-up.",
    "Move model_warmup to the members.",
)
NO_STEP = _error(
    "E063", "ensemble-has-no-step", "An ensemble without a step does nothing.", "Add its steps."
)
STEP_INCOMPLETE = _error(
    "E064",
    "step-incomplete",
    "A step lacks its model_name, its input_map or its output_map.",
    "Write all three.",
)
WRITTEN_TWICE = _error(
    "E065",
    "tensor-written-twice",
    "Two outputs write the same ensemble tensor.",
    "Give each a name of its own.",
)
INPUT_UNUSED = _error(
    "E067",
    "ensemble-input-unused",
    "No step takes an input of the ensemble.",
    "Map it in a step, or remove it.",
)
OUTPUT_NOT_PRODUCED = _error(
    "E068",
    "tensor-never-written",
    "A tensor is wanted that no step can ever write: a name is misspelt, or steps wait for each "
    "other in a circle.",
    "Correct the name, or break the circle.",
)
TENSOR_UNREAD = _error(
    "E069",
    "tensor-unread",
    "A step writes a tensor that no step and no output of the ensemble takes.",
    "Leave it out of the output_map, or make it an output.",
)
BATCH_ABOVE_MEMBER = _error(
    "E070",
    "batch-above-member",
    "The ensemble takes larger batches than one of its members.",
    "Lower the ensemble's max_batch_size, or raise the member's.",
    _AGAINST + " One such ensemble keeps a server with default flags from starting at all.",
)
NO_SUCH_TENSOR = _error(
    "E071",
    "no-such-tensor",
    "A map names an input or output that the member does not have.",
    "Use the member's own name as the key; the value is the ensemble's tensor.",
    _AGAINST,
)
INPUT_UNMAPPED = _error(
    "E072",
    "input-unmapped",
    "A member has an input that the step does not map, and it is not optional.",
    "Map it.",
    _AGAINST,
)
TYPES_DIFFER = _error(
    "E073",
    "types-differ",
    "A tensor passes from one model to another of a different data_type. Triton converts nothing.",
    "Change one of the two, or put a model between that converts.",
    _AGAINST,
)
SHAPES_DIFFER = _error(
    "E074",
    "shapes-differ",
    "A tensor passes from one model to another with different dims.",
    "Change one of the two. -1 fits every length, and is then checked with every request.",
    _AGAINST,
)
DECOUPLED_ORIGINS = _error(
    "E075",
    "decoupled-origins",
    "A step takes tensors that stem from different decoupled models, whose responses can't be "
    "paired.",
    "Take all inputs of a step from one of them.",
    "Triton's core compares the origins (ensemble_utils.cc). A live 2.51 does not answer the load.",
)
MEMBER_MISSING = _error(
    "E076",
    "member-missing",
    "A member is not in the repository, has errors of its own, or does not serve the version "
    "that is asked for.",
    "Add it, mend it, or ask for a version that is there (-1 is the latest).",
    _AGAINST,
)
CIRCLE = _error(
    "E077",
    "ensembles-in-a-circle",
    "Ensembles contain each other.",
    "Break the circle.",
)
PRIORITY_UNDONE = _warning(
    "E101",
    "priority-undone",
    "The stages do not agree on the priority levels. A stage without them serves in order of "
    "arrival, so an urgent request waits behind all that came before it; a level that a stage "
    "does not have becomes its default.",
    "Set the same priority_levels in every stage.",
    "Live: an urgent request behind 8 others was served second with levels in the first stage, "
    "last without.",
)
TIMEOUT_RESTARTS = _warning(
    "E102",
    "timeout-restarts",
    "A queue timeout counts from the arrival at its own stage, so over an ensemble the timeouts "
    "add up, and executions come on top.",
    "Divide the budget among the stages, and enforce the whole deadline in the client.",
    "Live: a timeout of 1.0 s over two stages of 0.8 s each, answers after 1.65 and 2.44 s.",
)
NOT_BATCHING_ENSEMBLE = _warning(
    "E103",
    "ensemble-does-not-batch",
    "The ensemble's max_batch_size is 0 and its members batch, so clients must send the batch "
    "axis themselves, and Triton adds one of 1 where it is missing.",
    "Set the ensemble's max_batch_size to the smallest of its members.",
    "Triton's ensemble_scheduler.cc, InitStep.",
)
STAGE_NOT_BATCHING = _warning(
    "E104",
    "stage-does-not-batch",
    "One stage of the ensemble takes its requests one at a time, so what batching saves in the "
    "others is lost there.",
    "Set max_batch_size and dynamic_batching in every stage.",
    "An ensemble has no queue of its own; each member batches for itself.",
)
MEMBER_UNREAD = Rule(
    "E105",
    "member-not-read",
    Severity.NOTE,
    "A member's inputs and outputs are not written in its configuration, so they can't be "
    "compared.",
    "Triton then asks the backend when it loads the model.",
    "Write them.",
)

"""Rules about the ONNX file: does it load, does it batch, does it fit its ``config.pbtxt``."""

from __future__ import annotations

from tools.validate.findings import Rule, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

UNREADABLE = Rule(
    "O001",
    "onnx-unreadable",
    ERROR,
    "The file is empty, cut short, or no ONNX model.",
    "Parsed with ONNX's own protobuf.",
    "Export the model again, or copy it again and compare the sizes.",
)
UNCHECKABLE = Rule(
    "O002",
    "onnx-check-ended-early",
    ERROR,
    "The check of the model crashed, ran out of its memory or did not end within its time limit.",
    "The check runs in a process of its own, which is watched.",
    "Run the model by itself at the batch size that the message names; a server would fare alike.",
)
NOT_RUN = Rule(
    "O003",
    "onnx-not-run",
    NOTE,
    "The model was read and not run, so whether it batches is not proved.",
    "The message says why.",
    "Remove the reason, or prove it on the server.",
)
IR_TOO_NEW = Rule(
    "O004",
    "ir-version-too-new",
    ERROR,
    "The file format is newer than the ONNX Runtime of the Triton release reads.",
    "Each ONNX Runtime refuses a newer IR version at load.",
    "Set `ir_version` lower when the model is saved, or take a newer Triton release.",
)
OPSET_TOO_NEW = Rule(
    "O005",
    "opset-too-new",
    ERROR,
    "The operators are of a newer opset than the ONNX Runtime of the Triton release has.",
    "Each ONNX Runtime refuses a newer opset at load.",
    "Export with a lower opset, or convert with onnx.version_converter; or a newer Triton.",
)
UNKNOWN_OPERATOR = Rule(
    "O006",
    "unknown-operator",
    ERROR,
    "An operator that ONNX does not have in the opset that the model imports.",
    "Looked up in ONNX's own operator schemas.",
    "Export with an opset that has the operator, or with the operators it is made of.",
)
CUSTOM_OPERATOR = Rule(
    "O007",
    "custom-operator",
    ERROR,
    "An operator of a domain that ONNX Runtime does not bring; it is loaded from a library.",
    "ONNX Runtime refuses the model without it; Triton loads what `model_operations` names.",
    "Name the library in `model_operations { op_library_filename }`, or export without it.",
)
WEIGHTS_MISSING = Rule(
    "O008",
    "external-data-missing",
    ERROR,
    "Weights are kept in files beside the model, and some are absent or too short.",
    "ONNX Runtime refuses the model; onnx.checker without the files does not notice.",
    "Copy the files into the version folder beside the model.",
)
WEIGHTS_ESCAPE = Rule(
    "O009",
    "external-data-outside",
    ERROR,
    "Weights are read from outside the model's folder.",
    "ONNX forbids it, newer ONNX Runtimes refuse it, and Triton copies only the model's folder "
    "from cloud storage.",
    "Save the model again with its external data in the same folder.",
)
FIXED_BATCH = Rule(
    "O010",
    "fixed-batch",
    ERROR,
    "The first dimension of a tensor is a number, so requests can't be put together.",
    "ONNX Runtime refuses any other batch; Triton's onnxruntime backend wants -1 there when "
    "`max_batch_size` is 1 or more.",
    "Export again with a dynamic batch axis; setting the number to -1 by hand is not enough here.",
)
FIXED_BATCH_METADATA = Rule(
    "O011",
    "fixed-batch-in-metadata-only",
    ERROR,
    "Only the declared shapes fix the batch; the computation runs at any.",
    "The model was run with the declared shapes freed, and every answer agreed.",
    "`tandem validate --model MODEL --fix OUT.onnx` writes it with a free batch axis.",
)
NO_BATCH_AXIS = Rule(
    "O012",
    "input-without-batch-axis",
    ERROR,
    "One input has a batch axis and another has none, so a batch has no rows for it.",
    "Triton puts requests together along the first dimension of every input.",
    "Give the input a batch axis, or make it a constant of the model.",
)
SYMBOL_SHARED = Rule(
    "O013",
    "batch-symbol-shared",
    WARNING,
    "The name of the batch axis also names another axis, so the two have to be equal.",
    "ONNX: dimensions of one name have one value.",
    "Export with a name for each axis.",
)
OUTPUT_ABSENT = Rule(
    "O014",
    "output-absent",
    ERROR,
    "The model declares an output that no node computes.",
    "ONNX Runtime refuses the model.",
    "Remove the declaration, or export again.",
)
INITIALISER_AS_INPUT = Rule(
    "O015",
    "initialiser-as-input",
    WARNING,
    "Weights are declared as inputs, so a caller could replace them, and ONNX Runtime can't fold "
    "them into the operators before them.",
    "ONNX Runtime treats as constant only what is not an input (IR version 4 and later).",
    "Export with `keep_initializers_as_inputs=False`, or remove them from the inputs.",
)
INPUT_KIND = Rule(
    "O016",
    "input-kind",
    NOTE,
    "An input wants something else than NCHW float32; the step before has to send just that.",
    "Read from the declared type and dimensions.",
    "Compare with what the preprocessing step declares.",
)
OUTPUT_SHAPE = Rule(
    "O017",
    "output-shape-wrong",
    ERROR,
    "An output has other dimensions than the model declares.",
    "The model was run. Triton refuses an answer whose shape is not the declared one.",
    "Correct the declared dimensions of the output.",
)
SHAPE_UNKNOWN = Rule(
    "O018",
    "shape-unknown",
    ERROR,
    "A tensor has no declared shape and ONNX Runtime infers none, so it has no first dimension.",
    "The onnxruntime backend wants at least one dimension, the first -1, in a model that batches.",
    "Declare the shape, with a free batch axis.",
)
NOT_A_TENSOR = Rule(
    "O019",
    "not-a-tensor",
    ERROR,
    "An input or output is a sequence, a map or an optional value, which Triton can't pass on.",
    "The onnxruntime backend takes tensors only.",
    "Export without ZipMap (scikit-learn: `options={'zipmap': False}`), or end at the tensor.",
)
CONFIG_NAME = Rule(
    "O020",
    "config-tensor-unknown",
    ERROR,
    "`config.pbtxt` and the model name different tensors.",
    "The onnxruntime backend compares names at load: every input on both sides, and every output "
    "that the configuration names.",
    "Use the model's own names.",
)
CONFIG_OUTPUT_UNUSED = Rule(
    "O021",
    "config-output-left-out",
    NOTE,
    "The model has an output that `config.pbtxt` does not name; nobody can ask for it.",
    "Accepted by the onnxruntime backend.",
    "Name it, or leave it.",
)
CONFIG_TYPE = Rule(
    "O022",
    "config-type-differs",
    ERROR,
    "`config.pbtxt` and the model give a tensor different types.",
    "The onnxruntime backend refuses at load.",
    "Take the model's type.",
)
CONFIG_DIMS = Rule(
    "O023",
    "config-dims-differ",
    ERROR,
    "`config.pbtxt` and the model give a tensor different dimensions. When `max_batch_size` is 1 "
    "or more, `dims` leave out the batch axis.",
    "Source: CompareDimsSupported of the onnxruntime backend: ranks equal, and each dimension of "
    "the model -1 or the same; of an output the same, as ONNX Runtime infers it.",
    "Take the model's dimensions, without the first where the model batches.",
)
CONFIG_NOT_BATCHING = Rule(
    "O024",
    "config-does-not-batch",
    WARNING,
    "`max_batch_size` is 0 or left out although the model batches.",
    "Triton then never puts requests together, as inputs and outputs are both listed: where one is "
    "not, its automatic completion takes 4.",
    "Set `max_batch_size`, and `dims` without the batch axis.",
)
CONFIG_OPTIONAL = Rule(
    "O025",
    "config-optional-refused",
    ERROR,
    "An input is `optional` in a model that batches, or one that the model can't do without.",
    "The onnxruntime backend refuses at load; it takes an optional input where `max_batch_size` is "
    "0 and an initialiser of the model fills it.",
    "Remove `optional: true`.",
)
LOAD_REFUSED = Rule(
    "O030",
    "onnx-load-refused",
    ERROR,
    "ONNX Runtime does not load the model.",
    "Its own words are in the message.",
    "Export the model again; `onnx.checker` may say more.",
)
NO_INPUT_FITS = Rule(
    "O031",
    "onnx-no-input-fits",
    WARNING,
    "The model ran on none of the inputs that were made up for it, at no batch size.",
    "ONNX Runtime's words are in the message.",
    "Declare the dimensions that have to be fixed; prove batching with inputs of your own.",
)
BATCH_REFUSED = Rule(
    "O032",
    "batch-refused",
    ERROR,
    "The model runs at one batch size and refuses another.",
    "The model was run.",
    "Free the batch axis inside the model: Reshape to -1 or 0 there, no constants of its size.",
)
ROW_COUNT = Rule(
    "O033",
    "wrong-row-count",
    ERROR,
    "An output has not one row for each item of the batch.",
    "The model was run. Triton hands each request its rows of the output.",
    "Keep the batch axis first in every output; mind the node that the message names.",
)
ROW_ORDER = Rule(
    "O034",
    "wrong-row-order",
    ERROR,
    "The rows come back in another order: each request gets the answer to another's image.",
    "The model was run on a batch and on each item alone.",
    "Remove what reorders the batch axis at the node that the message names.",
)
LEAK = Rule(
    "O035",
    "cross-sample-leak",
    ERROR,
    "The answer to an item depends on the other items of its batch.",
    "The model was run on each item alone and in different company; the difference is above the "
    "bound of rounding noise.",
    "Compute along the other axes only at the node that the message names.",
)
BATCH_QUANTISED = Rule(
    "O036",
    "quantised-by-batch",
    WARNING,
    "The range of the quantisation is taken over the whole batch, so neighbours change an answer.",
    "The model was run on each item alone and in different company.",
    "Quantise statically (QDQ with calibrated ranges), or accept the size of the effect.",
)
NOT_FINITE = Rule(
    "O037",
    "not-finite",
    ERROR,
    "An output holds NaN or infinity on ordinary input.",
    "The model was run.",
    "Look at the node that the message names: a division, a logarithm, an overflow of float16.",
)
SHAPE_FOLLOWS_BATCH = Rule(
    "O038",
    "shape-follows-batch",
    ERROR,
    "The dimensions of a row change with the batch.",
    "The model was run. Triton splits an output by rows and hands on their dimensions.",
    "Keep the batch size out of every other axis.",
)
RANDOM = Rule(
    "O039",
    "random",
    ERROR,
    "The same input gives different answers: by a random node, or a state that earlier inputs "
    "change. So nothing can be said about batching.",
    "The model was run twice on the same input, with others between.",
    "Export in inference mode: no Dropout or BatchNormalization in training mode, no random nodes.",
)
ROUNDING_TIE = Rule(
    "O040",
    "rounding-tie",
    NOTE,
    "Rounding noise met a threshold (a quantisation step, an arg-max tie) and became visible.",
    "Up to the node that the message names everything agrees within the bound of noise.",
    "Nothing; the same happens between any two machines.",
)
SIZE_CAPPED = Rule(
    "O041",
    "largest-batch-not-run",
    NOTE,
    "The largest batch was not run, because it needs more memory or time than the check allows.",
    "Estimated from smaller batches of this model.",
    "Nothing, or prove it on the server.",
)
BATCHES = Rule(
    "O042",
    "batches",
    NOTE,
    "The model batches: every answer in company is the answer alone.",
    "The model was run at the sizes in the message, alone, permuted and among other neighbours.",
    "Nothing.",
)
REFERENCE_DIFFERS = Rule(
    "O043",
    "mended-model-differs",
    ERROR,
    "The mended model gives other answers than the one it was made from.",
    "Both were run on the same batch.",
    "Export the model again with a dynamic batch axis.",
)
INDIFFERENT = Rule(
    "O044",
    "answers-all-alike",
    WARNING,
    "All made-up items have the same answer, so nobody could tell if they were mixed up.",
    "The model was run.",
    "Look at the weights and the declared input range; prove batching with images of your own.",
)

"""What lies in the folder of a model."""

from __future__ import annotations

from tests.validate.corpus.base import BASE, MODEL

CONFIGURATIONS: dict[str, str | None] = {
    "r_nocfg": None,
}

FOLDERS: dict[str, tuple[str | None, dict[str, str]]] = {
    "r_noversion": (BASE, {"model.py": MODEL}),
    "r_v01": (BASE, {"01/model.py": MODEL}),
    "r_vv1": (BASE, {"v1/model.py": MODEL}),
    "r_vneg": (BASE, {"-1/model.py": MODEL}),
    "r_vemptydir": (BASE, {"1/.keep": ""}),
    "r_vfile": (BASE, {"1": "x"}),
    "r_two": (BASE, {"1/model.py": MODEL, "2/model.py": MODEL}),
    "r_two_one_empty": (BASE, {"1/model.py": MODEL, "2/x": ""}),
    "r_v1_abc": (BASE, {"1/model.py": MODEL, "abc/x": "", "configs/x.pbtxt": "bad"}),
    "r_nocfg_nomodel": (None, {"1/x": ""}),
    "r_nocfg_onnx": (None, {"1/model.onnx": ""}),
    "r_cfgcase": (
        None,
        {
            "1/model.py": MODEL,
            "Config.pbtxt": 'backend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
        },
    ),
    "r_v10digits": (BASE, {"12345678901/model.py": MODEL}),
    "r_vbig": (BASE, {"99999999999999999999/model.py": MODEL}),
    "r_v1a": (BASE, {"1a/model.py": MODEL}),
    "r_v1_1": (BASE, {"1.1/model.py": MODEL}),
    "r_vsp": (BASE, {"1 /model.py": MODEL}),
    "r_v1_v01": (BASE, {"1/model.py": MODEL, "01/model.py": MODEL}),
    "r_v0_1": (BASE, {"0/model.py": MODEL, "1/model.py": MODEL}),
    "r_v1_vneg": (BASE, {"-2/model.py": MODEL, "1/model.py": MODEL}),
    "r_v1_2a": (BASE, {"2a/x": "", "1/model.py": MODEL}),
    "m_syntax": (BASE, {"1/model.py": "def x(:\n"}),
    "m_noclass": (BASE, {"1/model.py": "class Model: pass\n"}),
    "m_empty": (BASE, {"1/model.py": ""}),
    "m_noexec": (BASE, {"1/model.py": "class TritonPythonModel: pass\n"}),
    "m_auto": (
        BASE,
        {
            "1/model.py": "class TritonPythonModel:\n    def execute(self, requests):\n        return []\n    @staticmethod\n    def auto_complete_config(c): return c\n"
        },
    ),
    "m_func": (BASE, {"1/model.py": "def TritonPythonModel(): pass\n"}),
    "m_importclass": (
        BASE,
        {"1/model.py": "from other import TritonPythonModel\n", "1/other.py": MODEL},
    ),
    "m_assign": (
        BASE,
        {
            "1/model.py": "class XPythonModel:\n    def execute(self, requests):\n        return []\nTritonPythonModel = XPythonModel\n"
        },
    ),
    "m_exec_var": (
        BASE,
        {
            "1/model.py": "class B:\n    def execute(self, r): return []\nclass TritonPythonModel(B): pass\n"
        },
    ),
}

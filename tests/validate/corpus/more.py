"""Further faults and odd cases of every kind, as whole repositories."""

from __future__ import annotations

from tests.validate.corpus.base import BASE, MODEL, Case

_FILES: dict[str, dict[str, str]] = {
    "m_ret_out": {
        "m_ret_out/1/model.py": "import triton_python_backend_utils as pb_utils\nreturn 5\nclass TritonPythonModel:\n    def execute(self, requests):\n        return []\n",
        "m_ret_out/1/other.py": MODEL,
        "m_ret_out/config.pbtxt": BASE,
    },
    "m_await_out": {
        "m_await_out/1/model.py": "import triton_python_backend_utils as pb_utils\nclass TritonPythonModel:\n    def execute(self, requests):\n        return []\nx = await f\n",
        "m_await_out/1/other.py": MODEL,
        "m_await_out/config.pbtxt": BASE,
    },
    "m_yieldout": {
        "m_yieldout/1/model.py": "import triton_python_backend_utils as pb_utils\nyield 1\nclass TritonPythonModel:\n    def execute(self, requests):\n        return []\n",
        "m_yieldout/1/other.py": MODEL,
        "m_yieldout/config.pbtxt": BASE,
    },
    "m_brk": {
        "m_brk/1/model.py": "import triton_python_backend_utils as pb_utils\nbreak\nclass TritonPythonModel:\n    def execute(self, requests):\n        return []\n",
        "m_brk/1/other.py": MODEL,
        "m_brk/config.pbtxt": BASE,
    },
    "m_dupargs": {
        "m_dupargs/1/model.py": "import triton_python_backend_utils as pb_utils\nclass TritonPythonModel:\n    def execute(self, a, a): return []\n",
        "m_dupargs/1/other.py": MODEL,
        "m_dupargs/config.pbtxt": BASE,
    },
    "m_nonlocal": {
        "m_nonlocal/1/model.py": "import triton_python_backend_utils as pb_utils\nclass TritonPythonModel:\n    def execute(self, requests):\n        return []\ndef f():\n  nonlocal q\n",
        "m_nonlocal/1/other.py": MODEL,
        "m_nonlocal/config.pbtxt": BASE,
    },
    "m_future": {
        "m_future/1/model.py": "import triton_python_backend_utils as pb_utils\nfrom __future__ import nope\nclass TritonPythonModel:\n    def execute(self, requests):\n        return []\n",
        "m_future/1/other.py": MODEL,
        "m_future/config.pbtxt": BASE,
    },
    "m_futlate": {
        "m_futlate/1/model.py": "import triton_python_backend_utils as pb_utils\nx=1\nfrom __future__ import annotations\nclass TritonPythonModel:\n    def execute(self, requests):\n        return []\n",
        "m_futlate/1/other.py": MODEL,
        "m_futlate/config.pbtxt": BASE,
    },
    "m_infunc": {
        "m_infunc/1/model.py": "import triton_python_backend_utils as pb_utils\ndef f():\n  class TritonPythonModel:\n    def execute(self, r): return []\n",
        "m_infunc/1/other.py": MODEL,
        "m_infunc/config.pbtxt": BASE,
    },
    "m_incls": {
        "m_incls/1/model.py": "import triton_python_backend_utils as pb_utils\nclass X:\n  class TritonPythonModel:\n    def execute(self, r): return []\n",
        "m_incls/1/other.py": MODEL,
        "m_incls/config.pbtxt": BASE,
    },
    "m_assign_in_f": {
        "m_assign_in_f/1/model.py": "import triton_python_backend_utils as pb_utils\ndef f():\n  TritonPythonModel = 1\n",
        "m_assign_in_f/1/other.py": MODEL,
        "m_assign_in_f/config.pbtxt": BASE,
    },
    "m_del": {
        "m_del/1/model.py": "import triton_python_backend_utils as pb_utils\nclass TritonPythonModel:\n    def execute(self, requests):\n        return []\ndel TritonPythonModel\n",
        "m_del/1/other.py": MODEL,
        "m_del/config.pbtxt": BASE,
    },
    "m_annot": {
        "m_annot/1/model.py": "import triton_python_backend_utils as pb_utils\nTritonPythonModel: type\n",
        "m_annot/1/other.py": MODEL,
        "m_annot/config.pbtxt": BASE,
    },
    "m_none": {
        "m_none/1/model.py": "import triton_python_backend_utils as pb_utils\nTritonPythonModel = None\n",
        "m_none/1/other.py": MODEL,
        "m_none/config.pbtxt": BASE,
    },
    "m_noinit": {
        "m_noinit/1/model.py": "import triton_python_backend_utils as pb_utils\nclass TritonPythonModel:\n    initialize = None\n    def execute(self, requests):\n        return []\n",
        "m_noinit/1/other.py": MODEL,
        "m_noinit/config.pbtxt": BASE,
    },
    "f_modeldir": {"f_modeldir/1/model.py/x": "", "f_modeldir/config.pbtxt": BASE},
    "f_dmf_pyc": {
        "f_dmf_pyc/1/m2": MODEL,
        "f_dmf_pyc/config.pbtxt": BASE + 'default_model_filename: "m2"',
    },
    "f_dmf_txt": {
        "f_dmf_txt/1/m.txt": MODEL,
        "f_dmf_txt/config.pbtxt": BASE + 'default_model_filename: "m.txt"',
    },
    "s_dmf_dot": {
        "s_dmf_dot/1/model.py": MODEL,
        "s_dmf_dot/config.pbtxt": BASE + 'default_model_filename: "./model.py"',
    },
    "s_out_lab_abs": {
        "s_out_lab_abs/1/model.py": MODEL,
        "s_out_lab_abs/config.pbtxt": 'backend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 label_filename: "/etc/hostname" }\n',
    },
    "f_w_file_short": {
        "f_w_file_short/1/model.py": MODEL,
        "f_w_file_short/warmup/d": "\x00\x00\x00",
        "f_w_file_short/config.pbtxt": BASE
        + 'model_warmup { name: "w" batch_size: 1 inputs { key: "A" value { data_type: TYPE_FP32 dims: 4 input_data_file: "d" } } }',
    },
    "f_w_file_empty": {
        "f_w_file_empty/1/model.py": MODEL,
        "f_w_file_empty/warmup/d": "",
        "f_w_file_empty/config.pbtxt": BASE
        + 'model_warmup { name: "w" batch_size: 1 inputs { key: "A" value { data_type: TYPE_FP32 dims: 4 input_data_file: "d" } } }',
    },
    "f_w_file_str": {
        "f_w_file_str/1/model.py": MODEL,
        "f_w_file_str/warmup/d": "xyz",
        "f_w_file_str/config.pbtxt": 'backend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_STRING dims: 1 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\nmodel_warmup { name: "w" batch_size: 1 inputs { key: "A" value { data_type: TYPE_STRING dims: 1 input_data_file: "d" } } }',
    },
    "s_w_optmiss": {
        "s_w_optmiss/1/model.py": MODEL,
        "s_w_optmiss/config.pbtxt": 'backend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 optional: true }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\nmodel_warmup { name: "w" batch_size: 1 }',
    },
    "f_st_file_short": {
        "f_st_file_short/1/model.py": MODEL,
        "f_st_file_short/initial_state/d": "\x00",
        "f_st_file_short/config.pbtxt": BASE
        + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: 1 initial_state { data_type: TYPE_FP32 dims: 1 data_file: "d" name: "x" } } }',
    },
    "f_st_file_dir": {
        "f_st_file_dir/1/model.py": MODEL,
        "f_st_file_dir/initial_state/d/x": "",
        "f_st_file_dir/config.pbtxt": BASE
        + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: 1 initial_state { data_type: TYPE_FP32 dims: 1 data_file: "d" name: "x" } } }',
    },
    "s_p_strat": {
        "s_p_strat/1/model.py": MODEL,
        "s_p_strat/config.pbtxt": BASE
        + 'parameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "/no/such.so" } }',
    },
    "s_p_strat_rel": {
        "s_p_strat_rel/1/model.py": MODEL,
        "s_p_strat_rel/config.pbtxt": BASE
        + 'parameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "x.so" } }',
    },
    "s_p_strat_e": {
        "s_p_strat_e/1/model.py": MODEL,
        "s_p_strat_e/config.pbtxt": BASE
        + 'dynamic_batching {  }\nparameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "" } }',
    },
    "s_p_strat_db": {
        "s_p_strat_db/1/model.py": MODEL,
        "s_p_strat_db/config.pbtxt": BASE
        + 'dynamic_batching {  }\nparameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "/no/such.so" } }',
    },
    "s_p_strat_seq": {
        "s_p_strat_seq/1/model.py": MODEL,
        "s_p_strat_seq/config.pbtxt": BASE
        + 'sequence_batching {  }\nparameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "/no/such.so" } }',
    },
    "f_strat_file": {
        "f_strat_file/1/model.py": MODEL,
        "f_strat_file/s.so": "x",
        "f_strat_file/1/s.so": "x",
        "f_strat_file/config.pbtxt": BASE
        + 'dynamic_batching {  }\nparameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "s.so" } }',
    },
    "f_strat_so": {
        "f_strat_so/1/model.py": MODEL,
        "f_strat_so/1/batchstrategy.so": "x",
        "f_strat_so/config.pbtxt": BASE + "dynamic_batching {  }",
    },
    "f_strat_so2": {
        "f_strat_so2/1/model.py": MODEL,
        "f_strat_so2/batchstrategy.so": "x",
        "f_strat_so2/config.pbtxt": BASE + "dynamic_batching {  }",
    },
    "f_strat_so_nodb": {
        "f_strat_so_nodb/1/model.py": MODEL,
        "f_strat_so_nodb/1/batchstrategy.so": "x",
        "f_strat_so_nodb/config.pbtxt": BASE,
    },
    "f_strat_so_seq": {
        "f_strat_so_seq/1/model.py": MODEL,
        "f_strat_so_seq/1/batchstrategy.so": "x",
        "f_strat_so_seq/config.pbtxt": BASE + "sequence_batching {  }",
    },
    "s_p_cpuonly": {
        "s_p_cpuonly/1/model.py": MODEL,
        "s_p_cpuonly/config.pbtxt": BASE
        + 'parameters { key: "FORCE_CPU_ONLY_INPUT_TENSORS" value { string_value: "maybe" } }',
    },
    "s_p_env": {
        "s_p_env/1/model.py": MODEL,
        "s_p_env/config.pbtxt": BASE
        + 'parameters { key: "EXECUTION_ENV_PATH" value { string_value: "/no/such.tar.gz" } }',
    },
    "f_rt_there": {
        "f_rt_there/1/model.py": MODEL,
        "f_rt_there/rt.so": "x",
        "f_rt_there/config.pbtxt": BASE + 'runtime: "rt.so"',
    },
    "f_rt_there1": {
        "f_rt_there1/1/model.py": MODEL,
        "f_rt_there1/1/rt.so": "x",
        "f_rt_there1/config.pbtxt": BASE + 'runtime: "rt.so"',
    },
    "s_ctl_samename": {
        "s_ctl_samename/1/model.py": MODEL,
        "s_ctl_samename/config.pbtxt": BASE
        + 'sequence_batching { control_input { name: "S" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } } control_input { name: "S" control { kind: CONTROL_SEQUENCE_END int32_false_true: [0, 1] } } }',
    },
    "s_ctl_emptyname": {
        "s_ctl_emptyname/1/model.py": MODEL,
        "s_ctl_emptyname/config.pbtxt": BASE + "sequence_batching { control_input { } }",
    },
    "s_ctl_kind9": {
        "s_ctl_kind9/1/model.py": MODEL,
        "s_ctl_kind9/config.pbtxt": BASE
        + 'sequence_batching { control_input { name: "S" control { kind: 9 int32_false_true: [0, 1] } } }',
    },
    "s_st_neg_initneg": {
        "s_st_neg_initneg/1/model.py": MODEL,
        "s_st_neg_initneg/config.pbtxt": BASE
        + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: -1 initial_state { data_type: TYPE_FP32 dims: -1 zero_data: true name: "x" } } }',
    },
    "s_st_neg2": {
        "s_st_neg2/1/model.py": MODEL,
        "s_st_neg2/config.pbtxt": BASE
        + 'sequence_batching { state { input_name: "I" output_name: "O" data_type: TYPE_FP32 dims: [-1,2] initial_state { data_type: TYPE_FP32 dims: [3,5] zero_data: true name: "x" } } }',
    },
    "e_agent": {
        "e_agent/config.pbtxt": '\nplatform: "ensemble"\nmax_batch_size: 8\ninput { name: "IN" data_type: TYPE_FP32 dims: 4 }\noutput { name: "OUT" data_type: TYPE_FP32 dims: 4 }\nensemble_scheduling { \nstep {\n  model_name: "e_agent_first" model_version: -1\n  input_map { key: "A" value: "IN" } output_map { key: "B" value: "MID" }\n}\n \nstep {\n  model_name: "e_agent_second" model_version: -1\n  input_map { key: "C" value: "MID" } output_map { key: "D" value: "OUT" }\n}\n }\nmodel_repository_agents { agents { name: "nope" } }',
        "e_agent_first/config.pbtxt": '\nbackend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
        "e_agent_first/1/model.py": MODEL,
        "e_agent_second/config.pbtxt": '\nbackend: "python"\nmax_batch_size: 8\ninput { name: "C" data_type: TYPE_FP32 dims: 4 }\noutput { name: "D" data_type: TYPE_FP32 dims: 4 }\n',
        "e_agent_second/1/model.py": MODEL,
        "e_agent/1/.keep": "",
    },
    "n_cyc": {
        "n_cyc/config.pbtxt": '\nplatform: "ensemble"\nmax_batch_size: 8\ninput { name: "IN" data_type: TYPE_FP32 dims: 4 }\noutput { name: "OUT" data_type: TYPE_FP32 dims: 4 }\nensemble_scheduling { step { model_name: "n_cyc_b" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "OUT" } } }',
        "n_cyc/1/.k": "",
        "n_cyc_b/config.pbtxt": '\nplatform: "ensemble"\nmax_batch_size: 8\ninput { name: "IN" data_type: TYPE_FP32 dims: 4 }\noutput { name: "OUT" data_type: TYPE_FP32 dims: 4 }\nensemble_scheduling { step { model_name: "n_cyc" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "OUT" } } }',
        "n_cyc_b/1/.k": "",
    },
    "s_ag_ck_no": {
        "s_ag_ck_no/1/model.py": MODEL,
        "s_ag_ck_no/config.pbtxt": BASE
        + 'model_repository_agents { agents { name: "checksum" parameters { key: "MD5:1/model.py" value: "00" } } }',
    },
    "s_ag_ck_none": {
        "s_ag_ck_none/1/model.py": MODEL,
        "s_ag_ck_none/config.pbtxt": BASE
        + 'model_repository_agents { agents { name: "checksum" } }',
    },
    "s_ag_ck_nofile": {
        "s_ag_ck_nofile/1/model.py": MODEL,
        "s_ag_ck_nofile/config.pbtxt": BASE
        + 'model_repository_agents { agents { name: "checksum" parameters { key: "MD5:no.txt" value: "00" } } }',
    },
    "s_bi_kind9": {
        "s_bi_kind9/1/model.py": MODEL,
        "s_bi_kind9/config.pbtxt": BASE
        + 'batch_input { kind: 9 target_name: "Z" data_type: TYPE_FP32 source_input: "A" }',
    },
    "s_bo_kind9": {
        "s_bo_kind9/1/model.py": MODEL,
        "s_bo_kind9/config.pbtxt": BASE
        + 'batch_output { target_name: "B" kind: 9 source_input: "A" }',
    },
    "t_enum_kind9": {
        "t_enum_kind9/1/model.py": MODEL,
        "t_enum_kind9/config.pbtxt": BASE + "instance_group { kind: 9 }",
    },
    "t_str_nul": {
        "t_str_nul/1/model.py": MODEL,
        "t_str_nul/config.pbtxt": BASE + 'parameters { key: "a\x00b" value { string_value: "x" } }',
    },
    "t_nul_comment": {
        "t_nul_comment/1/model.py": MODEL,
        "t_nul_comment/config.pbtxt": BASE + "# \x00 x\n",
    },
    "t_nbsp": {"t_nbsp/1/model.py": MODEL, "t_nbsp/config.pbtxt": BASE + "\xa0"},
    "t_esc_q": {
        "t_esc_q/1/model.py": MODEL,
        "t_esc_q/config.pbtxt": BASE + 'parameters { key: "\\q" value { string_value: "x" } }',
    },
    "t_esc_X": {
        "t_esc_X/1/model.py": MODEL,
        "t_esc_X/config.pbtxt": BASE + 'parameters { key: "\\X41" value { string_value: "x" } }',
    },
    "m_globals": {
        "m_globals/1/model.py": "import triton_python_backend_utils as pb_utils\nclass M:\n    def execute(self, requests):\n        return []\nglobals()['TritonPythonModel'] = M\n",
        "m_globals/1/other.py": MODEL,
        "m_globals/config.pbtxt": BASE,
    },
    "m_exec": {
        "m_exec/1/model.py": "import triton_python_backend_utils as pb_utils\nexec('class TritonPythonModel:\\n  def execute(self, r): return []')\n",
        "m_exec/1/other.py": MODEL,
        "m_exec/config.pbtxt": BASE,
    },
    "m_getattr": {
        "m_getattr/1/model.py": "import triton_python_backend_utils as pb_utils\nclass M:\n    def execute(self, requests):\n        return []\ndef __getattr__(n):\n  if n=='TritonPythonModel': return M\n  raise AttributeError(n)\n",
        "m_getattr/1/other.py": MODEL,
        "m_getattr/config.pbtxt": BASE,
    },
    "m_setattr": {
        "m_setattr/1/model.py": "import triton_python_backend_utils as pb_utils\nimport sys\nclass M:\n    def execute(self, requests):\n        return []\nsetattr(sys.modules[__name__],'TritonPythonModel',M)\n",
        "m_setattr/1/other.py": MODEL,
        "m_setattr/config.pbtxt": BASE,
    },
    "s_w_extra": {
        "s_w_extra/1/model.py": MODEL,
        "s_w_extra/config.pbtxt": BASE
        + 'model_warmup { name: "w" batch_size: 1 inputs { key: "A" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } inputs { key: "Q" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } }',
    },
    "t_dims_negsp": {
        "t_dims_negsp/1/model.py": MODEL,
        "t_dims_negsp/config.pbtxt": 'backend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: [ - 1 ] }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    },
    "t_bool_0x1": {
        "t_bool_0x1/1/model.py": MODEL,
        "t_bool_0x1/config.pbtxt": BASE + "dynamic_batching { preserve_ordering: 0x1 }",
    },
    "t_bool_01": {
        "t_bool_01/1/model.py": MODEL,
        "t_bool_01/config.pbtxt": BASE + "dynamic_batching { preserve_ordering: 01 }",
    },
    "t_bool_00": {
        "t_bool_00/1/model.py": MODEL,
        "t_bool_00/config.pbtxt": BASE + "dynamic_batching { preserve_ordering: 00 }",
    },
    "t_enum_oct": {
        "t_enum_oct/1/model.py": MODEL,
        "t_enum_oct/config.pbtxt": 'backend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: 013 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    },
    "t_esc_xff": {
        "t_esc_xff/1/model.py": MODEL,
        "t_esc_xff/config.pbtxt": BASE + 'parameters { key: "\\xff" value { string_value: "x" } }',
    },
    "t_esc_xffv": {
        "t_esc_xffv/1/model.py": MODEL,
        "t_esc_xffv/config.pbtxt": BASE + 'parameters { key: "a" value { string_value: "\\xff" } }',
    },
    "t_esc_400": {
        "t_esc_400/1/model.py": MODEL,
        "t_esc_400/config.pbtxt": BASE + 'parameters { key: "\\400" value { string_value: "x" } }',
    },
    "t_esc_sur": {
        "t_esc_sur/1/model.py": MODEL,
        "t_esc_sur/config.pbtxt": BASE
        + 'parameters { key: "\\ud83d" value { string_value: "x" } }',
    },
    "t_esc_Ubig": {
        "t_esc_Ubig/1/model.py": MODEL,
        "t_esc_Ubig/config.pbtxt": BASE
        + 'parameters { key: "\\U00110000" value { string_value: "x" } }',
    },
    "t_util_hex": {
        "t_util_hex/1/model.py": MODEL,
        "t_util_hex/config.pbtxt": BASE
        + "sequence_batching { direct { minimum_slot_utilization: 0x1 } }",
    },
    "t_util_oct": {
        "t_util_oct/1/model.py": MODEL,
        "t_util_oct/config.pbtxt": BASE
        + "sequence_batching { direct { minimum_slot_utilization: 01 } }",
    },
    "s_dmf_dir": {
        "s_dmf_dir/1/model.py": MODEL,
        "s_dmf_dir/config.pbtxt": BASE + 'default_model_filename: "sub/model.py"',
    },
    "t_enum_99": {
        "t_enum_99/1/model.py": MODEL,
        "t_enum_99/config.pbtxt": 'backend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: 99 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    },
    "t_enum_neg": {
        "t_enum_neg/1/model.py": MODEL,
        "t_enum_neg/config.pbtxt": 'backend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: -1 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    },
    "t_cr": {
        "t_cr/1/model.py": MODEL,
        "t_cr/config.pbtxt": 'backend: "python"\rmax_batch_size: 8\rinput { name: "A" data_type: TYPE_FP32 dims: 4 }\routput { name: "B" data_type: TYPE_FP32 dims: 4 }\r',
    },
    "t_formfeed": {"t_formfeed/1/model.py": MODEL, "t_formfeed/config.pbtxt": BASE + "\x0c"},
    "t_list_in_colon": {
        "t_list_in_colon/1/model.py": MODEL,
        "t_list_in_colon/config.pbtxt": 'backend: "python"\nmax_batch_size: 8\ninput: [ { name: "A", data_type: TYPE_FP32, dims: [4] } ]\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    },
    "t_strcat_comment": {
        "t_strcat_comment/1/model.py": MODEL,
        "t_strcat_comment/config.pbtxt": 'backend: "pyt" # x\n "hon"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    },
    "t_hexup": {
        "t_hexup/1/model.py": MODEL,
        "t_hexup/config.pbtxt": 'backend: "python"\nmax_batch_size: 0X8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    },
}


def cases() -> list[Case]:
    """By name, which is that of the model to load."""
    return [Case(name, files) for name, files in _FILES.items()]

"""Names, backends, instances, versions, warm-up and the rest."""

from __future__ import annotations

from tests.validate.corpus.base import BASE

CONFIGURATIONS: dict[str, str | None] = {
    "runtime": BASE + 'runtime: "libtriton_python.so"',
    "runtime_py": BASE + 'runtime: "model.py"',
    "ok": BASE,
    "name_other": 'name: "other"\nbackend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "name_empty": 'name: ""\nbackend: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "nobackend": 'max_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "emptycfg": "",
    "backend_unknown": 'backend: "pyhton"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "platform_unknown": 'platform: "foo"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "platform_unknown2": BASE + 'platform: "foo"',
    "platform_mismatch": BASE + 'platform: "onnxruntime_onnx"',
    "platform_tf_py": BASE + 'platform: "tensorflow_savedmodel"',
    "platform_python": 'platform: "python"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
    "platform_ens_backend": BASE + 'platform: "ensemble"',
    "ort_wrongplatform": 'backend: "onnxruntime"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\nplatform: "tensorrt_plan"\n',
    "ens_notplatform": BASE + 'ensemble_scheduling { step { model_name: "x" } }',
    "grp_ok": BASE + "instance_group { count: 1 }",
    "grp_c0": BASE + "instance_group { count: 0 }",
    "grp_cneg": BASE + "instance_group { count: -1 }",
    "grp_cpu": BASE + "instance_group { kind: KIND_CPU }",
    "grp_cpugpu": BASE + "instance_group { kind: KIND_CPU gpus: 0 }",
    "grp_modelgpu": BASE + "instance_group { kind: KIND_MODEL gpus: 0 }",
    "grp_model": BASE + "instance_group { kind: KIND_MODEL }",
    "grp_gpu": BASE + "instance_group { kind: KIND_GPU }",
    "grp_gpu0": BASE + "instance_group { kind: KIND_GPU gpus: 0 }",
    "grp_auto": BASE + "instance_group { kind: KIND_AUTO }",
    "grp_autogpu": BASE + "instance_group { kind: KIND_AUTO gpus: 0 }",
    "grp_profile": BASE + 'instance_group { kind: KIND_CPU profile: "1" }',
    "grp_profileneg": BASE + 'instance_group { kind: KIND_CPU profile: "-1" }',
    "grp_passive": BASE + "instance_group { kind: KIND_CPU passive: true }",
    "grp_host": BASE + 'instance_group { kind: KIND_CPU host_policy: "p" }',
    "grp_sec": BASE
    + "instance_group { kind: KIND_CPU secondary_devices { kind: KIND_NVDLA device_id: 0 } }",
    "grp_rl": BASE
    + 'instance_group { kind: KIND_CPU rate_limiter { resources { name: "R" count: 1 } priority: 1 } }',
    "grp_rl2": BASE
    + 'instance_group { kind: KIND_CPU rate_limiter { resources { name: "R" count: 1 global: true } } }\ninstance_group { kind: KIND_CPU rate_limiter { resources { name: "R" count: 1 } } }',
    "grp_gpuneg": BASE + "instance_group { kind: KIND_GPU gpus: -1 }",
    "grp_bad": BASE + "instance_group { kind: GPU }",
    "grp_gpus_only": BASE + "instance_group { gpus: 0 }",
    "grp_two": BASE + "instance_group { kind: KIND_CPU }\ninstance_group { kind: KIND_CPU }",
    "grp_samename": BASE
    + 'instance_group { kind: KIND_CPU name: "x" }\ninstance_group { kind: KIND_CPU name: "x" }',
    "grp_list": BASE + "instance_group [ { kind: KIND_CPU }, { count: 1 kind: KIND_CPU } ]",
    "grp_listnocomma": BASE + "instance_group [ { kind: KIND_CPU } { kind: KIND_CPU } ]",
    "vp_all": BASE + "version_policy { all { } }",
    "vp_latest0": BASE + "version_policy { latest { num_versions: 0 } }",
    "vp_latest": BASE + "version_policy { latest { } }",
    "vp_l2": BASE + "version_policy { latest { num_versions: 2 } }",
    "vp_spec": BASE + "version_policy { specific { versions: 1 } }",
    "vp_spec3": BASE + "version_policy { specific { versions: 3 } }",
    "vp_spec13": BASE + "version_policy { specific { versions: [1,3] } }",
    "vp_spec0": BASE + "version_policy { specific { } }",
    "vp_two": BASE + "version_policy { all { } latest { } }",
    "vp_empty": BASE + "version_policy { }",
    "opt_acc": BASE
    + 'optimization { execution_accelerators { gpu_execution_accelerator { name: "tensorrt" } } }',
    "opt_prio": BASE + "optimization { priority: PRIORITY_MAX }",
    "opt_graph": BASE + "optimization { graph { level: 9 } }",
    "opt_cuda": BASE + "optimization { cuda { graphs: true } }",
    "opt_input": BASE + "optimization { input_pinned_memory { enable: false } }",
    "par": BASE + 'parameters { key: "k" value { string_value: "v" } }',
    "par_scalar": BASE + 'parameters { key: "k" value: "v" }',
    "par_dup": BASE
    + 'parameters { key: "k" value { string_value: "v" } } parameters { key: "k" value { string_value: "w" } }',
    "file": BASE + 'default_model_filename: "other.py"',
    "file_path": BASE + 'default_model_filename: "../1/model.py"',
    "cc": BASE + 'cc_model_filenames { key: "7.5" value: "x" }',
    "tags": BASE + 'metric_tags { key: "a" value: "b" }',
    "agent": BASE + 'model_repository_agents { agents { name: "nope" } }',
    "agents0": BASE + "model_repository_agents { }",
    "ops": BASE + 'model_operations { op_library_filename: "no.so" }',
    "runtime_bad": BASE + 'runtime: "nope"',
    "w_ok": BASE
    + 'model_warmup { name: "w" batch_size: 1 inputs { key: "A" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } }',
    "w_big": BASE
    + 'model_warmup { name: "w" batch_size: 9 inputs { key: "A" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } }',
    "w_unk": BASE
    + 'model_warmup { name: "w" batch_size: 1 inputs { key: "Q" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } }',
    "w_type": BASE
    + 'model_warmup { name: "w" batch_size: 1 inputs { key: "A" value { data_type: TYPE_INT32 dims: 4 zero_data: true } } }',
    "w_dims": BASE
    + 'model_warmup { name: "w" batch_size: 1 inputs { key: "A" value { data_type: TYPE_FP32 dims: 5 zero_data: true } } }',
    "w_noin": BASE + 'model_warmup { name: "w" batch_size: 1 }',
    "w_nodata": BASE
    + 'model_warmup { name: "w" batch_size: 1 inputs { key: "A" value { data_type: TYPE_FP32 dims: 4 } } }',
    "w_file": BASE
    + 'model_warmup { name: "w" batch_size: 1 inputs { key: "A" value { data_type: TYPE_FP32 dims: 4 input_data_file: "no" } } }',
    "w_b0": BASE
    + 'model_warmup { name: "w" inputs { key: "A" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } }',
    "w_var": BASE
    + 'model_warmup { name: "w" batch_size: 1 inputs { key: "A" value { data_type: TYPE_FP32 dims: -1 zero_data: true } } }',
    "w_rand": BASE
    + 'model_warmup { name: "w" batch_size: 2 count: 2 inputs { key: "A" value { data_type: TYPE_FP32 dims: 4 random_data: true } } }',
    "w_noname": BASE
    + 'model_warmup { batch_size: 1 inputs { key: "A" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } }',
    "w_notype": BASE
    + 'model_warmup { name: "w" batch_size: 1 inputs { key: "A" value { dims: 4 zero_data: true } } }',
    "w_nodims": BASE
    + 'model_warmup { name: "w" batch_size: 1 inputs { key: "A" value { data_type: TYPE_FP32 zero_data: true } } }',
}

FOLDERS: dict[str, tuple[str | None, dict[str, str]]] = {
    "nobackend_nofile": (
        'max_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
        {"1/x.txt": ""},
    ),
    "nobackend_onnx": (
        'max_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
        {"1/model.onnx": ""},
    ),
    "nothing": ("", {"1/x.txt": ""}),
    "backend_ort": (
        'backend: "onnxruntime"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
        {"1/model.onnx": ""},
    ),
    "backend_dali": (
        'backend: "dali"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
        {"1/model.dali": ""},
    ),
    "platform_only": (
        'platform: "onnxruntime_onnx"\nmax_batch_size: 8\ninput { name: "A" data_type: TYPE_FP32 dims: 4 }\noutput { name: "B" data_type: TYPE_FP32 dims: 4 }\n',
        {"1/model.onnx": ""},
    ),
}

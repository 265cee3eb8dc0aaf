"""The native DALI variant: the same graph, where one bad image fails its whole batch."""

from pathlib import Path

from nvidia.dali import pipeline_def
from nvidia.dali.plugin.triton import autoserialize

from ensemble.transform import Transform
from preprocess.graph import pixels_graph


@autoserialize
@pipeline_def(batch_size=64, num_threads=4, device_id=0)
def pipeline():
    """Pixels of the declared transform; batch size and threads are set by Triton's config."""
    return pixels_graph(Transform.from_file(Path(__file__).with_name("transform.json")), "mixed")

"""TensorBoard records of scalars, images and texts."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from penlight._common.arguments import explain as _explain
from penlight.tensor import Tensor

__all__ = ["audio", "histogram", "histogram_raw", "hparams", "image", "pr_curve", "scalar", "text"]


def make_np(value: Any) -> np.ndarray[Any, Any]:
    """A tensor, array, scalar or list as an array."""
    if isinstance(value, (list, tuple)):
        return np.array([make_np(item) for item in value])
    if isinstance(value, Tensor):
        value = value.detach()
        return (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    if isinstance(value, (np.ndarray, int, float, complex, np.generic)):
        return np.asarray(value)
    raise NotImplementedError(f"Got {type(value)}, but numpy array or torch tensor are expected.")


def _plugin(name: str, content: bytes = b"") -> Any:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=content))


def scalar(tag: str, value: Any, new_style: bool = False, double_precision: bool = False) -> Any:
    """A record of one scalar.

    >>> from penlight.utils.tensorboard import summary
    >>> summary.scalar("loss", 0.5).value[0].simple_value
    0.5
    """
    array = make_np(value).squeeze()
    if array.ndim != 0:
        raise AssertionError(
            f"Tensor should contain one element (0 dimensions).             Was given size: {array.size} and {array.ndim} dimensions."
        )
    number = float(array)
    if not new_style:
        return Summary(value=[Summary.Value(tag=tag, simple_value=number)])
    tensor = TensorProto(float_val=[number], dtype="DT_FLOAT")
    if double_precision:
        tensor = TensorProto(double_val=[number], dtype="DT_DOUBLE")
    return Summary(value=[Summary.Value(tag=tag, tensor=tensor, metadata=_plugin("scalars"))])


# ----- Histograms -----------------------------------------------------------------------------------------------------


def default_bins() -> list[float]:
    """TensorFlow's buckets: each a tenth wider than the last, on both sides of zero."""
    steps = []
    edge = 1e-12
    while edge < 1e20:
        steps.append(edge)
        edge *= 1.1
    return [*(-edge for edge in reversed(steps)), 0, *steps]


def histogram(tag: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """A record of the distribution of values.

    >>> from penlight.utils.tensorboard import summary
    >>> summary.histogram("weights", torch.tensor([0.0, 1.0, 1.0]), bins=[0.0, 1.0, 2.0]).value[0].histo.num
    3.0
    """
    array = make_np(values).astype(float).reshape(-1)
    if array.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(array, bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _coarser(counts, limits, len(counts) // max_bins)
    used = np.flatnonzero(counts)
    first, last = (int(used[0]), int(used[-1])) if used.size else (0, len(counts) - 1)
    # A bucket is stored by its right limit only: an empty one in front marks the start of the first.
    shown = [0, *counts[first : last + 1].tolist()]
    record = HistogramProto(
        min=array.min(), max=array.max(), num=len(array), sum=array.sum(), sum_squares=array.dot(array),
        bucket_limit=limits[first : last + 2].tolist(), bucket=shown,
    )  # fmt: skip
    return Summary(value=[Summary.Value(tag=tag, histo=record)])


def _coarser(counts: Any, limits: Any, step: int) -> tuple[Any, Any]:
    """Merges `step` neighbouring buckets at a time."""
    padded = np.pad(counts, (0, -len(counts) % step))
    return padded.reshape(-1, step).sum(axis=1), np.append(limits[:-1:step], limits[-1])


def histogram_raw(tag: str, **fields: Any) -> Any:
    """A record of a distribution that is already counted.

    The fields are those of TensorBoard's `HistogramProto`.

    >>> from penlight.utils.tensorboard import summary
    >>> summary.histogram_raw("weights", num=3, bucket=[1, 2]).value[0].histo.num
    3.0
    """
    return Summary(value=[Summary.Value(tag=tag, histo=HistogramProto(**fields))])


# ----- Images ---------------------------------------------------------------------------------------------------------


def image(tag: str, value: Any, dataformats: str = "NCHW") -> Any:
    """A record of an image, or of several in a grid. Floats range from 0 to 1, other dtypes from 0 to 255.

    >>> from penlight.utils.tensorboard import summary
    >>> summary.image("noise", torch.rand(1, 3, 4, 5)).value[0].image.width
    5
    """
    array = make_np(value)
    scale = 1 if array.dtype == np.uint8 else 255
    pixels = np.clip(to_hwc(array, dataformats).astype(np.float32) * scale, 0, 255).astype(np.uint8)
    height, width, channels = pixels.shape
    record = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=png(pixels))
    return Summary(value=[Summary.Value(tag=tag, image=record)])


def to_hwc(array: np.ndarray[Any, Any], dataformats: str) -> np.ndarray[Any, Any]:
    """An image as (height, width, colour); several images as one grid."""
    letters = dataformats.upper()
    if len(set(letters)) != len(letters):
        raise AssertionError(f"You can not use the same dimension shordhand twice.         input_format: {letters}")
    if len(letters) != array.ndim:
        raise AssertionError(
            f"size of input tensor and input format are different.         tensor shape: {array.shape}, input_format: {letters}"
        )
    if len(letters) == 2:
        array = np.transpose(array, [letters.index(c) for c in "HW"])
        return np.stack([array] * 3, axis=2)
    if len(letters) == 4:
        return _grid(np.transpose(array, [letters.index(c) for c in "NHWC"]))
    array = np.transpose(array, [letters.index(c) for c in "HWC"])
    return np.concatenate([array] * 3, axis=2) if array.shape[2] == 1 else array


def _grid(images: np.ndarray[Any, Any], columns: int = 8) -> np.ndarray[Any, Any]:
    if images.shape[3] == 1:
        images = np.concatenate([images] * 3, axis=3)
    if images.shape[3] != 3:
        raise AssertionError("Each image must have 1 or 3 channels")
    count, height, width, colors = images.shape
    columns = min(count, columns)
    rows = -(-count // columns)
    canvas = np.zeros((rows * columns, height, width, colors), images.dtype)
    canvas[:count] = images
    return (
        canvas.reshape(rows, columns, height, width, colors)
        .swapaxes(1, 2)
        .reshape(rows * height, columns * width, colors)
    )


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    """Bytes (height, width, 1 to 4 colours) as a PNG file."""
    height, width, channels = pixels.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each row starts with its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows.tobytes()))
        + chunk(b"IEND", b"")
    )


# ----- Sound, texts, tables -------------------------------------------------------------------------------------------


def audio(tag: str, value: Any, sample_rate: int) -> Any:
    """A record of sound: one channel of values from -1 to 1.

    >>> from penlight.utils.tensorboard import summary
    >>> summary.audio("hum", torch.zeros(8), sample_rate=44100).value[0].audio.length_frames
    8
    """
    import io
    import wave

    samples = make_np(value).squeeze()
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    data = io.BytesIO()
    with wave.open(data, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    record = Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=len(samples), encoded_audio_string=data.getvalue(),
        content_type="audio/wav",
    )  # fmt: skip
    return Summary(value=[Summary.Value(tag=tag, audio=record)])


def text(tag: str, value: str) -> Any:
    """A record of a text, in Markdown.

    >>> from penlight.utils.tensorboard import summary
    >>> summary.text("note", "*done*").value[0].tag
    'note/text_summary'
    """
    tensor = TensorProto(
        dtype="DT_STRING",
        string_val=[value.encode()],
        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
    )
    metadata = _plugin("text", TextPluginData(version=0).SerializeToString())
    return Summary(value=[Summary.Value(tag=tag + "/text_summary", metadata=metadata, tensor=tensor)])


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Any:
    """A record of precision and recall at several thresholds.

    >>> from penlight.utils.tensorboard import summary
    >>> summary.pr_curve("pr", torch.tensor([0, 1]), torch.tensor([0.2, 0.7])).value[0].tensor.tensor_shape.dim[1].size
    127
    """
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

    count = min(num_thresholds, 127)
    true, predicted = make_np(labels).reshape(-1), make_np(predictions).reshape(-1)
    weight = 1.0 if weights is None else make_np(weights).reshape(-1)
    buckets = np.clip(np.floor(predicted * (count - 1)), 0, count - 1).astype(int)
    hits, misses = (
        np.bincount(buckets, weights=part * weight, minlength=count)[::-1].cumsum()[::-1] for part in (true, 1.0 - true)
    )
    rows = [hits, misses, misses[0] - misses, hits[0] - hits]
    rows += [hits / np.maximum(1e-7, hits + misses), hits / np.maximum(1e-7, hits[0])]
    data = np.stack(rows)
    metadata = _plugin("pr_curves", PrCurvePluginData(version=0, num_thresholds=count).SerializeToString())
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in data.shape])
    tensor = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=shape)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=tensor)])


def hparams(hparam_dict: Any = None, metric_dict: Any = None, hparam_domain_discrete: Any = None) -> list[Any]:
    """The three records of a run's hyperparameters: their definition, their values, and the end of the run.

    >>> from penlight.utils.tensorboard import summary
    >>> len(summary.hparams({"lr": 0.1}, {"loss": 0.5}))
    3
    """
    discrete = {} if hparam_domain_discrete is None else hparam_domain_discrete
    given = {"hparam_dict": hparam_dict, "metric_dict": metric_dict, "hparam_domain_discrete": discrete}
    for name, value in given.items():
        if not isinstance(value, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    from google.protobuf.struct_pb2 import ListValue, Value
    from tensorboard.plugins.hparams import metadata as names
    from tensorboard.plugins.hparams.api_pb2 import DataType, Experiment, HParamInfo, MetricInfo, MetricName, Status
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo

    start, infos = SessionStartInfo(), []
    for key, value in hparam_dict.items():
        if value is None:
            continue
        if isinstance(value, Tensor):
            value = float(make_np(value).reshape(-1)[0])
        if not isinstance(value, (bool, int, float, str)):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        field, kind = (
            ("string_value", "DATA_TYPE_STRING") if isinstance(value, str) else ("number_value", "DATA_TYPE_FLOAT64")
        )
        setattr(start.hparams[key], field, value)
        domain = None
        if key in discrete:
            domain = ListValue(values=[Value(**{field: item}) for item in discrete[key]])
        infos.append(HParamInfo(name=key, type=DataType.Value(kind), domain_discrete=domain))
    experiment = Experiment(
        hparam_infos=infos, metric_infos=[MetricInfo(name=MetricName(tag=metric)) for metric in metric_dict]
    )
    end = SessionEndInfo(status=Status.Value("STATUS_SUCCESS"))
    records = []
    for tag, content in (
        (names.EXPERIMENT_TAG, {"experiment": experiment}),
        (names.SESSION_START_INFO_TAG, {"session_start_info": start}),
        (names.SESSION_END_INFO_TAG, {"session_end_info": end}),
    ):
        data: Any = HParamsPluginData(version=names.PLUGIN_DATA_VERSION, **content)
        metadata = _plugin(names.PLUGIN_NAME, data.SerializeToString())
        records.append(Summary(value=[Summary.Value(tag=tag, metadata=metadata)]))
    return records


_explain(globals())

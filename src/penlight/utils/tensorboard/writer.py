"""`SummaryWriter`: logs a training to files for TensorBoard."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from penlight._common.user_warnings import warn_once

from ..._common.arguments import explain as _explain
from . import summary

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Writes records into one file of a directory.

    Args:
        log_dir: the directory
        max_queue: how many records wait before they are written
        flush_secs: after how many seconds they are written
        filename_suffix: the end of the file's name

    >>> import os, tempfile
    >>> from penlight.utils.tensorboard import FileWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     FileWriter(folder).close(); len(os.listdir(folder))
    1
    """

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Write an event, with the current time by default."""
        if step is not None:
            event.step = int(step)
        event.wall_time = time.time() if walltime is None else walltime
        self.event_writer.add_event(event)

    def add_summary(self, record: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Write a record."""
        self.add_event(event_pb2.Event(summary=record), global_step, walltime)

    def flush(self) -> None:
        """Write out pending records."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write out pending records, and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Continue in a new file, if this one was closed."""
        self.event_writer.reopen()

    def get_logdir(self) -> str:
        """The directory."""
        return self.event_writer.get_logdir()


class SummaryWriter:
    """Writes scalars, images, texts and distributions for TensorBoard; by default into `runs/<date>_<host>`.

    Args:
        log_dir: the directory
        comment: the end of the directory's name, if `log_dir` is not given
        purge_step: forget what an earlier run wrote from this step on
        max_queue: how many records wait before they are written
        flush_secs: after how many seconds they are written
        filename_suffix: the end of the file's name

    >>> import os, tempfile
    >>> from penlight.utils.tensorboard import SummaryWriter
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
    ...     writer.add_scalar("loss", 0.5, global_step=1); len(os.listdir(folder))
    1
    """

    def __init__(self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10,
                 flush_secs: int = 120, filename_suffix: str = "") -> None:  # fmt: skip
        if not log_dir:
            import socket
            from datetime import datetime

            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step, self.max_queue, self.flush_secs = purge_step, max_queue, flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()
        self.default_bins = summary.default_bins()

    def _get_file_writer(self) -> FileWriter:
        if self.all_writers is None or self.file_writer is None:
            writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.file_writer, self.all_writers = writer, {writer.get_logdir(): writer}
            if self.purge_step is not None:
                step, self.purge_step = self.purge_step, None
                writer.add_event(Event(step=step, file_version="brain.Event:2"))
                writer.add_event(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
        return self.file_writer

    def get_logdir(self) -> Any:
        """The directory."""
        return self.log_dir

    def _add(self, record: Any, step: int | None, walltime: float | None) -> None:
        self._get_file_writer().add_summary(record, step, walltime)

    # ----- Numbers ----------------------------------------------------------------------------------------------------

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None,
                   new_style: bool = False, double_precision: bool = False) -> None:  # fmt: skip
        """Log a scalar at a step."""
        self._add(summary.scalar(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: int | None = None,
                    walltime: float | None = None) -> None:  # fmt: skip
        """Log several scalars in one diagram, each written as a separate run."""
        walltime = time.time() if walltime is None else walltime
        base = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            folder = base + "/" + main_tag.replace("/", "_") + "_" + tag
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers[folder].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None, bins: Any = "tensorflow",
                      walltime: float | None = None, max_bins: int | None = None) -> None:  # fmt: skip
        """Log the distribution of values at a step."""
        if isinstance(bins, str) and bins == "tensorflow":
            bins = self.default_bins
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(self, tag: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any, bucket_limits: Any,
                          bucket_counts: Any, global_step: int | None = None,
                          walltime: float | None = None) -> None:  # fmt: skip
        """Log a distribution that is already counted."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        record = summary.histogram_raw(
            tag, min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=list(bucket_limits),
            bucket=list(bucket_counts),
        )  # fmt: skip
        self._add(record, global_step, walltime)

    def add_pr_curve(self, tag: str, labels: Any, predictions: Any, global_step: int | None = None,
                     num_thresholds: int = 127, weights: Any = None,
                     walltime: float | None = None) -> None:  # fmt: skip
        """Log precision against recall."""
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any],
                    hparam_domain_discrete: dict[str, list[Any]] | None = None, run_name: str | None = None,
                    global_step: int | None = None) -> None:  # fmt: skip
        """Log the hyperparameters of a run, with its metrics."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        records = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as run:
            for record in records:
                run._add(record, global_step, None)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    # ----- Pictures, sounds, texts ------------------------------------------------------------------------------------

    def add_image(self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
                  dataformats: str = "CHW") -> None:  # fmt: skip
        """Log an image: floats from 0 to 1, or bytes."""
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
                   dataformats: str = "NCHW") -> None:  # fmt: skip
        """Log several images in a grid."""
        if isinstance(img_tensor, list):
            img_tensor = np.stack([summary.make_np(image) for image in img_tensor])
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_figure(self, tag: str, figure: Any, global_step: int | None = None, close: bool = True,
                   walltime: float | None = None) -> None:  # fmt: skip
        """Log a Matplotlib figure, or several."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        figures = figure if isinstance(figure, list) else [figure]
        images = []
        for each in figures:
            canvas = FigureCanvasAgg(each)
            canvas.draw()
            images.append(np.asarray(canvas.buffer_rgba())[:, :, :3])
            if close:
                import matplotlib.pyplot as plt

                plt.close(each)
        if isinstance(figure, list):
            self.add_images(tag, np.stack(images), global_step, walltime, "NHWC")
        else:
            self.add_image(tag, images[0], global_step, walltime, "HWC")

    def add_audio(self, tag: str, snd_tensor: Any, global_step: int | None = None, sample_rate: int = 44100,
                  walltime: float | None = None) -> None:  # fmt: skip
        """Log sound: values from -1 to 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Log a text, in Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Accepted with a warning: TensorBoard's graph needs tracing, which does not exist here."""
        warn_once("SummaryWriter.add_graph: Penlight does not trace models, so TensorBoard shows no graph of this one")

    def _refuse(self, *args: Any, **kwargs: Any) -> None:
        """Refused."""
        raise NotImplementedError(
            "This kind of record is not available in Penlight's SummaryWriter. It writes scalars, histograms, images, figures, "
            "audio, text, PR curves and hyperparameters"
        )

    add_custom_scalars = add_custom_scalars_marginchart = add_custom_scalars_multilinechart = _refuse
    add_embedding = add_image_with_boxes = add_mesh = add_onnx_graph = add_tensor = add_video = _refuse

    # ----- Files ------------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write out pending records."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write out pending records, and close the files; the next record opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


_explain(globals())

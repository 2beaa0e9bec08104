"""What another setting, or a faster stage, would bring: a loop is simulated from what one capture says of it."""

from tb_dataplugin.whatif.best_workers import best_workers, faster_workers
from tb_dataplugin.whatif.change import Change, parse_changes, parse_workers
from tb_dataplugin.whatif.ends import threads_wait
from tb_dataplugin.whatif.fitting import fit_loop
from tb_dataplugin.whatif.longer import Longer, longer_in_workers_us
from tb_dataplugin.whatif.prediction import (
    Prediction,
    predict,
    predict_all,
    soonest_us,
    step_range,
    step_slowed,
)
from tb_dataplugin.whatif.ranges import Range
from tb_dataplugin.whatif.unrecorded import Unrecorded, without_profiler
from tb_dataplugin.whatif.usual import telling_changes, usual_changes

__all__ = [
    "Change",
    "Longer",
    "Prediction",
    "Range",
    "Unrecorded",
    "best_workers",
    "faster_workers",
    "fit_loop",
    "longer_in_workers_us",
    "parse_changes",
    "parse_workers",
    "predict",
    "predict_all",
    "soonest_us",
    "step_range",
    "step_slowed",
    "telling_changes",
    "threads_wait",
    "usual_changes",
    "without_profiler",
]

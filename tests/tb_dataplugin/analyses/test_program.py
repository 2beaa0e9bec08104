from __future__ import annotations

from tb_dataplugin.pipeline import analyse
from tests.trace_builder import TraceBuilder


def operators(builder: TraceBuilder) -> list[str]:
    return list(analyse(builder.trace()).capture.operators)


def test_a_program_is_known_by_its_outermost_operators_outside_the_data_wait() -> None:
    builder = TraceBuilder().annotated().step(0, 200).wait(0, 40, "wait::DataLoader")
    builder.add("cpu_op", "aten::rand", 10, 5)
    builder.add("cpu_op", "aten::linear", 50, 20).add("cpu_op", "aten::addmm", 55, 10)
    builder.add("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 80, 20)
    builder.add("cpu_op", "AddmmBackward0", 81, 10)
    builder.add("cpu_op", "aten::relu", 300, 5)  # after the window
    assert operators(builder) == ["AddmmBackward", "aten::linear"]

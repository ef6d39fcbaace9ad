"""Every GPU of a deployment as a cell: one per GPU up to some thousands, one per host beyond."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from collectors.questions.devices import Device
from sizing.base.format import counted, rounded, significant
from sizing.base.units import GB
from ui.figures.template import INK, alpha, axis, layout, message, palette

MOST_CELLS = 4_096
"""Up to here a cell is a GPU; a browser draws more of them slowly, and nobody tells them apart."""
ROWS_BY_HOST, COLUMNS_BY_NUMBER = 24, 16
"""Up to this many hosts and GPUs a host, a row is a host; larger fleets are wrapped to fill the width."""
TEXT_CELLS = 128
"""Up to here every cell carries its value."""
BY_NUMBER = "GPU number within its host"
WIDE = 3.0
"""Cells in a row for each row of a wrapped fleet: the chart is wider than high."""


@dataclass(frozen=True, kw_only=True)
class MapMeasure:
    """What the cells show: the first of ``keys`` that a GPU has, times ``scale``; ``top`` is the end of the colours."""

    label: str
    unit: str
    keys: tuple[str, ...]
    scale: float = 1.0
    top: float | None = None
    note: str = ""


def _share(label: str, *keys: str, note: str) -> MapMeasure:
    """A share of time, in percent."""
    return MapMeasure(label=label, unit="%", keys=keys, scale=100.0, top=100.0, note=note)


MEASURES: Mapping[str, MapMeasure] = {
    "busy": _share(
        "Busy",
        "busy",
        "engine_active",
        note="Busy means that some kernel ran. Nearly every LLM server reads 100 % here at any load: it is "
        "not a measure of how well the GPU is used. Look at SM, tensor and memory activity for that.",
    ),
    "sm_active": _share("SM active", "sm_active", note="Share of the multiprocessors with work."),
    "tensor_active": _share(
        "Tensor active", "tensor_active", note="Share of time the tensor cores compute: high in prefill, low in decode."
    ),
    "dram_active": _share("Memory active", "dram_active", note="Share of time the memory moves data: high in decode."),
    "memory": MapMeasure(
        label="Memory used",
        unit="GB",
        keys=("memory_used",),
        scale=1 / GB,
        note="Engines reserve memory at their start: flat, and not the use of the KV cache.",
    ),
    "power": MapMeasure(label="Power", unit="W", keys=("power",), note="Mean over the window."),
    "temperature": MapMeasure(
        label="Temperature", unit="°C", keys=("temperature",), top=95.0, note="Highest within the window."
    ),
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A GPU, or a host with its GPUs."""

    place: str
    text: str
    value: float | None
    trouble: str = ""


def value_of(device: Device, measure: MapMeasure) -> float | None:
    """What a GPU shows for a measure; None is unknown."""
    for key in measure.keys:
        value = device.values.get(key)
        if value is not None:
            return value * measure.scale
    return None


def trouble_of(device: Device) -> str:
    """XID error and causes of slowing down, "" for none."""
    xid, slow = device.values.get("xid"), device.values.get("throttle_reasons")
    if not xid and not slow:
        return ""
    causes = ", ".join(device.harmful_causes)
    parts = [f"XID {xid:.0f}" if xid else "", f"slowed down: {causes}" if causes else ""]
    return "; ".join(part for part in parts if part)


def build_gpu_map(devices: Sequence[Device], measure: MapMeasure, *, dark: bool = False) -> go.Figure:
    """The cells; a cross marks a GPU with an XID error or slowed down. A cell without data stays empty, with a dash."""
    if not devices:
        return message("No GPU of this deployment is known.", dark=dark)
    values = [v for device in devices if (v := value_of(device, measure)) is not None]
    if not values:
        return message(f"No GPU reports {measure.label.lower()}.", dark=dark)
    rows, columns, across = _arranged(devices, measure)
    colour = palette(dark=dark)[0]
    data: list[dict[str, Any]] = [
        {
            "type": "heatmap",
            "x": columns,
            "y": [name for name, _ in rows],
            "z": [[None if c is None or c.value is None else rounded(c.value) for c in row] for _, row in rows],
            "customdata": [["" if c is None else _hover(c, measure) for c in row] for _, row in rows],
            "hovertemplate": "%{customdata}<extra></extra>",
            "hoverongaps": False,
            "colorscale": [[0.0, alpha(colour, 0.07)], [1.0, alpha(colour, 0.85)]],
            "zmin": 0.0,
            "zmax": max(measure.top or 0.0, max(values)),
            "xgap": 1,
            "ygap": 1,
            "colorbar": {"title": {"text": measure.unit}, "thickness": 12, "outlinewidth": 0, "nticks": 4},
        }
    ]
    data += _crosses(rows, columns, dark=dark)
    few, by_number = len(devices) <= TEXT_CELLS, across == BY_NUMBER
    height = min(620, max(200, 100 + (40 if few else 12) * len(rows)))
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=height,
            annotations=_labels(rows, measure, dark=dark) if few else [],
            xaxis=axis(across, type="category", showgrid=False, showticklabels=by_number),
            yaxis=axis("", type="category", showgrid=False, autorange="reversed", showticklabels=by_number),
        ),
    )


def gpu_table(devices: Sequence[Device]) -> pd.DataFrame:
    """One row per GPU; an empty cell is unknown."""
    rows = []
    for device in devices:
        row: dict[str, object] = {
            "Host": device.host,
            "GPU": device.number,
            "Product": device.product,
            "Pod": device.pod,
        }
        for measure in MEASURES.values():
            value = value_of(device, measure)
            row[f"{measure.label} ({measure.unit})"] = None if value is None else rounded(value)
        rows.append(row | {"Trouble": trouble_of(device)})
    return pd.DataFrame(rows)


def gpu_map_alt_text(devices: Sequence[Device], measure: MapMeasure) -> str:
    """The map in one sentence."""
    values = sorted(v for device in devices if (v := value_of(device, measure)) is not None)
    bad = sum(bool(trouble_of(device)) for device in devices)
    if not values:
        return f"{measure.label} is not known for any of {counted(len(devices), 'GPU')}."
    return (
        f"{measure.label} of {counted(len(devices), 'GPU')}: from {significant(values[0])} to "
        f"{significant(values[-1])} {measure.unit}, half of them below {significant(values[len(values) // 2])} "
        f"{measure.unit}; {bad} with an XID error or slowed down."
    )


Row = tuple[str, list[Cell | None]]


def _arranged(devices: Sequence[Device], measure: MapMeasure) -> tuple[list[Row], list[str], str]:
    """Rows of cells, the names of the columns, and what the columns are."""
    hosts: dict[str, list[Device]] = {}
    for device in devices:
        hosts.setdefault(device.host, []).append(device)
    numbers = sorted({device.number for device in devices}, key=lambda number: (len(number), number))
    if len(hosts) <= ROWS_BY_HOST and len(numbers) <= COLUMNS_BY_NUMBER:
        rows: list[Row] = []
        for host, group in hosts.items():
            by_number = {device.number: _cell(device, measure) for device in group}
            rows.append((host, [by_number.get(number) for number in numbers]))
        return rows, numbers, BY_NUMBER
    if len(devices) <= MOST_CELLS:
        return (*_wrapped([_cell(device, measure) for device in devices]), "GPUs, by host and number")
    return (
        *_wrapped([_host_cell(host, group, measure) for host, group in hosts.items()]),
        "Hosts (mean of their GPUs)",
    )


def _wrapped(cells: Sequence[Cell]) -> tuple[list[Row], list[str]]:
    width = max(1, math.ceil(math.sqrt(len(cells) * WIDE)))
    lines = [list(cells[i : i + width]) for i in range(0, len(cells), width)]
    return (
        [(str(i), [*line, *([None] * (width - len(line)))]) for i, line in enumerate(lines)],
        [str(i) for i in range(width)],
    )


def _cell(device: Device, measure: MapMeasure) -> Cell:
    pod = f"<br>{device.pod}" if device.pod else ""
    return Cell(place=f"{device.name}{pod}", text="", value=value_of(device, measure), trouble=trouble_of(device))


def _host_cell(host: str, group: Sequence[Device], measure: MapMeasure) -> Cell:
    values = [v for device in group if (v := value_of(device, measure)) is not None]
    bad = [trouble for device in group if (trouble := trouble_of(device))]
    ends = f", {significant(min(values))} to {significant(max(values))}" if values else ""
    return Cell(
        place=f"{host}, {counted(len(group), 'GPU')}",
        text=ends,
        value=sum(values) / len(values) if values else None,
        trouble=f"{len(bad)} with trouble: {bad[0]}" if bad else "",
    )


def _hover(cell: Cell, measure: MapMeasure) -> str:
    shown = "no data" if cell.value is None else f"{significant(cell.value)} {measure.unit}{cell.text}"
    trouble = f"<br>{cell.trouble}" if cell.trouble else ""
    return f"{cell.place}<br>{shown}{trouble}"


def _crosses(rows: Sequence[Row], columns: Sequence[str], *, dark: bool) -> list[dict[str, Any]]:
    marked = [(columns[i], name, cell) for name, row in rows for i, cell in enumerate(row) if cell and cell.trouble]
    if not marked:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [x for x, _, _ in marked],
            "y": [y for _, y, _ in marked],
            "marker": {"symbol": "x-thin", "size": 13, "line": {"width": 3, "color": palette(dark=dark)[1]}},
            "name": "XID error or slowed down",
            "showlegend": True,
            "hoverinfo": "skip",
        }
    ]


def _labels(rows: Sequence[Row], measure: MapMeasure, *, dark: bool) -> list[dict[str, Any]]:
    """The value in each cell, a dash where there is none; nothing under a cross."""
    return [
        {
            "x": x,
            "y": y,
            "text": "-" if cell.value is None else significant(cell.value, 2),
            "showarrow": False,
            "yshift": -15 if cell.trouble else 0,
            "font": {"color": INK[dark], "size": 12},
        }
        for y, (_, row) in enumerate(rows)
        for x, cell in enumerate(row)
        if cell is not None
    ]

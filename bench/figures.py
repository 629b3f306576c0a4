"""Figures of the benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS = ("#8c8c8c", "#c9b18a", "#6a9fb5", "#b5455a", "#5a8f5a", "#7d5a8f")


def grouped_bars(
    path: Path,
    groups: Sequence[str],
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    ylabel: str,
) -> None:
    """Save a picture with a panel for each of `panels`: in each group of bars one for each series.

    Args:
        path: of the PNG file.
        groups: their names, under the bars.
        panels: title -> series -> a value for each group; 1 is marked by a line.
        ylabel: what the values are.
    """
    figure, axes = plt.subplots(1, len(panels), figsize=(2.4 + 3.6 * len(panels), 4.2), squeeze=False)
    for axis, (title, series) in zip(axes[0], panels.items(), strict=True):
        width = 0.8 / len(series)
        for k, (name, values) in enumerate(series.items()):
            places = [g + (k - (len(series) - 1) / 2) * width for g in range(len(groups))]
            axis.bar(places, values, width, label=name, color=COLOURS[k % len(COLOURS)])
        axis.axhline(1.0, color="black", linewidth=0.8)
        axis.set_xticks(range(len(groups)), groups, rotation=35, ha="right")
        axis.set_title(title)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel(ylabel)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, dpi=130)
    plt.close(figure)

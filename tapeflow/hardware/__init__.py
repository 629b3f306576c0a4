"""The modelled machine seen from Python: configuration, presets, energy and timing tables, counters and reports."""

from tapeflow.hardware.config import (
    Cache,
    Dma,
    Dram,
    EnergyTables,
    FunctionalUnits,
    Hardware,
    Pipeline,
    Scratchpad,
    SecondCache,
)
from tapeflow.hardware.counters import Counters
from tapeflow.hardware.energy import EnergyBreakdown
from tapeflow.hardware.report import Comparison, Report

__all__ = [
    "Cache",
    "Comparison",
    "Counters",
    "Dma",
    "Dram",
    "EnergyBreakdown",
    "EnergyTables",
    "FunctionalUnits",
    "Hardware",
    "Pipeline",
    "Report",
    "Scratchpad",
    "SecondCache",
]

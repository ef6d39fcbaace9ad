"""The Size page: answer, key figures with their explanations, tabs (memory, trade-off, load curve, simulation, day,
alternatives, reasons) and downloads. The form stands in :mod:`ui.inputs`, because Explore has it, too."""

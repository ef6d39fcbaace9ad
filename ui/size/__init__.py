"""The Size page: answer, key figures with their explanations, tabs (alternatives, reasons, trade-off, simulation, day,
memory) and downloads. The form stands in :mod:`ui.inputs`, because Explore has it, too."""

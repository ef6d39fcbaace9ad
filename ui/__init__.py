"""The Streamlit side: everything that knows widgets, sessions and figures.

Rooms, each importing only those before it (tests/test_import_graph.py):

- format: text made safe for Markdown
- form: fields, presets and choices; from what is typed to a scenario and back
- database: the library of the server
- work: plans of all sessions, in worker processes and in turns
- state: what a session knows: values, answer, link, changes
- gate: what stands between the network and every page
- shell: what is around and in every page: guard, header, footer, charts, tabs
- library: saving what the form says, opening what is kept
- figures: plotly figures, tables and sentences of them
- sources: live sources, their answers shared by all viewers, the choice of one
- inputs: the form as widgets
- live, home, benchmarks, size, explore, compare, cost, reality, scenarios, methodology: one room per page, whose
  ``page.draw`` is the page
"""

"""The Streamlit side: everything that knows widgets, sessions and figures.

Rooms, each importing only those before it:

- format: text made safe for Markdown
- form: fields, presets and choices; from what is typed to a scenario and back
- state: what a session knows: values, answer, link, changes
- figures: plotly figures, tables and sentences of them
- shell: what is around and in every page: guard, header, footer, charts, tabs
- sources: live sources, their answers shared by all viewers, the choice of one
- inputs: the form as widgets
- live, reality, benchmarks, size, explore, methodology, home: one room per page, whose ``page.draw`` is the page
"""

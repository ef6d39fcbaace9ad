import streamlit as st

from ui import methodology, shell

shell.require("methodology")
shell.header("Methodology")
st.caption("How every number comes about: generated from the engine and its data, so it cannot disagree with them.")
methodology.draw()
shell.footer()

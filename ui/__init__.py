"""The Streamlit side: everything that knows widgets, sessions and figures."""

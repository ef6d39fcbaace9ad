"""The form without Streamlit: its fields, what their text means, and the way to a scenario and back."""

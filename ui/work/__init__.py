"""Plans of all sessions: computed once for everybody, by worker processes where there are some, in fair turns.

Nothing is imported here: a worker loads ``computing`` and ``workers`` alone, and none of Streamlit.
"""

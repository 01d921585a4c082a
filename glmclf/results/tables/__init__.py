"""Tables of results: frames, summaries, several fits side by side, and their rendering."""
